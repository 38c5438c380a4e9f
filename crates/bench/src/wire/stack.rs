//! One measurement of one stack, between the namespaces `c` and `s` of `interop/netns.sh`.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::median::median;
use super::programs::Programs;

/// What is carried.
pub(crate) struct Case {
    pub(crate) paths: u8,
    /// Bytes of a message; `None`: a packet is filled.
    pub(crate) size: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stack {
    /// Without encryption, as all others are but the next.
    PlainPolypath,
    Polypath,
    Usrsctp,
    UsrsctpOptimised,
    Tcp,
    Mptcp,
}

/// The outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speed {
    /// Goodput, Mbit/s.
    pub(crate) mbit: f64,
    /// CPU seconds per GB.
    pub(crate) sender: f64,
    pub(crate) receiver: f64,
}

impl Speed {
    pub(crate) fn median(runs: &[Self]) -> Option<Self> {
        let of = |value: fn(&Self) -> f64| median(runs.iter().map(value).collect());
        let (mbit, sender, receiver) = (of(|s| s.mbit), of(|s| s.sender), of(|s| s.receiver));
        (!runs.is_empty()).then_some(Self { mbit, sender, receiver })
    }
}

impl Stack {
    pub(crate) const ALL: [Self; 6] = [
        Self::PlainPolypath,
        Self::Polypath,
        Self::Usrsctp,
        Self::UsrsctpOptimised,
        Self::Tcp,
        Self::Mptcp,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::PlainPolypath => "Polypath, not encrypted",
            Self::Polypath => "Polypath, encrypted",
            Self::Usrsctp => "usrsctp (Debian)",
            Self::UsrsctpOptimised => "usrsctp (optimised)",
            Self::Tcp => "kernel TCP",
            Self::Mptcp => "kernel MPTCP",
        }
    }

    /// Whether it can do that: a stream of bytes has no small messages, TCP one path.
    pub(crate) fn can_run(self, case: &Case, programs: &Programs) -> bool {
        match self {
            Self::PlainPolypath | Self::Polypath | Self::Usrsctp => true,
            Self::UsrsctpOptimised => programs.optimised.is_some(),
            Self::Tcp => case.paths == 1 && case.size.is_none(),
            Self::Mptcp => case.size.is_none(),
        }
    }

    pub(crate) fn measure(self, case: &Case, programs: &Programs, seconds: u32) -> Result<Speed> {
        match self {
            Self::PlainPolypath | Self::Polypath => run_polypath(self, case, programs, seconds),
            Self::Usrsctp => run_bench(self, case, &programs.bench, seconds),
            Self::UsrsctpOptimised => {
                let program = programs.optimised.as_deref().unwrap_or(&programs.bench);
                run_bench(self, case, program, seconds)
            }
            Self::Tcp => run_bench(self, case, &programs.bench, seconds),
            Self::Mptcp => {
                mptcp_paths(case.paths)?;
                run_bench(self, case, &programs.bench, seconds)
            }
        }
    }
}

/// `10.0.1.1,10.0.2.1,...` for end 1.
pub(crate) fn end_addresses(end: u8, paths: u8) -> String {
    let all: Vec<_> = (1..=paths).map(|path| format!("10.0.{path}.{end}")).collect();
    all.join(",")
}

