//! What a receiver remembers of its folder: what it calls itself, and which files senders have
//! stored there, so that the same file is known again without reading it. One file of short lines
//! in the folder, appended to. Losing it means that files travel once more, and nothing else.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};

use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::{Mode, futimens};
use nix::sys::time::TimeSpec;

use super::codec::{Digest, Realm};
use super::identity::FileKey;
use super::name::STATE_FILE;
use super::part::Stamp;
use super::tree::Folder;

/// Files that are remembered, at most; beyond, the oldest are forgotten.
const MAX_ENTRIES: usize = 100_000;
/// What is read of the state file, at most; a line has less than 256 bytes.
const MAX_BYTES: u64 = 2 * 256 * MAX_ENTRIES as u64;
const FIRST_WORD: &str = "polypath-received-1";

/// A file as it was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The number of its name: [`name::copy_name`](super::name::copy_name).
    pub(crate) copy: u32,
    /// Of the blocks that its hash is made of.
    pub(crate) block_shift: u8,
    pub(crate) stamp: Stamp,
    pub(crate) digest: Digest,
}

#[derive(Debug)]
pub(crate) struct Index {
    /// Appended to, and locked as long as this lives.
    file: File,
    pub(crate) realm: Realm,
    /// When this receiver began, by the clock of the file system.
    pub(crate) began: (i64, i64),
    entries: BTreeMap<FileKey, Entry>,
    /// The same by inode, and those whose sender has stored another file of the name since.
    inodes: BTreeMap<u64, Entry>,
    /// From the oldest.
    order: VecDeque<(FileKey, u64)>,
}

impl Index {
    /// Takes possession of the folder: no other receiver uses it at the same time.
    pub(crate) fn open(folder: &Folder) -> io::Result<Self> {
        let file = open_file(folder, STATE_FILE, OFlag::empty())?;
        lock_file(&file)?;
        if read_number(folder)? != Some(Stamp::from_file(&file).map_err(refusal_error)?.inode) {
            return Err(io::Error::other("another polypath receive has just begun to use it"));
        }
        let (realm, (entries, lines)) = read_entries(&file)?;
        let fresh = realm.is_none();
        let realm = realm.map_or_else(new_realm, Ok)?;
        let began = (0, 0);
        let (all, inodes, order) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        let mut index = Self { file, realm, began, entries: all, inodes, order };
        entries.into_iter().for_each(|(key, entry)| index.keep_entry(key, entry));
        if fresh || lines > 2 * index.entries.len() + 1000 {
            index.write_anew(folder)?;
        }
        futimens(&index.file, &TimeSpec::UTIME_NOW, &TimeSpec::UTIME_NOW)?;
        index.began = Stamp::from_file(&index.file).map_err(refusal_error)?.mtime;
        Ok(index)
    }

    pub(crate) fn get(&self, key: FileKey) -> Option<Entry> {
        self.entries.get(&key).copied()
    }

    /// Whether the file with this stamp was stored, by whomever, with this hash.
    pub(crate) fn is_same(&self, stamp: &Stamp, block_shift: u8, digest: &Digest) -> bool {
        self.inodes.get(&stamp.inode).is_some_and(|entry| {
            (entry.stamp, entry.block_shift, entry.digest) == (*stamp, block_shift, *digest)
        })
    }

    /// A file was stored. That it could not be noted is no harm.
    pub(crate) fn put(&mut self, key: FileKey, entry: Entry) {
        self.keep_entry(key, entry);
        let _ = self.file.write_all(format_line(key, &entry).as_bytes());
    }

    fn keep_entry(&mut self, key: FileKey, entry: Entry) {
        let inode = entry.stamp.inode;
        self.entries.insert(key, entry);
        self.inodes.insert(inode, entry);
        self.order.push_back((key, inode));
        while self.order.len() > MAX_ENTRIES {
            let Some((oldest, inode)) = self.order.pop_front() else { break };
            self.inodes.remove(&inode);
            if self.entries.get(&oldest).is_some_and(|entry| entry.stamp.inode == inode) {
                self.entries.remove(&oldest);
            }
        }
    }

    /// Whole or not at all.
    fn write_anew(&mut self, folder: &Folder) -> io::Result<()> {
        let other = format!("{STATE_FILE}.new");
        folder.remove_part(other.as_bytes());
        let mut file = open_file(folder, &other, OFlag::O_EXCL)?;
        lock_file(&file)?;
        let mut text = format!("{FIRST_WORD} {}\n", to_hex(&self.realm));
        self.entries.iter().for_each(|(key, entry)| text += &format_line(*key, entry));
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        renameat(folder.handle(), other.as_str(), folder.handle(), STATE_FILE)?;
        self.file = file;
        Ok(())
    }
}

fn open_file(folder: &Folder, name: &str, more: OFlag) -> io::Result<File> {
    let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_APPEND | OFlag::O_NOFOLLOW;
    let flags = flags | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | more;
    let mode = Mode::S_IRUSR | Mode::S_IWUSR;
    let file = File::from(openat(folder.handle(), OsStr::new(name), flags, mode)?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other(format!("{name} is not a file"))),
    }
}

/// File systems that lock nothing are used all the same.
fn lock_file(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::other("another polypath receive uses it")),
        _ => Ok(()),
    }
}

fn read_number(folder: &Folder) -> io::Result<Option<u64>> {
    let stamp = Stamp::of_name(folder, STATE_FILE.as_bytes()).map_err(refusal_error)?;
    Ok(stamp.map(|stamp| stamp.inode))
}

