//! Strangers at a receiver: they connect, say what they like, and go or stay.

use std::net::{IpAddr, SocketAddr};

use polypath_net::{Association, Config, DEFAULT_PORT, Endpoint, Identity, Tls, Trust};

use super::*;

const HELLO: &[u8] = b"\x01PPFT\x03\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x10";

fn stranger(last: u8) -> Endpoint {
    let keys = Tls::new(&Identity::generate().unwrap(), Trust::anyone());
    Endpoint::bind(Config::client([IpAddr::from([127, 0, 3, last])], keys)).unwrap()
}

async fn connect(stranger: &Endpoint, receiver: &Receiver) -> Association {
    let at: SocketAddr = receiver.at.parse().unwrap();
    stranger.connect(&[at], DEFAULT_PORT).await.unwrap()
}

/// Waits for an answer that begins with this tag.
async fn answer(association: &Association, tag: u8) {
    while association.recv().await.unwrap().unwrap().data[0] != tag {}
}

/// Sends without holding the runtime up.
async fn send_meanwhile(path: &Path, to: &str) -> Output {
    let (path, to) = (path.to_owned(), to.to_owned());
    tokio::task::spawn_blocking(move || send(&[&path], &to, &[])).await.unwrap()
}

fn identity(who: u8) -> Vec<u8> {
    [&[12][..], &[who; 32]].concat()
}

fn offer(id: u32, size: u64, name: &str) -> Vec<u8> {
    let (id, size, length) =
        (id.to_le_bytes(), size.to_le_bytes(), (name.len() as u16).to_le_bytes());
    [&[3][..], &id, &[0, 0xa4, 1], &[0; 12], &size, &size, &length, name.as_bytes()].concat()
}

fn block(id: u32, data: &[u8]) -> Vec<u8> {
    [&[11][..], &id.to_le_bytes(), &[0; 8], data].concat()
}

#[tokio::test]
async fn strangers_do_not_end_a_receiver_that_waits_for_one_transfer() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(from.path(), "f", 10);
    let receiver = Receiver::start(&["127.0.1.16"], to.path(), &["--once"]);
    let stranger = stranger(1);
    // A handshake and an ABORT; a greeting; a greeting and an offer; somebody else's protocol.
    let words: [&[Vec<u8>]; 4] = [
        &[],
        &[HELLO.to_vec()],
        &[HELLO.to_vec(), identity(1), offer(0, 1 << 20, "x")],
        &[b"GET / HTTP/1.1\r\n".to_vec()],
    ];
    for words in words {
        let association = connect(&stranger, &receiver).await;
        for word in words {
            association.send(0, word.clone()).await.unwrap();
        }
        if words.len() == 3 {
            answer(&association, 5).await;
        }
        association.abort("");
        association.closed().await;
    }
    let sent = send_meanwhile(&path, &receiver.at).await;
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    let (status, out, talk) = receiver.end();
    assert!(status.success() && out.starts_with("received 1 file"), "{out} {talk}");
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 2, "the file and what is remembered");
}

#[tokio::test]
async fn one_address_cannot_keep_the_others_out() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(from.path(), "f", 10);
    let receiver = Receiver::start(&["127.0.1.17"], to.path(), &[]);
    let mut kept = Vec::new();
    let mut refused = 0;
    for i in 0..40 {
        let stranger = stranger(2);
        let association = connect(&stranger, &receiver).await;
        // Half of them greet.
        if i % 2 == 0 {
            association.send(0, HELLO).await.unwrap();
            match association.recv().await {
                Ok(Some(welcome)) => assert_eq!(welcome.data[0], 2),
                _ => refused += 1,
            }
        }
        kept.push((stranger, association));
    }
    assert_eq!(refused, 16, "an address has four places");
    let sent = send_meanwhile(&path, &receiver.at).await;
    assert!(sent.status.success(), "{}", text(&sent.stderr));
}

#[tokio::test]
async fn few_descriptors_are_enough_for_all() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = file(from.path(), "f", 3_000_000);
    let mut command = Command::new("sh");
    command.env("XDG_STATE_HOME", to.path()).env("POLYPATH_HOME", KEYS);
    command.args(["-c", "ulimit -n 256; exec \"$0\" \"$@\""]);
    command.arg(assert_cmd::cargo::cargo_bin("polypath"));
    let into = to.path().join("in");
    let receiver = Receiver::start_by(command, &["127.0.1.18"], &into, &[]);
    let mut kept = Vec::new();
    for i in 0..12 {
        let stranger = stranger(10 + i / 4);
        let association = connect(&stranger, &receiver).await;
        association.send(0, HELLO).await.unwrap();
        association.send(0, identity(i)).await.unwrap();
        for id in 0..32 {
            association.send(0, offer(id, 1 << 30, &format!("x{i}-{id}"))).await.unwrap();
        }
        for id in 0..32 {
            association.send(0, block(id, &[1; 65_536])).await.unwrap();
        }
        // None is refused: all are asked for.
        for _ in 0..32 {
            answer(&association, 5).await;
        }
        kept.push((stranger, association));
    }
    let sent = send_meanwhile(&path, &receiver.at).await;
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert!(fs::read(into.join("f")).unwrap() == fs::read(&path).unwrap());
    for (_, association) in &kept {
        association.abort("");
        association.closed().await;
    }
    kill(Pid::from_raw(receiver.child.id() as i32), Signal::SIGINT).unwrap();
    let (status, _, talk) = receiver.end();
    assert_eq!(status.code(), Some(130), "{talk}");
    assert!(!talk.contains("many open files"), "{talk}");
}
