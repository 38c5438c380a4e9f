//! `polypath ss`: how things are, once.

use core::fmt::Write as _;

use clap::Args;
use polypath_apps::shown::escape_text;
use polypath_control::message::{AssociationStatus, PathStatus, Status, StreamStatus, Use};
use schemars::JsonSchema;
use serde::Serialize;

use super::figures::{bytes, percent, time};
use super::find::ProcessArgs;
use crate::failure::Failure;
use crate::output;
use crate::talk::Talk;

#[derive(Debug, Args)]
pub(crate) struct SsArgs {
    #[command(flatten)]
    process: ProcessArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What `ss --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Overview {
    /// What each process said.
    pub(crate) processes: Vec<Status>,
}

pub(crate) fn ss(args: &SsArgs, talk: Talk) -> Result<(), Failure> {
    let mut processes = Vec::new();
    let mut last: Option<Failure> = None;
    for (_, status) in args.process.look()? {
        match status {
            Ok(status) => processes.push(status),
            // The last one is told at the end.
            Err(failure) => {
                if let Some(earlier) = last.replace(failure) {
                    talk.say(earlier.message());
                }
            }
        }
    }
    if args.json {
        output::print_json(&Overview { processes })?;
        return last.map_or(Ok(()), Err);
    }
    match (processes.is_empty(), last) {
        (true, None) => Err(args.process.nobody()),
        (_, last) => {
            output::print_text(&format_processes(&processes))?;
            last.map_or(Ok(()), Err)
        }
    }
}

fn format_processes(processes: &[Status]) -> String {
    let mut out = String::new();
    for status in processes {
        let process = &status.process;
        let count = status.associations.len().saturating_add(status.more);
        let word = if count == 1 { "association" } else { "associations" };
        let command = escape_text(&process.command);
        let _ = writeln!(out, "{command} (process {}): {count} {word}", process.pid);
        status
            .associations
            .iter()
            .for_each(|association| format_association(&mut out, association));
    }
    out
}

fn format_association(out: &mut String, of: &AssociationStatus) {
    let lock = if of.encrypted { "encrypted" } else { "not encrypted" };
    let (sent, delivered) = (bytes(of.totals.sent_bytes), bytes(of.totals.delivered_bytes));
    let _ = writeln!(
        out,
        "  {} with {}: {}, {lock}, sent {sent}, received {delivered}, limited by: {}",
        of.association,
        of.peer,
        escape_text(&of.state),
        escape_text(&of.limited_by),
    );
    for path in of.paths.iter().flatten() {
        format_path(out, path);
    }
    for stream in of.streams.iter().flatten().take(3) {
        let path = stream.path.as_ref().map_or(String::new(), |path| format!(" on {path}"));
        let (waits, unsent) = (time(stream.waits), unsent(stream));
        let line = format!(
            "    stream {} waits for {}{path} for {waits}{unsent}",
            stream.stream, stream.on
        );
        let _ = writeln!(out, "{}", escape_text(&line));
    }
}

/// What of a stream was not sent yet.
pub(super) fn unsent(stream: &StreamStatus) -> String {
    match stream.unsent_for {
        Some(seconds) => format!(", {} unsent for {}", bytes(stream.unsent), time(seconds)),
        None => String::new(),
    }
}

fn format_path(out: &mut String, path: &PathStatus) {
    let rtt = match (path.rtt, path.min_rtt) {
        (Some(rtt), Some(least)) => format!("RTT {} (least {})", time(rtt), time(least)),
        _ => "RTT not measured".to_owned(),
    };
    let loss = path.lost_chunks as f64 / (path.sent_chunks.max(1)) as f64;
    let usage = match path.admin {
        Use::On => String::new(),
        usage => format!(", {}", usage.word()),
    };
    let line = format!(
        "    {} ({} to {}): {}{usage}, sent {}, received {}, {rtt}, loss {}, window {}, \
         in flight {}: {}",
        path.name,
        path.local.ip(),
        path.remote.ip(),
        path.state,
        bytes(path.sent_bytes),
        bytes(path.received_bytes),
        percent(loss),
        bytes(path.cwnd),
        bytes(path.in_flight),
        path.limited_by,
    );
    let _ = writeln!(out, "{}", escape_text(&line));
}
