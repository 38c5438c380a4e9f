//! `polypath demo`.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use bytes::Bytes;
use polypath_experiments::recording::with_recording;
use polypath_report::demo::format_demo;
use polypath_run::demo::Demo;

use crate::args::DemoArgs;
use crate::failure::Failure;
use crate::output;
use crate::talk::Talk;

/// More would only take longer.
const MAX_BYTES: u64 = 16 << 20;

pub(crate) fn demo(args: &DemoArgs, talk: Talk) -> Result<(), Failure> {
    let (name, content) = load_demo_file(args.file.as_deref())?;
    let files = args.files.open(args.json)?;
    let mut progress = talk.progress();
    let demo = with_recording(files, |recording| {
        Demo::run(&name, content, args.seed, recording, &mut |done| progress.report_fraction(done))
    })?;
    drop(progress);
    if args.json {
        output::print_json(&demo)?;
    } else {
        output::print_text(&format_demo(&demo))?;
    }
    if demo.is_identical() {
        Ok(())
    } else {
        Err(Failure::run_failed("what arrived is not what was sent"))
    }
}

/// The file's name, without its folder, and its content.
fn load_demo_file(file: Option<&Path>) -> Result<(String, Bytes), Failure> {
    let path = match file {
        Some(file) => file.to_owned(),
        None => std::env::current_exe()
            .map_err(|error| Failure::run_failed(format!("this program's own file: {error}")))?,
    };
    let (content, whole) = read_file_prefix(&path).map_err(|error| {
        Failure::bad_input(format!("{}: cannot be read: {error}", path.display()))
    })?;
    if content.is_empty() {
        return Err(Failure::bad_input(format!(
            "{}: empty (allowed: a file of at least 1 byte)",
            path.display()
        )));
    }
    Ok((format_file_name(&path, whole), content))
}

fn format_file_name(path: &Path, whole: bool) -> String {
    let own = path.file_name().map_or(path, Path::new);
    if whole { own.display().to_string() } else { format!("the start of {}", own.display()) }
}

/// The file's content, and whether that is all of it.
fn read_file_prefix(path: &Path) -> io::Result<(Bytes, bool)> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut content = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut content)?;
    let whole = size <= content.len() as u64;
    Ok((content.into(), whole))
}
