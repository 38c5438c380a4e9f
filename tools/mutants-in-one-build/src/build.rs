//! Writes all mutants into the copy, and leaves out those that do not compile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::constants::Constants;
use crate::list::{Genre, Mutant};
use crate::place::Places;
use crate::splice::splice;

/// All crates: functions of others call those of the core, and may be `const` too.
const CRATES: &str = "crates";

/// The crate whose mutants these are.
const CRATE: &str = "crates/proto/src";

/// The module that the copy's crate gets.
const MODULE: &str = include_str!("module.rs.txt");

/// Where the numbers of mutants are noted which found no place or did not compile.
pub fn left_out(copy: &Path, what: &str) -> Result<BTreeSet<usize>> {
    let path = copy.join(format!("mutants-{what}.txt"));
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(|number| Ok(number.parse()?)).collect()
}

fn note(copy: &Path, what: &str, numbers: &BTreeSet<usize>) -> Result<()> {
    let lines: Vec<String> = numbers.iter().map(usize::to_string).collect();
    Ok(fs::write(copy.join(format!("mutants-{what}.txt")), lines.join("\n"))?)
}

/// See the crate's documentation.
pub fn build(checkout: &Path, copy: &Path, mutants: &[Mutant]) -> Result<()> {
    let mut broken = left_out(copy, "broken")?;
    let values = mutants.iter().filter(|mutant| mutant.genre == Genre::FnValue);
    let values: BTreeSet<usize> = values.map(|mutant| mutant.number).collect();
    loop {
        let placed = place(checkout, copy, mutants, &broken)?;
        note(copy, "unplaced", &placed.unplaced)?;
        let found = errors(copy, &placed.mutants, &values)?;
        eprintln!("{} mutants do not compile, {} more", broken.len(), found.len());
        if found.is_empty() {
            return Ok(());
        }
        broken.extend(found);
        note(copy, "broken", &broken)?;
    }
}

/// Where each mutant's text is, by file.
type Positions = BTreeMap<String, Vec<(usize, Range<usize>)>>;

#[derive(Default)]
struct Placed {
    mutants: Positions,
    unplaced: BTreeSet<usize>,
}

fn place(
    checkout: &Path,
    copy: &Path,
    mutants: &[Mutant],
    broken: &BTreeSet<usize>,
) -> Result<Placed> {
    let constants = constants(checkout)?;
    let mut placed = Placed::default();
    for path in sources(&checkout.join(CRATES))? {
        let name = path.strip_prefix(checkout)?.to_str().context("a name that is no text")?;
        let stay_const = constants.names(name);
        let text = fs::read_to_string(&path)?;
        let places = Places::of(&parse(&path)?, &|name| stay_const.contains(name));
        let is_in_it = |mutant: &&Mutant| mutant.file == name && !broken.contains(&mutant.number);
        let own: Vec<&Mutant> = mutants.iter().filter(is_in_it).collect();
        let mut spliced = splice(&text, &places, &own);
        if name == format!("{CRATE}/lib.rs") {
            spliced.text.push_str("\n#[doc(hidden)]\npub mod mutants;\n");
        }
        write(&copy.join(name), &spliced.text)?;
        placed.mutants.insert(name.to_owned(), spliced.mutants);
        placed.unplaced.extend(spliced.unplaced);
    }
    write(&copy.join(CRATE).join("mutants.rs"), MODULE)?;
    Ok(placed)
}

/// Writes a file unless it is so already: cargo looks at the time.
fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn constants(checkout: &Path) -> Result<Constants> {
    let mut constants = Constants::default();
    for path in sources(&checkout.join(CRATES))? {
        let name = path.strip_prefix(checkout)?.to_str().context("a name that is no text")?;
        constants.add(name, &parse(&path)?);
    }
    Ok(constants)
}

fn parse(path: &Path) -> Result<syn::File> {
    let text = fs::read_to_string(path)?;
    syn::parse_file(&text).with_context(|| format!("cannot parse {}", path.display()))
}

/// All Rust files below a directory, in order.
fn sources(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The mutants that the compiler complains of.
fn errors(copy: &Path, placed: &Positions, values: &BTreeSet<usize>) -> Result<BTreeSet<usize>> {
    let output = Command::new("cargo")
        .args(["check", "-p", "polypath-proto", "--lib", "--tests", "--message-format=json"])
        .current_dir(copy)
        .stderr(Stdio::null())
        .output()?;
    let mut found = BTreeSet::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let message = &serde_json::from_str::<Value>(line)?["message"];
        let spans = message["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
        if message["level"] != "error" || spans.is_empty() {
            continue;
        }
        let (main, others): (Vec<&Value>, _) =
            spans.iter().partition(|span| span["is_primary"] == true);
        // Else the last value of a function whose type does not fit any more.
        let mut around = pointed_at(&spans.iter().collect::<Vec<_>>(), placed, &encloses);
        around.retain(|number| values.contains(number));
        let around = around.last().copied().into_iter().collect();
        let all = [blamed(&main, placed), blamed(&others, placed), around];
        let Some(blamed) = all.into_iter().find(|blamed| !blamed.is_empty()) else {
            bail!("no mutant is to blame for {}", message["rendered"]);
        };
        found.extend(blamed);
    }
    if found.is_empty() && !output.status.success() {
        bail!("the copy does not compile, and cargo does not say why");
    }
    Ok(found)
}

/// The mutants whose text a message points at.
fn blamed(spans: &[&Value], placed: &Positions) -> BTreeSet<usize> {
    // The span may be that of the parentheses around it.
    let is_in = |span: &Range<usize>, mutant: &Range<usize>| {
        span.start + 1 >= mutant.start && span.end <= mutant.end + 1
    };
    pointed_at(spans, placed, &is_in)
}

fn encloses(span: &Range<usize>, mutant: &Range<usize>) -> bool {
    span.start <= mutant.start && mutant.end <= span.end
}

/// The mutants whose text has the given relation to a span of a message.
fn pointed_at(
    spans: &[&Value],
    placed: &Positions,
    fits: &dyn Fn(&Range<usize>, &Range<usize>) -> bool,
) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for span in spans {
        let at = |key: &str| span[key].as_u64().unwrap_or(0) as usize;
        let range = at("byte_start")..at("byte_end");
        let file = placed.get(span["file_name"].as_str().unwrap_or(""));
        let fitting = file.into_iter().flatten().filter(|(_, text)| fits(&range, text));
        found.extend(fitting.map(|(number, _)| *number));
    }
    found
}