fn refusal_error(refusal: super::tree::Refusal) -> io::Error {
    io::Error::other(refusal.text)
}

fn new_realm() -> io::Result<Realm> {
    let mut realm = Realm::default();
    getrandom::fill(&mut realm).map_err(io::Error::other)?;
    Ok(realm)
}

type Entries = Vec<(FileKey, Entry)>;

/// The realm and the entries with the number of lines. Lines that are not whole, or no lines of
/// ours, are passed over.
fn read_entries(file: &File) -> io::Result<(Option<Realm>, (Entries, usize))> {
    let mut lines = BufReader::new(file.take(MAX_BYTES)).split(b'\n');
    let Some(first) = lines.next().transpose()? else { return Ok((None, (Vec::new(), 0))) };
    let realm = str::from_utf8(&first).ok().and_then(|text| text.strip_prefix(FIRST_WORD));
    let realm = realm.and_then(|text| from_hex(text.strip_prefix(' ')?));
    let (mut entries, mut count) = (Vec::new(), 0);
    for line in lines {
        count += 1;
        entries.extend(str::from_utf8(&line?).ok().and_then(parse_line));
    }
    Ok((realm, (entries, count)))
}

fn format_line(key: FileKey, entry: &Entry) -> String {
    let Entry { copy, block_shift, stamp: Stamp { inode, size, mtime }, digest } = entry;
    let (seconds, nanos) = mtime;
    let (key, digest) = (to_hex(&key.0), to_hex(digest));
    // The mark at the end tells a whole line from one that a crash cut.
    format!("{key} {copy} {block_shift} {inode} {size} {seconds} {nanos} {digest} .\n")
}

fn parse_line(line: &str) -> Option<(FileKey, Entry)> {
    let mut words = line.strip_suffix(" .")?.split(' ');
    let mut word = || words.next();
    let key = FileKey(from_hex(word()?)?);
    let (copy, block_shift) = (word()?.parse().ok()?, word()?.parse().ok()?);
    let (inode, size) = (word()?.parse().ok()?, word()?.parse().ok()?);
    let mtime = (word()?.parse().ok()?, word()?.parse().ok()?);
    let digest = from_hex(word()?)?;
    let stamp = Stamp { inode, size, mtime };
    words.next().is_none().then_some((key, Entry { copy, block_shift, stamp, digest }))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect();
    bytes.filter(|_| rest.is_empty())?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn entry(inode: u64) -> Entry {
        let stamp = Stamp { inode, size: inode * 7, mtime: (-3, 5) };
        Entry { copy: 2, block_shift: 16, stamp, digest: [inode as u8; 32] }
    }

    fn key(i: u8) -> FileKey {
        FileKey([i; 16])
    }

    #[test]
    fn it_is_there_again_after_a_restart_and_a_crash() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open_root(root.path()).unwrap();
        let mut index = Index::open(&folder).unwrap();
        let realm = index.realm;
        index.put(key(1), entry(1));
        index.put(key(2), entry(2));
        index.put(key(1), entry(3));
        assert!(Index::open(&folder).unwrap_err().to_string().contains("another polypath"));
        drop(index);
        let path = root.path().join(STATE_FILE);
        let mut text = fs::read(&path).unwrap();
        text.extend(b"0101 cut by a cra\n\xff\xff\n");
        fs::write(&path, text).unwrap();
        let index = Index::open(&folder).unwrap();
        assert_eq!((index.realm, index.get(key(1))), (realm, Some(entry(3))));
        assert_eq!((index.get(key(2)), index.get(key(3))), (Some(entry(2)), None));
        assert!(index.is_same(&entry(3).stamp, 16, &[3; 32]));
        assert!(index.is_same(&entry(1).stamp, 16, &[1; 32]));
        assert!(!index.is_same(&entry(3).stamp, 15, &[3; 32]));
        assert!(!index.is_same(&entry(3).stamp, 16, &[4; 32]));
        assert!(index.began > (0, 0));
        drop(index);
        fs::write(&path, "something else").unwrap();
        assert_ne!(Index::open(&folder).unwrap().realm, realm);
    }

    #[test]
    fn old_lines_are_swept_out() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open_root(root.path()).unwrap();
        let mut index = Index::open(&folder).unwrap();
        (0..1100).for_each(|i| index.put(key(1), entry(i)));
        drop(index);
        let path = root.path().join(STATE_FILE);
        let before = fs::metadata(&path).unwrap().len();
        assert_eq!(Index::open(&folder).unwrap().get(key(1)), Some(entry(1099)));
        assert!(fs::metadata(&path).unwrap().len() * 100 < before);
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.path().join(STATE_FILE)).unwrap();
        assert!(Index::open(&Folder::open_root(root.path()).unwrap()).is_err());
    }

    proptest! {
        #[test]
        fn lines_are_read_as_they_were_written(
            id in any::<[u8; 16]>(), copy in any::<u32>(), block_shift in any::<u8>(), inode in any::<u64>(),
            size in any::<u64>(), mtime in any::<(i64, i64)>(), digest in any::<Digest>(),
        ) {
            let stamp = Stamp { inode, size, mtime };
            let entry = Entry { copy, block_shift, stamp, digest };
            let line = format_line(FileKey(id), &entry);
            prop_assert!(line.len() < 256);
            prop_assert_eq!(parse_line(line.trim_end_matches('\n')), Some((FileKey(id), entry)));
        }

        #[test]
        fn any_line_is_read_or_passed_over(line in "\\PC{0,80}") {
            let _ = parse_line(&line);
        }
    }
}