/// A command in a namespace, which ends in time.
fn command_in_namespace(namespace: &str, program: &Path, seconds: u32) -> Command {
    let mut command = Command::new("ip");
    let patience = (seconds + 30).to_string();
    command.args(["netns", "exec", namespace, "timeout", &patience]).arg(program);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

fn run_polypath(stack: Stack, case: &Case, programs: &Programs, seconds: u32) -> Result<Speed> {
    let program = &programs.polypath;
    let plain = stack == Stack::PlainPolypath;
    let (here, there) = (end_addresses(1, case.paths), end_addresses(2, case.paths));
    let mut server = command_in_namespace("s", program, seconds);
    server.args(["perf", "-s", "--one-off", "-J", "--listen", &there]).stderr(Stdio::null());
    server.env("POLYPATH_HOME", &programs.home);
    if plain {
        server.arg("--insecure");
    }
    let server = spawn_listening(server)?;
    let mut client = command_in_namespace("c", program, seconds);
    let time = seconds.to_string();
    client.args(["perf", "-c", &there, "--local", &here, "-O", "1", "-t", &time, "-J"]);
    client.env("POLYPATH_HOME", &programs.home);
    if plain {
        client.arg("--insecure");
    } else {
        client.args(["--peer", &programs.peer]);
    }
    if let Some(size) = case.size {
        client.args(["-l", &size.to_string()]);
    }
    client.stderr(Stdio::null());
    let report = read_json(spawn_listening(client)?)?;
    read_json(server)?;
    let sum = report.pointer("/sums/0").context("polypath perf: no result")?;
    Ok(Speed {
        mbit: read_number(sum, "goodput_mbit")?,
        sender: read_number(sum, "sender_cpu_per_gb")?,
        receiver: read_number(sum, "receiver_cpu_per_gb")?,
    })
}

fn run_bench(stack: Stack, case: &Case, program: &Path, seconds: u32) -> Result<Speed> {
    let (here, there) = (end_addresses(1, case.paths), end_addresses(2, case.paths));
    let protocol = match stack {
        Stack::Tcp => "tcp",
        Stack::Mptcp => "mptcp",
        _ => "sctp",
    };
    let mut more = vec!["--time".to_owned(), seconds.to_string()];
    let mut option = |name: &str, value: &str| more.extend([name.to_owned(), value.to_owned()]);
    match (protocol, case.size) {
        ("sctp", Some(size)) => {
            option("--size", &size.to_string());
            // Where it is fastest.
            option("--buffer", "131072");
        }
        ("sctp", None) => {}
        _ => option("--size", "131072"),
    }
    if protocol == "sctp" && case.paths > 1 {
        option("--cmt", "1");
    }
    let mut sink = command_in_namespace("s", program, seconds);
    // Further paths of MPTCP go to the same port of other addresses.
    let listen = if protocol == "mptcp" { "0.0.0.0" } else { &there };
    sink.args([protocol, "sink", "--local", listen]).args(&more).stderr(Stdio::null());
    let sink = spawn_listening(sink)?;
    let mut source = command_in_namespace("c", program, seconds);
    source.args([protocol, "source", "--local", &here, "--remote", &there]).args(&more);
    source.stderr(Stdio::null());
    let source = read_json(spawn_listening(source)?)?;
    let sink = read_json(sink)?;
    Ok(Speed {
        mbit: read_number(&sink, "goodput_mbit")?,
        sender: read_number(&source, "cpu_per_gb")?,
        receiver: read_number(&sink, "cpu_per_gb")?,
    })
}

/// Tells both kernels which addresses make further paths.
fn mptcp_paths(paths: u8) -> Result<()> {
    for namespace in ["c", "s"] {
        let ip = |more: &[&str]| -> Result<()> {
            let status = Command::new("ip").args(["-n", namespace, "mptcp"]).args(more).status()?;
            if status.success() { Ok(()) } else { bail!("ip mptcp {}: {status}", more.join(" ")) }
        };
        ip(&["limits", "set", "subflow", "8", "add_addr_accepted", "8"])?;
        ip(&["endpoint", "flush"])?;
        // The server tells its further addresses; the client's routes make each a path of its own.
        for path in (2..=paths).filter(|_| namespace == "s") {
            ip(&[
                "endpoint",
                "add",
                &format!("10.0.{path}.2"),
                "dev",
                &format!("s{path}"),
                "signal",
            ])?;
        }
    }
    Ok(())
}

/// Starts a process, and gives it time to listen.
pub(crate) fn spawn_listening(mut command: Command) -> Result<Child> {
    let child = command.spawn().with_context(|| format!("{:?}", command.get_program()))?;
    #[expect(clippy::disallowed_methods, reason = "real programs need real time")]
    std::thread::sleep(Duration::from_millis(300));
    Ok(child)
}

/// The JSON that a process prints until its end.
pub(crate) fn read_json(mut child: Child) -> Result<Value> {
    let mut text = String::new();
    if let Some(out) = &mut child.stdout {
        out.read_to_string(&mut text)?;
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("it ended with {status}: {}", text.chars().take(200).collect::<String>());
    }
    serde_json::from_str(&text).context("its output is not JSON")
}

pub(crate) fn read_number(value: &Value, name: &str) -> Result<f64> {
    value.get(name).and_then(Value::as_f64).with_context(|| format!("no {name} in the result"))
}
