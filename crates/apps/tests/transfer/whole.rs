//! Transfers between peers that mean well.

use std::fs::{self, File, OpenOptions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};

use polypath_apps::transfer::{Cause, Verdict};

use super::*;

#[tokio::test]
async fn folders_arrive_as_they_are() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let top = from.path().join("top");
    fs::create_dir_all(top.join("deep/er")).unwrap();
    fs::create_dir_all(top.join("empty")).unwrap();
    let sizes = [0, 1, 1000, 65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 3_333_333];
    for (i, len) in sizes.into_iter().enumerate() {
        fs::write(top.join(format!("deep/{i}")), content(len, i as u64)).unwrap();
    }
    for i in 0..200 {
        fs::write(top.join(format!("deep/er/small-{i}")), content(i, i as u64)).unwrap();
    }
    let odd = top.join(std::ffi::OsStr::from_bytes(b"not\xff utf-8\n"));
    fs::write(&odd, "odd").unwrap();
    fs::set_permissions(&odd, fs::Permissions::from_mode(0o750)).unwrap();
    let (sent, received) = transfer(&somebody(), &[top], to.path()).await;
    assert_eq!(sent, received);
    assert_eq!((sent.stored, sent.folders, sent.failed), (210, 4, 0));
    for (i, len) in sizes.into_iter().enumerate() {
        let path = to.path().join(format!("top/deep/{i}"));
        assert!(fs::read(path).unwrap() == content(len, i as u64), "file {i}");
    }
    for i in 0..200 {
        let path = to.path().join(format!("top/deep/er/small-{i}"));
        assert_eq!(fs::read(path).unwrap(), content(i, i as u64));
    }
    assert!(to.path().join("top/empty").is_dir());
    let there = to.path().join("top").join(odd.file_name().unwrap());
    let (was, is) = (fs::metadata(&odd).unwrap(), fs::metadata(there).unwrap());
    assert_eq!(
        (is.mode() & 0o7777, is.mtime(), is.mtime_nsec()),
        (0o750, was.mtime(), was.mtime_nsec())
    );
}

#[tokio::test]
async fn a_hundred_megabytes_arrive_whole() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = from.path().join("large");
    let file = File::create(&path).unwrap();
    for i in 0..100 {
        file.write_all_at(&content(1 << 20, i), i << 20).unwrap();
    }
    let (sent, received) = transfer(&somebody(), std::slice::from_ref(&path), to.path()).await;
    assert_eq!((sent.stored, sent.bytes, sent.travelled), (1, 100 << 20, 100 << 20));
    assert_eq!(sent, received);
    let (was, is) = (fs::read(path).unwrap(), fs::read(to.path().join("large")).unwrap());
    assert!(was == is);
    assert_eq!(names(to.path()), ["large"]);
}

/// Ten gigabytes with a megabyte of data: at the beginning, inside and at the end.
fn sparse_file(path: &Path) -> File {
    let file = File::create(path).unwrap();
    file.set_len(10 << 30).unwrap();
    for (i, at) in [0, 3 << 30, (5 << 30) + 77_000, (10 << 30) - (1 << 18)].into_iter().enumerate()
    {
        file.write_all_at(&content(1 << 18, i as u64), at).unwrap();
    }
    file
}

/// Bytes on the disk; a file system that does not know holes cannot be tested.
fn disk_bytes(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks() * 512
}

