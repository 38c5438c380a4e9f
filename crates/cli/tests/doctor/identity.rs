//! Who is not who he should be; servers that offer less.

use std::os::unix::fs::PermissionsExt as _;

use super::stage::{Stage, host};

const SERVER: &str = "127.0.0.31";

#[test]
fn another_key_than_the_named_one_is_told() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &[]);
    let other = stage.id("other");
    let found = stage.stranger(&host, SERVER, &["--peer", &other]);
    assert_eq!((found.code, &found.path(0)["state"]), (6, &"keys".into()), "{found:#?}");
    let fails = found.findings("identity", "fail");
    let told = |text: &str| fails.iter().any(|f| f["what"].as_str().unwrap().contains(text));
    assert!(told(&stage.key) && told(&other), "{found:#?}");
}

#[test]
fn another_key_than_before_is_told_with_its_line() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &[]);
    let file = stage.path("client").join("known-peers");
    std::fs::write(&file, format!("{SERVER}:9899 {}\n", stage.id("other"))).unwrap();
    let found = stage.stranger(&host, SERVER, &[]);
    assert_eq!(found.code, 6, "{found:#?}");
    let fails = found.findings("identity", "fail");
    let told = |text: &str| fails.iter().any(|f| f["what"].as_str().unwrap().contains(text));
    assert!(told("known-peers line 1") && told(&stage.key), "{found:#?}");
}

#[test]
fn a_key_that_is_not_known_is_told_and_nobody_is_asked() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &[]);
    let found = stage.stranger(&host, SERVER, &[]);
    assert_eq!(found.code, 6, "{found:#?}");
    let fails = found.findings("identity", "fail");
    let told = |text: &str| fails.iter().any(|f| f["what"].as_str().unwrap().contains(text));
    assert!(told(&format!("--peer {}", stage.key)), "{found:#?}");
    assert!(!stage.path("client").join("known-peers").exists());
}

#[test]
fn who_is_not_let_in_is_told_what_to_do_there() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    std::fs::write(stage.path("clients"), &stage.key).unwrap();
    let _server = stage.serve(&host, SERVER, &[]);
    let found = stage.doctor(&host, SERVER, &[]);
    assert_eq!(found.code, 6, "{found:#?}");
    let fails = found.findings("identity", "fail");
    let own = stage.id("client");
    assert!(fails.iter().any(|f| f["what"].as_str().unwrap().contains(&own)), "{found:#?}");
}

#[test]
fn another_secret_is_told_as_what_silence_may_be() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    for (name, digits) in [("ours", "0123456789abcdef"), ("theirs", "fedcba9876543210")] {
        std::fs::write(stage.path(name), digits.repeat(4)).unwrap();
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(stage.path(name), private).unwrap();
    }
    let words = ["serve", "--listen", SERVER, "--psk", "theirs"];
    let _server = stage.start(&host, &words, "serving at ");
    let found = stage.stranger(&host, SERVER, &["--psk", "ours", "--connect-timeout", "2s"]);
    assert_eq!((found.code, &found.path(0)["state"]), (3, &"no-answer".into()), "{found:#?}");
    let (what, _) = found.only("udp", "fail");
    assert!(what.contains("its --psk names another secret"), "{what}");
    let found = stage.stranger(&host, SERVER, &["--psk", "theirs"]);
    assert_eq!(found.code, 0, "{found:#?}");
    assert!(found.only("identity", "ok").0.contains("--psk"), "{found:#?}");
}

/// The server has one place: who was interrupted does not keep it.
#[test]
fn who_is_interrupted_says_so_to_the_server() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &["--max-clients", "1"]);
    let code = stage.interrupt_doctor(&host, SERVER, "of silence the way in is");
    assert_eq!(code, Some(130));
    // The server may take a moment for it, and no more.
    let lets_in = (0..5).any(|_| stage.doctor(&host, SERVER, &[]).code == 0);
    assert!(lets_in, "its place is still taken");
}

#[test]
fn a_server_without_a_mirror_says_so_and_all_else_is_found() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &["--no-mirror"]);
    let found = stage.doctor(&host, SERVER, &[]);
    assert_eq!((found.code, &found.path(0)["state"]), (0, &"carries".into()), "{found:#?}");
    let (what, remedy) = found.only("nat", "warn");
    assert!(what.contains("not permitted") && remedy.contains("--no-mirror"), "{what}; {remedy}");
    assert!(found.path(0)["mtu"]["passes"].as_u64().unwrap() >= 1500, "{found:#?}");
    assert!(found.path(0)["ecn"].is_null());
}

#[test]
fn other_servers_are_told_of_what_can_be_asked_of_them() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    let words = ["perf", "-s", "--listen", SERVER, "--allow", "clients"];
    let _server = stage.start(&host, &words, "listening at");
    let found = stage.doctor(&host, SERVER, &[]);
    assert_eq!((found.code, &found.path(0)["state"]), (3, &"not-served".into()), "{found:#?}");
    let (what, remedy) = found.only("udp", "fail");
    assert!(what.contains("gets through") && remedy.contains("--port"), "{what}; {remedy}");
    let found = stage.doctor(&host, SERVER, &["--port", "5201"]);
    assert_eq!((found.code, &found.path(0)["state"]), (0, &"carries".into()), "{found:#?}");
    found.only("nat", "warn");
    found.only("identity", "ok");
    assert!(found.path(0)["mtu"]["passes"].as_u64().unwrap() >= 1500, "{found:#?}");
}

#[test]
fn a_host_of_the_file_is_called_by_its_name() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &[]);
    let entry = format!(
        "[host.vps]\nto = \"{SERVER}\"\npeer = \"{}\"\nlocal = [\"127.0.0.41\"]\n",
        stage.key
    );
    std::fs::write(stage.path("client").join("config.toml"), entry).unwrap();
    let found = stage.stranger(&host, "vps", &[]);
    assert_eq!((found.code, &found.json["to"]), (0, &"vps".into()), "{found:#?}");
    assert_eq!(found.path(0)["path"], "127.0.0.41 -> 127.0.0.31");
}

#[test]
fn words_that_cannot_be_are_one_line() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    for (words, told) in [
        (&["--long=400s"][..], "too long (allowed: 1ms to 300s)"),
        (&["--local", "127.0.0.1", "--paths", "lo"], "cannot be used with"),
        (&["--psk", "x", "--insecure"], "cannot be used with"),
    ] {
        let found = stage.stranger(&host, SERVER, words);
        assert_eq!((found.code, found.talk.lines().count()), (2, 1), "{found:#?}");
        assert!(found.talk.contains(told), "{found:#?}");
    }
}
