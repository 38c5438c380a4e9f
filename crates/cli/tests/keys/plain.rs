//! Ends of which one encrypts and the other does not, or in another way.

use super::*;

#[test]
fn both_have_to_say_that_they_do_not_encrypt() {
    let (sender, receiver) = (Host::new(), Host::new());
    let insecure = Server::receive(&receiver, "--insecure");
    assert!(insecure.said.contains("not encrypted (--insecure): "), "{}", insecure.said);
    let peer = format!("--peer {}", receiver.key());
    let line = sender.refused(&format!("send letter.txt --to {} {peer}", insecure.at), 6);
    assert!(line.contains("does not encrypt") && line.contains("--insecure"), "{line}");
    assert!(!received(&receiver));
    let sent = sender.run(&format!("send letter.txt --to {} --insecure", insecure.at));
    assert!(sent.status.success() && received(&receiver), "{}", text(&sent.stderr));
    let told = text(&sent.stderr);
    assert_eq!(told.matches("not encrypted (--insecure): ").count(), 1, "{told}");
    let protected = Server::receive(&Host::new(), "");
    let refused = sender.send(&protected, "--insecure");
    let line = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(6), "{line}");
    assert!(line.contains("leave --insecure out"), "{line}");
    let clash = format!("send letter.txt --to {} --insecure {peer}", insecure.at);
    assert!(sender.refused(&clash, 2).contains("--insecure"));
}

fn share(host: &Host, digits: &str) {
    fs::write(host.path("psk"), digits.repeat(16)).unwrap();
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(host.path("psk"), closed).unwrap();
}

#[test]
fn a_secret_that_both_have_serves_in_place_of_keys() {
    let (sender, receiver) = (Host::new(), Host::new());
    share(&sender, "12ab");
    share(&receiver, "12ab");
    let server = Server::receive(&receiver, "--psk psk");
    let sent = sender.send(&server, "--psk psk");
    assert!(sent.status.success() && received(&receiver), "{}", text(&sent.stderr));
    assert!(!sender.path("keys/identity").exists(), "no key is made");
    let refused = sender.send(&server, &format!("--peer {}", receiver.key()));
    let line = text(&refused.stderr);
    assert!(refused.status.code() == Some(6) && line.contains("--psk"), "{line}");
    share(&sender, "12ac");
    let wrong = sender.send(&server, "--psk psk --connect-timeout 2s");
    assert_ne!(wrong.status.code(), Some(0));
    fs::write(sender.path("psk"), "hunter2").unwrap();
    let line = sender.refused(&format!("send letter.txt --to {} --psk psk", server.at), 5);
    assert!(line.contains("32 bytes") && !line.contains("hunter2"), "{line}");
}
