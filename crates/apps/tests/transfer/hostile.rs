//! Peers that mean ill, or speak something else: bytes as they would send them.

use polypath_net::{Bytes, SendOptions};

use super::*;

pub(crate) const HELLO: &[u8] = b"\x01PPFT\x02\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x10";

/// The sender of that number says who it is.
pub(crate) fn identity(who: u8) -> Vec<u8> {
    [&[12][..], &[who; 32]].concat()
}

pub(crate) fn offer(id: u32, folder: bool, size: u64, name: &[u8]) -> Vec<u8> {
    let mut out = vec![3];
    out.extend(id.to_le_bytes());
    out.push(folder.into());
    out.extend(0o644u16.to_le_bytes());
    out.extend([0; 12]);
    out.extend(size.to_le_bytes());
    out.extend(name);
    out
}

pub(crate) fn block(id: u32, index: u64, data: &[u8]) -> Vec<u8> {
    [&[11][..], &id.to_le_bytes(), &index.to_le_bytes(), data].concat()
}

pub(crate) fn end(id: u32, blocks: u64, digest: [u8; 32]) -> Vec<u8> {
    [&[6][..], &id.to_le_bytes(), &blocks.to_le_bytes(), &digest].concat()
}

/// What a receiver makes of these messages, and what it answers.
async fn says(to: &Path, messages: &[Vec<u8>]) -> (Outcome, Vec<Bytes>) {
    says_to(&store(to), 1, messages).await
}

/// The same, of the sender of this number, to a receiver that others may use as well.
pub(crate) async fn says_to(
    store: &Arc<Store>,
    who: u8,
    messages: &[Vec<u8>],
) -> (Outcome, Vec<Bytes>) {
    let (a, b) = pair().await;
    let mut messages = messages.to_vec();
    if messages.first().is_some_and(|first| first == HELLO) {
        messages.insert(1, identity(who));
    }
    let messages: Vec<Bytes> = messages.into_iter().map(Bytes::from).collect();
    let talk = async {
        let _ = a.send_all(0, messages, SendOptions::default()).await;
        let mut answers = Vec::new();
        hear(&a, &mut answers).await;
        a.begin_shutdown();
        hear(&a, &mut answers).await;
        answers
    };
    let (received, answers) = tokio::join!(take(&b, store, &Quiet), talk);
    (received, answers)
}

/// Takes what comes until it is quiet, or over.
pub(crate) async fn hear(association: &Association, heard: &mut Vec<Bytes>) {
    let quiet = Duration::from_millis(200);
    while let Ok(Ok(Some(message))) = tokio::time::timeout(quiet, association.recv()).await {
        heard.push(message.data);
    }
}

/// The code of the verdict on file 0.
pub(crate) fn verdict(answers: &[Bytes]) -> Option<u8> {
    answers.iter().find(|a| a.starts_with(&[8, 0, 0, 0, 0])).map(|a| a[5])
}

#[tokio::test]
async fn names_that_lead_out_are_refused() {
    let above = tempfile::tempdir().unwrap();
    let to = above.path().join("in/side");
    fs::create_dir_all(&to).unwrap();
    std::os::unix::fs::symlink(above.path(), to.join("link")).unwrap();
    let store = Store::open(StoreOptions { hidden: true, ..options(&to) }).unwrap();
    let bad: [&[u8]; 8] = [
        b"../x",
        b"/tmp/x",
        b"a/../../x",
        b"..",
        b"a\0b",
        b"a//b",
        b".x.polypath-part",
        b".polypath-received",
    ];
    for name in bad {
        for folder in [false, true] {
            let messages = [HELLO.to_vec(), offer(0, folder, 5, name)];
            let (_, answers) = says_to(&store, 1, &messages).await;
            assert_eq!(verdict(&answers), Some(2), "{name:?}: {answers:?}");
        }
    }
    assert_eq!(names(&to), ["link"]);
    // What a link leads to is not entered: there is another folder of that name.
    let messages = [HELLO.to_vec(), offer(0, true, 0, b"link/x")];
    assert_eq!(verdict(&says_to(&store, 1, &messages).await.1), Some(0));
    assert_eq!(names(above.path()), ["in"]);
    assert_eq!(names(&above.path().join("in")), ["side"]);
    assert_eq!(names(&to), ["link", "link (2)"]);
}

