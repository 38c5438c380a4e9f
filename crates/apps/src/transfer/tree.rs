//! The folder that files arrive in, and the files in it. Every step down is taken without following symbolic links, so a name that passed
//! [`name::parts`](super::name::parts) stays inside.

use std::ffi::OsStr;
use std::fs::{File, FileTimes, Permissions, TryLockError};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;
#[expect(
    clippy::disallowed_types,
    reason = "files carry times; nobody asks for the present one"
)]
use std::time::SystemTime;

use nix::errno::Errno;
use nix::fcntl::{
    AtFlags, FallocateFlags, OFlag, RenameFlags, fallocate, openat, renameat, renameat2,
};
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::codec::Verdict;
use super::name;
use crate::shown;

/// Why a file is not written, for the peer and for people.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) verdict: Verdict,
    pub(crate) text: String,
}

impl Refusal {
    pub(crate) fn new(verdict: Verdict, text: impl Into<String>) -> Self {
        Self { verdict, text: text.into() }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        let full = [Errno::ENOSPC as i32, Errno::EDQUOT as i32];
        let full = error.raw_os_error().is_some_and(|number| full.contains(&number));
        if full {
            return Self::new(Verdict::NoSpace, "no space left on the receiver's disk");
        }
        Self::new(Verdict::Trouble, words(&error))
    }
}

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// An error in words, without the system's number.
pub(crate) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// A folder, whatever its name becomes.
#[derive(Debug)]
pub(crate) struct Folder(File);

const SEARCH: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
/// A folder that is made on the way to a file.
const FOLDER_MODE: u16 = 0o755;

impl Folder {
    /// The folder that everything goes into; made if it is missing.
    pub(crate) fn root(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let folder = File::open(path)?;
        if folder.metadata()?.is_dir() {
            return Ok(Self(folder));
        }
        Err(io::Error::from(Errno::ENOTDIR))
    }

    /// The folder with these parts below this one; missing ones are made, the last with permissions `mode`.
    pub(crate) fn below(&self, parts: &[&[u8]], mode: Option<u16>) -> Result<Self, Refusal> {
        let mut here = Self(self.0.try_clone()?);
        for (i, part) in parts.iter().enumerate() {
            let mode = mode.filter(|_| i + 1 == parts.len()).unwrap_or(FOLDER_MODE);
            here = here.step(OsStr::from_bytes(part), mode)?;
        }
        Ok(here)
    }

    fn step(&self, part: &OsStr, mode: u16) -> Result<Self, Refusal> {
        // Without the right to use one's own folder nothing could be put into it.
        let mode = Mode::from_bits_truncate(u32::from(mode & 0o755 | 0o700));
        match mkdirat(&self.0, part, mode) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(error.into()),
        }
        match openat(&self.0, part, SEARCH, Mode::empty()) {
            Ok(folder) => Ok(Self(folder.into())),
            Err(Errno::ELOOP | Errno::ENOTDIR) => Err(Refusal::new(
                Verdict::Exists,
                format!("{} is there and not a folder", shown::bytes(part.as_bytes())),
            )),
            Err(error) => Err(error.into()),
        }
    }

    fn stat(&self, part: &OsStr) -> Result<Option<FileStat>, Refusal> {
        match fstatat(&self.0, part, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The size of the file of this name, if there is one.
    pub(crate) fn existing(&self, part: &[u8]) -> Result<Option<u64>, Refusal> {
        let Some(stat) = self.stat(OsStr::from_bytes(part))? else { return Ok(None) };
        if SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
            return Err(Refusal::new(
                Verdict::Exists,
                "something that is not a file has this name",
            ));
        }
        Ok(Some(u64::try_from(stat.st_size).unwrap_or(0)))
    }

    pub(crate) fn open(&self, part: &[u8]) -> Result<File, Refusal> {
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
        Ok(File::from(openat(&self.0, OsStr::from_bytes(part), flags, Mode::empty())?))
    }

    fn remove(&self, part: &OsStr) {
        let _ = unlinkat(&self.0, part, UnlinkatFlags::NoRemoveDir);
    }
}

/// A file that is not whole yet.
#[derive(Debug)]
pub(crate) struct Part {
    folder: Folder,
    name: Vec<u8>,
    file: File,
    /// It was not there before.
    fresh: bool,
    finished: bool,
}

