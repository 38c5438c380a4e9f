//! Senders that do not know each other, at one receiver; and receivers that mean ill.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use polypath_apps::transfer::{Cause, Verdict};
use polypath_net::Bytes;

use super::hostile::{HELLO, block, end, hear, identity, offer, says_to, verdict};
use super::*;

const MIB: usize = 1 << 20;

/// What a sender says to begin a file of whole chunks and break off: `chunks` of them are sent.
fn beginning(name: &[u8], size: usize, chunks: usize) -> Vec<Vec<u8>> {
    let mut messages = vec![HELLO.to_vec(), offer(0, false, size as u64, name)];
    let data = content(65_536, 3);
    messages.extend((0..chunks as u64 * 16).map(|index| block(0, index, &data)));
    messages
}

fn parts(folder: &Path) -> Vec<String> {
    names(folder).into_iter().filter(|name| name.ends_with(".polypath-part")).collect()
}

/// Whether the receiver said that it has chunks of a file.
fn told_of_chunks(answers: &[Bytes]) -> bool {
    answers.iter().any(|answer| answer.first() == Some(&4))
}

#[tokio::test]
async fn nobody_reads_or_cuts_the_unfinished_file_of_another() {
    let to = tempfile::tempdir().unwrap();
    let store = store(to.path());
    says_to(&store, 1, &beginning(b"f", 4 * MIB, 2)).await.0.unwrap_err();
    let [part] = &parts(to.path())[..] else { panic!("{:?}", names(to.path())) };
    let before = fs::read(to.path().join(part)).unwrap();
    assert_eq!(before.len(), 2 * MIB);
    for size in [4 * MIB, MIB, 1] {
        let (_, answers) = says_to(&store, 2, &beginning(b"f", size, 0)).await;
        assert!(!told_of_chunks(&answers), "{answers:?}");
    }
    assert!(fs::read(to.path().join(part)).unwrap() == before);
    assert_eq!(parts(to.path()).len(), 1, "offers alone leave nothing");
    let (_, answers) = says_to(&store, 1, &beginning(b"f", 4 * MIB, 0)).await;
    assert!(told_of_chunks(&answers), "its own sender goes on");
}

/// The answers to the offer of a file of five bytes, and what became of it.
async fn answers_to(store: &Arc<Store>, who: u8, name: &[u8]) -> Vec<Bytes> {
    let digest = [7; 32];
    let messages =
        [HELLO.to_vec(), offer(0, false, 5, name), block(0, 0, b"12345"), end(0, 1, digest)];
    let mut answers = says_to(store, who, &messages).await.1;
    answers.retain(|answer| answer[0] != 2);
    answers
}

#[tokio::test]
async fn strangers_do_not_learn_which_files_are_there() {
    let to = tempfile::tempdir().unwrap();
    fs::write(to.path().join("same"), "12345").unwrap();
    fs::write(to.path().join("longer"), "1234567").unwrap();
    fs::create_dir(to.path().join("folder")).unwrap();
    std::os::unix::fs::symlink("/etc", to.path().join("link")).unwrap();
    let store = store(to.path());
    let nothing = answers_to(&store, 1, b"nothing").await;
    for name in ["same", "longer", "folder", "link", "same/x", "link/passwd"] {
        let answers = answers_to(&store, 1, name.as_bytes()).await;
        assert_eq!(answers, nothing, "{name}");
    }
}

/// A file of five bytes as its sender sends it whole.
async fn sends_whole(store: &Arc<Store>, dir: &Path, who: &Identity, data: &str) -> Report {
    let path = dir.join("f");
    fs::write(&path, data).unwrap();
    transfer_with(who, &[path], store).await.0.unwrap()
}

