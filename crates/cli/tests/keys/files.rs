//! The files of keys, and `polypath id`.

use super::*;

#[test]
fn the_key_is_made_once_and_shown_in_three_ways() {
    let host = Host::new();
    let first = host.run("id");
    let key = text(&first.stdout).trim().to_owned();
    assert!(key.starts_with("pp:") && key.len() == 55, "{key}");
    assert!(text(&first.stderr).contains("a new key is in "), "{}", text(&first.stderr));
    assert_eq!((host.key(), mode(&host.path("keys/identity"))), (key.clone(), 0o600));
    assert_eq!(mode(&host.path("keys")), 0o700);
    let json: serde_json::Value = serde_json::from_str(&host.done("id --json")).unwrap();
    assert_eq!((&json["fingerprint"], &json["new"]), (&key.into(), &false.into()));
    let pem = host.done("id --show-public");
    assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA"), "{pem}");
    assert_eq!(json["public_key"], pem);
    let other = host.done("id -q --file other/key");
    assert_ne!(other.trim(), host.key());
    assert_eq!(mode(&host.path("other/key")), 0o600);
}

#[test]
fn first_uses_at_once_end_with_one_key() {
    let host = Host::new();
    let run = || host.command("id -q").stdout(Stdio::piped()).spawn().unwrap();
    let all: Vec<_> = (0..12).map(|_| run()).collect();
    let keys: Vec<_> =
        all.into_iter().map(|child| text(&child.wait_with_output().unwrap().stdout)).collect();
    assert!(keys.iter().all(|key| *key == keys[0] && !key.is_empty()), "{keys:?}");
    assert_eq!(fs::read_dir(host.path("keys")).unwrap().count(), 1);
}

#[test]
fn files_that_are_wrong_are_one_line_that_says_how_to_mend_them() {
    let host = Host::new();
    host.key();
    let identity = host.path("keys/identity");
    let lines = ["id", "send letter.txt --to 127.0.4.1:9", "perf -c 127.0.4.1:9 -q"];
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(&identity, open).unwrap();
    for line in lines {
        let told = host.refused(line, 5);
        assert!(told.contains(&format!("`chmod 600 {}`", identity.display())), "{told}");
    }
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&identity, closed).unwrap();
    let good = fs::read(&identity).unwrap();
    for bad in [&b"\x1b[2J\xff"[..], b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END", &[0; 99_999]] {
        fs::write(&identity, bad).unwrap();
        for line in lines {
            let told = host.refused(line, 5);
            assert!(told.contains("keys/identity: ") && !told.contains('\u{1b}'), "{told}");
        }
    }
    fs::write(&identity, good).unwrap();
    fs::write(host.path("keys/known-peers"), "one two\u{7} three\n").unwrap();
    for line in &lines[1..] {
        let told = host.refused(line, 5);
        assert!(told.contains("known-peers: line 1: "), "{told}");
    }
}

/// What a full disk does: writes fail.
#[test]
fn a_key_that_cannot_be_written_leaves_nothing_behind() {
    let host = Host::new();
    let home = host.path("keys");
    let program = assert_cmd::cargo::cargo_bin("polypath");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" id"]).arg(program);
    let output = command.env("POLYPATH_HOME", &home).output().unwrap();
    let talk = text(&output.stderr);
    assert_eq!((output.status.code(), talk.lines().count()), (Some(5), 1), "{talk}");
    assert!(talk.contains("keys/identity: cannot be written: "), "{talk}");
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
    assert!(host.key().starts_with("pp:"));
}

#[test]
fn secrets_of_exchanges_are_written_only_when_asked_for() {
    let (sender, receiver) = (Host::new(), Host::new());
    let server = Server::receive(&receiver, "");
    let log = sender.path("secrets");
    let line = format!("send letter.txt -q --to {} --peer {}", server.at, receiver.key());
    let with =
        |line: &str| sender.command(line).env("SSLKEYLOGFILE", &log).status().unwrap().success();
    assert!(with(&line) && !log.exists());
    assert!(with(&format!("{line} --keylog")));
    let secrets = fs::read_to_string(&log).unwrap();
    assert!(secrets.contains("CLIENT_TRAFFIC_SECRET_0 "), "{secrets}");
    assert_eq!(mode(&log), 0o600);
    assert!(sender.refused(&format!("{line} --keylog"), 2).contains("SSLKEYLOGFILE"));
}

#[test]
fn captures_show_what_was_sent_or_what_was_on_the_wire() {
    let (sender, receiver) = (Host::new(), Host::new());
    let server = Server::receive(&receiver, "");
    let peer = format!("--peer {}", receiver.key());
    for (flag, plain) in [("--pcap", true), ("--pcap-wire", false)] {
        let sent = sender.send(&server, &format!("{peer} {flag} run.pcapng"));
        assert!(sent.status.success(), "{}", text(&sent.stderr));
        let capture = fs::read(sender.path("run.pcapng")).unwrap();
        assert_eq!(has(&capture, "letter.txt"), plain, "{flag}");
    }
    let both = format!("send letter.txt --to {} --pcap a --pcap-wire b", server.at);
    assert!(sender.refused(&both, 2).contains("--pcap-wire"));
}
