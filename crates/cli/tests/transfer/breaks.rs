//! Transfers that break, and go on.

use super::*;

#[test]
fn an_interrupted_transfer_is_told_and_goes_on_later() {
    for at_sender in [true, false] {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = file(from.path(), "f", 60_000_000);
        // Small buffers make it slow enough to be hit.
        let slow = ["--once", "--buffer", "32KiB"];
        let receiver = Receiver::start(&["127.0.1.6"], to.path(), &slow);
        let mut sender = sender(&receiver.at);
        sender.arg(&path);
        let sender = sender.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_part(to.path(), 3_000_000);
        let victim = if at_sender { sender.id() } else { receiver.child.id() };
        kill(Pid::from_raw(victim as i32), Signal::SIGINT).unwrap();
        let sent = sender.wait_with_output().unwrap();
        let (received, _, talk) = receiver.end();
        let codes = (sent.status.code(), received.code());
        let expected = if at_sender { (130, 1) } else { (1, 130) };
        let all = format!("{} {talk}", text(&sent.stderr));
        assert_eq!(codes, (Some(expected.0), Some(expected.1)), "{all}");
        assert!(all.contains("broke the transfer off") && all.contains("interrupted"), "{all}");
        assert!(part(to.path()).is_some() && !to.path().join("f").exists());
        let receiver = Receiver::start(&["127.0.1.6"], to.path(), &["--once"]);
        let again = send(&[&path], &receiver.at, &[]);
        let line = text(&again.stdout);
        assert!(again.status.success() && line.contains("from an earlier attempt"), "{line}");
        assert!(receiver.end().0.success());
        assert!(fs::read(to.path().join("f")).unwrap() == fs::read(&path).unwrap());
    }
}

#[test]
fn a_sender_that_vanishes_is_noticed() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(from.path(), "f", 60_000_000);
    let slow = ["--once", "--buffer", "32KiB", "--timeout", "2s"];
    let receiver = Receiver::start(&["127.0.1.10"], to.path(), &slow);
    let mut sender = sender(&receiver.at);
    sender.arg(&path);
    let mut sender = sender.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_part(to.path(), 3_000_000);
    sender.kill().unwrap();
    sender.wait().unwrap();
    let (status, _, talk) = receiver.end();
    assert_eq!(status.code(), Some(3), "{talk}");
    // This host says at once that nobody is at the port any more (ICMP); silence would tell after
    // two seconds.
    let told = talk.contains("the peer is gone") || talk.contains("silent for 2 s");
    assert!(told && talk.contains("kept for the next attempt"), "{talk}");
}

#[test]
fn a_killed_sender_sends_again_at_once() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(from.path(), "f", 60_000_000);
    // Longer than this test may take: the receiver learns of the death by the second sender or not
    // at all.
    let more = ["--buffer", "32KiB", "--timeout", "10min"];
    let receiver = Receiver::start(&["127.0.1.11"], to.path(), &more);
    let port: u16 = receiver.at.rsplit(':').next().unwrap().parse().unwrap();
    let relay = Relay::start(port, "127.0.1.11");
    let mut sender = sender(&relay.at);
    sender.arg(&path);
    let mut sender = sender.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_part(to.path(), 3_000_000);
    sender.kill().unwrap();
    sender.wait().unwrap();
    let again = send(&[&path], &receiver.at, &[]);
    let line = text(&again.stdout);
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(line.contains("from an earlier attempt"), "{line}");
    assert!(fs::read(to.path().join("f")).unwrap() == fs::read(&path).unwrap());
    kill(Pid::from_raw(receiver.child.id() as i32), Signal::SIGINT).unwrap();
    let (_, _, talk) = receiver.end();
    assert!(talk.contains("begun anew in another transfer"), "{talk}");
}

/// Stands between two hosts, so that neither hears of the other's closed ports.
struct Relay {
    at: String,
}

impl Relay {
    fn start(port: u16, address: &str) -> Self {
        let socket = std::net::UdpSocket::bind("127.0.1.12:0").unwrap();
        let at = socket.local_addr().unwrap().to_string();
        let there = format!("{address}:{port}").parse().unwrap();
        let work = move || {
            let (mut buffer, mut client) = (vec![0; 65_536], None);
            while let Ok((len, from)) = socket.recv_from(&mut buffer) {
                let to = if from == there { client } else { Some(there) };
                if from != there {
                    client = Some(from);
                }
                if let Some(to) = to {
                    let _ = socket.send_to(&buffer[..len], to);
                }
            }
        };
        std::thread::Builder::new().spawn(work).unwrap();
        Self { at }
    }
}

#[test]
fn a_sender_that_was_told_to_goes_on_after_the_receiver_was_away() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(from.path(), "f", 60_000_000);
    let mut receiver = Receiver::start(&["127.0.1.13"], to.path(), &["--buffer", "32KiB"]);
    let at = receiver.at.clone();
    let mut sender = sender(&at);
    sender.arg(&path).arg("--retry=10min");
    let sender = sender.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_part(to.path(), 3_000_000);
    receiver.child.kill().unwrap();
    receiver.child.wait().unwrap();
    let mut command = polypath();
    command.args(["receive", "--listen", &at, "--once", "--dir"]).arg(to.path());
    let again = command.output().unwrap();
    let sent = sender.wait_with_output().unwrap();
    assert!(sent.status.success() && again.status.success(), "{}", text(&again.stderr));
    let (line, talk) = (text(&sent.stdout), text(&sent.stderr));
    assert!(line.contains("from an earlier attempt"), "{line}");
    assert!(talk.contains("connecting again in 1 s"), "{talk}");
    assert!(fs::read(to.path().join("f")).unwrap() == fs::read(&path).unwrap());
}

#[test]
fn retrying_ends_when_it_was_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "f", 10);
    let free = std::net::UdpSocket::bind("127.0.1.14:0").unwrap();
    let at = free.local_addr().unwrap().to_string();
    drop(free);
    let sent = send(&[&path], &at, &["--retry=2s"]);
    assert_eq!(sent.status.code(), Some(3));
    assert!(text(&sent.stderr).contains("connecting again in 1 s"), "{}", text(&sent.stderr));
}