#[tokio::test]
async fn holes_stay_holes() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (me, path, there) = (somebody(), from.path().join("f"), to.path().join("f"));
    let file = sparse_file(&path);
    let (sent, received) = transfer(&me, std::slice::from_ref(&path), to.path()).await;
    assert_eq!(sent, received);
    assert_eq!((sent.stored, sent.bytes), (1, 10 << 30));
    // Blocks have 64 KiB, and data begins where it likes.
    assert!(sent.travelled <= (1 << 20) + 2 * 65_536, "{}", sent.travelled);
    assert_eq!(sent.holes + sent.travelled, 10 << 30);
    assert!(disk_bytes(&there) < 2 << 20, "{} bytes on the disk", disk_bytes(&there));
    let copy = File::open(&there).unwrap();
    assert_eq!(copy.metadata().unwrap().len(), 10 << 30);
    for at in [0, 1 << 30, 3 << 30, 5 << 30, (10 << 30) - (1 << 20)] {
        let (mut is, mut was) = (vec![1; 1 << 20], vec![2; 1 << 20]);
        copy.read_exact_at(&mut is, at).unwrap();
        File::open(&path).unwrap().read_exact_at(&mut was, at).unwrap();
        assert!(is == was, "at {at}");
    }
    // It is known again, without reading ten gigabytes of zeros.
    drop(file);
    let (sent, _) = transfer(&me, &[path], to.path()).await;
    assert_eq!((sent.already_there, sent.travelled), (1, 0));
}

#[tokio::test]
async fn what_was_data_may_become_a_hole_after_a_break() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (me, path) = (somebody(), from.path().join("f"));
    fs::write(&path, content(20 << 20, 9)).unwrap();
    let there = store(to.path());
    break_off(&me, &path, &there, true).await;
    assert!(disk_bytes(&part(to.path())) > 4 << 20);
    // The same size, and nothing left of what was sent.
    let file = File::create(&path).unwrap();
    file.set_len(20 << 20).unwrap();
    file.write_all_at(b"end", (20 << 20) - 3).unwrap();
    drop(file);
    let (sent, _) = transfer_with(&me, std::slice::from_ref(&path), &there).await;
    assert_eq!(sent.unwrap().travelled, 65_536);
    let stored = to.path().join("f");
    assert!(fs::read(&stored).unwrap() == fs::read(&path).unwrap());
    assert!(disk_bytes(&stored) < 1 << 20, "{} bytes on the disk", disk_bytes(&stored));
}

#[tokio::test]
async fn links_inside_the_folder_arrive_as_links() {
    use std::os::unix::fs::symlink;
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let top = from.path().join("top");
    fs::create_dir_all(top.join("d/e")).unwrap();
    fs::write(top.join("a"), "content").unwrap();
    for (target, link) in [
        ("../../a", "d/e/up"),
        ("d", "folder"),
        ("./d//e/", "untidy"),
        ("missing", "dangling"),
        ("/etc/passwd", "absolute"),
        ("../..", "d/out"),
        ("d/e/../../../x", "through"),
    ] {
        symlink(target, top.join(link)).unwrap();
    }
    let notes = Notes::default();
    let (a, b) = pair().await;
    let sources = Sources::new(&[top]).unwrap();
    let (me, there) = (somebody(), store(to.path()));
    let (sent, received) =
        tokio::join!(send(&a, &sources, sending(&me), &notes), take(&b, &there, &Quiet));
    let (sent, received) = (sent.unwrap(), received.unwrap());
    assert_eq!((sent.links, sent.left_out, sent.failed, sent.stored), (4, 3, 0, 1));
    assert_eq!((received.links, received.failed), (4, 0));
    let at = to.path().join("top");
    assert_eq!(fs::read_link(at.join("d/e/up")).unwrap(), Path::new("../../a"));
    assert_eq!(fs::read(at.join("d/e/up")).unwrap(), b"content");
    assert_eq!(fs::read_link(at.join("untidy")).unwrap(), Path::new("d/e"));
    assert_eq!(names(&at), ["a", "d", "dangling", "folder", "untidy"]);
    assert_eq!(names(&at.join("d")), ["e"]);
    let notes = notes.lines();
    assert_eq!(notes.iter().filter(|line| line.contains(": left out: it leads ")).count(), 3);
    assert!(
        notes
            .iter()
            .any(|line| line.ends_with("/absolute: left out: it leads to an absolute name"))
    );
}

