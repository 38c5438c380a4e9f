//! Many associations at one endpoint: how long they take to set up, and what one costs in memory.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
#[expect(clippy::disallowed_types, reason = "real time is what is measured")]
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use polypath_net::{Config, Endpoint};
use serde_json::json;
use tokio::task::JoinSet;

use super::median::median;
use super::stack::{end_addresses, read_json, read_number, spawn_listening};

/// Associations.
const COUNT: usize = 1000;
const PORT: u16 = 5300;

/// Measures in the namespaces, and prints a line.
pub(crate) fn print_row(repeat: u32) -> Result<()> {
    let (mut seconds, mut bytes) = (Vec::new(), Vec::new());
    for _ in 0..repeat {
        let server = output_of_role("s", "--many-server")?;
        let client = read_json(output_of_role("c", "--many-client")?)?;
        seconds.push(read_number(&client, "seconds")?);
        bytes.push(read_number(&read_json(server)?, "bytes_per_association")?);
    }
    println!(
        "\n{COUNT} associations to one endpoint: set up in {:.2} s (aim: below 1), {:.1} KiB of the server's memory each (aim: below 8).",
        median(seconds),
        median(bytes) / 1024.0
    );
    Ok(())
}

fn output_of_role(namespace: &str, role: &str) -> Result<std::process::Child> {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, "timeout", "120"]).arg(std::env::current_exe()?);
    command.arg(role).stdin(Stdio::null()).stdout(Stdio::piped());
    spawn_listening(command)
}

fn build_runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// Takes all associations, and prints by how much its memory grew.
pub(crate) fn run_server() -> Result<()> {
    build_runtime()?.block_on(async {
        let config = Config::insecure_server([end_addresses(2, 1).parse()?], PORT);
        let most = COUNT * 2;
        let (max_associations, max_associations_per_address) = (most, most);
        let endpoint = Endpoint::bind(
            config
                .max_associations(max_associations)
                .max_associations_per_address(max_associations_per_address),
        )?;
        let before = resident_memory()?;
        let mut all = Vec::with_capacity(COUNT);
        while all.len() < COUNT {
            all.push(endpoint.accept().await.context("the endpoint ended")?);
        }
        let grown = resident_memory()?.saturating_sub(before);
        println!("{}", json!({ "bytes_per_association": grown as f64 / COUNT as f64 }));
        // The clients say goodbye.
        drop(all);
        let _ = tokio::time::timeout(Duration::from_secs(20), endpoint.wait_idle()).await;
        Ok(())
    })
}

/// Opens all associations at once, each from an endpoint of its own, and prints how long that took.
pub(crate) fn run_client() -> Result<()> {
    build_runtime()?.block_on(async {
        let mut endpoints = Vec::with_capacity(COUNT);
        for _ in 0..COUNT {
            let config = Config::insecure_client([end_addresses(1, 1).parse()?]);
            // Small buffers: these sockets carry a handful of packets each.
            endpoints.push(Arc::new(Endpoint::bind(config.socket_buffer(1 << 16))?));
        }
        let remote = format!("{}:{}", end_addresses(2, 1), polypath_net::DEFAULT_PORT).parse()?;
        #[expect(clippy::disallowed_types, reason = "as above")]
        let start = Instant::now();
        let mut opening = JoinSet::new();
        for endpoint in &endpoints {
            let endpoint = endpoint.clone();
            opening.spawn(async move { endpoint.connect(&[remote], PORT).await });
        }
        let opened: Vec<_> = opening.join_all().await.into_iter().collect::<Result<_, _>>()?;
        let seconds = start.elapsed().as_secs_f64();
        if opened.len() != COUNT {
            bail!("{} associations instead of {COUNT}", opened.len());
        }
        println!("{}", json!({ "seconds": seconds }));
        // Time for the server to look at its memory.
        tokio::time::sleep(Duration::from_millis(500)).await;
        drop(opened);
        for endpoint in &endpoints {
            let _ = tokio::time::timeout(Duration::from_millis(200), endpoint.wait_idle()).await;
        }
        Ok(())
    })
}

/// Memory of this process that is in use, bytes.
fn resident_memory() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib = line.trim().trim_end_matches("kB").trim().parse::<u64>()?;
    Ok(kib * 1024)
}
