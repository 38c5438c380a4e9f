//! What the user leaves out.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns of names that are not sent. One without a slash is held against the last part of every
/// name, one with a slash against the whole name, as the receiver sees it, from its first folder
/// on. `*` and `?` stand for no slash, `**` for folders. A folder that is left out is left out with
/// all that is in it.
#[derive(Clone, Debug)]
pub struct Exclude {
    parts: GlobSet,
    names: GlobSet,
}

/// Something that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not a pattern: {why} (allowed: *, ?, [a-z], {{a,b}} and ** for folders)")]
pub struct ExcludeError {
    /// The text.
    pub pattern: String,
    /// What is wrong with it.
    pub why: String,
}

impl Default for Exclude {
    fn default() -> Self {
        Self { parts: GlobSet::empty(), names: GlobSet::empty() }
    }
}

impl Exclude {
    /// Leaves out what one of the patterns fits.
    ///
    /// # Errors
    /// When one of them is not a pattern.
    pub fn new(patterns: &[String]) -> Result<Self, ExcludeError> {
        let (mut parts, mut names) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let wrong = |why: String| ExcludeError { pattern: pattern.clone(), why };
            // "raw/" is the folder "raw", and "/top" begins where names begin anyway.
            let text = pattern.strip_suffix('/').unwrap_or(pattern);
            let whole = text.contains('/');
            let text = text.strip_prefix('/').unwrap_or(text);
            if text.is_empty() {
                return Err(wrong("it is empty".to_owned()));
            }
            let glob = GlobBuilder::new(text).literal_separator(true).build();
            let glob = glob.map_err(|error| wrong(error.kind().to_string()))?;
            if whole {
                names.add(glob)
            } else {
                parts.add(glob)
            };
        }
        let build = |builder: GlobSetBuilder| {
            let failed = |error: globset::Error| ExcludeError {
                pattern: String::new(),
                why: error.to_string(),
            };
            builder.build().map_err(failed)
        };
        Ok(Self { parts: build(parts)?, names: build(names)? })
    }

    pub(crate) fn fits(&self, name: &[u8]) -> bool {
        let part = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
        self.parts.is_match(OsStr::from_bytes(part)) || self.names.is_match(OsStr::from_bytes(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_held_against_parts_or_whole_names() {
        let fits = |pattern: &str, name: &str| {
            Exclude::new(&[pattern.to_owned()]).unwrap().fits(name.as_bytes())
        };
        assert!(fits("*.o", "top/a/x.o") && fits("*.o", "x.o") && !fits("*.o", "top/x.oo"));
        assert!(fits("raw", "top/raw") && fits("raw/", "top/raw") && !fits("raw", "top/rawer"));
        assert!(fits("top/*.o", "top/x.o") && !fits("top/*.o", "top/a/x.o"));
        assert!(fits("top/**/x", "top/a/b/x") && fits("/top", "top") && !fits("/top", "a/top"));
        assert!(fits("{a,b}[0-9]?", "top/b7x") && !fits("?", "é/ab"));
        assert!(!Exclude::default().fits(b"anything"));
        let odd = Exclude::new(&["*".to_owned()]).unwrap();
        assert!(odd.fits(b"not\xff utf-8\n"));
    }

    #[test]
    fn what_is_no_pattern_is_named() {
        let error = |pattern: &str| Exclude::new(&[pattern.to_owned()]).unwrap_err().to_string();
        assert!(error("[a").starts_with("\"[a\" is not a pattern: "), "{}", error("[a"));
        assert!(error("").contains("empty") && error("/").contains("empty"));
    }
}
