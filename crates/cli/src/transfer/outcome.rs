//! What became of a transfer: a line for people, JSON for programs, an exit code for scripts.

use std::time::Duration;

use polypath_apps::keys::Fingerprint;
use polypath_apps::paths;
use polypath_apps::perf::LimitShare;
use polypath_apps::shown;
use polypath_apps::transfer::{Cause, Report, TransferError, Verdict};
use polypath_net::{Closed, PathInfo};
use schemars::JsonSchema;
use serde::Serialize;

use super::{LOCAL, REFUSED};
use crate::failure::Failure;
use crate::output;
use crate::reach::UNREACHABLE;

/// Which end this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// It sends.
    Send,
    /// It receives.
    Receive,
}

/// A transfer that is over, one way or another.
pub(super) struct Outcome {
    pub(super) role: Role,
    /// Who the other end proved to be.
    pub(super) peer: Option<Fingerprint>,
    pub(super) result: Result<Report, TransferError>,
    /// Bytes that travelled, whatever the result.
    pub(super) travelled: u64,
    pub(super) time: Duration,
    pub(super) paths: Vec<PathInfo>,
    /// What kept this end from sending more, the longest first.
    pub(super) limits: Vec<LimitShare>,
}

/// What `--json` prints of a transfer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Json<'a> {
    /// Which end this is.
    role: Role,
    /// The key that the other end proved to have, as `polypath id` prints it there; `None`: it
    /// proved nothing.
    peer: Option<String>,
    /// Whether all went well.
    ok: bool,
    /// Why it ended early, if it did.
    error: Option<String>,
    /// Files that are now under their names.
    stored: u64,
    /// Files that were there already.
    already_there: u64,
    /// Folders.
    folders: u64,
    /// Symbolic links.
    links: u64,
    /// Neither files nor folders, and left out.
    left_out: u64,
    /// Left out by --exclude.
    excluded: u64,
    /// Files and folders that failed.
    failed: u64,
    /// Why; the first 100 of them.
    failures: Vec<JsonFailure<'a>>,
    /// Bytes of the transferred files, with what had come in an earlier attempt.
    bytes: u64,
    /// Bytes that travelled this time.
    travelled_bytes: u64,
    /// Bytes of holes, which did not travel.
    hole_bytes: u64,
    /// How long it took, s.
    seconds: f64,
    /// Bytes that travelled in bit/s.
    bits_per_second: f64,
    /// What each path did.
    paths: Vec<JsonPath<'a>>,
    /// What kept this end from sending more, the longest first.
    limits: &'a [LimitShare],
}

/// A file or folder that failed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JsonFailure<'a> {
    /// Its name.
    name: &'a str,
    /// Why.
    text: &'a str,
}

