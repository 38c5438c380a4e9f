//! Fingerprints of behaviour: hashes of what runs produce, kept in files. A change that is meant to
//! leave packets and results as they are is right when no file has to change.
//!
//! A part is one file of `crates/experiments/fingerprints`, one line for each run: its name and its
//! hash. The variable `POLYPATH_RENEW` names the parts, separated by commas, that a test writes
//! anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher13;

/// The variable that names the parts to renew.
const RENEW: &str = "POLYPATH_RENEW";

/// What runs produced: their names, each with its hash and whatever else a reader wants to see.
pub type Lines = BTreeMap<String, String>;

/// Hashes values one after the other. The same on every machine and with every compiler.
#[derive(Clone, Debug)]
pub struct Digest(SipHasher13);

impl Digest {
    /// Of nothing yet.
    #[expect(clippy::new_without_default, reason = "an empty digest is no useful default")]
    pub fn new() -> Self {
        Self(SipHasher13::new())
    }

    /// Adds bytes and where they end.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.add_number(bytes.len() as u64);
        self.0.write(bytes);
    }

    /// Adds a number.
    pub fn add_number(&mut self, number: u64) {
        self.0.write(&number.to_le_bytes());
    }

    /// The hash of everything so far, as it stands in files.
    pub fn to_hex(&self) -> String {
        format!("{:016x}", self.0.finish())
    }
}

/// Compares all runs of a part with its file.
///
/// # Panics
/// When they differ: names the lines, and the command that renews the part.
pub fn compare_part(part: &str, found: &Lines) {
    let differing = list_differences(&read_kept(part), found);
    settle_part(part, found.clone(), &differing);
}

/// Compares some runs of a part with its file; the other lines of the file stay as they are.
///
/// # Panics
/// As [`compare_part`].
pub fn compare_some(part: &str, found: &Lines) {
    let mut all = read_kept(part);
    let concerned = all.iter().filter(|(name, _)| found.contains_key(*name));
    let concerned = concerned.map(|(name, line)| (name.clone(), line.clone())).collect();
    let differing = list_differences(&concerned, found);
    all.extend(found.clone());
    settle_part(part, all, &differing);
}

/// Writes a part anew where that is wanted; otherwise nothing may differ.
fn settle_part(part: &str, renewed: Lines, differing: &[String]) {
    if is_renewed(part) {
        let text: String = renewed.iter().map(|(name, line)| format!("{name} {line}\n")).collect();
        std::fs::write(part_file(part), text).expect("the file of a part can be written");
        return;
    }
    assert!(
        differing.is_empty(),
        "{} lines of crates/experiments/fingerprints/{part}.txt differ:\n{}\n\
         If that is meant: {RENEW}={part} cargo test --test fingerprint",
        differing.len(),
        differing.join("\n"),
    );
}

fn is_renewed(part: &str) -> bool {
    std::env::var(RENEW).is_ok_and(|parts| parts.split(',').any(|one| one == part))
}

fn part_file(part: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/fingerprints");
    folder.join(format!("{part}.txt"))
}

/// The lines of a part's file; none when there is no file yet.
fn read_kept(part: &str) -> Lines {
    let text = std::fs::read_to_string(part_file(part)).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(name, line)| (name.to_owned(), line.to_owned())).collect()
}

fn list_differences(kept: &Lines, found: &Lines) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, line) in found {
        match kept.get(name) {
            Some(was) if was == line => {}
            Some(was) => lines.push(format!("  {name}: {was} is now {line}")),
            None => lines.push(format!("  {name}: new, {line}")),
        }
    }
    let gone = kept.keys().filter(|name| !found.contains_key(*name));
    lines.extend(gone.map(|name| format!("  {name}: gone")));
    lines
}

/// A name for a run that has no blanks in it.
pub fn name_run(words: &[&str]) -> String {
    let mut name = String::new();
    for word in words {
        let separator = if name.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(name, "{separator}{}", word.replace(' ', "-"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(of: &[(&str, &str)]) -> Lines {
        of.iter().map(|(name, line)| ((*name).to_owned(), (*line).to_owned())).collect()
    }

    #[test]
    fn what_changed_came_or_went_is_named() {
        let kept = lines(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let found = lines(&[("a", "1"), ("b", "4"), ("d", "5")]);
        let expected = ["  b: 2 is now 4", "  d: new, 5", "  c: gone"];
        assert_eq!(list_differences(&kept, &found), expected);
        assert!(list_differences(&kept, &kept).is_empty());
    }

    #[test]
    fn a_digest_knows_where_values_end_and_never_changes() {
        let digest = |parts: &[&[u8]]| {
            let mut digest = Digest::new();
            parts.iter().for_each(|part| digest.add_bytes(part));
            digest.to_hex()
        };
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
        assert_eq!(digest(&[]), "d1fba762150c532c");
    }
}
