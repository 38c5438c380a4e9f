//! One conversation: two processes, the network between them, a capture, and the verdict.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use polypath_emu::{Emulation, Namespace};
use serde_json::Value;

use super::capture::Dumpcap;
use super::case::{Case, Network};
use super::facts::Facts;
use super::outcome::Cell;
use super::proof::Results;
use super::tools::Tools;
use crate::peer::Role;

/// After so many seconds a process gives up by itself.
const LIMIT: &str = "40";

/// A case with our end in one of the two roles.
pub(super) struct Conversation<'a> {
    case: &'static Case,
    ours: Role,
    tools: &'a Tools,
}

impl<'a> Conversation<'a> {
    pub(super) const fn new(case: &'static Case, ours: Role, tools: &'a Tools) -> Self {
        Self { case, ours, tools }
    }

    /// Holds it and judges.
    pub(super) fn hold_and_judge(&self) -> Cell {
        let held = self.run_both().and_then(|(results, capture)| {
            self.keep_results(&results)?;
            // Whoever finds the failure in a log has nothing but this line.
            self.judge_results(&results)
                .map_err(|why| anyhow!("{why:#} ({})", results.tell_all()))?;
            let Some(capture) = capture else { return Ok(Facts::default()) };
            let facts = self.read_capture(&capture)?;
            self.judge_capture(&facts)?;
            Ok(facts)
        });
        match held {
            Ok(facts) => Cell::Passed(Box::new(facts)),
            Err(error) => Cell::Failed(format!("{error:#}")),
        }
    }

    fn run_both(&self) -> Result<(Results, Option<PathBuf>)> {
        let emulation = Emulation::build(self.case.network.network_spec())?;
        let capture = self.start_capture(&emulation)?;
        emulation.start()?;
        let server = self.start_peer(emulation.server(), Role::Server, self.case.server)?;
        server.wait_until_listening()?;
        let client = self.start_peer(emulation.client(), Role::Client, self.case.client)?;
        if let Some(after) = self.case.network.cut {
            std::thread::sleep(Duration::from_millis(after));
            emulation.cut_path(&Network::path_name(0))?;
        }
        let mut client = client.await_result();
        if let (Ok(_), Some(again)) = (&client, self.case.again) {
            client = self.start_peer(emulation.client(), Role::Client, again)?.await_result();
        }
        let server = server.await_result();
        let capture = capture.map(Dumpcap::stop_capture).transpose()?;
        let (client, server) = match (client, server) {
            (Ok(client), Ok(server)) => (client, server),
            (client, server) => bail!("{}; {}", describe_end(client), describe_end(server)),
        };
        let said = [client.1, server.1].concat();
        Ok((Results { client: client.0, server: server.0, said }, capture))
    }

    fn start_capture(&self, emulation: &Emulation) -> Result<Option<Dumpcap>> {
        if self.tools.tshark.is_none() {
            return Ok(None);
        }
        let file = format!("{}.pcapng", self.file_name());
        let folder = self.tools.keep.as_deref().unwrap_or(self.tools.folder.path());
        let interfaces: Vec<_> =
            (0..self.case.network.paths.into()).map(Network::path_name).collect();
        Dumpcap::start_capture(emulation.client(), &interfaces, folder.join(file)).map(Some)
    }

    fn file_name(&self) -> String {
        let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = self.case.name.chars().map(word).collect();
        format!("{name}-our-{}", self.ours.name())
    }

    fn start_peer(&self, namespace: &Namespace, role: Role, options: &str) -> Result<Running> {
        let ours = role == self.ours;
        let mut command = Command::new(if ours { &self.tools.own } else { &self.tools.peer });
        if ours {
            command.arg("peer");
        }
        command.arg(role.name()).args(["--timeout", LIMIT]);
        command.args(["--local", &self.addresses(role)]);
        if role == Role::Client {
            command.args(["--remote", &self.addresses(Role::Server)]);
        }
        command.args(self.case.both.split_whitespace()).args(options.split_whitespace());
        let special = if ours { self.case.ours } else { self.case.theirs };
        command.args(special.split_whitespace());
        let who = if ours { "our" } else { "usrsctp's" };
        Running::start_process(namespace, command, format!("{who} {}", role.name()))
    }