#[tokio::test]
async fn absurd_sizes_cost_nothing() {
    let to = tempfile::tempdir().unwrap();
    for size in [u64::MAX, 1 << 63, (1 << 46) + 1, 1 << 46] {
        let (_, answers) = says(to.path(), &[HELLO.to_vec(), offer(0, false, size, b"big")]).await;
        assert!(matches!(verdict(&answers), Some(3 | 5)), "{size}: {answers:?}");
        assert!(names(to.path()).is_empty());
    }
}

#[tokio::test]
async fn a_wrong_hash_keeps_the_file_from_its_name() {
    let to = tempfile::tempdir().unwrap();
    let data = block(0, 0, b"12345");
    let (_, answers) =
        says(to.path(), &[HELLO.to_vec(), offer(0, false, 5, b"f"), data, end(0, 1, [7; 32])])
            .await;
    assert_eq!(verdict(&answers), Some(6), "{answers:?}");
    let names = names(to.path());
    assert!(names.len() == 1 && names[0].ends_with(".polypath-part"), "{names:?}");
}

#[tokio::test]
async fn what_has_no_place_ends_the_transfer() {
    let to = tempfile::tempdir().unwrap();
    let file = || offer(0, false, 200_000, b"f");
    let cases: Vec<(&str, Vec<Vec<u8>>)> = vec![
        ("no greeting", vec![file()]),
        ("greeting twice", vec![HELLO.to_vec(), HELLO.to_vec()]),
        ("another protocol", vec![b"GET / HTTP/1.1\r\n".to_vec()]),
        ("a block of no file", vec![HELLO.to_vec(), block(0, 0, b"x")]),
        ("a block too long", vec![HELLO.to_vec(), file(), block(0, 0, &[1; 65_537])]),
        ("a block too short", vec![HELLO.to_vec(), file(), block(0, 0, b"x")]),
        ("a block behind the end", vec![HELLO.to_vec(), file(), block(0, 4, &[1; 65_536])]),
        ("a block at infinity", vec![HELLO.to_vec(), file(), block(0, u64::MAX, &[1; 65_536])]),
        (
            "a block twice",
            vec![HELLO.to_vec(), file(), block(0, 0, &[1; 65_536]), block(0, 0, &[1; 65_536])],
        ),
        ("an end of nothing", vec![HELLO.to_vec(), end(3, 0, [0; 32])]),
        ("two ends", vec![HELLO.to_vec(), file(), end(0, 4, [0; 32]), end(0, 4, [0; 32])]),
        ("a number left out", vec![HELLO.to_vec(), offer(1, false, 1, b"f")]),
        ("done with files open", vec![HELLO.to_vec(), file(), vec![9]]),
        ("what receivers say", vec![HELLO.to_vec(), vec![10]]),
        ("somebody else", vec![HELLO.to_vec(), identity(2)]),
        ("an older version", vec![b"\x01PPFT\x01aaaaaaaaaaaaaaaa".to_vec()]),
        (
            "too many chunks begun",
            std::iter::once(HELLO.to_vec())
                .chain([offer(0, false, 2 << 30, b"f")])
                .chain((0..1025).map(|i| block(0, i * 16, &[1; 65_536])))
                .collect(),
        ),
        ("no end at all", vec![HELLO.to_vec(), file()]),
        (
            "too many offers",
            std::iter::once(HELLO.to_vec())
                .chain((0..33).map(|i| offer(i, false, 1, format!("n{i}").as_bytes())))
                .collect(),
        ),
    ];
    for (case, messages) in cases {
        let (received, _) = says(to.path(), &messages).await;
        let error = received.expect_err(case);
        assert!(!matches!(error, TransferError::Closed(_)), "{case}: {error}");
        let too_many = case == "too many chunks begun";
        assert_eq!(too_many, error.to_string().contains("out of order"), "{case}: {error}");
    }
    assert!(!names(to.path()).iter().any(|name| name == "f"));
}

