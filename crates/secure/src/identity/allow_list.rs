//! The file that says who is let in: `--allow FILE`.

use core::str::FromStr;

use super::fingerprint::Fingerprint;
use super::text::{TextError, lines};

/// Fingerprints, one a line. What stands behind `#` is a comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList(Vec<Fingerprint>);

impl AllowList {
    /// In the order of the file.
    #[must_use]
    pub fn fingerprints(&self) -> &[Fingerprint] {
        &self.0
    }
}

impl FromStr for AllowList {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut allowed = Vec::new();
        for line in lines(text) {
            let line = line?;
            if line.words.is_empty() {
                continue;
            }
            let fingerprint =
                line.words.parse().map_err(|error| TextError::new(line.number, error))?;
            allowed.push(fingerprint);
        }
        Ok(Self(allowed))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_a_line_and_comments() {
        let [a, b] = [b"a", b"b"].map(|key| Fingerprint::of(key));
        let list: AllowList = format!("# who may\n\n{a}   # Ann\r\n\t{b}\n").parse().unwrap();
        assert_eq!(list.fingerprints(), [a, b]);
    }

    #[test]
    fn errors_name_the_line() {
        let a = Fingerprint::of(b"a");
        for (text, line, why) in [
            (format!("{a}\nbob\n"), 2, "does not begin with `pp:`"),
            (format!("{a} {a}\n"), 1, "too long"),
            (format!("{a}\n\n# \u{1b}[31m\n"), 3, "control character"),
            (format!("#{}", "x".repeat(512)), 1, "513 bytes long"),
        ] {
            let error = text.parse::<AllowList>().unwrap_err();
            assert_eq!(error.line, line, "{error}");
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(\\PC|pp:|#|\n|\t){0,200}") {
            let _ = text.parse::<AllowList>();
        }
    }
}
