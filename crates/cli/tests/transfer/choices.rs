//! What of a folder is sent, how fast, and what is said of it.

use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};

use super::*;

/// A folder with everything that a transfer comes across.
fn tree(at: &Path) -> std::path::PathBuf {
    let top = at.join("top");
    fs::create_dir_all(top.join("raw/deep")).unwrap();
    fs::create_dir_all(top.join("obj")).unwrap();
    file(&top, "a.txt", 2000);
    file(&top.join("obj"), "b.o", 10);
    file(&top.join("obj"), "b.c", 20);
    file(&top.join("raw/deep"), "c", 30);
    symlink("a.txt", top.join("link")).unwrap();
    symlink("/etc/passwd", top.join("out")).unwrap();
    top
}

const EXCLUDE: [&str; 4] = ["--exclude", "*.o", "--exclude", "top/raw/**"];

#[test]
fn a_dry_run_says_what_would_come_and_connects_to_nobody() {
    let from = tempfile::tempdir().unwrap();
    let top = tree(from.path());
    let dry = |more: &[&str]| {
        polypath().arg("send").arg(&top).arg("--dry-run").args(more).output().unwrap()
    };
    let listed = dry(&EXCLUDE);
    let out = text(&listed.stdout);
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    let lines: Vec<_> = out.lines().map(str::trim_start).collect();
    assert_eq!(
        lines,
        [
            "folder  top",
            "2.0 kB  top/a.txt",
            "link  top/link -> a.txt",
            "folder  top/obj",
            "20 B  top/obj/b.c",
            "folder  top/raw",
            "would send 2 files, 2.0 kB; 3 folders, 1 link; 1 left out; 2 excluded",
        ]
    );
    assert!(text(&listed.stderr).contains("top/out: left out: it leads to an absolute name"));
    // Whoever is named need not be there.
    let json = dry(&["--json", "--to", "192.0.2.1", "--exclude", "/top/raw"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["dry_run"], &json["files"]), (&true.into(), &3.into()));
    assert_eq!((&json["bytes"], &json["excluded"]), (&2030.into(), &1.into()));
    assert_eq!(json["entries"][2]["target"], "a.txt");
    let line = refusal(&dry(&["--exclude", "{a"]), 2);
    assert!(line.contains("--exclude: \"{a\" is not a pattern: "), "{line}");
}

#[test]
fn what_is_excluded_does_not_travel_and_totals_tell() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let top = tree(from.path());
    let receiver = Receiver::start(&["127.0.1.20"], to.path(), &["--once"]);
    let sent = send(&[&top], &receiver.at, &EXCLUDE);
    let line = text(&sent.stdout);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert!(line.starts_with("sent 2 files, 2.0 kB in "), "{line}");
    for told in ["; 3 folders", "; 1 link", "; 1 left out", "; 2 excluded"] {
        assert!(line.contains(told), "{told}: {line}");
    }
    let (status, out, talk) = receiver.end();
    assert!(status.success() && out.contains("; 3 folders; 1 link"), "{out} {talk}");
    let at = to.path().join("top");
    assert_eq!(fs::read_link(at.join("link")).unwrap(), Path::new("a.txt"));
    assert!(at.join("obj/b.c").exists() && !at.join("obj/b.o").exists());
    assert_eq!(fs::read_dir(at.join("raw")).unwrap().count(), 0);
    assert!(fs::symlink_metadata(at.join("out")).is_err());
}

#[test]
fn a_sparse_file_takes_no_room_and_json_has_all_totals() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = from.path().join("disk.img");
    let image = fs::File::create(&path).unwrap();
    image.set_len(10 << 30).unwrap();
    image.write_all_at(&[7; 1 << 20], 5 << 30).unwrap();
    drop(image);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6750)).unwrap();
    let before = fs::metadata(&path).unwrap();
    // Holes are no matter of the quota.
    let once = ["--once", "--json", "--quota", "2MB"];
    let receiver = Receiver::start(&["127.0.1.21"], to.path(), &once);
    let sent = send(&[&path], &receiver.at, &["--json", "--limit", "400Mbit/s"]);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    let (status, out, talk) = receiver.end();
    assert!(status.success(), "{talk}");
    for json in [text(&sent.stdout), out] {
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&json["stored"], &json["bytes"]), (&1.into(), &(10u64 << 30).into()));
        assert_eq!(json["travelled_bytes"], 1 << 20);
        assert_eq!(json["hole_bytes"], (10u64 << 30) - (1 << 20));
        for none in ["folders", "links", "left_out", "excluded", "already_there", "failed"] {
            assert_eq!(json[none], 0, "{none}: {json}");
        }
        assert!(json["seconds"].as_f64().is_some() && json["bits_per_second"].as_f64().is_some());
    }
    let after = fs::metadata(to.path().join("disk.img")).unwrap();
    assert_eq!(after.len(), 10 << 30);
    assert!(after.blocks() * 512 < 2 << 20, "{} bytes on the disk", after.blocks() * 512);
    assert_eq!(after.mode() & 0o7027, 0, "no set-ID bits, and no more than was there");
    assert_eq!((after.mtime(), after.mtime_nsec()), (before.mtime(), before.mtime_nsec()));
}

#[test]
fn a_limit_is_a_rate() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "f", 10);
    for bad in ["0", "fast", "7999"] {
        let sent = send(&[&path], "127.0.1.22", &["--limit", bad]);
        assert_eq!(sent.status.code(), Some(2));
        assert!(text(&sent.stderr).contains("--limit"), "{}", text(&sent.stderr));
    }
    let missing = polypath().arg("send").arg(&path).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("--to"), "{}", text(&missing.stderr));
}

#[test]
fn help_and_documentation_name_the_exit_codes() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/how-to/send-files.md");
    let page = fs::read_to_string(page).unwrap();
    for command in ["send", "receive"] {
        let help = text(&polypath().args([command, "--help"]).output().unwrap().stdout);
        let codes = help.split_once("Exit codes").unwrap().1;
        let codes = codes.split_whitespace().collect::<Vec<_>>().join(" ");
        for code in ["0 all files", "1 the transfer failed", "2 wrong arg", "130 interrupted"] {
            assert!(codes.contains(code), "{command}: {code}: {codes}");
        }
        for code in [0, 1, 2, 3, 4, 5, 6, 130] {
            assert!(codes.contains(&format!(" {code} ")), "{command}: {code}: {codes}");
            assert!(page.contains(&format!("\n| {code} | ")), "{code}");
        }
    }
}

#[test]
fn what_cannot_be_read_or_stored_has_its_code() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(from.path(), "f", 5000);
    let receiver = Receiver::start(&["127.0.1.23"], to.path(), &["--once", "--quota", "4500B"]);
    let sent = send(&[&path], &receiver.at, &["-q"]);
    assert_eq!(sent.status.code(), Some(4), "{}", text(&sent.stderr));
    assert!(text(&sent.stderr).contains("--quota"), "{}", text(&sent.stderr));
    let (status, _, talk) = receiver.end();
    assert_eq!(status.code(), Some(5), "{talk}");
    let line = refusal(&send(&[&from.path().join("none")], "127.0.1.23", &[]), 5);
    assert!(line.contains("/none: no such file"), "{line}");
}