impl Part {
    /// Opens the unfinished file for `name`, old or new, and keeps others from it.
    pub(crate) fn open(folder: Folder, name: &[u8]) -> Result<Self, Refusal> {
        let unfinished = name::unfinished(name);
        let part = OsStr::from_bytes(&unfinished);
        let fresh = folder.stat(part)?.is_none();
        let flags = OFlag::O_RDWR
            | OFlag::O_CREAT
            | OFlag::O_NOFOLLOW
            | OFlag::O_CLOEXEC
            | OFlag::O_NONBLOCK;
        // Nobody else reads it before its owner said who may.
        let file: File = openat(&folder.0, part, flags, Mode::S_IRUSR | Mode::S_IWUSR)?.into();
        let about = file.metadata()?;
        if !about.is_file() || about.nlink() != 1 {
            let text = format!("{} is there and not an unfinished file", shown::bytes(&unfinished));
            return Err(Refusal::new(Verdict::Trouble, text));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Refusal::new(Verdict::Busy, "another transfer is writing it"));
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        Ok(Self { folder, name: name.to_vec(), file, fresh, finished: false })
    }

    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// Makes sure that there is room for `size` bytes, so that a full disk is known before anything travels.
    pub(crate) fn reserve(&self, size: u64) -> Result<(), Refusal> {
        let Ok(bytes) = i64::try_from(size) else {
            return Err(Refusal::new(Verdict::Trouble, "the file is too large"));
        };
        if bytes == 0 {
            return Ok(());
        }
        match fallocate(&self.file, FallocateFlags::FALLOC_FL_KEEP_SIZE, 0, bytes) {
            // Not every file system can: there a full disk shows when it is full.
            Ok(()) | Err(Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EINVAL) => Ok(()),
            Err(Errno::EFBIG) => {
                Err(Refusal::new(Verdict::Trouble, "the file is too large for the receiver's disk"))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn write(&self, data: &[u8], offset: u64) -> Result<(), Refusal> {
        Ok(self.file.write_all_at(data, offset)?)
    }

    /// Gives the whole file its name. Everything is on the disk before that.
    pub(crate) fn finish(
        mut self,
        size: u64,
        mode: u16,
        mtime: (i64, u32),
        overwrite: bool,
    ) -> Result<(), Refusal> {
        self.file.set_len(size)?;
        // Set-user-ID bits and others' right to write are not taken over from a stranger.
        self.file.set_permissions(Permissions::from_mode(u32::from(mode & 0o755)))?;
        if let Some(time) = system_time(mtime) {
            self.file.set_times(FileTimes::new().set_modified(time))?;
        }
        self.file.sync_all()?;
        self.rename(overwrite)?;
        self.finished = true;
        Ok(self.folder.0.sync_all()?)
    }

    fn rename(&self, overwrite: bool) -> Result<(), Refusal> {
        let unfinished = name::unfinished(&self.name);
        let (from, to) = (OsStr::from_bytes(&unfinished), OsStr::from_bytes(&self.name));
        let folder = &self.folder.0;
        if overwrite {
            return Ok(renameat(folder, from, folder, to)?);
        }
        let exists = || Refusal::new(Verdict::Exists, "another file has got this name meanwhile");
        match renameat2(folder, from, folder, to, RenameFlags::RENAME_NOREPLACE) {
            Ok(()) => Ok(()),
            Err(Errno::EEXIST) => Err(exists()),
            // Some file systems cannot do both at once.
            Err(Errno::EINVAL | Errno::ENOSYS) if self.folder.stat(to)?.is_none() => {
                Ok(renameat(folder, from, folder, to)?)
            }
            Err(Errno::EINVAL | Errno::ENOSYS) => Err(exists()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let len = self.file.metadata().map_or(0, |about| about.len());
        if self.fresh && len == 0 {
            self.folder.remove(OsStr::from_bytes(&name::unfinished(&self.name)));
        } else {
            // Gives back what was reserved beyond its end.
            let _ = self.file.set_len(len);
        }
    }
}

#[expect(clippy::disallowed_types, reason = "as above")]
fn system_time((seconds, nanos): (i64, u32)) -> Option<SystemTime> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    let at = if seconds < 0 { epoch.checked_sub(whole) } else { epoch.checked_add(whole) };
    at?.checked_add(Duration::from_nanos(nanos.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(root: &Path, name: &[u8]) -> Result<Part, Refusal> {
        Part::open(Folder::root(root)?, name)
    }

    fn names(root: &Path) -> Vec<String> {
        let all = std::fs::read_dir(root).unwrap();
        let mut names: Vec<_> =
            all.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_gets_its_name_when_it_is_whole() {
        let root = tempfile::tempdir().unwrap();
        let p = part(root.path(), b"a").unwrap();
        p.reserve(4).unwrap();
        p.write(b"cd", 2).unwrap();
        p.write(b"ab", 0).unwrap();
        assert_eq!(names(root.path()), [".a.polypath-part"]);
        p.finish(4, 0o4777, (1_000_000_000, 5), false).unwrap();
        assert_eq!(names(root.path()), ["a"]);
        let about = std::fs::metadata(root.path().join("a")).unwrap();
        assert_eq!(
            (about.mode() & 0o7777, about.mtime(), about.mtime_nsec()),
            (0o755, 1_000_000_000, 5)
        );
        assert_eq!(std::fs::read(root.path().join("a")).unwrap(), b"abcd");
    }

    #[test]
    fn an_unfinished_file_stays_unless_it_is_empty() {
        let root = tempfile::tempdir().unwrap();
        drop(part(root.path(), b"empty").unwrap());
        let p = part(root.path(), b"begun").unwrap();
        p.reserve(1 << 20).unwrap();
        p.write(b"x", 0).unwrap();
        drop(p);
        assert_eq!(names(root.path()), [".begun.polypath-part"]);
        assert_eq!(std::fs::metadata(root.path().join(".begun.polypath-part")).unwrap().len(), 1);
    }

    #[test]
    fn an_existing_name_is_not_taken_unless_allowed() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a"), "old").unwrap();
        let new = || {
            let p = part(root.path(), b"a").unwrap();
            p.write(b"new", 0).unwrap();
            p
        };
        let refusal = new().finish(3, 0o644, (0, 0), false).unwrap_err();
        assert_eq!(refusal.verdict, Verdict::Exists);
        assert_eq!(std::fs::read(root.path().join("a")).unwrap(), b"old");
        new().finish(3, 0o644, (-5, 0), true).unwrap();
        assert_eq!(std::fs::read(root.path().join("a")).unwrap(), b"new");
    }

    #[test]
    fn two_do_not_write_one_file() {
        let root = tempfile::tempdir().unwrap();
        let first = part(root.path(), b"a").unwrap();
        assert_eq!(part(root.path(), b"a").unwrap_err().verdict, Verdict::Busy);
        drop(first);
        assert!(part(root.path(), b"a").is_ok());
    }

    #[test]
    fn symbolic_links_are_not_followed() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let link =
            |to: &Path, name: &str| std::os::unix::fs::symlink(to, root.path().join(name)).unwrap();
        link(outside.path(), "way");
        link(&outside.path().join("file"), "final");
        link(&outside.path().join("file"), ".b.polypath-part");
        let folder = Folder::root(root.path()).unwrap();
        assert_eq!(folder.below(&[b"way"], None).unwrap_err().verdict, Verdict::Exists);
        assert_eq!(
            folder.below(&[b"way", b"x"], Some(0o700)).unwrap_err().verdict,
            Verdict::Exists
        );
        assert_eq!(folder.existing(b"final").unwrap_err().verdict, Verdict::Exists);
        assert!(folder.open(b"final").is_err());
        assert!(part(root.path(), b"b").is_err());
        assert!(names(outside.path()).is_empty());
    }

    #[test]
    fn folders_are_made_on_the_way() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::root(&root.path().join("new/one")).unwrap();
        folder.below(&[b"a", b"b"], Some(0o2700)).unwrap();
        let about = std::fs::metadata(root.path().join("new/one/a/b")).unwrap();
        assert_eq!(about.mode() & 0o7777, 0o700);
        assert!(folder.existing(b"nothing").unwrap().is_none());
        assert!(folder.existing(b"a").is_err());
    }

    #[test]
    fn a_full_disk_is_told_from_other_trouble() {
        let full = Refusal::from(io::Error::from(Errno::ENOSPC));
        assert_eq!(full.verdict, Verdict::NoSpace);
        let other = Refusal::from(Errno::EROFS);
        assert_eq!(
            (other.verdict, other.text.as_str()),
            (Verdict::Trouble, "read-only file system")
        );
    }
}
