//! Names of files: what a peer may call one, and how it is shown.

use super::codec::MAX_NAME;

/// Folders in each other, at most.
const MAX_DEPTH: usize = 64;
/// The longest name of one file on common file systems, bytes.
const MAX_PART: usize = 255;
const PART_SUFFIX: &[u8] = b".polypath-part";

/// The parts of a relative name, folders first; or what is wrong with it. A name that passes cannot lead out of the folder that it is used in, but
/// for symbolic links, which are somebody else's care.
pub(crate) fn parts(name: &[u8]) -> Result<Vec<&[u8]>, &'static str> {
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
            _ => {}
        }
    }
    Ok(parts)
}

/// Whether it is the name of an unfinished file.
pub(crate) fn is_reserved(part: &[u8]) -> bool {
    part.starts_with(b".") && part.ends_with(PART_SUFFIX)
}

/// What a file is called while it is unfinished.
pub(crate) fn unfinished(part: &[u8]) -> Vec<u8> {
    if part.len() + 1 + PART_SUFFIX.len() <= MAX_PART {
        return [b".", part, PART_SUFFIX].concat();
    }
    let short = blake3::hash(part).to_hex();
    [b".", short.as_bytes(), PART_SUFFIX].concat()
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
            assert!(parts(name.as_bytes()).is_err(), "{name:?}");
        }
        assert!(parts(&vec![b'a'; 256]).is_err());
        assert!(parts("a/".repeat(64).as_bytes()).is_err());
        assert!(parts(b"a/.x.polypath-part").is_err());
        assert_eq!(parts(b"a/..b/c d").unwrap(), [&b"a"[..], b"..b", b"c d"]);
        assert!(parts(b"\xff\xfe").is_ok());
    }

    #[test]
    fn unfinished_files_have_reserved_names_that_fit() {
        for len in [1, 100, 240, 241, 255] {
            let name = unfinished(&vec![b'n'; len]);
            assert!(is_reserved(&name) && name.len() <= MAX_PART);
        }
        assert_eq!(unfinished(b"a.iso"), b".a.iso.polypath-part");
    }

    proptest! {
        #[test]
        fn accepted_names_stay_inside(name in prop::collection::vec(prop::sample::select(b"./a\0".to_vec()), 0..12)) {
            if let Ok(parts) = parts(&name) {
                prop_assert!(parts.iter().all(|p| !p.is_empty() && *p != b"." && *p != b".."));
                prop_assert_eq!(parts.join(&b'/'), name);
            }
        }
    }
}
