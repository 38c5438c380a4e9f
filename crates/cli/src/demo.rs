//! `polypath demo`.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use bytes::Bytes;
use polypath_experiments::recording::{RecordingFiles, record};
use polypath_report::demo::text;
use polypath_run::demo::Demo;

use crate::args::DemoArgs;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

/// More would only take longer.
const MAX_BYTES: u64 = 16 << 20;

pub(crate) fn demo(args: &DemoArgs) -> Result<(), Failure> {
    let (name, content) = load(args.file.as_deref())?;
    let files = RecordingFiles { pcap: args.files.pcap.clone(), trace: args.files.trace.clone() };
    let mut progress = Progress::new();
    let demo = record(&files, |recording| {
        Demo::run(&name, content, args.seed, recording, &mut |done| progress.report(done))
    })?;
    drop(progress);
    if args.json {
        output::json(&demo)?;
    } else {
        output::text(&text(&demo))?;
    }
    if demo.identical() { Ok(()) } else { Err(Failure::run("what arrived is not what was sent")) }
}

/// The file's name, without its folder, and its content.
fn load(file: Option<&Path>) -> Result<(String, Bytes), Failure> {
    let path = match file {
        Some(file) => file.to_owned(),
        None => std::env::current_exe()
            .map_err(|error| Failure::run(format!("this program's own file: {error}")))?,
    };
    let (content, whole) = read(&path)
        .map_err(|error| Failure::input(format!("{}: cannot be read: {error}", path.display())))?;
    if content.is_empty() {
        return Err(Failure::input(format!(
            "{}: empty (allowed: a file of at least 1 byte)",
            path.display()
        )));
    }
    Ok((name(&path, whole), content))
}

fn name(path: &Path, whole: bool) -> String {
    let own = path.file_name().map_or(path, Path::new);
    if whole { own.display().to_string() } else { format!("the start of {}", own.display()) }
}

/// The file's content, and whether that is all of it.
fn read(path: &Path) -> io::Result<(Bytes, bool)> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut content = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut content)?;
    let whole = size <= content.len() as u64;
    Ok((content.into(), whole))
}
