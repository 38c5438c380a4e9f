//! Transfers from their beginning to their end, and those that do not begin.

use super::*;

#[test]
fn a_folder_goes_over_two_paths() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(from.path().join("set")).unwrap();
    let large = file(&from.path().join("set"), "large", 5_000_000);
    file(&from.path().join("set"), "none", 0);
    let capture = to.path().join("run.pcapng");
    let into = to.path().join("in");
    let receiver = Receiver::start(&["127.0.1.1", "127.0.1.2"], &into, &["--once", "--json"]);
    let more = ["--local", "127.0.1.3,127.0.1.4", "--pcap", capture.to_str().unwrap()];
    let sent = send(&[&from.path().join("set")], &receiver.at, &more);
    let line = text(&sent.stdout);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert!(line.starts_with("sent 2 files, 5.0 MB in "), "{line}");
    assert!(
        line.contains("127.0.1.3 - 127.0.1.1") && line.contains("127.0.1.4 - 127.0.1.2"),
        "{line}"
    );
    let (status, out, talk) = receiver.end();
    assert!(status.success(), "{talk}");
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&json["ok"], &json["stored"], &json["folders"]),
        (&true.into(), &2.into(), &1.into())
    );
    assert_eq!(json["travelled_bytes"], 5_000_000);
    assert_eq!(json["paths"].as_array().unwrap().len(), 2);
    let carried: u64 = json["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["payload_bytes"].as_u64().unwrap())
        .sum();
    assert!(carried >= 5_000_000, "{json}");
    assert_eq!(fs::read(into.join("set/large")).unwrap(), fs::read(large).unwrap());
    assert_eq!(fs::read(into.join("set/none")).unwrap(), b"");
    // The section header of pcapng.
    assert_eq!(fs::read(capture).unwrap()[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
}

#[test]
fn a_receiver_goes_on_and_an_existing_file_is_safe() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(from.path(), "f", 100_000);
    let receiver = Receiver::start(&["127.0.1.5"], to.path(), &[]);
    assert!(send(&[&path], &receiver.at, &[]).status.success());
    let again = send(&[&path], &receiver.at, &["--json"]);
    let json: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&json["already_there"], &json["travelled_bytes"]), (&1.into(), &0.into()));
    assert!(text(&again.stderr).contains("f: already there"));
    fs::write(&path, "changed").unwrap();
    assert!(send(&[&path], &receiver.at, &["--quiet"]).status.success());
    assert_eq!(fs::metadata(to.path().join("f")).unwrap().len(), 100_000);
    assert_eq!(fs::read(to.path().join("f (2)")).unwrap(), b"changed");
    let hidden = file(from.path(), ".f", 10);
    let refused = send(&[&hidden], &receiver.at, &["--quiet"]);
    assert_eq!(refused.status.code(), Some(4));
    assert!(text(&refused.stderr).contains("not transferred: .f: the name is refused"));
    kill(Pid::from_raw(receiver.child.id() as i32), Signal::SIGINT).unwrap();
    let (status, out, talk) = receiver.end();
    assert_eq!(status.code(), Some(130));
    assert!(talk.contains("f: stored as f (2): its name is taken"), "{talk}");
    assert!(out.starts_with("received 1 file, 100.0 kB in "), "{out}");
}

#[test]
fn wrong_arguments_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "f", 10);
    let line = refusal(&polypath().arg("receive").output().unwrap(), 2);
    assert!(
        line.contains("--listen ADDRESS is missing") && line.contains("127.0.0.1 (lo)"),
        "{line}"
    );
    let receive = |more: &[&str]| polypath().arg("receive").args(more).output().unwrap();
    assert!(refusal(&receive(&["--listen", "192.0.2.77"]), 2).contains("192.0.2.77"));
    assert!(refusal(&receive(&["--listen", "0.0.0.0"]), 2).contains("unicast"));
    let not_a_folder = ["--listen", "127.0.1.7", "--dir", path.to_str().unwrap()];
    assert!(refusal(&receive(&not_a_folder), 5).contains("/f: "));
    let line = refusal(&send(&[Path::new("/nowhere/x")], "127.0.1.7", &[]), 5);
    assert!(line.contains("/nowhere/x: no such file or directory"), "{line}");
    assert!(refusal(&send(&[&path], "127.0.1.7:x", &[]), 2).contains("127.0.1.7:x"));
    assert!(refusal(&send(&[&path], "127.0.1.7", &["--paths", "nosuch0"]), 2).contains("nosuch0"));
}

#[test]
fn nobody_there_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "f", 10);
    let free = std::net::UdpSocket::bind("127.0.1.8:0").unwrap();
    let at = free.local_addr().unwrap().to_string();
    // Bound and never read: no answer.
    let line = refusal(&send(&[&path], &at, &["--connect-timeout", "300ms"]), 3);
    assert!(line.contains("no answer from") && line.contains("300ms"), "{line}");
    drop(free);
    let line = refusal(&send(&[&path], &at, &[]), 3);
    assert!(line.contains("refused"), "{line}");
}

#[test]
fn a_taken_port_is_said() {
    let taken = std::net::UdpSocket::bind("127.0.1.9:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let line = refusal(&polypath().args(["receive", "--listen", &at]).output().unwrap(), 5);
    assert!(line.contains("is in use"), "{line}");
}

#[test]
fn without_a_folder_a_new_one_is_made() {
    let (from, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(from.path(), "f", 10);
    let start = || {
        let mut command = polypath();
        command.current_dir(here.path());
        Receiver::start_by(command, &["127.0.1.15"], Path::new(""), &["--once"])
    };
    for folder in ["polypath-received", "polypath-received-2"] {
        let receiver = start();
        assert!(send(&[&path], &receiver.at, &[]).status.success());
        assert!(receiver.end().0.success());
        assert!(here.path().join(folder).join("f").exists(), "{folder}");
    }
    let receiver = start();
    kill(Pid::from_raw(receiver.child.id() as i32), Signal::SIGINT).unwrap();
    receiver.end();
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 2, "an unused folder goes again");
}

#[test]
fn the_umask_holds() {
    use std::os::unix::fs::PermissionsExt as _;
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(from.path(), "f", 10);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("sh");
    command.env("POLYPATH_HOME", KEYS).args(["-c", "umask 077; exec \"$0\" \"$@\""]);
    command.arg(assert_cmd::cargo::cargo_bin("polypath"));
    let receiver = Receiver::start_by(command, &["127.0.1.19"], to.path(), &["--once"]);
    assert!(send(&[&path], &receiver.at, &[]).status.success());
    assert!(receiver.end().0.success());
    let mode = fs::metadata(to.path().join("f")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
}