#[tokio::test]
async fn a_taken_name_gets_a_number_and_nobody_hears_of_it() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(to.path().join("f"), "the operator's").unwrap();
    let store = store(to.path());
    let (one, two) = (somebody(), somebody());
    for (who, data, there) in [
        (&one, "first", "f (2)"),
        (&two, "other", "f (3)"),
        // What another has stored with the same content is as good as one's own.
        (&two, "first", "f (2)"),
    ] {
        let sent = sends_whole(&store, from.path(), who, data).await;
        assert_eq!((sent.stored, sent.failed), (1, 0), "{data}");
        assert_eq!(fs::read(to.path().join(there)).unwrap(), data.as_bytes());
    }
    assert_eq!(fs::read(to.path().join("f")).unwrap(), b"the operator's");
    assert_eq!(names(to.path()), ["f", "f (2)", "f (3)"]);
    // Nor do two files of one name and sender make more and more copies.
    assert_eq!(sends_whole(&store, from.path(), &two, "other").await.stored, 1);
    assert_eq!(sends_whole(&store, from.path(), &two, "first").await.stored, 1);
    assert_eq!(names(to.path()), ["f", "f (2)", "f (3)"]);
    // It is one's own now, and not asked for again.
    assert_eq!(sends_whole(&store, from.path(), &two, "first").await.already_there, 1);
}

#[tokio::test]
async fn hidden_files_are_taken_only_where_they_are_asked_for() {
    let to = tempfile::tempdir().unwrap();
    let names = [&b".bashrc"[..], b".ssh/authorized_keys", b"a/.config/autostart/x.desktop"];
    for (hidden, expected) in [(false, Some(2)), (true, None)] {
        let store = Store::open(StoreOptions { hidden, ..options(to.path()) }).unwrap();
        for name in names {
            let (_, answers) =
                says_to(&store, 1, &[HELLO.to_vec(), offer(0, false, 5, name)]).await;
            assert_eq!(verdict(&answers), expected, "{answers:?}");
        }
        let (_, answers) = says_to(&store, 1, &[HELLO.to_vec(), offer(0, true, 0, b".ssh")]).await;
        assert_eq!(verdict(&answers), Some(if hidden { 0 } else { 2 }));
    }
}

#[tokio::test]
async fn an_offer_takes_nothing_of_the_disk() {
    let to = tempfile::tempdir().unwrap();
    let store = store(to.path());
    let (a, b) = pair().await;
    let size = 2 << 30;
    let messages = [HELLO.to_vec(), identity(1), offer(0, false, size, b"d/f")];
    let talk = async {
        for message in messages {
            a.send(0, message).await.unwrap();
        }
        let mut answers = Vec::new();
        hear(&a, &mut answers).await;
        assert!(answers.iter().any(|answer| answer[0] == 5), "{answers:?}");
        assert!(names(to.path()).is_empty(), "an offer alone makes no file and no folder");
        a.send(0, block(0, (size >> 16) - 1, &[1; 65_536])).await.unwrap();
        hear(&a, &mut answers).await;
        let part = names(&to.path().join("d"));
        let about = fs::metadata(to.path().join("d").join(&part[0])).unwrap();
        assert!(about.blocks() * 512 < 1 << 20, "{} blocks", about.blocks());
        a.abort("enough");
    };
    let (received, ()) = tokio::join!(take(&b, &store, &Quiet), talk);
    received.unwrap_err();
    assert!(parts(&to.path().join("d")).is_empty(), "nothing to go on from is left");
}

#[tokio::test]
async fn nothing_is_read_twice_for_an_offer() {
    let to = tempfile::tempdir().unwrap();
    says_to(&store(to.path()), 1, &beginning(b"f", 40 * MIB, 8)).await.0.unwrap_err();
    let part = to.path().join(&parts(to.path())[0]);
    // An older receiver left it. Reading shows in the time of the last access where that is kept:
    // here what was read is changed under the receiver.
    let store = store(to.path());
    let (_, first) = says_to(&store, 1, &beginning(b"f", 40 * MIB, 0)).await;
    assert!(told_of_chunks(&first));
    let stamp = fs::metadata(&part).unwrap().modified().unwrap();
    let data = vec![9; 8 * MIB];
    fs::write(&part, data).unwrap();
    let file = fs::File::options().write(true).open(&part).unwrap();
    file.set_modified(stamp).unwrap();
    let (_, second) = says_to(&store, 1, &beginning(b"f", 40 * MIB, 0)).await;
    assert_eq!(first, second, "it answers from memory");
}

