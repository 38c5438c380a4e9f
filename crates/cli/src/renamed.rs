//! Commands that had another name. The old words work for one release, and say what to write
//! instead.

use std::ffi::OsStr;

/// Old word, new word.
const RENAMED: [(&str, &str); 2] = [("worlds", "cross-check"), ("new", "init")];

/// Tells on stderr if `command` is an old word.
pub(crate) fn hint_at_new_word(command: Option<&OsStr>) {
    if let Some((old, new)) = RENAMED.iter().find(|(old, _)| command == Some(OsStr::new(old))) {
        eprintln!("hint: `polypath {old}` is called `polypath {new}` now; the old word will go");
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn old_words_still_lead_to_the_commands() {
        let commands = crate::args::Args::command();
        for (old, new) in super::RENAMED {
            let found = commands.find_subcommand(old).map(clap::Command::get_name);
            assert_eq!(found, Some(new));
        }
    }
}
