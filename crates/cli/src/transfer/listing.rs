//! `polypath send --dry-run`: what would be sent. Nobody is asked what is there already.

use polypath_apps::transfer::{Sources, What};
use serde::Serialize;

use super::LOCAL;
use super::outcome::{format_count, format_file_count, format_size};
use crate::failure::Failure;
use crate::output;
use crate::talk::Talk;

/// All that would be sent, and what would not.
#[derive(Debug, Default, Serialize)]
struct Listing {
    role: &'static str,
    dry_run: bool,
    files: u64,
    bytes: u64,
    hole_bytes: u64,
    folders: u64,
    links: u64,
    left_out: u64,
    excluded: u64,
    failed: u64,
    entries: Vec<Line>,
    #[serde(skip)]
    first_failure: Option<String>,
}

#[derive(Debug, Serialize)]
struct Line {
    kind: &'static str,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

/// Prints the list and the totals; ends with an error if something cannot be read.
pub(super) fn list_sources(sources: &Sources, json: bool, talk: Talk) -> Result<(), Failure> {
    let mut listing = Listing { role: "send", dry_run: true, ..Listing::default() };
    for entry in sources.entries() {
        listing.add_entry(entry.name, entry.what, talk);
    }
    if json {
        output::json_line(&listing)?;
    } else {
        output::print_text(&listing.describe())?;
    }
    match listing.first_failure {
        None => Ok(()),
        Some(first) => {
            let count = format_file_count(listing.failed);
            Err(Failure::with_code(LOCAL, format!("{count} cannot be read, the first is {first}")))
        }
    }
}

impl Listing {
    fn add_entry(&mut self, name: String, what: What, talk: Talk) {
        let (kind, bytes, target) = match what {
            What::File { bytes, data } => {
                self.files += 1;
                self.bytes += bytes;
                self.hole_bytes += bytes - data;
                ("file", Some(bytes), None)
            }
            What::Folder => {
                self.folders += 1;
                ("folder", None, None)
            }
            What::Link(target) => {
                self.links += 1;
                ("link", None, Some(target))
            }
            What::LeftOut(why) => {
                talk.say(format_args!("{name}: left out: {why}"));
                self.left_out += 1;
                return;
            }
            What::Excluded => {
                self.excluded += 1;
                return;
            }
            What::Trouble(why) => {
                self.failed += 1;
                self.first_failure.get_or_insert(format!("{name}: {why}"));
                return;
            }
        };
        self.entries.push(Line { kind, name, bytes, target });
    }

    fn describe(&self) -> String {
        let mut text: String = self.entries.iter().map(Line::describe).collect();
        text += &format!(
            "would send {}, {}; {}, {}",
            format_file_count(self.files),
            format_size(self.bytes),
            format_count(self.folders, "folder", "folders"),
            format_count(self.links, "link", "links"),
        );
        if self.hole_bytes > 0 {
            text += &format!("; {} of holes", format_size(self.hole_bytes));
        }
        for (count, what) in
            [(self.left_out, "left out"), (self.excluded, "excluded"), (self.failed, "unreadable")]
        {
            if count > 0 {
                text += &format!("; {count} {what}");
            }
        }
        text + "\n"
    }
}

impl Line {
    fn describe(&self) -> String {
        let Self { kind, name, bytes, target } = self;
        let first = bytes.map_or_else(|| (*kind).to_owned(), format_size);
        let target = target.as_ref().map_or_else(String::new, |target| format!(" -> {target}"));
        format!("{first:>9}  {name}{target}\n")
    }
}
