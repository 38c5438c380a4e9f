//! Two hosts that know nothing of each other but a code.

use super::*;

fn code(server: &Server) -> String {
    let words = server.said.split_whitespace();
    words.into_iter().find(|word| word.starts_with("pp-code:")).unwrap().to_owned()
}

#[test]
fn a_code_makes_two_hosts_known_to_each_other_once() {
    let (sender, thief, receiver) = (Host::new(), Host::new(), Host::new());
    let line = "receive --dir in --allow allowed --enroll";
    let mut server = Server::start_until(&receiver, line, "--code pp-code:");
    let code = code(&server);
    // Who has no code is not let in, nor does it use the code up.
    let none = thief.send(&server, "--code pp-code:a4dq-obyh-a4dq-obyh-a4dq-obyh-a76a");
    assert_eq!(none.status.code(), Some(6), "{}", text(&none.stderr));
    assert_eq!(thief.send(&server, &format!("--peer {}", receiver.key())).status.code(), Some(6));
    let sent = sender.send(&server, &format!("--code {code}"));
    assert!(sent.status.success() && received(&receiver), "{}", text(&sent.stderr));
    server.hear("receiving at ");
    let known = sender.known_peers();
    assert!(known.starts_with(&format!("{} {} #", server.at, receiver.key())), "{known}");
    let allowed = fs::read_to_string(receiver.path("allowed")).unwrap();
    assert!(allowed.starts_with(&format!("{} #", sender.key())), "{allowed}");
    assert_eq!(mode(&receiver.path("allowed")), 0o600);
    // From now on without it; and nobody else with it.
    assert!(sender.send(&server, "").status.success());
    let again = thief.send(&server, &format!("--code {code}"));
    assert_eq!(again.status.code(), Some(6));
    assert!(text(&again.stderr).contains("does not have this code"), "{}", text(&again.stderr));
    assert!(thief.known_peers().is_empty());
}

#[test]
fn a_code_comes_from_stdin_and_serves_measurements() {
    let (client, host) = (Host::new(), Host::new());
    let line = "perf -s --one-off --allow allowed --enroll";
    let mut server = Server::start_until(&host, line, "--code pp-code:");
    let mut test = client.command(&format!("perf -q -t 0.2 -c {} --code -", server.at));
    let mut test = test.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    writeln!(test.stdin.take().unwrap(), "{}", code(&server)).unwrap();
    assert!(test.wait().unwrap().success());
    assert_eq!(server.end().0, Some(0));
    assert!(client.known_peers().contains(&host.key()));
}

#[test]
fn codes_with_a_slip_and_servers_without_a_file_are_refused() {
    let host = Host::new();
    let slip = "send letter.txt --to 127.0.4.1:9 --code pp-code:a4dr-obyh-a4dq-obyh-a4dq-obyh-a76a";
    assert!(host.refused(slip, 2).contains("slip"));
    assert!(host.refused("receive --listen 127.0.4.1:9 --enroll", 2).contains("--allow"));
    // Before a code is carried over for nothing.
    let line = "receive --listen 127.0.4.1:9 --enroll --allow";
    assert!(host.refused(&format!("{line} no/such/folder/x"), 5).contains("no/such/folder/x"));
    fs::write(host.path("senders"), "# those of the office\nnobody\n").unwrap();
    assert!(host.refused(&format!("{line} senders"), 5).contains("line 2"));
}