#[tokio::test]
async fn small_files_are_offered_without_waiting_for_answers() {
    let from = tempfile::tempdir().unwrap();
    for i in 0..1100 {
        fs::write(from.path().join(format!("f{i}")), "x").unwrap();
    }
    let sources = Sources::new(&[from.path().to_owned()]).unwrap();
    let (a, b) = pair().await;
    let me = somebody();
    let silent_receiver = async {
        b.send(0, super::strangers::welcome()).await.unwrap();
        let mut heard = Vec::new();
        while heard.iter().filter(|m: &&polypath_net::Bytes| m[0] == 3).count() < 1024 {
            super::hostile::hear(&b, &mut heard).await;
        }
        // And no more than that.
        super::hostile::hear(&b, &mut heard).await;
        b.abort("");
        heard.iter().filter(|message| message[0] == 3).count()
    };
    let (_, offers) = tokio::join!(send(&a, &sources, sending(&me), &Quiet), silent_receiver);
    assert_eq!(offers, 1024);
}

#[tokio::test]
async fn many_small_files_need_few_descriptors_and_arrive() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = |d: u64| from.path().join(format!("top/{d}"));
    for d in 0..20 {
        fs::create_dir_all(folder(d)).unwrap();
        for i in 0..100 {
            fs::write(folder(d).join(format!("f{i}")), content(1000, d * 1000 + i)).unwrap();
        }
    }
    let (sent, received) = transfer(&somebody(), &[from.path().join("top")], to.path()).await;
    assert_eq!(sent, received);
    assert_eq!((sent.stored, sent.folders, sent.bytes), (2000, 21, 2_000_000));
    let top = to.path().join("top");
    for (d, i) in [(0, 0), (7, 99), (19, 50)] {
        let name = format!("{d}/f{i}");
        assert_eq!(fs::read(top.join(name)).unwrap(), content(1000, d * 1000 + i));
    }
}

#[tokio::test]
async fn a_limit_holds_and_the_rest_is_as_always() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = from.path().join("f");
    fs::write(&path, content(500_000, 3)).unwrap();
    let sources = Sources::new(std::slice::from_ref(&path)).unwrap();
    let (a, b) = pair().await;
    let (me, there) = (somebody(), store(to.path()));
    let limit = std::num::NonZeroU64::new(4_000_000);
    let options = SendFilesOptions { limit, ..sending(&me) };
    let begin = tokio::time::Instant::now();
    let (sent, _) = tokio::join!(send(&a, &sources, options, &Quiet), take(&b, &there, &Quiet));
    // A megabit less may go at once; nothing makes it faster than that.
    assert!(begin.elapsed() > Duration::from_millis(750), "{:?}", begin.elapsed());
    assert_eq!(sent.unwrap().stored, 1);
    assert!(fs::read(to.path().join("f")).unwrap() == fs::read(&path).unwrap());
}

#[tokio::test]
async fn what_the_same_sender_stored_is_skipped_and_what_it_changed_comes_beside_it() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (me, path) = (somebody(), from.path().join("f.txt"));
    fs::write(&path, content(2_000_000, 1)).unwrap();
    let (sent, _) = transfer(&me, std::slice::from_ref(&path), to.path()).await;
    assert_eq!((sent.stored, sent.already_there), (1, 0));
    let (sent, received) = transfer(&me, std::slice::from_ref(&path), to.path()).await;
    assert_eq!(sent, received);
    assert_eq!((sent.already_there, sent.stored, sent.travelled), (1, 0, 0));
    fs::write(&path, content(2_000_000, 2)).unwrap();
    let (sent, _) = transfer(&me, std::slice::from_ref(&path), to.path()).await;
    assert_eq!((sent.already_there, sent.stored), (0, 1));
    assert_eq!(names(to.path()), ["f (2).txt", "f.txt"]);
    assert!(fs::read(to.path().join("f (2).txt")).unwrap() == content(2_000_000, 2));
    // Somebody has changed it there: what was stored is not there any more.
    fs::write(to.path().join("f (2).txt"), "mine").unwrap();
    let (sent, _) = transfer(&me, std::slice::from_ref(&path), to.path()).await;
    assert_eq!((sent.already_there, sent.stored), (0, 1));
    assert_eq!(names(to.path()), ["f (2).txt", "f (3).txt", "f.txt"]);
}