#[tokio::test]
async fn a_sender_survives_any_receiver() {
    let from = tempfile::tempdir().unwrap();
    let path = from.path().join("f");
    fs::write(&path, content(3 << 20, 1)).unwrap();
    let sources = Sources::new(&[path]).unwrap();
    let me = somebody();
    let welcome = [&b"\x02PPFT\x02\x10"[..], &[5; 16]].concat();
    let have = |first: u32| [&[4, 0, 0, 0, 0][..], &first.to_le_bytes(), &[9; 64]].concat();
    let cases: Vec<(&str, Vec<Vec<u8>>)> = vec![
        ("silence and an end", vec![]),
        ("claims beyond the end", vec![welcome.clone(), have(u32::MAX), have(2), vec![10]]),
        ("asking for nothing offered", vec![welcome.clone(), vec![5, 9, 0, 0, 0, 0]]),
        (
            "asking again and again",
            std::iter::once(welcome.clone())
                .chain((0..100).map(|_| vec![5, 0, 0, 0, 0, 0]))
                .collect(),
        ),
        ("no blocks at all", vec![[&b"\x02PPFT\x02\xff"[..], &[5; 16]].concat()]),
        ("blocks larger than agreed on", vec![[&b"\x02PPFT\x02\x11"[..], &[5; 16]].concat()]),
        ("a verdict of the future", vec![welcome.clone(), vec![8, 9, 0, 0, 0, 0]]),
        ("sender's words", vec![welcome.clone(), vec![9]]),
        ("rubbish", vec![vec![0xff; 100]]),
    ];
    for (case, messages) in cases {
        let (a, b) = pair().await;
        let talk = async {
            for message in messages {
                let _ = b.send(0, message).await;
            }
            hear(&b, &mut Vec::new()).await;
            b.begin_shutdown();
            while let Ok(Some(_)) = b.recv().await {}
        };
        let (sent, ()) = tokio::join!(send(&a, &sources, sending(&me), &Quiet), talk);
        assert!(sent.is_err(), "{case}: {sent:?}");
    }
}

#[tokio::test]
async fn a_silent_peer_is_given_up() {
    let to = tempfile::tempdir().unwrap();
    let (sender, receiver) = (endpoint(&[1], false), endpoint(&[2], true));
    // In between sits a socket that hands packets on until it is told to stop. It stays open: a
    // closed port would be told of (ICMP).
    let middle = std::sync::Arc::new(tokio::net::UdpSocket::bind("127.0.0.9:0").await.unwrap());
    let at = middle.local_addr().unwrap();
    let open = middle.clone();
    let (one, two) = (sender.local_addresses()[0], receiver.local_addresses()[0]);
    let relay = tokio::spawn(async move {
        let mut buffer = vec![0; 65_536];
        loop {
            let (len, from) = middle.recv_from(&mut buffer).await.unwrap();
            let onward = if from == one { two } else { one };
            middle.send_to(&buffer[..len], onward).await.unwrap();
        }
    });
    let remote = [at];
    let (a, b) = tokio::join!(sender.connect(&remote, PORT), receiver.accept());
    let (_a, b) = (a.unwrap(), b.unwrap());
    relay.abort();
    let limit = Duration::from_secs(2);
    let options = ReceiveOptions { silence: limit, ..RECEIVING };
    // It has greeted before it vanished, but did not get through.
    let greeting = greeting_of_another().await;
    let received = receive(&b, greeting, &store(to.path()), options, &Quiet).await;
    assert_eq!(received, Err(TransferError::Silent(limit)));
    drop(open);
}

async fn greeting_of_another() -> polypath_apps::transfer::Greeting {
    let (a, b) = pair().await;
    a.send(0, HELLO).await.unwrap();
    await_greeting(&b, SILENCE).await.unwrap()
}
