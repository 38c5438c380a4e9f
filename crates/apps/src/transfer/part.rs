//! A file that is not whole yet: made under a name of its own, written in any order, given its own
//! name at the end.

use std::ffi::OsStr;
use std::fs::{File, FileTimes, Permissions};
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::time::Duration;
#[expect(
    clippy::disallowed_types,
    reason = "files carry times; nobody asks for the present one"
)]
use std::time::SystemTime;

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, readlinkat, renameat};
use nix::sys::stat::{Mode, UtimensatFlags, futimens, utimensat};
use nix::sys::time::TimeSpec;
use nix::unistd::{Whence, lseek64, symlinkat};
use rustix::fs::{RenameFlags, renameat_with};

use super::codec::Verdict;
use super::tree::{Folder, MAX_COPIES, Refusal, is_file};
use super::{holes, name};

/// What tells whether a file is still the one, and as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) mtime: (i64, i64),
}

impl Stamp {
    pub(crate) fn from_file(file: &File) -> Result<Self, Refusal> {
        let about = file.metadata()?;
        let mtime = (about.mtime(), about.mtime_nsec());
        Ok(Self { inode: about.ino(), size: about.len(), mtime })
    }

    /// Of the file of this name, if it is one.
    pub(crate) fn of_name(folder: &Folder, name: &[u8]) -> Result<Option<Self>, Refusal> {
        let Some(stat) = folder.stat_part(name)?.filter(is_file) else { return Ok(None) };
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        Ok(Some(Self { inode: stat.st_ino, size, mtime: (stat.st_mtime, stat.st_mtime_nsec) }))
    }
}

/// An open unfinished file.
#[derive(Debug)]
pub(crate) struct Part(File);

const OPEN: OFlag =
    OFlag::O_RDWR.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC).union(OFlag::O_NONBLOCK);

impl Part {
    /// Begins anew; whatever had the name goes.
    pub(crate) fn create_new(folder: &Folder, unfinished: &[u8]) -> Result<Self, Refusal> {
        folder.remove_part(unfinished);
        let flags = OPEN | OFlag::O_CREAT | OFlag::O_EXCL;
        // Nobody else reads it before its owner said who may.
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        Ok(Self(openat(folder.handle(), OsStr::from_bytes(unfinished), flags, mode)?.into()))
    }

