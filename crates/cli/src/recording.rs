//! Where captures and traces go: into files, or to stdout for `-`.

use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use polypath_experiments::output::Output;
use polypath_experiments::recording::{RecordingFile, RecordingFiles};
use polypath_net::{Capture, Config, Trace};

use crate::control::{ControlArgs, OwnControl};
use crate::failure::{Failure, file_not_written};
use crate::talk::Talk;

const STDOUT: &str = "-";

#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// Write every packet to this file, as pcapng for Wireshark; - is stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Write every trace event (windows, RTTs, retransmissions, ...) to this file, as JSON lines; -
    /// is stdout.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

impl FileArgs {
    /// Opens both; results as JSON and a recording do not share stdout.
    pub(crate) fn open(&self, json: bool) -> Result<RecordingFiles, Failure> {
        let files = [("--pcap", &self.pcap), ("--trace", &self.trace)];
        let to_stdout = files.iter().filter(|(_, path)| is_stdout(path.as_deref()));
        let mut names: Vec<&str> = to_stdout.map(|(name, _)| *name).collect();
        names.extend(json.then_some("--json"));
        if let [first, second, ..] = names[..]
            && first != "--json"
        {
            let text = format!("{first} -: {second} goes to stdout, too (allowed: one of them)");
            return Err(Failure::bad_input(text));
        }
        Ok(RecordingFiles {
            pcap: self.pcap.as_deref().map(open_file).transpose()?,
            trace: self.trace.as_deref().map(open_file).transpose()?,
        })
    }
}

/// Whether real associations are captured.
#[derive(Debug, Args)]
pub(crate) struct CaptureArgs {
    /// Write every packet to this file, as pcapng for Wireshark, as it was before it was encrypted;
    /// of packets that belong to no association, at most 1000 per second.
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Likewise, but with the bytes on the wire.
    #[arg(long, value_name = "FILE", conflicts_with = "pcap")]
    pub(crate) pcap_wire: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) control: ControlArgs,
    /// Write what happens in associations (chunks sent and received, windows, RTTs, ...) to this
    /// file, as JSON lines, for `polypath why` and `polypath plot`.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

impl CaptureArgs {
    /// Begins what there is to be of it, and opens the control socket of this process. `host` is
    /// this end's name in a trace, `command` what the process is called; `code` is what the command
    /// ends with if that fails.
    pub(crate) fn open(
        &self,
        code: u8,
        (host, command): (&str, &str),
        talk: Talk,
    ) -> Result<LiveCapture, Failure> {
        let pcap = self.pcap.as_deref().or(self.pcap_wire.as_deref());
        if is_stdout(pcap) && is_stdout(self.trace.as_deref()) {
            let text = "--trace -: --pcap goes to stdout, too (allowed: one of them)";
            return Err(Failure::bad_input(text));
        }
        let capture = match (&self.pcap, &self.pcap_wire) {
            (Some(path), _) => Some(begin_capture("--pcap", path, code, Capture::new)?),
            (_, Some(path)) => Some(begin_capture("--pcap-wire", path, code, Capture::of_wire)?),
            (None, None) => None,
        };
        let begin = |path: &PathBuf| {
            begin_capture("--trace", path, code, |out| Ok::<_, Infallible>(Trace::new(out, host)))
        };
        let trace = self.trace.as_ref().map(begin).transpose()?;
        let control = self.control.open(code, command, talk)?;
        Ok(LiveCapture { capture, trace, control, code })
    }
}

fn begin_capture<C, E: core::fmt::Display>(
    flag: &str,
    path: &Path,
    code: u8,
    begin: impl FnOnce(BufWriter<File>) -> Result<C, E>,
) -> Result<C, Failure> {
    let failed = |error: &dyn core::fmt::Display| {
        Failure::with_code(code, format!("{flag} {}: cannot be written: {error}", path.display()))
    };
    let file = open_live(path).map_err(|error| failed(&error))?;
    begin(BufWriter::new(file)).map_err(|error| failed(&error))
}

/// A capture and a trace under way, or none.
pub(crate) struct LiveCapture {
    capture: Option<Capture>,
    trace: Option<Trace>,
    control: OwnControl,
    /// Exit code if one fails.
    code: u8,
}

impl LiveCapture {
    /// An endpoint that writes to them, and is seen by who asks at the control socket.
    pub(crate) fn watch(&self, endpoint: Config) -> Config {
        let observer = self.control.observer.clone();
        endpoint.capture(self.capture.clone()).trace(self.trace.clone()).observer(observer)
    }

    /// The control socket of this process, if it has one.
    pub(crate) fn socket(&self) -> Option<&Path> {
        self.control.path()
    }

    /// Ends them.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let code = self.code;
        let failed = |flag, error| Failure::with_code(code, format!("{flag}: {error}"));
        let captured = self.capture.map_or(Ok(()), |capture| capture.finish());
        let traced = self.trace.map_or(Ok(()), |trace| trace.finish());
        captured.map_err(|error| failed("--pcap", error.to_string()))?;
        traced.map_err(|error| failed("--trace", error.to_string()))
    }
}

fn open_file(path: &Path) -> Result<RecordingFile, Failure> {
    let out = open_output(path).map_err(|error| file_not_written(path, &error))?;
    Ok(RecordingFile { path: path.to_owned(), out })
}

/// A file, or stdout for `-`; what is printed goes to stderr then.
pub(crate) fn open_output(path: &Path) -> io::Result<Output> {
    if !is_stdout(Some(path)) {
        return Output::create(path);
    }
    take_stdout().map(Output::to_open_file)
}

/// Likewise, but a file has its name from the beginning: what is captured live may be cut off. A
/// new one is for its owner alone: it holds what nobody else could read on the way.
fn open_live(path: &Path) -> io::Result<File> {
    if is_stdout(Some(path)) {
        return take_stdout();
    }
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

fn take_stdout() -> io::Result<File> {
    if io::IsTerminal::is_terminal(&io::stdout()) {
        return Err(io::Error::other("a terminal shows no packets (allowed: a pipe or a file)"));
    }
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    nix::unistd::dup2_stdout(io::stderr())?;
    Ok(File::from(stdout))
}

fn is_stdout(path: Option<&Path>) -> bool {
    path.map(Path::to_owned) == Some(PathBuf::from(STDOUT))
}
