//! Whom a client talks to.

use super::*;

#[test]
fn who_is_not_known_is_told_nothing_and_the_line_says_how_to_go_on() {
    let (sender, receiver) = (Host::new(), Host::new());
    let server = Server::receive(&receiver, "");
    assert!(server.said.contains(&receiver.key()), "{}", server.said);
    let (at, key) = (&server.at, receiver.key());
    let line = sender.refused(&format!("send letter.txt --to {at}"), 6);
    let file = sender.path("keys/known-peers").display().to_string();
    let entry = format!("{at} {key}");
    for words in [&format!("{at} is not known"), &format!("--peer {key}"), &entry, &file] {
        assert!(line.contains(words.as_str()), "{words}: {line}");
    }
    assert!(!received(&receiver) && sender.known_peers().is_empty());
    fs::write(&file, format!("# by hand\n{entry}\n")).unwrap();
    let sent = sender.send(&server, "");
    assert!(sent.status.success() && received(&receiver), "{}", text(&sent.stderr));
}

#[test]
fn a_terminal_asks_and_yes_is_remembered() {
    let (sender, receiver) = (Host::new(), Host::new());
    let server = Server::receive(&receiver, "");
    let line = format!("send letter.txt --to {}", server.at);
    for no in ["no", "NO", "\u{4}", "what\nwhat\nwhat"] {
        let (shown, code) = sender.asked(&line, no);
        assert_eq!(code, Some(6), "{no}: {shown}");
        assert!(shown.contains(&receiver.key()) && shown.contains("yes/no"), "{shown}");
        assert!(!received(&receiver) && sender.known_peers().is_empty(), "{no}");
    }
    let (shown, code) = sender.asked(&line, "what\nyes");
    assert_eq!(code, Some(0), "{shown}");
    assert!(received(&receiver));
    assert_eq!(sender.known_peers(), format!("{} {}\n", server.at, receiver.key()));
    assert_eq!(mode(&sender.path("keys/known-peers")), 0o600);
    // Nobody is asked any more.
    assert!(sender.send(&server, "").status.success());
}

#[test]
fn a_key_that_changed_is_an_error_with_file_and_line() {
    let (sender, receiver, other) = (Host::new(), Host::new(), Host::new());
    let server = Server::receive(&receiver, "");
    sender.key();
    let file = sender.path("keys/known-peers");
    fs::write(&file, format!("\n{} {} # friend\n", server.at, other.key())).unwrap();
    let before = sender.known_peers();
    let line = sender.refused(&format!("send letter.txt --to {}", server.at), 6);
    let words = format!("{} line 2", file.display());
    assert!(line.contains(&words) && line.contains(&receiver.key()), "{line}");
    // Nobody is asked: it would be said yes to.
    let (shown, code) = sender.asked(&format!("send letter.txt --to {}", server.at), "yes");
    assert!(code == Some(6) && !shown.contains("yes/no"), "{shown}");
    assert!(!received(&receiver) && sender.known_peers() == before);
}

#[test]
fn a_peer_that_is_named_is_the_only_one() {
    let (sender, receiver, other) = (Host::new(), Host::new(), Host::new());
    let server = Server::receive(&receiver, "");
    let wrong = format!("send letter.txt --to {} --peer {}", server.at, other.key());
    let line = sender.refused(&wrong, 6);
    assert!(line.contains(&receiver.key()) && line.contains(&other.key()), "{line}");
    assert!(!received(&receiver));
    assert!(sender.send(&server, &format!("--peer {}", receiver.key())).status.success());
    assert!(received(&receiver) && sender.known_peers().is_empty());
    let typo = sender.refused(&format!("send letter.txt --to {} --peer pp:short", server.at), 2);
    assert!(typo.contains("--peer") && typo.contains("52 characters"), "{typo}");
}

#[test]
fn measurements_know_their_ends_too() {
    let (client, host) = (Host::new(), Host::new());
    let line = "perf -s --one-off";
    let mut server = Server::start_until(&host, line, "listening at ");
    assert!(server.said.contains(&host.key()), "{}", server.said);
    let test = format!("perf -q -t 0.2 -P 2 -c {}", server.at);
    let line = client.refused(&test, 6);
    assert!(line.contains(&host.key()) && line.contains("--peer"), "{line}");
    let (shown, code) = client.asked(&test, "yes");
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(shown.matches("yes/no").count(), 1, "{shown}");
    assert_eq!(server.end().0, Some(0));
    let odd = client.refused("perf -c 127.0.4.1:9 --allow x", 2);
    assert!(odd.contains("--allow is for the server"), "{odd}");
}
