//! What an idle association costs a server of `perf`, counted by the allocator of its process. The
//! clients are another process.

use std::alloc::System;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::Duration;

use polypath_apps::admission::Places;
use polypath_apps::perf::{Limits, Server, ServerOptions, stop_switch};
use polypath_net::{Config, Encapsulation, Endpoint};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::sync::mpsc;

/// The system's allocator, with books for all threads together: the reactor's are part of the cost.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes that this process holds.
fn held() -> i64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

/// Idle associations.
const COUNT: usize = 64;
/// Tells the second process whom to bother.
const SERVER: &str = "POLYPATH_IDLE_MEMORY_SERVER";

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The clients: no test when run by itself.
#[test]
fn clients_of_the_other_process() {
    let Ok(server) = std::env::var(SERVER) else { return };
    let server: SocketAddr = server.parse().unwrap();
    runtime().block_on(async {
        let mut all = Vec::new();
        for _ in 0..COUNT {
            let config = Config::insecure_client([IpAddr::from([127, 0, 8, 2])]);
            let endpoint = Endpoint::bind(config.socket_buffer(1 << 16)).unwrap();
            all.push((endpoint.connect(&[server], 5000).await.unwrap(), endpoint));
        }
        println!("all are there");
        // Until the server's process ends it.
        std::future::pending::<()>().await;
    });
}

#[test]
fn an_idle_association_costs_a_server_less_than_6_kib() {
    runtime().block_on(async {
        let config = Config::insecure_server([IpAddr::from([127, 0, 8, 1])], 5000);
        let endpoint = config.encapsulation(Encapsulation::Udp(0));
        let places = Places { all: COUNT, per_source: COUNT };
        let options = ServerOptions { endpoint, places, one_off: false, limits: Limits::default() };
        let server = Server::bind(options).unwrap();
        let at = server.local_addresses()[0];
        let (observer, _updates) = mpsc::unbounded_channel();
        let (_switch, stop) = stop_switch();
        tokio::spawn(server.run(observer, stop));
        tokio::time::sleep(Duration::from_millis(200)).await;
        // The thread that waits for the clients is none of the server's.
        tokio::task::spawn_blocking(|| {}).await.unwrap();
        let before = held();
        let mut clients = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "clients_of_the_other_process", "--nocapture"])
            .env(SERVER, at.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let words = BufReader::new(clients.stdout.take().unwrap());
        let waiting = move || words.lines().any(|line| line.unwrap().contains("all are there"));
        let there = tokio::task::spawn_blocking(waiting).await.unwrap();
        // Time for the last of them to be let in.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let each = (held() - before) / COUNT as i64;
        let _ = clients.kill();
        let _ = clients.wait();
        assert!(there);
        println!("{each} bytes for an idle association");
        assert!((1..=6 * 1024).contains(&each), "{each} bytes");
    });
}
