//! Speed, as ratios measured in one run: our simulator beside ns-2, and the protocol core alone.
//!
//! `cargo run --release -p polypath-bench` prints the table that `docs/evidence/benchmarks.md`
//! keeps.

mod core;
mod cpu;
mod decisions;
mod protection;
mod schedulers;
mod simulator;
mod wire;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use polypath_proto::config::ExtensionConfig;

/// Prints how fast the simulator and the core are, per CPU second.
///
/// Example: polypath-bench --repeat 5 --ns2 data/ns2/cmt.tcl
#[derive(Parser)]
struct Args {
    /// Runs of each measurement; the fastest counts, because other load only ever slows down.
    #[arg(long, default_value_t = 3)]
    repeat: u32,
    /// ns-2's script; its column stays empty where `ns` is not installed (Debian: apt-get install
    /// ns2).
    #[arg(long, default_value = "data/ns2/cmt.tcl")]
    ns2: String,
    /// Carry this many GiB through the core alone and nothing else: for instruction counts under
    /// callgrind.
    #[arg(long)]
    core_only_gib: Option<f64>,
    /// Paths of --core-only-gib.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=8))]
    paths: u8,
    /// Message size of --core-only-gib, bytes; by default what fills a packet.
    #[arg(long, default_value_t = core::MESSAGE, value_parser = message_size)]
    message: usize,
    /// With --core-only-gib: both ends offer AUTH, dynamic addresses, PR-SCTP and stream
    /// reconfiguration.
    #[arg(long)]
    extensions: bool,
    /// Run this set-up alone, by its number from 1, and neither ns-2 nor the core: for profilers.
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=4))]
    setup: Option<u8>,
    /// Print what path schedulers cost and nothing else.
    #[arg(long)]
    schedulers: bool,
    /// Print what protection costs, of each packet and of setting up, and nothing else.
    #[arg(long)]
    protection: bool,
    /// Print the speed on veth pairs beside usrsctp, kernel TCP and kernel MPTCP, and nothing else
    /// (docs/evidence/speed.md). Needs root, libusrsctp-dev, and `polypath` beside this program.
    #[arg(long)]
    wire: bool,
    /// Print the goodput over emulated links beside the same stacks, and nothing else. Needs the
    /// same.
    #[arg(long)]
    links: bool,
    /// Length of each run of --wire and --links, seconds.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// For --wire: `bench` of interop/, linked with an optimised usrsctp.
    #[arg(long, value_name = "PROGRAM")]
    optimised: Option<PathBuf>,
    /// --wire, already between the namespaces.
    #[arg(long, hide = true)]
    wire_inside: bool,
    #[arg(long, hide = true)]
    many_server: bool,
    #[arg(long, hide = true)]
    many_client: bool,
}

const GIB: f64 = (1u64 << 30) as f64;

fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(gib) = args.core_only_gib {
        return core_only(gib, &args);
    }
    if let Some(number) = args.setup {
        return one_setup(usize::from(number) - 1, args.repeat);
    }
    if args.schedulers {
        return scheduler_tables(args.repeat);
    }
    if args.protection {
        return protection::tables(args.repeat);
    }
    if args.wire || args.wire_inside || args.links {
        return real_networks(&args);
    }
    if args.many_server {
        return wire::many_server();
    }
    if args.many_client {
        return wire::many_client();
    }
    simulator_table(&args)?;
    core_table(&args)?;
    println!();
    scheduler_tables(args.repeat)?;
    println!();
    protection::tables(args.repeat)
}

fn real_networks(args: &Args) -> Result<()> {
    let effort = wire::Effort { repeat: args.repeat, seconds: args.seconds };
    if args.wire {
        let numbers = [("--repeat", args.repeat), ("--seconds", args.seconds)];
        let mut more: Vec<_> =
            numbers.into_iter().flat_map(|(name, n)| [name.to_owned(), n.to_string()]).collect();
        if let Some(program) = &args.optimised {
            more.extend(["--optimised".to_owned(), program.display().to_string()]);
        }
        return wire::enter_namespaces(&more);
    }
    let folder = tempfile::tempdir()?;
    let programs = wire::Programs::find_programs(args.optimised.clone(), folder.path())?;
    if args.links {
        wire::links_table(&programs, &effort, folder.path())
    } else {
        wire::wire_table(&programs, &effort)
    }
}

