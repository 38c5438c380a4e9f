//! Captures: dumpcap takes them on the client's interfaces, tshark reads them.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use polypath_emu::Namespace;

use super::facts::{FIELDS, Facts};

/// tshark with all dissectors off but those of the layers that are ours: payload is random, and
/// would be taken for this and that.
#[derive(Debug)]
pub(super) struct Tshark {
    settings: PathBuf,
}

const OURS: [&str; 8] = ["frame", "eth", "ethertype", "ip", "ipv6", "udp", "sctp", "data"];

/// Checksums are not verified unless one asks for it; and a value that tshark does not know, it
/// ignores.
const VERIFY: [&str; 3] =
    ["sctp.checksum:CRC 32c", "udp.check_checksum:TRUE", "ip.check_checksum:TRUE"];

impl Tshark {
    /// `None` when it or dumpcap is not installed.
    pub(super) fn find_program(folder: &Path) -> Result<Option<Self>> {
        let installed = |program| Command::new(program).arg("--version").output().is_ok();
        if !installed("tshark") || !installed("dumpcap") {
            return Ok(None);
        }
        let settings = folder.join("tshark");
        std::fs::create_dir_all(&settings)?;
        let output = Command::new("tshark").args(["-G", "protocols"]).output()?;
        let known = String::from_utf8_lossy(&output.stdout);
        // Long name, short name, filter name.
        let names = known.lines().filter_map(|line| line.split('\t').nth(2));
        let others: BTreeSet<_> = names.filter(|name| !OURS.contains(name)).collect();
        let list: String = others.into_iter().map(|name| format!("{name}\n")).collect();
        std::fs::write(settings.join("disabled_protos"), list)?;
        Ok(Some(Self { settings }))
    }

    pub(super) fn read_capture(&self, file: &Path) -> Result<Facts> {
        let mut tshark = Command::new("tshark");
        tshark.env("WIRESHARK_CONFIG_DIR", &self.settings).arg("-n").arg("-r").arg(file);
        tshark.args(["-Y", "sctp", "-T", "fields"]);
        VERIFY.iter().for_each(|preference| {
            tshark.args(["-o", preference]);
        });
        FIELDS.iter().for_each(|field| {
            tshark.args(["-e", field]);
        });
        let output = tshark.output().context("tshark")?;
        if !output.status.success() {
            bail!("tshark: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(Facts::from_tshark(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// A capture that is being taken.
#[derive(Debug)]
pub(super) struct Dumpcap {
    child: Child,
    pub(super) file: PathBuf,
}

impl Dumpcap {
    /// Waits until packets are captured.
    pub(super) fn start_capture(
        namespace: &Namespace,
        interfaces: &[String],
        file: PathBuf,
    ) -> Result<Self> {
        let mut dumpcap = Command::new("dumpcap");
        for interface in interfaces {
            dumpcap.args(["-i", interface, "-B", "16"]);
        }
        dumpcap.arg("-q").arg("-w").arg(&file);
        dumpcap.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = namespace.spawn(&mut dumpcap).context("dumpcap")?;
        let stderr = child.stderr.take().context("dumpcap")?;
        let mut lines = BufReader::new(stderr).lines();
        // It names the file once the interfaces are open.
        let ready = lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("File:"));
        std::thread::spawn(move || lines.for_each(drop));
        if !ready {
            child.wait()?;
            bail!("dumpcap cannot capture on {}", interfaces.join(", "));
        }
        Ok(Self { child, file })
    }

    /// Ends the capture, with all packets so far in the file.
    pub(super) fn stop_capture(mut self) -> Result<PathBuf> {
        // What just arrived is still in the kernel's buffer.
        std::thread::sleep(std::time::Duration::from_millis(150));
        let pid = i32::try_from(self.child.id()).map(Pid::from_raw)?;
        kill(pid, Signal::SIGINT)?;
        self.child.wait()?;
        Ok(self.file)
    }
}
