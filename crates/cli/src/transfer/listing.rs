//! `polypath send --dry-run`: what would be sent. Nobody is asked what is there already.

use polypath_apps::transfer::{Sources, What};
use schemars::JsonSchema;
use serde::Serialize;

use super::LOCAL;
use super::outcome::{format_count, format_file_count, format_size};
use crate::failure::Failure;
use crate::output;
use crate::talk::Talk;

/// All that would be sent, and what would not.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Listing {
    /// Always `send`.
    #[schemars(extend("const" = "send"))]
    role: &'static str,
    /// Always true.
    #[schemars(extend("const" = true))]
    dry_run: bool,
    /// Files.
    files: u64,
    /// Their bytes, with holes.
    bytes: u64,
    /// Bytes of holes, which would not travel.
    hole_bytes: u64,
    /// Folders.
    folders: u64,
    /// Symbolic links.
    links: u64,
    /// Neither files nor folders, and left out.
    left_out: u64,
    /// Left out by --exclude.
    excluded: u64,
    /// What cannot be read.
    failed: u64,
    /// What would be sent.
    entries: Vec<Line>,
    #[serde(skip)]
    first_failure: Option<String>,
}

/// A file, a folder or a link.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Line {
    /// `file`, `folder` or `link`.
    kind: &'static str,
    /// Its name.
    name: String,
    /// Bytes of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// Where a link leads.
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
