//! The file of peers that were met before: which key was at which name.

use core::fmt;
use core::str::FromStr;

use super::fingerprint::Fingerprint;
use super::text::{MAX_LINE, TextError, lines, shown};

/// Names or addresses, and the key that each had: `NAME FINGERPRINT [# COMMENT]` a line. Written
/// again, lines are as they were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownPeers(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    text: String,
    peer: Option<(String, Fingerprint)>,
}

/// What is known of a peer that came with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It had this key before.
    Known,
    /// Nothing is known of the name.
    Unknown,
    /// It had another key.
    Changed {
        /// The line that says so, from 1.
        line: usize,
    },
}

impl KnownPeers {
    /// What is known of `name`, which came with the key of `fingerprint`. Several lines may name
    /// it: each of them is as good. Names are compared without case.
    #[must_use]
    pub fn look_up(&self, name: &str, fingerprint: Fingerprint) -> Standing {
        let mut standing = Standing::Unknown;
        for (index, entry) in self.0.iter().enumerate() {
            match &entry.peer {
                Some((other, key)) if other.eq_ignore_ascii_case(name) => {
                    if *key == fingerprint {
                        return Standing::Known;
                    }
                    if standing == Standing::Unknown {
                        let line = index.saturating_add(1);
                        standing = Standing::Changed { line };
                    }
                }
                _ => {}
            }
        }
        standing
    }

    /// The keys that a name had: whom to expect there.
    pub fn keys_of(&self, name: &str) -> impl Iterator<Item = Fingerprint> {
        self.0
            .iter()
            .filter_map(|entry| entry.peer.as_ref())
            .filter(move |(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, key)| *key)
    }

    /// Adds a line.
    ///
    /// # Errors
    /// If the name or the comment does not fit into one.
    pub fn add(
        &mut self,
        name: &str,
        fingerprint: Fingerprint,
        comment: Option<&str>,
    ) -> Result<(), TextError> {
        let number = self.0.len().saturating_add(1);
        let text = match comment {
            Some(comment) => format!("{name} {fingerprint} # {}", comment.trim()),
            None => format!("{name} {fingerprint}"),
        };
        let peer = Some((name.to_owned(), fingerprint));
        // Only what is read back as it is.
        let same = text
            .parse::<Self>()
            .is_ok_and(|read| matches!(read.0.as_slice(), [one] if one.peer == peer));
        if !same {
            let why = format!(
                "`{}` cannot be written into one line; allowed: no blanks, `#` or control \
                 characters in names, and {MAX_LINE} bytes in all",
                shown(name)
            );
            return Err(TextError::new(number, why));
        }
        self.0.push(Entry { text, peer });
        Ok(())
    }
}

impl FromStr for KnownPeers {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut entries = Vec::new();
        for line in lines(text) {
            let line = line?;
            let mut words = line.words.split_whitespace();
            let peer = match (words.next(), words.next(), words.next()) {
                (None, ..) => None,
                (Some(name), Some(key), None) => {
                    let key = key.parse().map_err(|error| TextError::new(line.number, error))?;
                    Some((name.to_owned(), key))
                }
                _ => {
                    let why = "allowed: a name or address, and a fingerprint";
                    return Err(TextError::new(line.number, why));
                }
            };
            entries.push(Entry { text: line.text.to_owned(), peer });
        }
        Ok(Self(entries))
    }
}

impl fmt::Display for KnownPeers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|entry| writeln!(f, "{}", entry.text))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(of: u8) -> Fingerprint {
        Fingerprint::of(&[of])
    }

    #[test]
    fn known_unknown_and_changed() {
        let text =
            format!("# mine\n\nalpha {}\n10.0.0.1 {} # lab\nALPHA {}\n", key(1), key(2), key(3));
        let peers: KnownPeers = text.parse().unwrap();
        assert_eq!(peers.look_up("alpha", key(1)), Standing::Known);
        assert_eq!(peers.look_up("Alpha", key(3)), Standing::Known);
        let changed = Standing::Changed { line: 3 };
        assert_eq!(peers.look_up("alpha", key(2)), changed);
        assert_eq!(peers.look_up("10.0.0.1", key(2)), Standing::Known);
        assert_eq!(peers.look_up("10.0.0.2", key(2)), Standing::Unknown);
        assert_eq!(peers.keys_of("alpha").collect::<Vec<_>>(), [key(1), key(3)]);
        assert_eq!(peers.to_string(), text);
    }

    #[test]
    fn what_is_added_is_found_again() {
        let mut peers = KnownPeers::default();
        peers.add("fe80::1%eth0", key(1), Some(" seen first ")).unwrap();
        peers.add("host", key(2), None).unwrap();
        let again: KnownPeers = peers.to_string().parse().unwrap();
        assert_eq!(again, peers);
        assert_eq!(again.look_up("fe80::1%eth0", key(1)), Standing::Known);
        for name in ["", "a b", "#a", "a\nb", "a\u{7}", &"x".repeat(500)] {
            let error = peers.add(name, key(1), None).unwrap_err();
            assert_eq!(error.line, 3);
        }
        assert!(peers.add("a", key(1), Some("x\ny")).is_err());
        assert_eq!(again, peers);
    }

    #[test]
    fn errors_name_the_line() {
        let key = key(1);
        for (text, line) in [
            (format!("a {key}\nb\n"), 2),
            (format!("a {key} b\n"), 1),
            (format!("a {key}\n\nb pp:xyz # no"), 3),
            ("# \u{0}\n".to_owned(), 1),
        ] {
            assert_eq!(text.parse::<KnownPeers>().unwrap_err().line, line, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_parses_survives(
            text in "((\\PC{0,9}|a pp:[a-z2-7]{51}[aq]| |#|\t){0,4}\n){0,9}"
        ) {
            if let Ok(peers) = text.parse::<KnownPeers>() {
                prop_assert_eq!(peers.to_string().parse(), Ok(peers));
            }
        }
    }
}