    /// Opens one that is there; `None`: there is none that was made here.
    pub(crate) fn open_existing(
        folder: &Folder,
        unfinished: &[u8],
    ) -> Result<Option<Self>, Refusal> {
        match openat(folder.handle(), OsStr::from_bytes(unfinished), OPEN, Mode::empty()) {
            Ok(file) => {
                let file = File::from(file);
                let about = file.metadata()?;
                let ours = about.is_file() && about.nlink() == 1;
                Ok(ours.then_some(Self(file)))
            }
            Err(Errno::ENOENT | Errno::ELOOP | Errno::EISDIR | Errno::ENXIO) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) const fn file(&self) -> &File {
        &self.0
    }

    pub(crate) fn write_at(&self, data: &[u8], offset: u64) -> Result<(), Refusal> {
        Ok(self.0.write_all_at(data, offset)?)
    }

    /// Sets the time of its last change to now.
    pub(crate) fn touch_mtime(&self) -> Result<(), Refusal> {
        Ok(futimens(&self.0, &TimeSpec::UTIME_NOW, &TimeSpec::UTIME_NOW)?)
    }

    /// Bytes that it takes on the disk.
    pub(crate) fn allocated_bytes(&self) -> Result<u64, Refusal> {
        Ok(self.0.metadata()?.blocks().saturating_mul(512))
    }

    /// Whether all of these bytes were written once: holes were not.
    pub(crate) fn has_range(&self, from: u64, len: u64) -> bool {
        let Ok(start) = i64::try_from(from) else { return false };
        let hole = lseek64(self.0.as_fd(), start, Whence::SeekHole);
        hole.is_ok_and(|hole| u64::try_from(hole).is_ok_and(|hole| hole >= from + len))
    }

    /// Makes bytes of it a hole.
    pub(crate) fn clear_range(&self, range: &Range<u64>) -> Result<(), Refusal> {
        Ok(holes::clear_range(&self.0, range)?)
    }

    /// Makes it what its sender wants it to be, with permissions as they were granted.
    pub(crate) fn set_metadata(
        &self,
        size: u64,
        mode: u32,
        mtime: (i64, u32),
    ) -> Result<(), Refusal> {
        self.0.set_len(size)?;
        self.0.set_permissions(Permissions::from_mode(mode))?;
        if let Some(time) = system_time(mtime) {
            self.0.set_times(FileTimes::new().set_modified(time))?;
        }
        Ok(())
    }

    /// Sees to it that it is on the disk.
    pub(crate) fn sync(&self) -> Result<(), Refusal> {
        Ok(self.0.sync_all()?)
    }
}

/// Gives the complete file `mine` (its inode) its name, or the next one that is free; gives the
/// number of the name ([`name::copy_name`]). With `overwrite` another file of the name goes.
/// `same`: whether a file that has the name already is just as good; then this one goes.
pub(crate) fn give_name(
    folder: &Folder,
    (unfinished, mine): (&[u8], u64),
    wanted: &[u8],
    overwrite: bool,
    same: impl Fn(&Stamp) -> bool,
) -> Result<u32, Refusal> {
    if Stamp::of_name(folder, unfinished)?.is_none_or(|stamp| stamp.inode != mine) {
        return Err(Refusal::new(Verdict::Trouble, "the unfinished file has vanished"));
    }
    for n in 1..=MAX_COPIES {
        let to = name::copy_name(wanted, n);
        if !overwrite && Stamp::of_name(folder, &to)?.is_some_and(|there| same(&there)) {
            folder.remove_part(unfinished);
            return Ok(n);
        }
        if rename_part(folder, unfinished, &to, overwrite)? {
            return Ok(n);
        }
    }
    Err(Refusal::new(Verdict::Trouble, TOO_MANY))
}

const TOO_MANY: &str = "too many files of this name are there";

/// Makes a symbolic link, or uses the next name that is free; one that leads to the same place is
/// just as good. Nobody is told which.
pub(crate) fn make_link(
    folder: &Folder,
    (unfinished, wanted): (&[u8], &[u8]),
    target: &[u8],
    mtime: (i64, u32),
    overwrite: bool,
) -> Result<(), Refusal> {
    let (handle, target) = (folder.handle(), OsStr::from_bytes(target));
    for n in 1..=MAX_COPIES {
        let name = name::copy_name(wanted, n);
        let to = OsStr::from_bytes(&name);
        if readlinkat(handle, to).is_ok_and(|there| there == target) {
            return Ok(());
        }
        let made = if overwrite {
            folder.remove_part(unfinished);
            symlinkat(target, handle, OsStr::from_bytes(unfinished))?;
            let renamed = rename_part(folder, unfinished, &name, true);
            folder.remove_part(unfinished);
            renamed?
        } else {
            match symlinkat(target, handle, to) {
                Ok(()) => true,
                Err(Errno::EEXIST) => false,
                Err(error) => return Err(error.into()),
            }
        };
        if made {
            // Not every file system keeps the times of links.
            let time = TimeSpec::new(mtime.0, mtime.1.into());
            let follow = UtimensatFlags::NoFollowSymlink;
            let _ = utimensat(handle, to, &TimeSpec::UTIME_OMIT, &time, follow);
            return Ok(());
        }
    }
    Err(Refusal::new(Verdict::Trouble, TOO_MANY))
}

/// False: the name is taken.
fn rename_part(folder: &Folder, from: &[u8], to: &[u8], overwrite: bool) -> Result<bool, Refusal> {
    let handle = folder.handle();
    let (old, new) = (OsStr::from_bytes(from), OsStr::from_bytes(to));
    let plain = || match renameat(handle, old, handle, new) {
        Ok(()) => Ok(true),
        Err(Errno::EISDIR | Errno::EEXIST | Errno::ENOTEMPTY) => Ok(false),
        Err(error) => Err(error.into()),
    };
    if overwrite {
        return plain();
    }
    // nix has it with glibc alone.
    let renamed = renameat_with(handle, old, handle, new, RenameFlags::NOREPLACE);
    match renamed.map_err(|error| Errno::from_raw(error.raw_os_error())) {
        Ok(()) => Ok(true),
        Err(Errno::EEXIST) => Ok(false),
        // Some file systems cannot do both at once.
        Err(Errno::EINVAL | Errno::ENOSYS) if folder.stat_part(to)?.is_none() => plain(),
        Err(Errno::EINVAL | Errno::ENOSYS) => Ok(false),
        Err(error) => Err(error.into()),
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
    use std::path::Path;

    use super::*;

    const PART: &[u8] = b".a.polypath-part";

    fn names(root: &Path) -> Vec<String> {
        let all = std::fs::read_dir(root).unwrap();
        let mut names: Vec<_> =
            all.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn name_part(
        part: &Part,
        folder: &Folder,
        overwrite: bool,
        same: impl Fn(&Stamp) -> bool,
    ) -> Result<u32, Refusal> {
        let mine = Stamp::from_file(part.file())?.inode;
        give_name(folder, (PART, mine), b"a", overwrite, same)
    }

    fn store(folder: &Folder, data: &[u8], overwrite: bool) -> Result<u32, Refusal> {
        let part = Part::create_new(folder, PART)?;
        part.write_at(data, 0)?;
        part.set_metadata(data.len() as u64, 0o640, (-5, 0))?;
        name_part(&part, folder, overwrite, |there| there.size == 77)
    }

    #[test]
    fn a_file_gets_its_name_when_it_is_whole() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open_root(root.path()).unwrap();
        let part = Part::create_new(&folder, PART).unwrap();
        part.write_at(b"cd", 2).unwrap();
        part.write_at(b"ab", 0).unwrap();
        assert_eq!(names(root.path()), [".a.polypath-part"]);
        part.set_metadata(4, 0o755, (1_000_000_000, 5)).unwrap();
        assert_eq!(name_part(&part, &folder, false, |_| false).unwrap(), 1);
        assert_eq!(names(root.path()), ["a"]);
        let about = std::fs::metadata(root.path().join("a")).unwrap();
        assert_eq!(
            (about.mode() & 0o7777, about.mtime(), about.mtime_nsec()),
            (0o755, 1_000_000_000, 5)
        );
        assert_eq!(std::fs::read(root.path().join("a")).unwrap(), b"abcd");
    }

    #[test]
    fn a_taken_name_stays_unless_it_may_go() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a"), "old").unwrap();
        let folder = Folder::open_root(root.path()).unwrap();
        assert_eq!(store(&folder, b"new", false).unwrap(), 2);
        assert_eq!(std::fs::read(root.path().join("a")).unwrap(), b"old");
        assert_eq!(store(&folder, b"newer", true).unwrap(), 1);
        assert_eq!(std::fs::read(root.path().join("a")).unwrap(), b"newer");
        assert_eq!(names(root.path()), ["a", "a (2)"]);
        std::fs::write(root.path().join("a"), [0; 77]).unwrap();
        assert_eq!(store(&folder, &[0; 77], false).unwrap(), 1);
        assert_eq!(names(root.path()), ["a", "a (2)"]);
        std::fs::remove_file(root.path().join("a")).unwrap();
        std::fs::create_dir(root.path().join("a")).unwrap();
        assert_eq!(store(&folder, b"file", true).unwrap(), 2);
    }

    #[test]
    fn only_ones_own_file_gets_the_name() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open_root(root.path()).unwrap();
        let first = Part::create_new(&folder, PART).unwrap();
        let second = Part::create_new(&folder, PART).unwrap();
        second.write_at(b"x", 0).unwrap();
        assert_eq!(
            name_part(&first, &folder, false, |_| false).unwrap_err().verdict,
            Verdict::Trouble
        );
        assert_eq!(name_part(&second, &folder, false, |_| false).unwrap(), 1);
        std::fs::hard_link(root.path().join("a"), root.path().join("b")).unwrap();
        assert!(Part::open_existing(&folder, b"b").unwrap().is_none());
        std::os::unix::fs::symlink(root.path().join("a"), root.path().join("c")).unwrap();
        assert!(Part::open_existing(&folder, b"c").unwrap().is_none());
        assert!(Part::open_existing(&folder, b"nothing").unwrap().is_none());
    }

