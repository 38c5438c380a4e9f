//! What a symbolic link leads to. A link is carried if it stays inside the folder that was named
//! for sending, whatever other links are there:
//!
//! a target goes up first, as `../..`, and then down by names. The folders above a link are real
//! ones, made without following links, so `..` at the beginning goes where it seems to, and no
//! further than the first folder of the link's name. From there names go down; if one of them is a
//! link itself, that one stays inside by the same rule. A `..` behind a name would go up from
//! wherever such a link leads, and is refused.

use super::codec::MAX_NAME;
use super::name;

/// The target of the link called `link`, without parts that say nothing; or what is wrong with it.
pub(crate) fn check_target(
    link: &[u8],
    target: &[u8],
    hidden: bool,
) -> Result<Vec<u8>, &'static str> {
    if target.len() > MAX_NAME {
        return Err("what it leads to has too long a name");
    }
    if target.starts_with(b"/") {
        return Err("it leads to an absolute name");
    }
    if target.iter().any(u8::is_ascii_control) {
        return Err("what it leads to has a control character in its name");
    }
    let parts = target.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
    let parts: Vec<_> = parts.collect();
    let ups = parts.iter().take_while(|part| **part == b"..").count();
    let (up, down) = parts.split_at(ups);
    let above = link.iter().filter(|byte| **byte == b'/').count();
    if up.len() >= above {
        return Err("it leads out of the folder");
    }
    if down.contains(&&b".."[..]) {
        return Err("it leads up behind a name, which may be a link's");
    }
    if !down.is_empty() {
        name::split_name(&down.join(&b'/'), hidden)
            .map_err(|_| "it leads to a name that is refused")?;
    } else if up.is_empty() {
        return Err("it leads to the folder that it is in");
    }
    Ok(parts.join(&b'/'))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn check(link: &str, target: &str) -> Result<String, &'static str> {
        let checked = check_target(link.as_bytes(), target.as_bytes(), false);
        checked.map(|target| String::from_utf8(target).unwrap())
    }

    #[test]
    fn links_that_stay_inside_are_carried() {
        for (link, target, kept) in [
            ("top/l", "a", "a"),
            ("top/l", "./a//b/", "a/b"),
            ("top/d/l", "../a", "../a"),
            ("top/d/e/l", "../..", "../.."),
            ("top/l", "nothing here", "nothing here"),
        ] {
            assert_eq!(check(link, target).as_deref(), Ok(kept), "{link} -> {target}");
        }
    }

    #[test]
    fn links_that_might_lead_out_are_refused() {
        for (link, target) in [
            ("top/l", "/etc/passwd"),
            ("top/l", "/"),
            ("top/l", ".."),
            ("top/l", "../top"),
            ("top/d/l", "../../other"),
            ("top/d/l", ".././../other"),
            ("l", "a"),
            ("top/l", "a/../b"),
            ("top/l", "d/l/../../.."),
            ("top/l", ""),
            ("top/l", "."),
            ("top/l", "a\0b"),
            ("top/l", "a\x1b[2J"),
            ("top/l", "a\nb"),
            ("top/l", ".ssh/authorized_keys"),
            ("top/l", ".x.polypath-part"),
        ] {
            assert!(check(link, target).is_err(), "{link} -> {target:?}");
        }
        assert!(check_target(b"top/l", b".ssh", true).is_ok());
        assert!(check_target(b"top/l", &[b'a'; 5000], true).is_err());
    }

    /// Some folders, and links of any kind in them, of which those that are accepted are made.
    fn lead_inside(links: &[(usize, Vec<&str>)]) {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let folders = ["top", "top/a", "top/a/b", "top/a/b/c", "top/d"];
        folders.iter().for_each(|folder| std::fs::create_dir_all(root.join(folder)).unwrap());
        let mut made = Vec::new();
        for (i, (folder, parts)) in links.iter().enumerate() {
            let link = format!("{}/l{i}", folders[folder % folders.len()]);
            if let Ok(target) = check(&link, &parts.join("/")) {
                std::os::unix::fs::symlink(target, root.join(&link)).unwrap();
                made.push(link);
            }
        }
        for link in made {
            let Ok(at) = std::fs::canonicalize(root.join(&link)) else { continue };
            assert!(at.starts_with(root.join(Path::new("top"))), "{link}: {}", at.display());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn no_combination_of_links_leads_out(
            links in prop::collection::vec((0..5usize, prop::collection::vec(
                prop::sample::select(vec!["..", "..", ".", "a", "b", "c", "d", "l0", "l1", "l2", "l3"]),
                1..6,
            )), 1..6),
        ) {
            lead_inside(&links);
        }
    }
}