#[tokio::test]
async fn a_new_session_of_the_same_sender_takes_over_at_once() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (path, data) = (from.path().join("f"), content(20 * MIB, 5));
    fs::write(&path, &data).unwrap();
    let (store, me) = (store(to.path()), somebody());
    let (a, b) = pair().await;
    let sources = Sources::new(std::slice::from_ref(&path)).unwrap();
    // A sender that dies without a word: its association lives as far as the receiver knows.
    let count = Count::default();
    let dead = async {
        let mut sending = std::pin::pin!(send(&a, &sources, sending(&me), &count));
        std::future::poll_fn(|context| {
            assert!(sending.as_mut().poll(context).is_pending(), "it should have been stopped");
            match count.0.load(Ordering::SeqCst) < 8 * MIB as u64 {
                true => std::task::Poll::Pending,
                false => std::task::Poll::Ready(()),
            }
        })
        .await;
        transfer_with(&me, &[path], &store).await.0.unwrap()
    };
    let (old, sent) = tokio::join!(take(&b, &store, &Quiet), dead);
    assert_eq!(old, Err(TransferError::TakenOver));
    assert_eq!((sent.stored, sent.failed), (1, 0));
    assert!(sent.travelled < 18 * MIB as u64, "{}", sent.travelled);
    assert!(fs::read(to.path().join("f")).unwrap() == data);
    assert_eq!(names(to.path()), ["f"]);
}

/// Counts bytes.
#[derive(Default)]
struct Count(AtomicU64);

impl Observer for Count {
    fn progress(&self, bytes: u64, _travelled: bool) {
        self.0.fetch_add(bytes, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn many_open_files_need_few_descriptors() {
    let to = tempfile::tempdir().unwrap();
    let store = store(to.path());
    let open = || {
        fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|fd| {
                fs::read_link(fd.ok()?.path()).ok().filter(|to_| to_.starts_with(to.path()))
            })
            .count()
    };
    let (a, b) = pair().await;
    let talk = async {
        let offers = (0..32).map(|i| offer(i, false, 65_537, format!("f{i}").as_bytes()));
        let first = (0..32).map(|i| block(i, 0, &[i as u8; 65_536]));
        let messages = [HELLO.to_vec(), identity(1)].into_iter().chain(offers).chain(first);
        for message in messages {
            a.send(0, message).await.unwrap();
        }
        let mut answers = Vec::new();
        hear(&a, &mut answers).await;
        assert!(!answers.iter().any(|answer| answer[0] == 8), "{answers:?}");
        // The folder, what is remembered of it, and the files.
        assert!(open() <= 2 + 4, "{} open", open());
        assert_eq!(parts(to.path()).len(), 32);
        // All of them can still be written.
        for i in 0..32 {
            a.send(0, block(i, 1, b"x")).await.unwrap();
            a.send(0, end(i, 2, [0; 32])).await.unwrap();
        }
        hear(&a, &mut answers).await;
        let damaged = answers.iter().filter(|answer| answer[0] == 8 && answer[5] == 6).count();
        assert_eq!(damaged, 32, "whole, but for the hash that nobody knew");
        a.abort("");
    };
    let (received, ()) = tokio::join!(take(&b, &store, &Quiet), talk);
    received.unwrap_err();
}

#[tokio::test]
async fn a_quota_holds_for_all_senders_together() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let quota = Some(3 * MIB as u64);
    let store = Store::open(StoreOptions { quota, ..options(to.path()) }).unwrap();
    let mut verdicts = Vec::new();
    for name in ["a", "b", "c"] {
        let path = from.path().join(name);
        fs::write(&path, content(MIB + MIB / 4, 1)).unwrap();
        let (sent, _) = transfer_with(&somebody(), &[path], &store).await;
        verdicts.push(sent.unwrap().failures.first().map(|failure| failure.cause));
    }
    assert_eq!(verdicts, [None, None, Some(Cause::Receiver(Verdict::NoSpace))]);
}

#[tokio::test]
async fn permissions_are_what_the_umask_leaves() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = from.path().join("f");
    fs::write(&path, "x").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6777)).unwrap();
    transfer(&somebody(), &[path], to.path()).await;
    // A file that asks for everything shows what the umask takes.
    fs::create_dir(to.path().join("probe")).unwrap();
    let allowed = fs::metadata(to.path().join("probe")).unwrap().mode() & 0o755;
    assert_eq!(fs::metadata(to.path().join("f")).unwrap().mode() & 0o7777, allowed);
}