    #[test]
    fn a_link_takes_a_free_name_and_is_not_followed() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = Folder::open_root(root.path()).unwrap();
        let link = |target: &[u8], overwrite| {
            make_link(&folder, (PART, b"a"), target, (1_000_000_000, 0), overwrite)
        };
        std::fs::write(root.path().join("a"), "file").unwrap();
        link(b"x", false).unwrap();
        link(b"x", false).unwrap();
        link(b"y", false).unwrap();
        assert_eq!(names(root.path()), ["a", "a (2)", "a (3)"]);
        let target = |name: &str| std::fs::read_link(root.path().join(name)).unwrap();
        assert_eq!((target("a (2)"), target("a (3)")), ("x".into(), "y".into()));
        let about = std::fs::symlink_metadata(root.path().join("a (2)")).unwrap();
        assert_eq!(about.mtime(), 1_000_000_000);
        assert_eq!(std::fs::read(root.path().join("a")).unwrap(), b"file");
        link(b"z", true).unwrap();
        assert_eq!(target("a"), Path::new("z"));
        assert_eq!(names(root.path()), ["a", "a (2)", "a (3)"]);
        // A link that is in the way is replaced, whatever it leads to.
        std::fs::remove_file(root.path().join("a")).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("a")).unwrap();
        link(b"z", true).unwrap();
        assert_eq!(target("a"), Path::new("z"));
        assert!(names(outside.path()).is_empty());
    }

    #[test]
    fn holes_are_known() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open_root(root.path()).unwrap();
        let part = Part::create_new(&folder, PART).unwrap();
        part.write_at(&[1; 1 << 20], 3 << 20).unwrap();
        assert!(part.has_range(3 << 20, 1 << 20));
        // Not every file system knows its holes.
        let aware = part.file().metadata().unwrap().blocks() < 4 << 11;
        assert!(!aware || !part.has_range(0, 1 << 20));
        assert!(!part.has_range(4 << 20, 1));
    }
}