#[tokio::test]
async fn where_it_is_allowed_files_are_replaced() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = from.path().join("f");
    fs::write(&path, "new").unwrap();
    fs::write(to.path().join("f"), "old, and longer").unwrap();
    let replacing = StoreOptions { overwrite: true, ..options(to.path()) };
    let store = Store::open(replacing).unwrap();
    let (sent, _) = transfer_with(&somebody(), &[path], &store).await;
    assert_eq!(sent.unwrap().stored, 1);
    assert_eq!(fs::read(to.path().join("f")).unwrap(), b"new");
    assert_eq!(names(to.path()), ["f"]);
}

#[tokio::test]
async fn a_small_buffer_at_either_end_will_do() {
    for (ours, theirs) in [(16 << 10, BUFFER), (BUFFER, 16 << 10)] {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (path, data) = (from.path().join("f"), content(700_000, 6));
        fs::write(&path, &data).unwrap();
        let (a, b) = pair().await;
        let sources = Sources::new(&[path]).unwrap();
        let (store, me) = (store(to.path()), somebody());
        let sending = SendFilesOptions { buffer: ours, ..sending(&me) };
        let receiving = ReceiveOptions { buffer: theirs, ..RECEIVING };
        let (sent, received) = tokio::join!(
            send(&a, &sources, sending, &Quiet),
            take_with(&b, &store, receiving, &Quiet)
        );
        assert_eq!(sent, received);
        assert_eq!(sent.unwrap().stored, 1);
        assert!(fs::read(to.path().join("f")).unwrap() == data);
    }
}

async fn break_off(who: &Identity, path: &Path, store: &Arc<Store>, at_sender: bool) {
    let (a, b) = pair().await;
    let sources = Sources::new(&[path.to_owned()]).unwrap();
    let association = if at_sender { &a } else { &b };
    let breaker = AbortAfter { association, left: AtomicU64::new(12 << 20) };
    let (one, two): (&dyn Observer, &dyn Observer) =
        if at_sender { (&breaker, &Quiet) } else { (&Quiet, &breaker) };
    let (sent, received) =
        tokio::join!(send(&a, &sources, sending(who), one), take(&b, store, two));
    assert!(matches!(sent, Err(TransferError::Closed(_))), "{sent:?}");
    assert!(matches!(received, Err(TransferError::Closed(_))), "{received:?}");
}

/// The only unfinished file there.
fn part(to: &Path) -> PathBuf {
    let names = names(to);
    let [name] = &names[..] else { panic!("{names:?}") };
    assert!(name.starts_with(".f.") && name.ends_with(".polypath-part"), "{name}");
    to.join(name)
}

#[tokio::test]
async fn a_broken_transfer_goes_on_where_it_was() {
    // Also with a receiver that has been started again meanwhile.
    for (at_sender, restarted) in [(true, false), (false, false), (true, true)] {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (me, path) = (somebody(), from.path().join("f"));
        let data = content((20 << 20) + 77, 9);
        fs::write(&path, &data).unwrap();
        let mut there = store(to.path());
        break_off(&me, &path, &there, at_sender).await;
        part(to.path());
        if restarted {
            drop(there);
            there = store(to.path());
        }
        let (sent, _) = transfer_with(&me, &[path], &there).await;
        let sent = sent.unwrap();
        assert_eq!((sent.stored, sent.bytes), (1, data.len() as u64));
        assert!(sent.travelled < 18 << 20, "{} bytes travelled again", sent.travelled);
        assert!(fs::read(to.path().join("f")).unwrap() == data);
        assert_eq!(names(to.path()), ["f"]);
    }
}