/// A receiver that says these things, the first at once and the others when it has an offer, and
/// then one word for ever or nothing, to a sender that waits for half a second.
async fn receiver_says(messages: Vec<Vec<u8>>, forever: Option<Vec<u8>>) -> (Outcome, u64) {
    let from = tempfile::tempdir().unwrap();
    let path = from.path().join("f");
    fs::write(&path, content(MIB, 1)).unwrap();
    let sources = Sources::new(&[path]).unwrap();
    let (a, b) = pair().await;
    let talk = async {
        let mut messages = messages.into_iter();
        if let Some(first) = messages.next() {
            b.send(0, first).await.unwrap();
        }
        let mut bytes = 0;
        loop {
            let next = tokio::time::timeout(Duration::from_millis(50), b.recv()).await;
            match (next, &forever) {
                (Ok(Ok(Some(message))), _) => {
                    bytes += message.data.len() as u64;
                    if message.data[0] == 3 {
                        for message in messages.by_ref() {
                            b.send(0, message).await.unwrap();
                        }
                    }
                }
                (Err(_), Some(word)) => drop(b.send(0, word.clone()).await),
                (Err(_), None) => {}
                _ => return bytes,
            }
        }
    };
    let options = SendFilesOptions { silence: Duration::from_millis(500), ..sending(&somebody()) };
    tokio::join!(send(&a, &sources, options, &Quiet), talk)
}

pub(crate) fn welcome() -> Vec<u8> {
    [&b"\x02PPFT\x03\x10"[..], &[5; 16]].concat()
}

#[tokio::test]
async fn a_sender_does_not_wait_for_a_mute_receiver() {
    let go = vec![5, 0, 0, 0, 0, 0];
    for messages in [vec![], vec![welcome()], vec![welcome(), go]] {
        let (sent, _) = receiver_says(messages, None).await;
        assert_eq!(sent, Err(TransferError::Mute(Duration::from_millis(500))));
    }
}

#[tokio::test]
async fn a_receiver_cannot_say_for_ever_that_it_is_working() {
    let (sent, _) = receiver_says(vec![welcome()], Some(vec![13])).await;
    assert_eq!(sent, Err(TransferError::Mute(Duration::from_secs(10))));
}

#[tokio::test]
async fn a_sender_sends_no_file_again_and_again() {
    let go = vec![5, 0, 0, 0, 0, 0];
    let (sent, bytes) = receiver_says(vec![welcome()], Some(go)).await;
    assert_eq!(sent, Err(TransferError::Protocol("it asks for one file again and again")));
    assert!(bytes < 3 * MIB as u64, "{bytes} bytes");
}

#[tokio::test]
async fn what_a_receiver_says_is_shown_escaped() {
    let words = "no\x1b[2J\u{9b}\u{202e}\nway".as_bytes();
    let verdict = [&[8, 0, 0, 0, 0, 5][..], words].concat();
    let (from, notes) = (tempfile::tempdir().unwrap(), Notes::default());
    let path = from.path().join("f\x1b");
    fs::write(&path, "x").unwrap();
    let sources = Sources::new(&[path]).unwrap();
    let (a, b) = pair().await;
    let talk = async {
        b.send(0, welcome()).await.unwrap();
        hear(&b, &mut Vec::new()).await;
        b.send(0, verdict).await.unwrap();
        hear(&b, &mut Vec::new()).await;
        b.abort("");
    };
    let me = somebody();
    let (sent, ()) = tokio::join!(send(&a, &sources, sending(&me), &notes), talk);
    sent.unwrap_err();
    let notes = notes.lines();
    assert_eq!(notes, ["f\\u{1b}: no\\u{1b}[2J\\u{9b}\\u{202e}\\nway"]);
}

#[tokio::test]
async fn who_does_not_greet_is_sent_away() {
    let (_a, b) = pair().await;
    let limit = Duration::from_millis(300);
    let error = await_greeting(&b, limit).await.unwrap_err();
    assert_eq!(error, TransferError::NoGreeting(limit));
    b.closed().await;
}

#[tokio::test]
async fn a_sender_that_only_lives_is_given_up() {
    let to = tempfile::tempdir().unwrap();
    let (a, b) = pair().await;
    a.send(0, HELLO).await.unwrap();
    let silence = Duration::from_millis(500);
    let options = ReceiveOptions { silence, ..RECEIVING };
    let received = take_with(&b, &store(to.path()), options, &Quiet).await;
    assert_eq!(received, Err(TransferError::Mute(silence)));
    a.closed().await;
}