/// A path of a transfer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct JsonPath<'a> {
    /// This end's address.
    local: String,
    /// The other end's address.
    remote: String,
    /// Payload bytes that it carried.
    payload_bytes: u64,
    /// Its share of the payload, 0 to 1.
    share: f64,
    /// Smoothed round-trip time, s; `None`: never measured.
    srtt_seconds: Option<f64>,
    /// Chunks retransmitted on it.
    retransmissions: u64,
    /// Expiries of its retransmission timer.
    timeouts: u64,
    /// The network device at this end, if the address was given with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'a str>,
    /// Why it carries nothing, or what is wrong with it, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Outcome {
    /// Payload that a path carried.
    pub(super) fn carried_payload(role: Role, path: &PathInfo) -> u64 {
        match role {
            Role::Send => path.stats.payload_bytes,
            Role::Receive => path.stats.payload_received,
        }
    }

    fn path_shares(&self) -> Vec<f64> {
        let carried: Vec<_> =
            self.paths.iter().map(|p| Self::carried_payload(self.role, p)).collect();
        let all = carried.iter().sum::<u64>().max(1) as f64;
        carried.iter().map(|bytes| *bytes as f64 / all).collect()
    }

    /// What is wrong with paths, or why they carried nothing, a line each.
    fn describe_paths(&self) -> String {
        let notes = paths::explain_paths(&self.paths, self.role == Role::Send);
        notes.iter().map(|line| format!("{line}\n")).collect()
    }

    fn mean_rate(&self) -> f64 {
        self.travelled as f64 * 8.0 / self.time.as_secs_f64().max(1e-6)
    }

    /// Prints the result.
    pub(super) fn print_result(&self, json: bool) -> Result<(), Failure> {
        if json {
            let line = serde_json::to_string(&self.json_result()).map_err(Failure::run_failed)?;
            return output::print_text(&format!("{line}\n"));
        }
        eprint!("{}", self.describe_paths());
        match &self.result {
            Ok(report) => output::print_text(&self.describe_result(report)),
            Err(_) => Ok(()),
        }
    }

    fn json_result(&self) -> Json<'_> {
        let report = self.result.as_ref().ok();
        let count = |of: fn(&Report) -> u64| report.map_or(0, of);
        let failures = report.map_or(&[][..], |report| &report.failures);
        let failures =
            failures.iter().map(|f| JsonFailure { name: &f.name, text: &f.text }).collect();
        let paths = self.paths.iter().zip(self.path_shares()).map(|(path, share)| JsonPath {
            local: path.stats.local.to_string(),
            remote: path.stats.remote.to_string(),
            payload_bytes: Self::carried_payload(self.role, path),
            share,
            srtt_seconds: path.stats.srtt.map(|srtt| srtt.as_secs_f64()),
            retransmissions: path.stats.retransmissions_fast + path.stats.retransmissions_timeout,
            timeouts: path.stats.timeouts,
            device: path.device.as_deref(),
            note: paths::explain_path(path, &self.paths, self.role == Role::Send),
        });
        Json {
            role: self.role,
            peer: self.peer.map(|peer| peer.to_string()),
            ok: self.failure().is_none(),
            error: self.result.as_ref().err().map(ToString::to_string),
            stored: count(|r| r.stored),
            already_there: count(|r| r.already_there),
            folders: count(|r| r.folders),
            links: count(|r| r.links),
            left_out: count(|r| r.left_out),
            excluded: count(|r| r.excluded),
            failed: count(|r| r.failed),
            failures,
            bytes: count(|r| r.bytes),
            travelled_bytes: self.travelled,
            hole_bytes: count(|r| r.holes),
            seconds: self.time.as_secs_f64(),
            bits_per_second: self.mean_rate(),
            paths: paths.collect(),
            limits: &self.limits,
        }
    }

    fn describe_result(&self, report: &Report) -> String {
        let verb = if self.role == Role::Send { "sent" } else { "received" };
        let mut line = format!(
            "{verb} {}, {} in {:.2} s, {:.1} Mbit/s",
            format_file_count(report.stored),
            format_size(self.travelled),
            self.time.as_secs_f64(),
            self.mean_rate() / 1e6,
        );
        for (count, one, many) in
            [(report.folders, "folder", "folders"), (report.links, "link", "links")]
        {
            if count > 0 {
                line += &format!("; {}", format_count(count, one, many));
            }
        }
        if report.holes > 0 {
            line += &format!("; {} of holes", format_size(report.holes));
        }
        let kept = report.bytes.saturating_sub(self.travelled.saturating_add(report.holes));
        if kept > 0 && report.failed == 0 {
            line += &format!("; {} were there from an earlier attempt", format_size(kept));
        }
        if report.already_there > 0 {
            line += &format!("; {} already there", report.already_there);
        }
        if report.left_out > 0 {
            line += &format!("; {} left out", report.left_out);
        }
        if report.excluded > 0 {
            line += &format!("; {} excluded", report.excluded);
        }
        if self.travelled > 0 {
            let share = |(path, share): (&PathInfo, f64)| {
                let (local, remote) = (path.stats.local.ip(), path.stats.remote.ip());
                format!("{local} - {remote} {:.0} %", share * 100.0)
            };
            let shares: Vec<_> = self.paths.iter().zip(self.path_shares()).map(share).collect();
            line += &format!("; {}", shares.join(", "));
        }
        if self.role == Role::Send && self.travelled > 0 && !self.limits.is_empty() {
            line += &format!("; limited by: {}", LimitShare::describe_shares(&self.limits));
        }
        line + "\n"
    }

    /// What the command fails with, if it does.
    pub(super) fn failure(&self) -> Option<Failure> {
        let report = match &self.result {
            Ok(report) => report,
            Err(error) => return Some(self.early_end(error)),
        };
        let first = report.failures.first()?;
        let codes = report.failures.iter().map(|failure| self.exit_code(failure.cause));
        // Of several, what is worst.
        let code = codes.min_by_key(|code| [1, LOCAL, REFUSED].iter().position(|c| c == code));
        let text = match report.failed {
            1 => format!("not transferred: {first}"),
            count => format!("{} not transferred, the first is {first}", format_file_count(count)),
        };
        Some(Failure::with_code(code.unwrap_or(1), text))
    }

    fn early_end(&self, error: &TransferError) -> Failure {
        let again = match self.role {
            Role::Send => "send again to go on",
            Role::Receive => "what came is kept for the next attempt",
        };
        match error {
            TransferError::Closed(
                Closed::Unreachable | Closed::ShutdownTimeout | Closed::PeerGone,
            )
            | TransferError::Silent(_)
            | TransferError::Mute(_) => {
                Failure::with_code(UNREACHABLE, format!("{error}; {again}"))
            }
            TransferError::Closed(Closed::PeerAbort { reason, .. }) => self.broken_off(reason),
            TransferError::EndedEarly => self.broken_off(b""),
            TransferError::Folder { .. } => Failure::with_code(LOCAL, error),
            _ => Failure::run_failed(error),
        }
    }

    /// The peer ended it, with these words.
    fn broken_off(&self, words: &[u8]) -> Failure {
        let (peer, again) = match self.role {
            Role::Send => ("receiver", "send again to go on"),
            Role::Receive => ("sender", "what came is kept for the next attempt"),
        };
        let words = match words {
            [] => String::new(),
            words => format!(": \"{}\"", shown::escape_remark(&String::from_utf8_lossy(words))),
        };
        Failure::run_failed(format!("the {peer} broke the transfer off{words}; {again}"))
    }

    /// Whether files were on their way: not everybody who connects has some.
    pub(super) fn was_a_transfer(&self) -> bool {
        self.travelled > 0 || self.result.as_ref().is_ok_and(|report| *report != Report::default())
    }

    /// Why it ended early, in words.
    pub(super) fn describe_end(&self) -> String {
        self.result.as_ref().err().map(ToString::to_string).unwrap_or_default()
    }

    /// Whether it was broken in a way that another attempt may mend.
    pub(super) fn may_go_on(&self) -> bool {
        use TransferError::{Closed as Ended, EndedEarly, Mute, Silent};
        matches!(self.result, Err(Ended(_) | EndedEarly | Mute(_) | Silent(_)))
    }

    fn exit_code(&self, cause: Cause) -> u8 {
        match (cause, self.role) {
            (Cause::Receiver(Verdict::Damaged), _) | (Cause::Source, Role::Receive) => 1,
            (Cause::Source, Role::Send) => LOCAL,
            (Cause::Receiver(Verdict::NoSpace | Verdict::Trouble), Role::Receive) => LOCAL,
            (Cause::Receiver(_), _) => REFUSED,
        }
    }
}

pub(super) fn format_file_count(count: u64) -> String {
    format_count(count, "file", "files")
}

pub(super) fn format_count(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// Bytes with a fitting unit.
pub(super) fn format_size(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
