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
    let (sent, received) = transfer(&[top], to.path()).await;
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
    file.set_len(100 << 20).unwrap();
    for i in 0..100 {
        file.write_all_at(&content(50_000, i), i << 20).unwrap();
    }
    let (sent, received) = transfer(std::slice::from_ref(&path), to.path()).await;
    assert_eq!((sent.stored, sent.bytes, sent.travelled), (1, 100 << 20, 100 << 20));
    assert_eq!(sent, received);
    let (was, is) = (fs::read(path).unwrap(), fs::read(to.path().join("large")).unwrap());
    assert!(was == is);
    assert_eq!(names(to.path()), ["large"]);
}

#[tokio::test]
async fn what_is_there_is_skipped_and_other_content_stays() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (same, other, longer) = (content(2_000_000, 1), content(2_000_000, 2), content(10, 3));
    for (name, data) in [("same", &same), ("other", &other), ("longer", &longer)] {
        fs::write(from.path().join(name), data).unwrap();
    }
    fs::write(to.path().join("same"), &same).unwrap();
    fs::write(to.path().join("other"), &same).unwrap();
    fs::write(to.path().join("longer"), "12345678901").unwrap();
    let paths: Vec<_> = names(from.path()).iter().map(|name| from.path().join(name)).collect();
    let (sent, received) = transfer(&paths, to.path()).await;
    assert_eq!(sent, received);
    assert_eq!((sent.already_there, sent.stored, sent.failed, sent.travelled), (1, 0, 2, 0));
    assert!(sent.failures.iter().all(|f| f.cause == Cause::Receiver(Verdict::Exists)));
    assert!(fs::read(to.path().join("other")).unwrap() == same);
    let (sent, _) =
        transfer_with(&paths, &ReceiveOptions { overwrite: true, ..options(to.path()) }).await;
    let sent = sent.unwrap();
    assert_eq!((sent.already_there, sent.stored, sent.failed), (1, 2, 0));
    assert!(fs::read(to.path().join("other")).unwrap() == other);
    assert!(fs::read(to.path().join("longer")).unwrap() == longer);
    assert_eq!(names(to.path()), ["longer", "other", "same"]);
}

async fn break_off(path: &Path, to: &Path, at_sender: bool) {
    let (a, b) = pair().await;
    let sources = Sources::new(&[path.to_owned()]).unwrap();
    let association = if at_sender { &a } else { &b };
    let breaker = AbortAfter { association, left: AtomicU64::new(12 << 20) };
    let (one, two): (&dyn Observer, &dyn Observer) =
        if at_sender { (&breaker, &Quiet) } else { (&Quiet, &breaker) };
    let options = options(to);
    let (sent, received) =
        tokio::join!(send(&a, &sources, sending(), one), receive(&b, &options, two));
    assert!(matches!(sent, Err(TransferError::Closed(_))), "{sent:?}");
    assert!(matches!(received, Err(TransferError::Closed(_))), "{received:?}");
}

#[tokio::test]
async fn a_broken_transfer_goes_on_where_it_was() {
    for at_sender in [true, false] {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = from.path().join("f");
        let data = content((20 << 20) + 77, 9);
        fs::write(&path, &data).unwrap();
        break_off(&path, to.path(), at_sender).await;
        assert_eq!(names(to.path()), [".f.polypath-part"]);
        let (sent, _) = transfer(&[path], to.path()).await;
        assert_eq!((sent.stored, sent.bytes), (1, data.len() as u64));
        assert!(sent.travelled < 18 << 20, "{} bytes travelled again", sent.travelled);
        assert!(fs::read(to.path().join("f")).unwrap() == data);
        assert_eq!(names(to.path()), ["f"]);
    }
}

#[tokio::test]
async fn a_part_is_never_trusted() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (path, data) = (from.path().join("f"), content(5 << 20, 4));
    fs::write(&path, &data).unwrap();
    // Right but for one byte, and longer than the file.
    let mut part = [&data[..], &[1; 100]].concat();
    part[(2 << 20) + 5] ^= 1;
    fs::write(to.path().join(".f.polypath-part"), &part).unwrap();
    let (sent, _) = transfer(&[path], to.path()).await;
    assert_eq!((sent.stored, sent.travelled), (1, 1 << 20));
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
    let (meddle, options) = (Meddle(&changing), options(to.path()));
    let (sent, received) =
        tokio::join!(send(&a, &sources, sending(), &meddle), receive(&b, &options, &Quiet));
    let (sent, received) = (sent.unwrap(), received.unwrap());
    assert_eq!((sent.stored, sent.failed, received.failed), (1, 1, 1));
    assert_eq!(sent.failures[0].cause, Cause::Source);
    assert!(sent.failures[0].text.contains("changed"), "{:?}", sent.failures);
    assert!(
        names(to.path()).contains(&"b".to_owned()) && !names(to.path()).contains(&"a".to_owned())
    );
}

#[tokio::test]
async fn a_full_disk_is_said_at_both_ends_and_the_rest_arrives() {
    // A file that no disk has room for stands for a full one: its room is asked for before anything travels.
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let huge = from.path().join("huge");
    File::create(&huge).unwrap().set_len(15 << 40).unwrap();
    fs::write(from.path().join("small"), "fits").unwrap();
    let (sent, received) = transfer(&[huge, from.path().join("small")], to.path()).await;
    assert_eq!(sent, received);
    assert_eq!((sent.stored, sent.failed, sent.travelled), (1, 1, 4));
    assert_eq!(sent.failures[0].cause, Cause::Receiver(Verdict::NoSpace));
    assert!(sent.failures[0].text.contains("no space left"), "{:?}", sent.failures);
    assert_eq!(names(to.path()), ["small"]);
}

#[tokio::test]
async fn small_buffers_only_mean_small_blocks() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (path, data) = (from.path().join("f"), content(700_000, 6));
    fs::write(&path, &data).unwrap();
    let (a, b) = pair().await;
    let sources = Sources::new(&[path]).unwrap();
    let options = ReceiveOptions { buffer: 16 << 10, ..options(to.path()) };
    let (sent, received) =
        tokio::join!(send(&a, &sources, sending(), &Quiet), receive(&b, &options, &Quiet));
    assert_eq!(sent, received);
    assert!(fs::read(to.path().join("f")).unwrap() == data);
}

#[tokio::test]
async fn a_receiver_without_a_folder_says_so() {
    let from = tempfile::tempdir().unwrap();
    let path = from.path().join("f");
    fs::write(&path, "x").unwrap();
    let (sent, received) = transfer_with(std::slice::from_ref(&path), &options(&path)).await;
    assert!(matches!(sent, Err(TransferError::Closed(_))), "{sent:?}");
    let error = received.unwrap_err().to_string();
    assert!(error.starts_with("folder /") && error.ends_with("/f: file exists"), "{error}");
}
