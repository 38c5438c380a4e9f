//! `polypath examples`, and examples by name in place of scenario files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use polypath_experiments::carried::Carried;
use polypath_experiments::output::Output;
use polypath_policies::did_you_mean;
use polypath_run::read_scenario;
use polypath_scenario::{Files as _, Source};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write as _;

use crate::failure::{Failure, file_not_written};
use crate::output;
use crate::talk::Talk;

#[derive(Debug, Args)]
pub(crate) struct ExamplesArgs {
    /// Print this one.
    pub(crate) name: Option<String>,
    /// Write all, with the files that they name, into this new folder.
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    pub(crate) write: Option<PathBuf>,
    /// Print JSON instead of a list.
    #[arg(long, conflicts_with_all = ["name", "write"])]
    pub(crate) json: bool,
}

/// An example, as `--json` lists it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Entry {
    /// What `simulate` takes in place of a file.
    name: String,
    /// Its title.
    title: String,
}

pub(crate) fn examples(args: &ExamplesArgs, talk: Talk) -> Result<(), Failure> {
    if let Some(folder) = &args.write {
        return write_all(folder, talk);
    }
    if let Some(name) = &args.name {
        let path = find_example(name).ok_or_else(|| unknown_example(name))?;
        return output::print_text(&Carried.text(&path).map_err(Failure::run_failed)?);
    }
    let entries: Vec<Entry> = Carried.list_examples().iter().map(|path| describe(path)).collect();
    if args.json {
        return output::print_json(&entries);
    }
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let line = |entry: &Entry| format!("{:width$}  {}\n", entry.name, entry.title);
    output::print_text(&entries.iter().map(line).collect::<String>())
}

/// The example that is called so, if no file of this name is there.
pub(crate) fn source_by_name(name: &Path) -> Option<Result<Source, Failure>> {
    let path = find_example(name.to_str()?).filter(|_| !name.exists())?;
    let text = Carried.text(&path).map_err(Failure::run_failed);
    let shown = path.display().to_string();
    Some(text.and_then(|text| Ok(Source::with_files(shown, text, Arc::new(Carried))?)))
}

/// What the program calls its examples, for messages.
pub(crate) fn unknown_example(name: &str) -> Failure {
    let known: Vec<String> = Carried.list_examples().iter().map(|path| name_of(path)).collect();
    let hint = did_you_mean(name, known.iter().map(String::as_str));
    Failure::bad_input(format!("no example {name:?}{hint} (allowed: {})", known.join(", ")))
}

fn find_example(name: &str) -> Option<PathBuf> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    Carried.list_examples().into_iter().find(|path| name_of(path) == name)
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn describe(path: &Path) -> Entry {
    let source = source_by_name(Path::new(&name_of(path)));
    let scenario = source.and_then(Result::ok).and_then(|source| read_scenario(&source).ok());
    let title = scenario.and_then(|scenario| scenario.title).unwrap_or_default();
    Entry { name: name_of(path), title }
}

/// Writes all examples and what they name into a new folder.
fn write_all(folder: &Path, talk: Talk) -> Result<(), Failure> {
    if folder.exists() {
        let folder = folder.display();
        return Err(Failure::bad_input(format!(
            "{folder}: exists already (allowed: a new folder)"
        )));
    }
    let mut count = 0;
    for (path, content) in Carried.files_of_examples() {
        let path = folder.join(path);
        let unwritten = |error: std::io::Error| file_not_written(&path, &error);
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(unwritten)?;
        let mut out = Output::create(&path).map_err(unwritten)?;
        out.write_all(content).and_then(|()| out.keep_file()).map_err(unwritten)?;
        count += 1;
    }
    talk.say(format_args!("{count} files written to {}", folder.display()));
    Ok(())
}
