//! Speed on wires: Polypath beside the stacks that others wrote, measured in one run over veth
//! pairs between two network namespaces, or over emulated links.

mod links;
mod many;
mod median;
mod programs;
mod stack;

use std::process::Command;

use anyhow::{Context as _, Result, bail};

pub(crate) use links::links_table;
pub(crate) use many::{run_client as many_client, run_server as many_server};
pub(crate) use programs::Programs;
use stack::{Case, Speed, Stack};

/// How a table is made.
pub(crate) struct Effort {
    /// Runs of each measurement, in turn; medians count.
    pub(crate) repeat: u32,
    /// Length of each, seconds.
    pub(crate) seconds: u32,
}

/// Runs this program again between two namespaces that are joined by four veth pairs; they vanish
/// with it.
pub(crate) fn enter_namespaces(more: &[String]) -> Result<()> {
    let mut words =
        vec![std::env::current_exe()?.display().to_string(), "--wire-inside".to_owned()];
    words.extend_from_slice(more);
    let quoted: Vec<_> = words.iter().map(|w| format!("'{}'", w.replace('\'', "'\\''"))).collect();
    let status = Command::new("bash")
        .args(["interop/netns.sh", "4", &quoted.join(" ")])
        .status()
        .context("bash interop/netns.sh (run from the checkout)")?;
    if !status.success() {
        bail!("the measurement between namespaces failed (it needs root): {status}");
    }
    Ok(())
}

const CASES: [(&str, Case); 4] = [
    ("1 path, full packets", Case { paths: 1, size: None }),
    ("2 paths, full packets", Case { paths: 2, size: None }),
    ("4 paths, full packets", Case { paths: 4, size: None }),
    ("1 path, 100 bytes", Case { paths: 1, size: Some(100) }),
];

/// The machine in one line, and how busy it was before: other load slows all down, and not alike.
pub(crate) fn print_machine(effort: &Effort) {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default().trim().to_owned();
    let cores = std::thread::available_parallelism().map_or(0, core::num::NonZero::get);
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or("unknown");
    println!(
        "Linux {}, {cores} cores, load average before {load}, {} x {} s, TCP with {}.\n",
        read("/proc/sys/kernel/osrelease"),
        effort.repeat,
        effort.seconds,
        read("/proc/sys/net/ipv4/tcp_congestion_control")
    );
}

/// Prints the table.
pub(crate) fn wire_table(programs: &Programs, effort: &Effort) -> Result<()> {
    print_machine(effort);
    println!("| what | stack | Mbit/s | Polypath is | sender, CPU s/GB | receiver, CPU s/GB |");
    println!("|---|---|---|---|---|---|");
    let (mut ours, mut encrypted) = (Vec::new(), Vec::new());
    for (name, case) in &CASES {
        let stacks: Vec<_> = Stack::ALL.into_iter().filter(|s| s.can_run(case, programs)).collect();
        let mut runs: Vec<Vec<Speed>> = vec![Vec::new(); stacks.len()];
        // In turn, so that other load hits all alike.
        for _ in 0..effort.repeat {
            for (stack, runs) in stacks.iter().zip(&mut runs) {
                match stack.measure(case, programs, effort.seconds) {
                    Ok(speed) => runs.push(speed),
                    Err(error) => eprintln!("{name}, {}: {error:#}", stack.name()),
                }
            }
        }
        let medians: Vec<_> = runs.iter().map(|runs| Speed::median(runs)).collect();
        let own = medians.first().copied().flatten();
        ours.push(own);
        encrypted.push((*name, own, medians.get(1).copied().flatten()));
        for (stack, speed) in stacks.iter().zip(medians) {
            print_row(name, stack.name(), speed, own);
        }
    }
    print_aims(&ours);
    print_encryption(&encrypted);
    many::print_row(effort.repeat)
}

fn print_row(case: &str, stack: &str, speed: Option<Speed>, own: Option<Speed>) {
    let Some(s) = speed else { return println!("| {case} | {stack} | failed | | | |") };
    let ratio = own.map_or(String::new(), |own| format!("{:.2} x", own.mbit / s.mbit.max(1e-9)));
    println!(
        "| {case} | {stack} | {:.0} | {ratio} | {:.2} | {:.2} |",
        s.mbit, s.sender, s.receiver
    );
}

/// What encryption leaves of the speed, by case.
fn print_encryption(cases: &[(&str, Option<Speed>, Option<Speed>)]) {
    println!();
    for (name, plain, encrypted) in cases {
        if let (Some(plain), Some(encrypted)) = (plain, encrypted) {
            let share = 100.0 * encrypted.mbit / plain.mbit.max(1e-9);
            println!("{name}: encrypted {share:.0} % of the speed without (aim: at least 65 %).");
        }
    }
}

/// What several paths make of one path's speed.
fn print_aims(ours: &[Option<Speed>]) {
    let [Some(one), rest @ ..] = ours else { return };
    println!();
    for (paths, speed) in [2, 4].iter().zip(rest) {
        if let Some(speed) = speed {
            let share = 100.0 * speed.mbit / one.mbit.max(1e-9);
            println!("{paths} paths: {share:.0} % of one path's speed (aim: at least 90 %).");
        }
    }
}