#[tokio::test]
async fn a_part_is_never_trusted() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (me, path, data) = (somebody(), from.path().join("f"), content(20 << 20, 4));
    fs::write(&path, &data).unwrap();
    break_off(&me, &path, &store(to.path()), true).await;
    let part = part(to.path());
    let whole = fs::metadata(&part).unwrap().len() >> 20 << 20;
    // Right but for one byte, and longer than the file.
    let changed = [&data[..whole as usize], &[1; 30 << 20]].concat();
    fs::write(&part, changed).unwrap();
    OpenOptions::new().write(true).open(&part).unwrap().write_all_at(b"x", 5).unwrap();
    let (sent, _) = transfer(&me, &[path], to.path()).await;
    assert_eq!(sent.stored, 1);
    assert!(sent.travelled > 1 << 20 && sent.travelled < 18 << 20, "{}", sent.travelled);
    assert!(fs::read(to.path().join("f")).unwrap() == data);
}

/// Changes the file while it is read.
struct Meddle<'a>(&'a Path);

impl Observer for Meddle<'_> {
    fn file(&self, _: &str, _: u64) {
        OpenOptions::new().append(true).open(self.0).unwrap().set_len(3 << 20).unwrap();
    }
}

#[tokio::test]
async fn a_file_that_changes_is_withdrawn_and_the_others_arrive() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["a", "b"] {
        fs::write(from.path().join(name), content(4 << 20, 5)).unwrap();
    }
    let changing = from.path().join("a");
    let sources = Sources::new(&[changing.clone(), from.path().join("b")]).unwrap();
    let (a, b) = pair().await;
    let (meddle, store, me) = (Meddle(&changing), store(to.path()), somebody());
    let (sent, received) =
        tokio::join!(send(&a, &sources, sending(&me), &meddle), take(&b, &store, &Quiet));
    let (sent, received) = (sent.unwrap(), received.unwrap());
    assert_eq!((sent.stored, sent.failed, received.failed), (1, 1, 1));
    assert_eq!(sent.failures[0].cause, Cause::Source);
    assert!(sent.failures[0].text.contains("changed"), "{:?}", sent.failures);
    assert!(
        names(to.path()).contains(&"b".to_owned()) && !names(to.path()).contains(&"a".to_owned())
    );
}

#[tokio::test]
async fn missing_room_is_said_at_both_ends_and_the_rest_arrives() {
    // Room is asked for before anything travels.
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let large = from.path().join("large");
    fs::write(&large, content(10_000, 1)).unwrap();
    fs::write(from.path().join("small"), "fits").unwrap();
    let store = Store::open(StoreOptions { quota: Some(4100), ..options(to.path()) }).unwrap();
    let (sent, received) =
        transfer_with(&somebody(), &[large, from.path().join("small")], &store).await;
    let (sent, received) = (sent.unwrap(), received.unwrap());
    assert_eq!(sent, received);
    assert_eq!((sent.stored, sent.failed, sent.travelled), (1, 1, 4));
    assert_eq!(sent.failures[0].cause, Cause::Receiver(Verdict::NoSpace));
    assert!(sent.failures[0].text.contains("--quota"), "{:?}", sent.failures);
    assert_eq!(names(to.path()), ["small"]);
}

#[test]
fn a_folder_is_one_receivers() {
    let to = tempfile::tempdir().unwrap();
    let error = |folder: &Path| Store::open(options(folder)).unwrap_err().to_string();
    let first = store(to.path());
    assert!(error(to.path()).ends_with(": another polypath receive uses it"));
    drop(first);
    store(to.path());
    let file = to.path().join("f");
    fs::write(&file, "x").unwrap();
    let error = error(&file);
    assert!(error.starts_with("folder /") && error.ends_with("/f: file exists"), "{error}");
}
