//! Peers that mean ill, or speak something else: bytes as they would send them.

use polypath_net::{Bytes, SendOptions};

use super::*;

pub(crate) const HELLO: &[u8] = b"\x01PPFT\x03\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x10";

/// The sender of that number says who it is.
pub(crate) fn identity(who: u8) -> Vec<u8> {
    [&[12][..], &[who; 32]].concat()
}

pub(crate) fn offer(id: u32, folder: bool, size: u64, name: &[u8]) -> Vec<u8> {
    let size = if folder { 0 } else { size };
    offer_of(id, folder.into(), 0o644, (size, size), name, b"")
}

/// An offer of any kind: 0 is a file, 1 a folder, 2 a link; `sizes` are those of the file and of
/// what is no hole.
pub(crate) fn offer_of(
    id: u32,
    kind: u8,
    mode: u16,
    sizes: (u64, u64),
    name: &[u8],
    target: &[u8],
) -> Vec<u8> {
    let mut out = vec![3];
    out.extend(id.to_le_bytes());
    out.push(kind);
    out.extend(mode.to_le_bytes());
    out.extend([0; 12]);
    out.extend(sizes.0.to_le_bytes());
    out.extend(sizes.1.to_le_bytes());
    out.extend((name.len() as u16).to_le_bytes());
    out.extend(name);
    out.extend(target);
    out
}

pub(crate) fn holes(id: u32, runs: &[(u32, u32)]) -> Vec<u8> {
    let mut out = [&[14][..], &id.to_le_bytes()].concat();
    for (first, count) in runs {
        out.extend(first.to_le_bytes());
        out.extend(count.to_le_bytes());
    }
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
        let full = answers.iter().any(|a| a.ends_with(b"no space left on the receiver's disk"));
        assert_eq!(full, size == 1 << 46, "{size}: {answers:?}");
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
        ("an older version", vec![b"\x01PPFT\x02aaaaaaaaaaaaaaaa".to_vec()]),
        ("a hole behind the end", vec![HELLO.to_vec(), file(), holes(0, &[(0, 2)])]),
        ("a hole without an end", vec![HELLO.to_vec(), file(), holes(0, &[(1, u32::MAX)])]),
        ("a hole of nothing", vec![HELLO.to_vec(), file(), holes(0, &[(0, 0)])]),
        ("holes of no file", vec![HELLO.to_vec(), holes(3, &[(0, 1)])]),
        ("a hole twice", vec![HELLO.to_vec(), file(), holes(0, &[(0, 1), (0, 1)])]),
        (
            "a hole where a block came",
            vec![HELLO.to_vec(), file(), block(0, 0, &[1; 65_536]), holes(0, &[(0, 1)])],
        ),
        (
            "a block where a hole is",
            vec![HELLO.to_vec(), file(), holes(0, &[(0, 1)]), block(0, 0, &[1; 65_536])],
        ),
        ("more data than bytes", vec![HELLO.to_vec(), offer_of(0, 0, 0, (1, 2), b"f", b"")]),
        ("a file with a target", vec![HELLO.to_vec(), offer_of(0, 0, 0, (1, 1), b"f", b"x")]),
        ("a link to nothing", vec![HELLO.to_vec(), offer_of(0, 2, 0, (0, 0), b"d/f", b"")]),
        ("a link with a size", vec![HELLO.to_vec(), offer_of(0, 2, 0, (1, 0), b"d/f", b"x")]),
        ("a kind of the future", vec![HELLO.to_vec(), offer_of(0, 3, 0, (0, 0), b"f", b"")]),
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
                .chain((0..1025).map(|i| offer(i, false, 1, format!("n{i}").as_bytes())))
                .collect(),
        ),
        (
            "too many words on offer",
            std::iter::once(HELLO.to_vec())
                .chain((0..40).map(|i| offer(i, false, 1, &long_name(i))))
                .collect(),
        ),
        (
            "too many holes",
            std::iter::once(HELLO.to_vec())
                .chain((0..3).map(|i| offer_of(i, 0, 0, (1 << 36, 0), &[b'a' + i as u8], b"")))
                .chain((0..3u32).flat_map(|id| {
                    (0..256).map(move |m| {
                        let run = |r: u32| ((m * 128 + r) * 2, 1);
                        holes(id, &(0..128).map(run).collect::<Vec<_>>())
                    })
                }))
                .collect(),
        ),
    ];
    for (case, messages) in cases {
        let (received, _) = says(to.path(), &messages).await;
        let error = received.expect_err(case);
        assert!(!matches!(error, TransferError::Closed(_)), "{case}: {error}");
        let too_many = case == "too many chunks begun";
        assert_eq!(too_many, error.to_string().contains("out of order"), "{case}: {error}");
        let too_many = case == "too many holes";
        assert_eq!(too_many, error.to_string().contains("too many holes"), "{case}: {error}");
    }
    assert!(!names(to.path()).iter().any(|name| name == "f"));
}

/// 4000 bytes in folders.
fn long_name(number: u32) -> Vec<u8> {
    [vec![format!("{number:0>199}"); 20].join("/")].concat().into_bytes()
}

/// A link that is offered to a receiver, and its verdict.
async fn offer_link(store: &Arc<Store>, name: &str, target: &str) -> Option<u8> {
    let offer = offer_of(0, 2, 0o777, (0, 0), name.as_bytes(), target.as_bytes());
    verdict(&says_to(store, 1, &[HELLO.to_vec(), offer]).await.1)
}