fn scheduler_tables(repeat: u32) -> Result<()> {
    println!("| path scheduler | ns per packet, 2 paths | 4 paths |");
    println!("|---|---|---|");
    for scheduler in decisions::SCHEDULERS {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..repeat.max(1) {
            for (best, paths) in best.iter_mut().zip([2, 4]) {
                *best = best.min(decisions::cost_per_packet(scheduler, paths, 1_000_000)?);
            }
        }
        println!("| `{scheduler}` | {:.0} | {:.0} |", best[0], best[1]);
    }
    println!("\n| second path, data | `rr`, ns per packet | `knapsack` | ratio | aim |");
    println!("|---|---|---|---|---|");
    for (delay, unordered) in schedulers::SETUPS {
        // In turn, so that other load hits both alike.
        let mut best = [f64::INFINITY; 2];
        for _ in 0..repeat.max(1) {
            for (best, scheduler) in best.iter_mut().zip(["rr", "knapsack"]) {
                *best = best.min(1e9 / schedulers::run(delay, unordered, scheduler)?.packet_rate());
            }
        }
        let (order, ratio) = (if unordered { "any order" } else { "in order" }, best[1] / best[0]);
        println!("| {delay} ms, {order} | {:.0} | {:.0} | {ratio:.2} | 1.10 |", best[0], best[1]);
    }
    Ok(())
}

/// `--message`.
fn message_size(text: &str) -> Result<usize, String> {
    let size = text.parse().map_err(|e| format!("{e}: a number of bytes"))?;
    if (1..=65_536).contains(&size) { Ok(size) } else { Err("allowed are 1 to 65536 bytes".into()) }
}

fn core_only(gib: f64, args: &Args) -> Result<()> {
    let extensions = match args.extensions {
        true => ExtensionConfig { interleaving: false, ..ExtensionConfig::ALL },
        false => ExtensionConfig::NONE,
    };
    let mut pair = core::Pair::new(args.paths, args.message, extensions)?;
    println!("{} messages", pair.carry_payload((gib * GIB) as u64) / args.message as u64);
    Ok(())
}

fn one_setup(place: usize, repeat: u32) -> Result<()> {
    let Some(setup) = simulator::SETUPS.get(place) else { return Ok(()) };
    let ours = fastest_run(repeat, || setup.run().map(Some))?;
    let (packets, rate) = ours.map_or((0, 0.0), |cost| (cost.packets, cost.packet_rate()));
    println!("{}: {packets} packets, {rate:.0} per CPU s", setup.name);
    Ok(())
}

fn simulator_table(args: &Args) -> Result<()> {
    println!("| set-up | packets | CPU s | packets per CPU s | ns-2 | ratio | aim |");
    println!("|---|---|---|---|---|---|---|");
    for setup in &simulator::SETUPS {
        let ours = fastest_run(args.repeat, || setup.run().map(Some))?;
        let theirs = fastest_run(args.repeat, || setup.run_ns2(&args.ns2))?;
        let Some(ours) = ours else { continue };
        let theirs_rate =
            theirs.map_or("not installed".into(), |c| format!("{:.0}", c.packet_rate()));
        let ratio =
            theirs.map_or("-".into(), |c| format!("{:.1}", ours.packet_rate() / c.packet_rate()));
        println!(
            "| {} | {} | {:.2} | {:.0} | {theirs_rate} | {ratio} | {} |",
            setup.name,
            ours.packets,
            ours.cpu.as_secs_f64(),
            ours.packet_rate(),
            setup.aim
        );
    }
    println!("\nPeak memory of all these runs together: {} KiB.\n", cpu::peak_kib()?);
    Ok(())
}

fn fastest_run(
    repeat: u32,
    mut run: impl FnMut() -> Result<Option<simulator::Cost>>,
) -> Result<Option<simulator::Cost>> {
    let mut best = None;
    for _ in 0..repeat.max(1) {
        let Some(cost) = run()? else { return Ok(None) };
        if best.is_none_or(|b: simulator::Cost| cost.cpu < b.cpu) {
            best = Some(cost);
        }
    }
    Ok(best)
}

fn core_table(args: &Args) -> Result<()> {
    println!(
        "| core alone, both ends, {}-byte messages | Gbit of payload per CPU s | aim |",
        core::MESSAGE
    );
    println!("|---|---|---|");
    for paths in [1, 2, 4] {
        let mut pair = core::Pair::new(paths, core::MESSAGE, ExtensionConfig::NONE)?;
        let mut best: f64 = 0.0;
        for _ in 0..args.repeat.max(1) {
            let (bytes, cpu) = cpu::measure_cpu(|| pair.carry_payload(2 * GIB as u64))?;
            best = best.max(bytes as f64 * 8e-9 / cpu.as_secs_f64());
        }
        println!("| {paths} path{} | {best:.1} | 10 |", if paths == 1 { "" } else { "s" });
    }
    Ok(())
}
