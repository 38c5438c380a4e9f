//! Two emulated links of 20 Mbit/s, with rates that count Ethernet frames: what is made of them, by
//! delays and buffers.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::median::median;
use super::stack::read_number;
use super::{Effort, Programs, print_machine};

/// One-way delays of both links, ms.
const DELAYS: [(u32, u32); 2] = [(10, 10), (5, 100)];
/// Send and receive buffers, bytes.
const BUFFERS: [(&str, u32); 3] = [("64 KiB", 64 << 10), ("250 kB", 250_000), ("2 MB", 2_000_000)];
/// Seconds in which windows open: at a round trip of 200 ms, congestion avoidance takes its time.
const SETTLE: u32 = 10;
/// What 40 Mbit/s of Ethernet frames can carry: 1,444 of 1,514 bytes.
const CEILING: f64 = 40.0 * 1444.0 / 1514.0;

#[derive(Clone, Copy)]
enum Stack {
    Polypath,
    /// The link with the lower delay alone, with Polypath.
    BetterPath,
    Usrsctp,
    Mptcp,
}

const STACKS: [Stack; 4] = [Stack::Polypath, Stack::BetterPath, Stack::Usrsctp, Stack::Mptcp];

/// Prints the table.
pub(crate) fn links_table(programs: &Programs, effort: &Effort, folder: &Path) -> Result<()> {
    print_machine(effort);
    println!("Goodput in Mbit/s; the links together can carry {CEILING:.1}.\n");
    println!(
        "| delays | buffers | Polypath | its better path alone | usrsctp, CMT | kernel MPTCP |"
    );
    println!("|---|---|---|---|---|---|");
    for delays in DELAYS {
        let file = folder.join(format!("links-{}-{}.toml", delays.0, delays.1));
        std::fs::write(&file, scenario_text(delays))?;
        for (name, buffer) in BUFFERS {
            let mut runs: [Vec<Goodput>; 4] = Default::default();
            for _ in 0..effort.repeat {
                for (stack, runs) in STACKS.iter().zip(&mut runs) {
                    match measure_goodput(*stack, programs, effort.seconds, &file, folder, buffer) {
                        Ok(goodput) => runs.push(goodput),
                        Err(error) => eprintln!("{}/{} ms, {name}: {error:#}", delays.0, delays.1),
                    }
                }
            }
            let mut row = format!("| {}/{} ms | {name} |", delays.0, delays.1);
            for runs in runs {
                write!(row, " {} |", format_runs(&runs))?;
            }
            println!("{row}");
        }
    }
    Ok(())
}

fn scenario_text((first, second): (u32, u32)) -> String {
    let path = |name: &str, delay: u32| {
        format!("[path.{name}]\nrate = \"20Mbit/s\"\ndelay = \"{delay}ms\"\nqueue = \"60kB\"\n\n")
    };
    format!(
        "title = \"Two links\"\n\n{}{}[stack]\nprofile = \"fast\"\n\n[[flow]]\napp = \"saturated\"\n\n[time]\nsettle = \"1s\"\nmeasure = \"1s\"\n",
        path("A", first),
        path("B", second)
    )
}

fn measure_goodput(
    stack: Stack,
    programs: &Programs,
    seconds: u32,
    scenario: &Path,
    folder: &Path,
    buffer: u32,
) -> Result<Goodput> {
    let result = folder.join("result.json");
    let _ = std::fs::remove_file(&result);
    let (server, client) =
        command_lines(stack, programs, seconds, &result.display().to_string(), buffer);
    let mut command = Command::new("timeout");
    command
        .arg((seconds + SETTLE + 60).to_string())
        .arg(&programs.polypath)
        .arg("emulate")
        .arg(scenario);
    command.args(["--frame-overhead", "14", "--server", &server, "--", "sh", "-c", &client]);
    let status =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let text = std::fs::read_to_string(&result).with_context(|| format!("no result ({status})"))?;
    let value: Value =
        serde_json::from_str(&text).with_context(|| format!("its result ({status})"))?;
    match stack {
        Stack::Polypath | Stack::BetterPath => read_perf_goodput(&value),
        _ => Ok(Goodput { all: read_number(&value, "goodput_mbit")?, settled: None }),
    }
}

/// Goodput of a run, Mbit/s.
struct Goodput {
    all: f64,
    /// Without the beginning, where that is told.
    settled: Option<f64>,
}

/// From a report of `polypath perf`, whose omitted intervals count, too.
fn read_perf_goodput(report: &Value) -> Result<Goodput> {
    let server = report.pointer("/associations/0/server").context("no result of the server")?;
    let intervals = server.get("intervals").and_then(Value::as_array).context("no intervals")?;
    let mut bytes = 0.0;
    for interval in intervals {
        bytes += read_number(interval.get("received").context("no bytes")?, "bytes")?;
    }
    let last = intervals.last().context("no interval")?;
    let all = bytes * 8e-6 / read_number(last, "end")?.max(1e-9);
    let settled = read_number(report.pointer("/sums/0").context("no sum")?, "goodput_mbit")?;
    Ok(Goodput { all, settled: Some(settled) })
}

fn format_runs(runs: &[Goodput]) -> String {
    if runs.is_empty() {
        return "failed".to_owned();
    }
    let all = median(runs.iter().map(|run| run.all).collect());
    let settled: Vec<f64> = runs.iter().filter_map(|run| run.settled).collect();
    match settled.is_empty() {
        true => format!("{all:.1}"),
        false => format!("{all:.1} ({:.1})", median(settled)),
    }
}

/// What runs at the server, and at the client.
fn command_lines(
    stack: Stack,
    programs: &Programs,
    seconds: u32,
    result: &str,
    buffer: u32,
) -> (String, String) {
    let (polypath, bench) = (programs.polypath.display(), programs.bench.display());
    let total = seconds + SETTLE;
    let limits = "ip mptcp limits set subflow 8 add_addr_accepted 8";
    match stack {
        Stack::Polypath | Stack::BetterPath => {
            let two = matches!(stack, Stack::Polypath);
            let (there, here) = if two {
                ("10.0.1.2,10.0.2.2", "10.0.1.1,10.0.2.1")
            } else {
                ("10.0.1.2", "10.0.1.1")
            };
            let server = format!(
                "{polypath} perf -s --insecure --one-off -J --buffer {buffer}B --listen {there} >/dev/null"
            );
            let client = format!(
                "{polypath} perf --insecure -c {there} --local {here} --buffer {buffer}B -O {SETTLE} -t {seconds} -i {seconds} -J >{result}"
            );
            (server, client)
        }
        Stack::Usrsctp => {
            let common = format!("--cmt 1 --nr-sack --buffer {buffer} --time {total}");
            let server = format!("{bench} sctp sink --local 10.0.1.2,10.0.2.2 {common} >{result}");
            let client = format!(
                "{bench} sctp source --local 10.0.1.1,10.0.2.1 --remote 10.0.1.2,10.0.2.2 {common}; sleep 4"
            );
            (server, client)
        }
        Stack::Mptcp => {
            let common = format!("--size 131072 --buffer {buffer} --time {total}");
            let server = format!(
                "{limits}; ip mptcp endpoint add 10.0.2.2 dev B signal; {bench} mptcp sink --local 0.0.0.0 {common} >{result}"
            );
            let client = format!(
                "{limits}; {bench} mptcp source --local 10.0.1.1 --remote 10.0.1.2 {common}; sleep 3"
            );
            (server, client)
        }
    }
}