#[tokio::test]
async fn links_that_lead_out_are_refused_and_no_link_is_ever_followed() {
    let above = tempfile::tempdir().unwrap();
    fs::write(above.path().join("secret"), "secret").unwrap();
    let to = above.path().join("in");
    let store = store(&to);
    let bad = [
        ("top/l", "/etc/passwd"),
        ("top/l", "../secret"),
        ("top/a/l", "../../secret"),
        ("top/l", "a/../../secret"),
        ("top/l", "x\x1b[2J"),
        ("top/l", ".ssh"),
        ("l", "top"),
        ("../l", "top"),
        ("/l", "top"),
        ("top/.l", "top"),
    ];
    for (name, target) in bad {
        assert_eq!(offer_link(&store, name, target).await, Some(2), "{name} -> {target}");
    }
    assert!(names(&to).is_empty(), "{:?}", names(&to));
    // One deep in the folder that leads up, and one that goes through it: the second could leave.
    assert_eq!(offer_link(&store, "top/a/b/up", "../..").await, Some(0));
    assert_eq!(offer_link(&store, "top/out", "a/b/up/../secret").await, Some(2));
    // What is written through a link goes beside it: files, folders, links.
    let digest = [7; 32];
    let file =
        [HELLO.to_vec(), offer(0, false, 1, b"top/a/b/up/f"), block(0, 0, b"x"), end(0, 1, digest)];
    assert_eq!(verdict(&says_to(&store, 1, &file).await.1), Some(6), "all but the hash");
    let folder = [HELLO.to_vec(), offer(0, true, 0, b"top/a/b/up/d")];
    assert_eq!(verdict(&says_to(&store, 1, &folder).await.1), Some(0));
    assert_eq!(offer_link(&store, "top/a/b/up/l", "d").await, Some(0));
    assert_eq!(names(&to.join("top")), ["a"]);
    assert_eq!(names(&to.join("top/a/b")), ["up", "up (2)"]);
    assert!(fs::symlink_metadata(to.join("top/a/b/up (2)/l")).unwrap().is_symlink());
    // A file of the name of a link does not replace it, nor what it leads to.
    let folder = [HELLO.to_vec(), offer(0, true, 0, b"top/a/b/up")];
    assert_eq!(verdict(&says_to(&store, 2, &folder).await.1), Some(0));
    assert_eq!(fs::read_link(to.join("top/a/b/up")).unwrap(), Path::new("../.."));
    assert_eq!(names(above.path()), ["in", "secret"]);
}

#[tokio::test]
async fn links_cost_what_files_cost_and_tell_nothing() {
    let to = tempfile::tempdir().unwrap();
    let store = Store::open(StoreOptions { quota: Some(3 * 4096), ..options(to.path()) }).unwrap();
    assert_eq!(offer_link(&store, "top/a", "x").await, Some(0));
    // Whether the link of another is there is not told.
    assert_eq!(offer_link(&store, "top/a", "x").await, Some(0));
    assert_eq!(offer_link(&store, "top/a", "y").await, Some(0));
    assert_eq!(offer_link(&store, "top/a", "z").await, Some(3));
    assert_eq!(names(&to.path().join("top")), ["a", "a (2)"]);
}

#[tokio::test]
async fn modes_are_those_of_files_and_never_more() {
    use std::os::unix::fs::PermissionsExt as _;
    let to = tempfile::tempdir().unwrap();
    let store = store(to.path());
    for (i, mode) in [0o7777u16, 0o4755, 0o2770, 0o1777, 0xffff, 0o606].into_iter().enumerate() {
        let name = format!("f{i}");
        // An empty file: its hash is that of its size.
        let empty = blake3_of_nothing();
        let file =
            [HELLO.to_vec(), offer_of(0, 0, mode, (0, 0), name.as_bytes(), b""), end(0, 0, empty)];
        let (received, answers) = says_to(&store, 1, &file).await;
        assert_eq!(verdict(&answers), Some(0), "{received:?}");
        let is = fs::metadata(to.path().join(&name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!(is & !(u32::from(mode) & 0o755), 0, "{mode:o} became {is:o}");
        let folder = offer_of(0, 1, mode, (0, 0), format!("d{i}").as_bytes(), b"");
        let (_, answers) = says_to(&store, 1, &[HELLO.to_vec(), folder]).await;
        assert_eq!(verdict(&answers), Some(0));
        let is = fs::metadata(to.path().join(format!("d{i}"))).unwrap().permissions().mode();
        assert_eq!(is & 0o7022, 0, "{mode:o} became {is:o}");
    }
}

fn blake3_of_nothing() -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("polypath file transfer 2: file");
    hasher.update(&0u64.to_le_bytes());
    hasher.finalize().into()
}

#[tokio::test]
async fn holes_cost_nothing_until_data_comes() {
    let to = tempfile::tempdir().unwrap();
    // Far more than any disk has, of holes alone, and a hash that is wrong.
    let file = [
        HELLO.to_vec(),
        offer_of(0, 0, 0o644, (1 << 46, 0), b"big", b""),
        holes(0, &[(0, 1 << 16)]),
        end(0, 0, [7; 32]),
    ];
    let (_, answers) = says(to.path(), &file).await;
    assert_eq!(verdict(&answers), Some(6), "{answers:?}");
    assert!(names(to.path()).is_empty(), "{:?}", names(to.path()));
}

#[tokio::test]
async fn a_sender_survives_any_receiver() {
    let from = tempfile::tempdir().unwrap();
    let path = from.path().join("f");
    fs::write(&path, content(3 << 20, 1)).unwrap();
    let sources = Sources::new(&[path]).unwrap();
    let me = somebody();
    let welcome = [&b"\x02PPFT\x03\x10"[..], &[5; 16]].concat();
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
        ("no blocks at all", vec![[&b"\x02PPFT\x03\xff"[..], &[5; 16]].concat()]),
        ("blocks larger than agreed on", vec![[&b"\x02PPFT\x03\x11"[..], &[5; 16]].concat()]),
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
