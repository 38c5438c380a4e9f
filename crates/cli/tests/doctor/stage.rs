//! A server and a doctor, each with a folder of its own, in namespaces.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use polypath_emu::Namespace;
use polypath_emu::for_tests::{or_skip, skip};
use serde_json::Value;

/// Folders of both ends, with their keys.
pub(super) struct Stage {
    folder: tempfile::TempDir,
    pub(super) key: String,
}

/// A process that is ended with the test.
pub(super) struct Running(Child);

/// What a doctor found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) code: i32,
    pub(super) json: Value,
    pub(super) talk: String,
}

impl Stage {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut stage = Self { folder, key: String::new() };
        stage.key = stage.id("server");
        std::fs::write(stage.path("clients"), stage.id("client")).unwrap();
        stage
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, end: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("polypath"));
        command.env("POLYPATH_HOME", self.path(end)).current_dir(self.folder.path());
        command
    }

    pub(super) fn id(&self, end: &str) -> String {
        let output = self.command(end).args(["id", "-q"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// `polypath serve` there, once it serves.
    pub(super) fn serve(&self, at: &Namespace, listen: &str, more: &[&str]) -> Running {
        let words = ["serve", "--listen", listen, "--allow", "clients"];
        self.start(at, &[&words, more].concat(), "serving at ")
    }

    /// Any server, once it says a line that begins so.
    pub(super) fn start(&self, at: &Namespace, words: &[&str], ready: &str) -> Running {
        let mut command = self.command("server");
        command.args(words).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = at.spawn(&mut command).unwrap();
        let mut talk = BufReader::new(child.stderr.take().unwrap());
        let running = Running(child);
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert!(talk.read_line(&mut line).unwrap() > 0, "it ended: {said}");
            said += &line;
            if line.starts_with(ready) {
                // What it says later must not block it.
                let sink = move || drop(std::io::copy(&mut talk, &mut std::io::sink()));
                std::thread::Builder::new().spawn(sink).unwrap();
                return running;
            }
        }
    }

    /// Of what a doctor prints.
    fn schema(&self) -> &'static jsonschema::Validator {
        static SCHEMA: OnceLock<jsonschema::Validator> = OnceLock::new();
        SCHEMA.get_or_init(|| {
            let output = self.command("client").args(["schema", "doctor"]).output().unwrap();
            let schema = serde_json::from_slice(&output.stdout).unwrap();
            jsonschema::draft202012::new(&schema).unwrap()
        })
    }

    /// A doctor who knows the server's key.
    pub(super) fn doctor(&self, at: &Namespace, to: &str, more: &[&str]) -> Found {
        let peer = ["--peer", &self.key];
        self.stranger(at, to, &[&peer[..], more].concat())
    }

    /// A doctor who is interrupted once it says a line with this: the exit code.
    pub(super) fn interrupt_doctor(&self, at: &Namespace, to: &str, line: &str) -> Option<i32> {
        let mut command = self.command("client");
        command.args(["doctor", "--to", to, "--peer", &self.key, "--long=60s"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = at.spawn(&mut command).unwrap();
        let mut talk = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(talk.any(|said| said.unwrap().contains(line)), "it ended");
        let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        child.wait().unwrap().code()
    }

    /// One who does not.
    pub(super) fn stranger(&self, at: &Namespace, to: &str, more: &[&str]) -> Found {
        let mut command = self.command("client");
        command.args(["doctor", "--json", "--to", to]).args(more);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = at.spawn(&mut command).unwrap().wait_with_output().unwrap();
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        assert!(json.is_null() || self.schema().is_valid(&json), "{json:#}");
        Found { code: output.status.code().unwrap_or(-1), json, talk }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

impl Found {
    /// The findings about a subject with such a mark.
    pub(super) fn findings(&self, about: &str, mark: &str) -> Vec<&Value> {
        let all = self.json["findings"].as_array().unwrap_or_else(|| panic!("{self:?}"));
        all.iter().filter(|one| one["about"] == about && one["mark"] == mark).collect()
    }

    /// The only such finding, which has a remedy if it is bad: what it says, and the remedy.
    pub(super) fn only(&self, about: &str, mark: &str) -> (String, String) {
        let found = self.findings(about, mark);
        let [one] = found[..] else { panic!("{about} {mark}: {self:#?}") };
        let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
        (text("what"), text("remedy"))
    }

    /// The path of this number.
    pub(super) fn path(&self, number: usize) -> &Value {
        &self.json["paths"][number]
    }
}

/// A host whose server and doctor talk over its loopback device, where `faults` are made by nft.
/// `None`: it is skipped.
pub(super) fn host(faults: &str) -> Option<Namespace> {
    let host = or_skip(Namespace::new())?;
    or_skip(host.run_ip_commands("link set lo mtu 1500 up\n"))?;
    run_nft(&host, faults).then_some(host)
}

/// Runs `nft` in a namespace; false: it is not there, and the test is skipped.
pub(super) fn run_nft(host: &Namespace, script: &str) -> bool {
    if script.is_empty() {
        return true;
    }
    let mut nft = Command::new("nft");
    nft.args(["-f", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match host.spawn(&mut nft) {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            skip(&"nft is not there (package nftables)");
            return false;
        }
        Err(error) => panic!("{error}"),
    };
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}
