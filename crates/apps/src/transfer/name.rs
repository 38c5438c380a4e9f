//! Names of files: what a peer may call one, and how it is shown.

use super::codec::MAX_NAME;

/// Folders in each other, at most.
const MAX_DEPTH: usize = 64;
/// The longest name of one file on common file systems, bytes.
const MAX_PART: usize = 255;
const PART_SUFFIX: &[u8] = b".polypath-part";
/// What a receiver remembers of its folder.
pub(crate) const STATE_FILE: &str = ".polypath-received";

/// The parts of a relative name, folders first; or what is wrong with it. A name that passes cannot
/// lead out of the folder that it is used in, but for symbolic links, which are somebody else's
/// care. Names that begin with a dot steer programs and are not seen: they need to be `hidden`.
pub(crate) fn split_name(name: &[u8], hidden: bool) -> Result<Vec<&[u8]>, &'static str> {
    if name.len() > MAX_NAME {
        return Err("it is too long");
    }
    let parts: Vec<_> = name.split(|byte| *byte == b'/').collect();
    if parts.len() > MAX_DEPTH {
        return Err("it has too many folders");
    }
    for part in &parts {
        match *part {
            b"" => return Err("it is absolute or has an empty part"),
            b"." | b".." => return Err("it has . or .. as a part"),
            part if part.contains(&0) => return Err("it has a zero byte"),
            part if part.len() > MAX_PART => return Err("a part of it is too long"),
            part if is_reserved(part) => return Err("names of that form are for unfinished files"),
            part if part.starts_with(b".") && !hidden => {
                return Err("a part of it begins with a dot (the receiver may allow --hidden)");
            }
            _ => {}
        }
    }
    Ok(parts)
}

/// Whether it is the name of an unfinished file, or of what a receiver remembers.
pub(crate) fn is_reserved(part: &[u8]) -> bool {
    part.starts_with(STATE_FILE.as_bytes()) || part.starts_with(b".") && part.ends_with(PART_SUFFIX)
}

/// What a file of the sender `owner` is called while it is unfinished.
pub(crate) fn unfinished_name(part: &[u8], owner: &str) -> Vec<u8> {
    let name = |stem: &[u8]| [b".", stem, b".", owner.as_bytes(), PART_SUFFIX].concat();
    let whole = name(part);
    if whole.len() <= MAX_PART { whole } else { name(blake3::hash(part).to_hex().as_bytes()) }
}

/// The `n`th name for a file whose name may be taken, from 1: `a.txt`, `a (2).txt`, `a (3).txt`.
pub(crate) fn copy_name(part: &[u8], n: u32) -> Vec<u8> {
    if n < 2 {
        return part.to_vec();
    }
    let dot = part.iter().rposition(|byte| *byte == b'.').filter(|at| *at > 0);
    let (stem, end) = part.split_at(dot.unwrap_or(part.len()));
    let tail = [format!(" ({n})").as_bytes(), end].concat();
    if tail.len() > MAX_PART / 2 {
        return numbered_name(part, format!(" ({n})").as_bytes());
    }
    numbered_name(stem, &tail)
}

/// The `n`th name for a folder.
pub(crate) fn copy_of_folder(part: &[u8], n: u32) -> Vec<u8> {
    if n < 2 { part.to_vec() } else { numbered_name(part, format!(" ({n})").as_bytes()) }
}

/// As much of the stem as there is room for, but no half character.
fn numbered_name(stem: &[u8], tail: &[u8]) -> Vec<u8> {
    let room = MAX_PART - tail.len();
    let mut len = stem.len().min(room);
    while len > 1 && stem.get(len).is_some_and(|byte| byte & 0xc0 == 0x80) {
        len -= 1;
    }
    [stem.get(..len).unwrap_or(stem), tail].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let bad =
            ["", "/etc/passwd", "../x", "a/../../x", "a/..", ".", "./a", "a//b", "a/", "a\0b"];
        for name in bad {
            assert!(split_name(name.as_bytes(), true).is_err(), "{name:?}");
        }
        assert!(split_name(&vec![b'a'; 256], true).is_err());
        assert!(split_name("a/".repeat(64).as_bytes(), true).is_err());
        assert!(split_name(b"a/.x.polypath-part", true).is_err());
        assert!(split_name(b"a/.polypath-received", true).is_err());
        assert_eq!(split_name(b"a/..b/c d", true).unwrap(), [&b"a"[..], b"..b", b"c d"]);
        assert!(split_name(b"\xff\xfe", false).is_ok());
    }

    #[test]
    fn what_begins_with_a_dot_must_be_asked_for() {
        for name in [".bashrc", ".ssh/authorized_keys", "a/.config/autostart/x.desktop", "a/..b"] {
            assert!(split_name(name.as_bytes(), false).unwrap_err().contains("--hidden"), "{name}");
            assert!(split_name(name.as_bytes(), true).is_ok(), "{name}");
        }
    }

    #[test]
    fn taken_names_get_numbers() {
        let copy = |name: &str, n| String::from_utf8(copy_name(name.as_bytes(), n)).unwrap();
        assert_eq!(copy("a.tar.gz", 1), "a.tar.gz");
        assert_eq!(copy("a.txt", 2), "a (2).txt");
        assert_eq!(copy("a", 13), "a (13)");
        assert_eq!(copy(".a", 2), ".a (2)");
        assert_eq!(copy_of_folder(b"v1.2", 2), b"v1.2 (2)");
        let long = copy(&format!("{}.txt", "é".repeat(125)), 2);
        assert!(long.len() <= MAX_PART && long.ends_with("é (2).txt"), "{long}");
        let odd = copy(&format!("a.{}", "é".repeat(126)), 2);
        assert!(odd.len() <= MAX_PART && odd.ends_with("é (2)"), "{odd}");
    }

    #[test]
    fn unfinished_files_have_reserved_names_that_fit() {
        for len in [1, 100, 240, 241, 255] {
            let name = unfinished_name(&vec![b'n'; len], "0123456789abcdef");
            assert!(is_reserved(&name) && name.len() <= MAX_PART);
        }
        assert_eq!(unfinished_name(b"a.iso", "01ef"), b".a.iso.01ef.polypath-part");
        assert_ne!(unfinished_name(&[b'n'; 255], "01ef"), unfinished_name(&[b'n'; 254], "01ef"));
    }

    proptest! {
        #[test]
        fn accepted_names_stay_inside(name in prop::collection::vec(prop::sample::select(b"./a\0".to_vec()), 0..12)) {
            if let Ok(parts) = split_name(&name, true) {
                prop_assert!(parts.iter().all(|p| !p.is_empty() && *p != b"." && *p != b".."));
                prop_assert_eq!(parts.join(&b'/'), name);
            }
        }
    }
}
