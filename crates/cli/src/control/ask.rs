//! `polypath control`: one request to one process, and its answer.

use clap::{Args, Subcommand};
use polypath_apps::shown::escape_text;
use polypath_control::Client;
use polypath_control::message::{Answer, EventLine, Line, Sections, Use};

use super::ask_failure;
use super::figures::clock;
use super::find::ProcessArgs;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct ControlCommandArgs {
    #[command(subcommand)]
    request: Ask,
    /// Print JSON, a line each: what the process answers. Figures are printed so anyway.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Ask {
    /// Print all that is known of its associations, as JSON.
    Status(LookArgs),
    /// Print their paths, as JSON.
    Paths(LookArgs),
    /// Print the streams that wait longest, as JSON.
    Streams(LookArgs),
    /// Print what has limited them and for how long, as JSON.
    Limits(LookArgs),
    /// Print what happens from now on, a line each, until it ends or Ctrl-C.
    Events(EventArgs),
    /// Say what a path may be used for: data sent from here, in the associations that there are.
    Set(SetArgs),
}

#[derive(Debug, Args)]
struct LookArgs {
    #[command(flatten)]
    process: ProcessArgs,
    /// Of this association alone.
    #[arg(long, value_name = "N")]
    association: Option<u64>,
}

#[derive(Debug, Args)]
struct EventArgs {
    #[command(flatten)]
    process: ProcessArgs,
}

#[derive(Debug, Args)]
struct SetArgs {
    /// A path: its device, its address here, or its number.
    #[arg(value_name = "PATH")]
    path: String,
    /// What it may be used for.
    #[arg(value_name = "on|backup|off", value_parser = parse_use)]
    to: Use,
    #[command(flatten)]
    process: ProcessArgs,
    /// In this association alone.
    #[arg(long, value_name = "N")]
    association: Option<u64>,
}

pub(crate) fn control(args: &ControlCommandArgs) -> Result<(), Failure> {
    let json = args.json;
    match &args.request {
        Ask::Status(args) => print(args, Sections::Status),
        Ask::Paths(args) => print(args, Sections::Paths),
        Ask::Streams(args) => print(args, Sections::Streams),
        Ask::Limits(args) => print(args, Sections::Limits),
        Ask::Events(args) => print_events(args, json),
        Ask::Set(args) => set(args, json),
    }
}

fn client(process: &ProcessArgs) -> Result<Client, Failure> {
    Client::connect(&process.socket()?).map_err(ask_failure)
}

fn print(args: &LookArgs, sections: Sections) -> Result<(), Failure> {
    let status = client(&args.process)?.look(sections, args.association).map_err(ask_failure)?;
    output::json_line(&Line::from(Answer::Status(Box::new(status))))
}

fn print_events(args: &EventArgs, json: bool) -> Result<(), Failure> {
    let mut events = client(&args.process)?.events().map_err(ask_failure)?;
    while let Some(event) = events.next_event().map_err(ask_failure)? {
        let line = match json {
            true => serde_json::to_string(&Line::from(Answer::Event(event))),
            false => Ok(format_event(&event)),
        };
        let line = line.map_err(Failure::run_failed)?;
        if !output::print_to_reader(&(line + "\n"))? {
            return Ok(());
        }
    }
    Ok(())
}

/// An event as a line.
fn format_event(event: &EventLine) -> String {
    format!("{} [{}] {}", clock(event.time), event.association, describe_event(event))
}

/// What an event tells, fit to be shown.
pub(super) fn describe_event(event: &EventLine) -> String {
    let why = event.why.as_ref().map_or(String::new(), |why| format!(": {why}"));
    let missed = match event.missed {
        0 => String::new(),
        missed => format!(" ({missed} before it were missed)"),
    };
    escape_text(&format!("{}{why}{missed}", event.text))
}

fn parse_use(text: &str) -> Result<Use, String> {
    let all = [Use::On, Use::Backup, Use::Off];
    let found = all.into_iter().find(|usage| usage.word() == text);
    found.ok_or_else(|| "unknown use (allowed: on, backup, off)".to_owned())
}

fn set(args: &SetArgs, json: bool) -> Result<(), Failure> {
    let mut client = client(&args.process)?;
    let done = client.set_path(&args.path, args.to, args.association).map_err(ask_failure)?;
    if json {
        return output::json_line(&Line::from(Answer::Done(done)));
    }
    let paths = if done == 1 { "path" } else { "paths" };
    output::print_text(&format!("{done} {paths}\n"))
}
