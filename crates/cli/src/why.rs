//! `polypath why`.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use polypath_experiments::output::Output;
use polypath_report::figure::{
    PictureFormat, Timeline, TimelineRow, draw_timeline, encode_picture,
};
use polypath_why::{Cause, Direction, Explanation, Trace, WhyError, describe, explain};

use crate::failure::{Failure, file_not_written};
use crate::output;

/// What stands below the options.
pub(crate) const WHY_HELP: &str = "\
Head-of-line blocking: each moment in which data waited at its receiver is
charged to a path and a cause; the sum is the whole. simulate writes one trace
with both ends; of real programs each end writes its own (perf, send, receive,
forward, serve).
Exit codes: 0 explained, 1 the picture was not written, 2 bad input.

Examples:
  polypath why run.jsonl
  polypath why client.jsonl server.jsonl -o waits.svg
  polypath why run.jsonl --flow bulk --json";

#[derive(Debug, ClapArgs)]
pub(crate) struct WhyArgs {
    /// Trace (JSON lines) of both ends, or of one.
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// Trace of the other end.
    #[arg(value_name = "TRACE2")]
    pub(crate) other: Option<PathBuf>,
    /// The association, where there are several, as TRACE names it.
    #[arg(long, value_name = "NAME")]
    pub(crate) flow: Option<String>,
    /// Draw it, too: time along x, a row for each path, a colour for each cause. The ending says
    /// the format: .svg, .png or .pdf.
    #[arg(short, long, value_name = "PICTURE")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn why(args: &WhyArgs) -> Result<(), Failure> {
    let format = args.out.as_deref().map(|path| {
        let refused = |why| Failure::bad_input(format!("--out {}: {why}", path.display()));
        PictureFormat::from_path(path).map(|format| (path, format)).map_err(refused)
    });
    let picture = format.transpose()?;
    let mut trace = Trace::default();
    for path in [Some(&args.trace), args.other.as_ref()].into_iter().flatten() {
        read_file(&mut trace, path)?;
    }
    let explanation = explain(&trace, args.flow.as_deref()).map_err(Failure::bad_input)?;
    if let Some((path, format)) = picture {
        draw(&explanation, path, format)?;
    }
    if args.json {
        return output::print_json(&explanation);
    }
    output::print_text(&describe(&explanation))
}

fn read_file(trace: &mut Trace, path: &Path) -> Result<(), Failure> {
    let file = path.display().to_string();
    let input = File::open(path);
    let input = input.map_err(|error| WhyError::Input { file: file.clone(), error });
    let read = input.and_then(|input| trace.read(&file, BufReader::new(input)));
    read.map_err(Failure::bad_input)
}

fn draw(explanation: &Explanation, path: &Path, format: PictureFormat) -> Result<(), Failure> {
    let svg = draw_timeline(&timeline_of(explanation)).map_err(Failure::run_failed)?;
    let bytes = encode_picture(svg, format).map_err(Failure::run_failed)?;
    let written = Output::create(path)
        .and_then(|mut out| out.write_all(&bytes).and_then(|()| out.keep_file()));
    written.map_err(|error| file_not_written(path, &error))
}

fn timeline_of(explanation: &Explanation) -> Timeline {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let begin = explanation.directions.iter().map(|one| one.over_ns.0).min().unwrap_or(0);
    let end = explanation.directions.iter().map(|one| one.over_ns.1).max().unwrap_or(1);
    // Later even where a nanosecond is too little to tell.
    let (begin, end) = (seconds(begin), seconds(end));
    let end = end.max(begin + 1e-9).max(begin.next_up());
    let rows = explanation
        .directions
        .iter()
        .flat_map(|direction| direction.paths.keys().map(|path| row_of(direction, *path)));
    Timeline {
        title: format!("What the data of {} waited for", explanation.flow),
        over: (begin, end),
        kinds: Cause::ALL.iter().map(|cause| cause.name().to_owned()).collect(),
        rows: rows.collect(),
    }
}

fn row_of(direction: &Direction, path: u8) -> TimelineRow {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let kind = |cause: Cause| Cause::ALL.iter().position(|one| *one == cause).unwrap_or(0);
    let own = direction.spans.iter().filter(|span| span.path == path);
    let spans = own.map(|span| (seconds(span.from_ns), seconds(span.until_ns), kind(span.cause)));
    let (from, to) = (&direction.from, &direction.to);
    let label = format!("{from} to {to}, {}", direction.path_name(path));
    TimelineRow { label, spans: spans.collect() }
}
