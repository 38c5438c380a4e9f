//! The folder that files arrive in, and those below it. Every step down is taken without following
//! symbolic links, so a name that passed [`split_name`](super::name::split_name) stays inside.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat, mkdirat};
use nix::sys::statvfs::fstatvfs;
use nix::unistd::{UnlinkatFlags, syncfs, unlinkat};

use super::codec::Verdict;
use super::name;

/// Why a file is not written, for the peer and for people.
#[derive(Clone, Debug)]
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
        Self::new(Verdict::Trouble, error_words(&error))
    }
}

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// An error in words, without the system's number.
pub(crate) fn error_words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// A folder, whatever its name becomes.
#[derive(Debug)]
pub(crate) struct Folder(File);

const SEARCH: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
/// A folder that is made on the way to a file.
const FOLDER_MODE: u16 = 0o755;
/// Names that are tried for one that is taken, at most.
pub(crate) const MAX_COPIES: u32 = 1000;

impl Folder {
    /// The folder that everything goes into; made if it is missing.
    pub(crate) fn open_root(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let folder = File::open(path)?;
        if folder.metadata()?.is_dir() {
            return Ok(Self(folder));
        }
        Err(io::Error::from(Errno::ENOTDIR))
    }

    pub(crate) const fn handle(&self) -> &File {
        &self.0
    }

    /// The folder with these parts below this one; missing ones are made, the last with permissions
    /// `mode`. Where something else has a part's name, the folder gets the next free one, so that
    /// strangers do not learn what is there.
    pub(crate) fn make_below(&self, parts: &[&[u8]], mode: Option<u16>) -> Result<Self, Refusal> {
        let mut here = Self(self.0.try_clone()?);
        for (i, part) in parts.iter().enumerate() {
            let mode = mode.filter(|_| i + 1 == parts.len()).unwrap_or(FOLDER_MODE);
            here = here.open_step(part, Some(mode))?.ok_or(Errno::ENOENT)?;
        }
        Ok(here)
    }

    /// Like [`below`](Self::make_below), but nothing is made.
    pub(crate) fn find_below(&self, parts: &[&[u8]]) -> Result<Option<Self>, Refusal> {
        let mut here = Self(self.0.try_clone()?);
        for part in parts {
            match here.open_step(part, None)? {
                Some(next) => here = next,
                None => return Ok(None),
            }
        }
        Ok(Some(here))
    }

    fn open_step(&self, part: &[u8], make: Option<u16>) -> Result<Option<Self>, Refusal> {
        for n in 1..=MAX_COPIES {
            let name = name::copy_of_folder(part, n);
            let name = OsStr::from_bytes(&name);
            // Most folders are there.
            let mut opened = openat(&self.0, name, SEARCH, Mode::empty());
            if let (Err(Errno::ENOENT), Some(mode)) = (&opened, make) {
                // Without the right to use one's own folder nothing could be put into it.
                let mode = Mode::from_bits_truncate(u32::from(mode & 0o755 | 0o700));
                match mkdirat(&self.0, name, mode) {
                    Ok(()) | Err(Errno::EEXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                opened = openat(&self.0, name, SEARCH, Mode::empty());
            }
            match opened {
                Ok(folder) => return Ok(Some(Self(folder.into()))),
                Err(Errno::ELOOP | Errno::ENOTDIR) => {}
                Err(Errno::ENOENT) if make.is_none() => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Err(Refusal::new(Verdict::Trouble, "too many files have the name of the folder"))
    }

    pub(crate) fn stat_part(&self, part: &[u8]) -> Result<Option<FileStat>, Refusal> {
        match fstatat(&self.0, OsStr::from_bytes(part), AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a file is in the file system that this folder is in.
    pub(crate) fn holds(&self, file: &File) -> io::Result<bool> {
        Ok(self.0.metadata()?.dev() == file.metadata()?.dev())
    }

    /// Sees to it that all of this folder's file system is on the disk.
    pub(crate) fn sync_all(&self) -> Result<(), Refusal> {
        Ok(syncfs(&self.0)?)
    }

    pub(crate) fn remove_part(&self, part: &[u8]) {
        let _ = unlinkat(&self.0, OsStr::from_bytes(part), UnlinkatFlags::NoRemoveDir);
    }

    /// Bytes that the disk still has for us; `None`: it does not say.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        let about = fstatvfs(&self.0).ok().filter(|about| about.blocks() > 0)?;
        Some(about.blocks_available().saturating_mul(about.fragment_size()))
    }
}

/// Whether it is a file, and not a link to one or something else.
pub(crate) fn is_file(stat: &FileStat) -> bool {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(root: &Path) -> Vec<String> {
        let all = std::fs::read_dir(root).unwrap();
        let mut names: Vec<_> =
            all.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_no_folder_is_passed_by_and_links_are_not_followed() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(outside.path(), root.path().join("way")).unwrap();
        std::fs::write(root.path().join("file"), "").unwrap();
        let folder = Folder::open_root(root.path()).unwrap();
        assert!(folder.find_below(&[b"way", b"x"]).unwrap().is_none());
        folder.make_below(&[b"way", b"x"], None).unwrap();
        folder.make_below(&[b"file"], None).unwrap();
        folder.make_below(&[b"file"], None).unwrap();
        assert!(folder.find_below(&[b"way", b"x"]).unwrap().is_some());
        assert!(names(outside.path()).is_empty());
        assert_eq!(names(root.path()), ["file", "file (2)", "way", "way (2)"]);
        assert_eq!(names(&root.path().join("way (2)")), ["x"]);
    }

    #[test]
    fn folders_are_made_on_the_way() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open_root(&root.path().join("new/one")).unwrap();
        folder.make_below(&[b"a", b"b"], Some(0o2700)).unwrap();
        let about = std::fs::metadata(root.path().join("new/one/a/b")).unwrap();
        assert_eq!(about.mode() & 0o7777, 0o700);
        assert!(folder.stat_part(b"nothing").unwrap().is_none());
        assert!(!is_file(&folder.stat_part(b"a").unwrap().unwrap()));
        assert!(folder.free_bytes().unwrap() > 0);
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
