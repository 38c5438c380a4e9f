//! What a page of results says of its making, at its end, where a test reads it.
//!
//! ```text
//! <!-- made by a command: an edit by hand breaks the seal
//! results: paper 1a2b3c4d, ns2 5e6f7a8b
//! contents: 0123456789abcdef
//! -->
//! ```
//!
//! `results` has the fingerprints of the profiles that were run: the page is current as long as
//! they are today's, whatever else changed in the sources. The results of `fast` change with each
//! improvement; such a page says of which commit it is, and stays true of that.

use core::fmt::Write as _;

use polypath_experiments::fingerprint::profile_fingerprint;
use polypath_experiments::store::{Key, stack_version};
use polypath_policies::profile::Profile;

const OPENING: &str = "\n<!-- made by a command: an edit by hand breaks the seal\n";
const CLOSING: &str = "-->\n";

/// Why a page is not what a command made, or not what it would make today.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// There is no seal, or not a whole one.
    #[error("there is no seal at its end")]
    Missing,
    /// Somebody edited the page.
    #[error("its contents are not those that its command wrote (seal {sealed}, found {found})")]
    Edited {
        /// As the seal has it.
        sealed: String,
        /// Of the page as it is.
        found: String,
    },
    /// The stack's results are others today.
    #[error("it is of older results ({page}; today's are {today}): run its command again")]
    Stale {
        /// As the page has it.
        page: String,
        /// Of this program.
        today: String,
    },
}

/// A page with its seal. `profiles` were run; `commit` is that of the sources, for profiles whose
/// results change.
pub fn seal_page(body: &str, profiles: &[Profile], commit: Option<&str>) -> String {
    let mut page = format!("{body}{OPENING}");
    let kept = profiles.iter().filter(|profile| profile.is_reproduction());
    let kept: Vec<String> = kept.map(|profile| describe_results(*profile)).collect();
    if !kept.is_empty() {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "results: {}", kept.join(", "));
    }
    if profiles.iter().any(|profile| !profile.is_reproduction()) {
        let commit = commit.unwrap_or("unknown");
        let _ = writeln!(page, "commit: {commit}, sources {}", stack_version());
    }
    let hash = hash_contents(&page);
    let _ = write!(page, "contents: {hash}\n{CLOSING}");
    page
}

/// Whether a page is as its command wrote it, and would write it today.
///
/// # Errors
/// What is wrong with it.
pub fn check_seal(page: &str) -> Result<(), SealError> {
    let whole = page.strip_suffix(CLOSING).ok_or(SealError::Missing)?;
    let (sealed, contents) = whole.rsplit_once("contents: ").ok_or(SealError::Missing)?;
    let (_, lines) = sealed.rsplit_once(OPENING).ok_or(SealError::Missing)?;
    let (contents, found) = (contents.trim_end(), hash_contents(sealed));
    if contents != found {
        return Err(SealError::Edited { sealed: contents.to_owned(), found });
    }
    let results = lines.lines().filter_map(|line| line.strip_prefix("results: "));
    for result in results.flat_map(|line| line.split(", ")) {
        let name = result.split(' ').next().unwrap_or_default();
        let today = name.parse().map_or_else(|_| "none".to_owned(), describe_results);
        if result != today {
            return Err(SealError::Stale { page: result.to_owned(), today });
        }
    }
    Ok(())
}

fn describe_results(profile: Profile) -> String {
    format!("{profile} {}", profile_fingerprint(profile))
}

fn hash_contents(text: &str) -> String {
    Key::from_content(text.as_bytes()).to_string().chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "# A page\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";

    #[test]
    fn a_page_as_written_passes_and_an_edit_anywhere_is_found() {
        let page = seal_page(BODY, &[Profile::Paper, Profile::Ns2], None);
        assert_eq!(check_seal(&page), Ok(()));
        for (old, new) in [("| 1 |", "| 3 |"), ("results: paper", "results: fast"), ("# A", "# B")]
        {
            let edited = page.replace(old, new);
            assert_ne!(edited, page);
            assert!(matches!(check_seal(&edited), Err(SealError::Edited { .. })), "{edited}");
        }
        assert_eq!(check_seal(BODY), Err(SealError::Missing));
        assert_eq!(check_seal(&page.replace("contents", "content")), Err(SealError::Missing));
        assert_eq!(check_seal(""), Err(SealError::Missing));
    }

    #[test]
    fn a_page_of_other_results_is_stale() {
        let today = profile_fingerprint(Profile::Paper);
        let old = seal_page(BODY, &[Profile::Paper], None).replace(today, "00000000");
        let (sealed, _) = old.rsplit_once("contents: ").expect("a seal");
        let old = format!("{sealed}contents: {}\n{CLOSING}", hash_contents(sealed));
        assert!(matches!(check_seal(&old), Err(SealError::Stale { .. })), "{old}");
    }

    #[test]
    fn what_changes_with_each_improvement_names_its_commit() {
        let page = seal_page(BODY, &[Profile::Fast], Some("abc123"));
        assert!(
            page.contains(&format!("\ncommit: abc123, sources {}\n", stack_version())),
            "{page}"
        );
        assert!(!page.contains("results:"), "{page}");
        assert_eq!(check_seal(&page), Ok(()));
    }
}
