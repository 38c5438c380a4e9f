//! Whom a server lets in.

use super::*;

#[test]
fn a_server_says_who_sent() {
    let (sender, receiver) = (Host::new(), Host::new());
    let mut server = Server::receive(&receiver, "--once");
    assert!(server.said.contains("lets in anyone"), "{}", server.said);
    assert!(sender.send(&server, &format!("--peer {}", receiver.key())).status.success());
    let (code, said) = server.end();
    assert_eq!(code, Some(0));
    assert!(said.contains(&format!(", {}", sender.key())), "{said}");
}

#[test]
fn those_of_the_file_are_let_in_also_when_it_changes() {
    let (sender, friend, receiver) = (Host::new(), Host::new(), Host::new());
    let file = receiver.path("allowed");
    fs::write(&file, format!("{} # friend\n", friend.key())).unwrap();
    let mut server = Server::receive(&receiver, "--allow allowed");
    let peer = format!("--peer {}", receiver.key());
    let refused = sender.send(&server, &peer);
    let line = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(6), "{line}");
    assert!(line.lines().count() == 1 && line.contains(&sender.key()), "{line}");
    let told = server.hear(&sender.key());
    assert!(told.contains("127.0.0.1"), "{told}");
    assert!(!received(&receiver));
    assert!(friend.send(&server, &peer).status.success());
    fs::write(&file, format!("{}\n", sender.key())).unwrap();
    assert!(eventually(|| sender.send(&server, &peer).status.success()));
    assert_eq!(friend.send(&server, &peer).status.code(), Some(6));
    // What cannot be read changes nothing, and is said.
    fs::write(&file, "\u{1b}[2J\n").unwrap();
    let told = server.hear("allowed: line 1");
    assert!(!told.contains('\u{1b}'), "{told}");
    assert!(sender.send(&server, &peer).status.success());
}

#[test]
fn a_file_that_is_wrong_is_one_line() {
    let host = Host::new();
    let receive = "receive --listen 127.0.4.2:9 --allow allowed";
    assert!(host.refused(receive, 5).contains("allowed: cannot be read"));
    fs::write(host.path("allowed"), "pp:short\n").unwrap();
    assert!(host.refused(receive, 5).contains("allowed: line 1: "));
    let perf = "perf -s --listen 127.0.4.2:9 --allow allowed";
    assert!(host.refused(perf, 5).contains("allowed: line 1: "));
}