    fn addresses(&self, role: Role) -> String {
        let addresses = self.case.network.addresses(role);
        addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    fn keep_results(&self, results: &Results) -> Result<()> {
        let Some(keep) = &self.tools.keep else { return Ok(()) };
        let text = format!("{}\n{}\n", results.client, results.server);
        std::fs::write(keep.join(self.file_name() + ".json"), text)?;
        Ok(())
    }

    fn judge_results(&self, results: &Results) -> Result<()> {
        for (role, closed) in
            [(Role::Client, self.case.closed.0), (Role::Server, self.case.closed.1)]
        {
            let (result, name) = (results.result_of(role), role.name());
            if result["verified"] != true {
                bail!(
                    "the {name} received {} messages, sent {}; {} faults, first: {}",
                    result["received"],
                    result["sent"],
                    result["faults"],
                    result["first_fault"]
                );
            }
            if result["closed"] != closed {
                bail!("for the {name} it ended with {}, not {closed:?}", result["closed"]);
            }
            if result["bad_checksums"] != 0 {
                bail!(
                    "the {name} received {} packets with a bad checksum",
                    result["bad_checksums"]
                );
            }
        }
        let shown = self.case.proofs.iter().filter_map(|proof| proof.by_results(results));
        shown.collect::<Result<(), String>>().map_err(|why| anyhow!(why))
    }

    fn read_capture(&self, capture: &PathBuf) -> Result<Facts> {
        let tshark = self.tools.tshark.as_ref().context("tshark")?;
        let facts = tshark.read_capture(capture)?;
        if self.tools.keep.is_none() {
            std::fs::remove_file(capture)?;
        }
        Ok(facts)
    }

    fn judge_capture(&self, facts: &Facts) -> Result<()> {
        if facts.packets == 0 {
            bail!("nothing was captured");
        }
        if let Some(first) = facts.bad.first() {
            bail!("{} bad packets, first: {first}", facts.bad.len());
        }
        let shown = self.case.proofs.iter().filter_map(|proof| proof.by_capture(facts));
        shown.collect::<Result<(), String>>().map_err(|why| anyhow!(why))
    }
}

/// How a process ended, whichever way.
fn describe_end(result: Result<(Value, String)>) -> String {
    match result {
        Ok((result, said)) => format!("{result} {}", said.trim()),
        Err(error) => format!("{error:#}"),
    }
}

/// A process that holds its end.
struct Running {
    name: String,
    child: Child,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
    listening: std::sync::mpsc::Receiver<()>,
}

impl Running {
    fn start_process(namespace: &Namespace, mut command: Command, name: String) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = namespace.spawn(&mut command).with_context(|| name.clone())?;
        let mut out = child.stdout.take().context("stdout")?;
        let err = BufReader::new(child.stderr.take().context("stderr")?);
        let (told, listening) = std::sync::mpsc::channel();
        let stdout = std::thread::spawn(move || {
            let mut text = String::new();
            // What cannot be read shows as a result that is missing.
            let _ = out.read_to_string(&mut text);
            text
        });
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            for line in err.lines().map_while(Result::ok) {
                if line == "listening" {
                    // Whoever waited has given up: no matter.
                    let _ = told.send(());
                } else {
                    text += &line;
                    text.push('\n');
                }
            }
            text
        });
        Ok(Self { name, child, stdout, stderr, listening })
    }

    fn wait_until_listening(&self) -> Result<()> {
        let told = self.listening.recv_timeout(Duration::from_secs(10));
        told.map_err(|_| anyhow!("{} does not listen", self.name))
    }

    /// Its result, and what it said beside.
    fn await_result(mut self) -> Result<(Value, String)> {
        let status = self.child.wait()?;
        let text = |thread: JoinHandle<String>| thread.join().unwrap_or_default();
        let (out, err) = (text(self.stdout), text(self.stderr));
        let result = out.lines().last().and_then(|line| serde_json::from_str(line).ok());
        match (status.code(), result) {
            (Some(0 | 1), Some(result)) => Ok((result, err)),
            _ => bail!("{} ended with {status}: {}{}", self.name, err.trim(), out.trim()),
        }
    }
}
