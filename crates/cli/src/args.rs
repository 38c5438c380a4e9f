//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use polypath_experiments::fingerprint::VERSION;

use crate::compare::{COMPARE_HELP, CompareArgs};
use crate::control::{ControlCommandArgs, ExporterArgs, SsArgs, TopArgs};
use crate::doctor::{DOCTOR_HELP, DoctorArgs};
use crate::examples::ExamplesArgs;
use crate::forward::{FORWARD_HELP, ForwardArgs, SERVE_HELP, ServeArgs};
use crate::keys::IdArgs;
use crate::perf::PerfArgs;
use crate::plot::{PLOT_HELP, PlotArgs};
use crate::recording::FileArgs;
use crate::shards::{PlanArgs, VERIFY_HELP, VerifyArgs, WORKER_HELP, WorkerArgs};
use crate::sweep::{SWEEP_HELP, SweepArgs};
use crate::transfer::{ReceiveArgs, SendArgs};
use crate::why::{WHY_HELP, WhyArgs};

/// One SCTP association over all paths at once (Concurrent Multipath Transfer): simulated,
/// emulated, and on real networks.
#[derive(Debug, Parser)]
#[command(
    name = "polypath",
    version,
    long_version = VERSION,
    about,
    after_help = "\
Examples:
  polypath simulate lte-wifi
  polypath init mine.toml
  polypath reproduce --quick
  polypath send --help",
    max_term_width = 80,
    propagate_version = true
)]
pub(crate) struct Args {
    /// Say nothing but results and errors.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario once and print what each flow, stream and path did.
    #[command(after_help = "\
Examples:
  polypath simulate scenarios/examples/two-equal-paths.toml
  polypath simulate crossing.toml --set path.B.delay=75ms --seed 2
  polypath simulate lte-wifi --set stack.buffer='split?side=both'
  polypath simulate crossing.toml --seed 7 --pcap run.pcapng --json")]
    Simulate(SimulateArgs),
    /// Carry a real file over three dissimilar simulated paths and compare ways of sending it.
    #[command(after_help = "\
Examples:
  polypath demo
  polypath demo holiday.jpg --pcap demo.pcapng")]
    Demo(DemoArgs),
    /// Build a scenario's network on this machine, for real programs, and run a command in it.
    ///
    /// Client and server are network namespaces; between them the simulator's links carry real
    /// packets in real time. The network first measures itself and fails if it is not what the
    /// scenario says. It needs root, and leaves nothing behind.
    #[command(after_help = "\
The command finds the hosts' addresses in POLYPATH_CLIENT_ADDRS and
POLYPATH_SERVER_ADDRS, separated by commas, and the way into their namespaces in
POLYPATH_CLIENT_NS and POLYPATH_SERVER_NS:
  nsenter --net=$POLYPATH_SERVER_NS COMMAND
Interfaces are called like the paths. Changes ([[at]], [[every]]) begin with the
command. Exit code: the command's.

Examples:
  polypath emulate two-paths.toml -- ping -c 3 10.0.1.2
  polypath emulate two-paths.toml --server 'iperf3 -s -1' -- iperf3 -c 10.0.1.2
  polypath emulate two-paths.toml --set path.B.delay=75ms --frame-overhead 14")]
    Emulate(EmulateArgs),
    /// Measure a real network: goodput, delays, and what every path and stream did, seen from both
    /// ends.
    ///
    /// One end is the server (-s), the other asks for tests (-c). It is encrypted, and each end
    /// proves to have the key that `polypath id` prints there.
    #[command(after_help = "\
Exit codes: 0 done, 1 the test failed or ended early (what there is of it was printed), 2 bad input, 3 the server was not
reached, 5 a file with keys, 6 the server's key is not known or not the one expected, or it does not let us in, 130
interrupted.

Examples:
  polypath perf -s --listen 192.0.2.1 --listen 198.51.100.1
  polypath perf -c 192.0.2.1,198.51.100.1 --local 192.0.2.7,198.51.100.7 -t 10
  polypath perf -c server.example --paths eth0,wwan0 -R --streams 4 --unordered
  polypath perf -c 192.0.2.1 -b 20M -O 2 -J > result.json
  polypath perf -c 192.0.2.1 --request-response 100,1000 --live
  polypath perf -s --listen 192.0.2.1 --allow clients.txt")]
    Perf(Box<PerfArgs>),
    /// Send files and folders over every path at once, encrypted.
    #[command(after_help = SEND_HELP)]
    Send(SendArgs),
    /// Receive files and folders, encrypted, at named addresses only.
    #[command(after_help = RECEIVE_HELP)]
    Receive(ReceiveArgs),
    /// Carry TCP connections over every path at once, encrypted, as ssh's -L, -R and -D do over
    /// one.
    ///
    /// Programs connect to ports of this host, or by SOCKS, and `polypath serve` connects for them
    /// at the far end. When paths die or all are away for a while, connections stay.
    #[command(after_help = FORWARD_HELP)]
    Forward(Box<ForwardArgs>),
    /// Be the far end of `polypath forward`: let named clients reach named places.
    #[command(after_help = SERVE_HELP)]
    Serve(Box<ServeArgs>),
    /// Watch running transfers: each path, its rate, and what keeps it from doing more.
    ///
    /// It finds `forward`, serve, send, receive and perf of this user by the control sockets that
    /// they open, and changes nothing but what its keys say.
    #[command(after_help = "\
Keys: q quits, tab shows the next association, up and down choose a path, s
sorts the paths, n, b and x say what the path may be used for: on, backup, off.
Exit codes: 0 done, 2 no terminal, 3 nobody answers.

Examples:
  polypath top
  polypath top forward")]
    Top(TopArgs),
    /// Print once what `top` shows.
    #[command(after_help = "\
Exit codes: 0 done, 2 wrong arguments, 3 nobody answers.

Examples:
  polypath ss
  polypath ss serve --json | jq '.processes[].associations[].paths'")]
    Ss(SsArgs),
    /// Ask a running transfer for figures or events, or switch its paths.
    #[command(after_help = "\
Exit codes: 0 done, 2 the request, 3 nobody answers.

Examples:
  polypath control events forward
  polypath control set wwan0 backup
  polypath control limits --association 1 4711")]
    Control(ControlCommandArgs),
    /// Give the figures of running transfers to Prometheus.
    #[command(after_help = "\
Exit codes: 0 done, 2 wrong arguments, 5 the address or the file.

Examples:
  polypath exporter
  polypath exporter --textfile /var/lib/prometheus/node-exporter/polypath.prom
  polypath exporter --once | promtool check metrics")]
    Exporter(ExporterArgs),
    /// Find out which paths to a server carry, what is on the way, and what to do about it.
    ///
    /// Each path is tried alone: whether there is a route, whether UDP gets an answer, how large
    /// packets may be, what NAT, firewalls and routers do to them, and whether the two hosts know
    /// each other. Nothing is changed, but a host without a key gets one.
    #[command(after_help = DOCTOR_HELP)]
    Doctor(Box<DoctorArgs>),
    /// Print the fingerprint of this host's key, which is made at first use.
    ///
    /// Peers know this host by it. Who has the file with the private key can be this host.
    #[command(after_help = "\
Exit codes: 0 done, 2 wrong arguments, 5 the file.

Examples:
  polypath id
  polypath id --show-public > host.pem
  polypath id --file /etc/polypath/identity --json")]
    Id(IdArgs),
    /// Re-run the experiments of the papers and judge their claims.
    #[command(after_help = "\
Examples:
  polypath reproduce --quick
  polypath reproduce S0-F4
  polypath reproduce S1 --seeds 20 --no-sensitivity
  polypath reproduce P-streams --tables pages")]
    Reproduce(ReproduceArgs),
    /// Run a scenario over all values of its axes and seeds.
    #[command(after_help = SWEEP_HELP)]
    Sweep(SweepArgs),
    /// Draw networks at random, and say how the stack does on all of them.
    ///
    /// Each draw is run with all paths, with each path alone, and with other path schedulers. Seeds
    /// below 1000000 are for tuning; those from there on are for reports, and nobody looks at their
    /// draws one by one.
    #[command(after_help = "\
A run that Ctrl-C ends prints what it has, and goes on with --resume.

Examples:
  polypath population --draws 200 --seed 1 --schedulers none
  polypath population --draws 2000 --seed 1000000 --out results/population
  polypath population --seed 1 --draw 17 --out worst")]
    Population(PopulationArgs),
    /// Run one shard of a plan, on any machine with the same program.
    ///
    /// A plan is what `sweep`, `reproduce` and `population` write with --plan. A shard is a part of
    /// it that depends on nothing but its number; its runs go into one file, which --from reads.
    #[command(after_help = WORKER_HELP)]
    Worker(WorkerArgs),
    /// Run a few runs of segments again, and compare them bit by bit.
    #[command(after_help = VERIFY_HELP)]
    Verify(VerifyArgs),
    /// Draw a figure from a table of runs, or over time from the trace of one.
    #[command(after_help = PLOT_HELP)]
    Plot(PlotArgs),
    /// Say what received data waited for: loss, queue, reordering, window, sender or application,
    /// on which path, and for how long.
    ///
    /// It reads what --trace wrote at both ends of an association.
    #[command(after_help = WHY_HELP)]
    Why(WhyArgs),
    /// Compare two tables of runs point by point.
    #[command(after_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// Run scenarios in the simulator and over real sockets in an emulated network, and compare.
    ///
    /// Both worlds have the same links, stacks and applications. Needs root, as `emulate` does.
    /// Exit code 1 if goodputs differ by more than 5 %, or, where packets are lost at random, by
    /// more than their 95 % intervals; with --draws, if fewer than nine in ten are within 5 % of
    /// what the simulator makes of the seeds.
    #[command(after_help = "\
Examples:
  polypath cross-check scenarios/cross-check/equal.toml
  polypath cross-check --draws 20 --seed 1000001
  polypath cross-check scenarios/cross-check/*.toml --runs 5 --markdown")]
    #[command(alias = "worlds")]
    CrossCheck(CrossCheckArgs),
    /// List every policy with its options.
    #[command(after_help = "Example:\n  polypath policies")]
    Policies(ListArgs),
    /// List every metric with its unit and what it tells.
    #[command(after_help = "Example:\n  polypath metrics")]
    Metrics(ListArgs),
    /// Print the JSON schema of scenario files, for editors, or of what a command prints with
    /// --json.
    #[command(after_help = "\
Examples:
  polypath schema > scenario.schema.json
  polypath schema simulate > simulate.schema.json")]
    Schema(SchemaArgs),
    /// List the example scenarios that the program carries, print one, or write all of them.
    #[command(after_help = "\
Examples:
  polypath examples
  polypath examples lte-wifi > mine.toml
  polypath simulate lte-wifi")]
    Examples(ExamplesArgs),
    /// Print a commented scenario to start from, or write it to a new file.
    #[command(
        alias = "new",
        after_help = "Example:\n  polypath init crossing.toml && polypath simulate crossing.toml"
    )]
    Init(InitArgs),
    /// Print completions for a shell.
    #[command(after_help = "Example:\n  polypath completions bash > ~/.bash_completion.d/polypath")]
    Completions(CompletionsArgs),
    /// Print the manual page, or write the pages of all commands into a folder.
    #[command(
        after_help = "Examples:\n  polypath man | man -l -\n  polypath man ~/.local/share/man/man1"
    )]
    Man(ManArgs),
}

const SEND_HELP: &str = "\
Examples:
  polypath send holiday/ --to 192.0.2.5
  polypath send disk.img --to 192.0.2.5,198.51.100.5 --paths eth0,wwan0
  polypath send disk.img --to 192.0.2.5 --scheduler min-rtt --congestion cubic
  polypath send disk.img --to host.example --peer pp:KEY
A receiver that is not known yet is asked about, on a terminal.
A broken transfer goes on when the same command is given again.
Exit codes:
  0    all files are there
  1    the transfer failed
  2    wrong arguments
  3    nobody answers, or not any more
  4    the receiver refused a file (another one is there, disk full)
  5    a file, key or port of this host
  6    the receiver is not known, not who it was, or does not let us in
  130  interrupted";

const RECEIVE_HELP: &str = "\
Examples:
  polypath receive --listen 192.0.2.5 --dir incoming
  polypath receive --listen 192.0.2.5 --listen 198.51.100.5 --once
  polypath receive --listen 192.0.2.5 --allow senders.txt --enroll
Anybody who reaches the address can send files, unless --allow says who may.
Exit codes, with --once:
  0    all files are there
  1    the transfer failed
  2    wrong arguments
  3    the sender vanished
  4    a file was refused (it exists)
  5    a file, key, port or disk of this host
  6    an enrolment that failed
  130  interrupted";

#[derive(Debug, ClapArgs)]
pub(crate) struct SimulateArgs {
    /// Scenario file (TOML), or the name of an example; - reads from stdin.
    pub(crate) scenario: PathBuf,
    /// Set a field over what the file says; may be repeated.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of all randomness, instead of the scenario's first.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DemoArgs {
    /// The file to carry, at most its first 16 MiB; by default this program itself.
    pub(crate) file: Option<PathBuf>,
    /// Seed of all randomness.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct EmulateArgs {
    /// Scenario file (TOML); - reads from stdin.
    pub(crate) scenario: PathBuf,
    /// What to run, to its end; without it the network stays until Ctrl-C.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// Where to run it.
    #[arg(long = "in", value_name = "HOST", default_value = "client")]
    pub(crate) inside: Side,
    /// Shell command to run in the server beside it, from 0.3 s earlier; what does not end within
    /// 0.5 s of COMMAND is ended.
    #[arg(long, value_name = "LINE")]
    pub(crate) server: Option<String>,
    /// Set a field over what the file says; may be repeated.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of all randomness, instead of the scenario's first.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Bytes that links count for a packet beyond its IP packet: 14 counts Ethernet frames, 38 an
    /// Ethernet wire.
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) frame_overhead: u32,
    /// Write every packet that a host sends to this file, as pcapng for Wireshark.
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Do not measure the network first.
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Print what was measured and counted as JSON at the end.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CrossCheckArgs {
    /// Scenario files (TOML); - reads from stdin.
    #[arg(required_unless_present = "draws", value_name = "SCENARIO")]
    pub(crate) scenarios: Vec<PathBuf>,
    /// Set a field over what the files say; may be repeated.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// In place of files, so many draws of the population that this machine can carry in real time:
    /// each once in the emulated network, once more if outside of what the simulator makes of
    /// --runs seeds.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..=1_000),
        conflicts_with_all = ["scenarios", "set", "no_check"]
    )]
    pub(crate) draws: Option<u64>,
    /// With --draws: packets that a run may carry, about.
    #[arg(
        long,
        requires = "draws",
        default_value_t = 100_000,
        value_parser = clap::value_parser!(u64).range(1_000..=100_000_000)
    )]
    pub(crate) packets: u64,
    /// Runs in each world, each with the next seed; with --draws, in the simulator.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// The first seed, instead of the scenario's; with --draws, the population's, by default
    /// 1000001.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Do not measure the emulated networks first.
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Print one Markdown table of all scenarios.
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A host of a scenario.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Side {
    Client,
    Server,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReproduceArgs {
    /// Papers or experiments, such as S0 or S0-F4; all without.
    #[arg(value_name = "ID", conflicts_with = "from")]
    pub(crate) ids: Vec<String>,
    /// Fewer seeds and shorter runs: wider intervals.
    #[arg(long, conflicts_with = "from")]
    pub(crate) quick: bool,
    /// So many seeds per point, whatever the files say.
    #[arg(
        long,
        value_parser = clap::value_parser!(u32).range(1..=100_000),
        conflicts_with = "from"
    )]
    pub(crate) seeds: Option<u32>,
    /// Leave out the alternatives that are not judged in full.
    #[arg(long, conflicts_with = "from")]
    pub(crate) no_sensitivity: bool,
    /// Only read the files and say what is wrong with them.
    #[arg(long, conflicts_with_all = ["from", "plan"])]
    pub(crate) check: bool,
    /// Folder for results and report; runs found there are not made again.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub(crate) out: PathBuf,
    /// Write the pages of tables that the experiments declare into this folder, as Markdown.
    #[arg(long, value_name = "DIR")]
    pub(crate) tables: Option<PathBuf>,
    /// Folder of other experiment files than those that the program carries.
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    pub(crate) scenarios: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shards: PlanArgs,
    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PopulationArgs {
    /// How many networks.
    #[arg(
        long,
        default_value_t = 100,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000),
        conflicts_with = "from"
    )]
    pub(crate) draws: u64,
    /// Seed of the population; from 1000000 on for reports.
    #[arg(long, default_value_t = 1, conflicts_with = "from")]
    pub(crate) seed: u64,
    /// Other path schedulers to compare with, separated by commas, or all, or none.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "all",
        conflicts_with = "from"
    )]
    pub(crate) schedulers: Vec<String>,
    /// Packets that a run may carry, about; runs are made shorter to fit.
    #[arg(
        long,
        default_value_t = 400_000,
        value_parser = clap::value_parser!(u64).range(1_000..=100_000_000),
        conflicts_with = "from"
    )]
    pub(crate) packets: u64,
    /// Folder for the records of draws, the page, and the scenarios of the worst ten.
    #[arg(long, value_name = "DIR", default_value = "results/population")]
    pub(crate) out: PathBuf,
    /// Go on with the records that are there.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Draws at the same time; 0: one per core.
    #[arg(long, default_value_t = 0)]
    pub(crate) jobs: usize,
    #[command(flatten)]
    pub(crate) shards: PlanArgs,
    /// Write this one draw as a scenario file, run it, and print what came of it.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["draws", "resume", "jobs"])]
    pub(crate) draw: Option<u64>,
    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ListArgs {
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Subject {
    Scenario,
    Trace,
    Simulate,
    Demo,
    Emulate,
    Perf,
    Send,
    Receive,
    Forward,
    Serve,
    Ss,
    Control,
    ControlRequest,
    Doctor,
    Id,
    Reproduce,
    Sweep,
    Population,
    Plan,
    Worker,
    Verify,
    Watch,
    Why,
    Compare,
    CrossCheck,
    Policies,
    Metrics,
    Examples,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemaArgs {
    /// A command, for what its --json prints; scenario for scenario files, trace for the lines of
    /// --trace.
    #[arg(value_name = "OF", default_value = "scenario")]
    pub(crate) of: Subject,
    /// Accepted for uniformity: a schema is JSON anyway.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct InitArgs {
    /// Where to write it; an existing file is left alone.
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// Write the pages of all commands into this folder, which is made if it is not there.
    /// Without one, the page of `polypath` itself is printed.
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell.
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent_and_every_command_has_an_example() {
        let command = super::Args::command();
        command.clone().debug_assert();
        for command in command.get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let call = format!("polypath {}", command.get_name());
            assert!(help.contains(&call), "{}", command.get_name());
            let long = help.lines().find(|line| line.starts_with("  ") && line.len() > 80);
            assert_eq!(long, None, "does not fit 80 columns");
        }
    }

    /// A terminal of the usual size shows help without broken lines.
    #[test]
    fn help_fits_80_columns() {
        let mut command = super::Args::command().term_width(80);
        command.build();
        for command in command.get_subcommands_mut() {
            let help = command.render_long_help().to_string();
            let long: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(long.is_empty(), "{}: {long:#?}", command.get_name());
        }
    }
}
