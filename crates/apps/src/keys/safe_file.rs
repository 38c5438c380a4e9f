//! Files that are there whole or not at all, whoever else writes them and whenever the power goes.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags};
use zeroize::Zeroizing;

use super::error::{KeyError, show};

/// Bytes of a file of lines, at most.
pub(super) const MAX_TEXT: u64 = 1 << 20;

/// A file that is open, and that is a file.
pub(super) struct Opened {
    file: File,
    pub(super) mode: u32,
}

/// Opens a file; `None` if there is none. Links are followed. What is judged is what was opened,
/// and nothing is waited for that is no file.
pub(super) fn open(path: &Path) -> Result<Option<Opened>, KeyError> {
    let flags = OFlags::NONBLOCK.bits();
    let file = match OpenOptions::new().read(true).custom_flags(flags as i32).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(KeyError::unread(path))?,
    };
    let facts = file.metadata().map_err(KeyError::unread(path))?;
    if !facts.is_file() {
        return Err(KeyError::NotAFile { path: show(path) });
    }
    Ok(Some(Opened { file, mode: facts.mode() & 0o7777 }))
}

/// Whoever may write there may do as if he were the owner.
const WRITABLE_BY_OTHERS: u32 = 0o022;

impl Opened {
    /// Refuses it if others may write it: it says whom to trust.
    pub(super) fn trusted(self, path: &Path) -> Result<Self, KeyError> {
        refuse_writable(path, self.mode)?;
        Ok(self)
    }

    /// Its text, of at most so many bytes. What is not UTF-8 is replaced: no line that matters has
    /// any. Wiped from memory when it goes, for it may be a secret.
    pub(super) fn read(self, path: &Path, limit: u64) -> Result<Zeroizing<String>, KeyError> {
        let size = self.file.metadata().map_or(0, |facts| facts.len()).min(limit);
        // Of its size from the start: a buffer that grows leaves copies behind.
        let room = usize::try_from(size).unwrap_or(0) + 64;
        let mut bytes = Zeroizing::new(Vec::with_capacity(room));
        self.file.take(limit + 1).read_to_end(&mut bytes).map_err(KeyError::unread(path))?;
        if bytes.len() as u64 > limit {
            return Err(KeyError::TooLong { path: show(path), limit });
        }
        Ok(Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// The text of a file that says whom to trust; `None` if there is none.
pub(crate) fn read_trusted(path: &Path) -> Result<Option<Zeroizing<String>>, KeyError> {
    let Some(file) = open(path)? else { return Ok(None) };
    check_trusted_folder(path)?;
    file.trusted(path)?.read(path, MAX_TEXT).map(Some)
}

/// Makes a folder for its owner alone, with those on the way.
pub(super) fn make_folder(folder: &Path) -> Result<(), KeyError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(KeyError::unwritten(folder))?;
    refuse_writable_folder(folder)
}

/// Refuses a file in a folder where others may put another in its place.
pub(super) fn check_trusted_folder(path: &Path) -> Result<(), KeyError> {
    refuse_writable_folder(folder_of(path))
}

/// Whether there is a folder for the file.
pub(super) fn check_folder_of(path: &Path) -> Result<(), KeyError> {
    fs::read_dir(folder_of(path)).map(drop).map_err(KeyError::unwritten(path))
}

fn refuse_writable_folder(folder: &Path) -> Result<(), KeyError> {
    let mode = fs::metadata(folder).map_err(KeyError::unread(folder))?.mode() & 0o7777;
    refuse_writable(folder, mode)
}

fn refuse_writable(path: &Path, mode: u32) -> Result<(), KeyError> {
    if mode & WRITABLE_BY_OTHERS != 0 {
        return Err(KeyError::Writable { path: show(path), mode });
    }
    Ok(())
}

/// Makes a file that only its owner reads; one that is there meanwhile is left as it is.
pub(super) fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = Unfinished::write(path, content, 0o600)?;
    match name_once(&new.0, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => other?,
    }
    drop(new);
    sync_folder(path)
}

/// Gives the file a second name, or moves it where there are no such: never in place of another.
fn name_once(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Ok(rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
        }
        other => other,
    }
}

/// Changes the text of a file, or of none, into another. Whoever does that by this function waits
/// meanwhile. A link stays one: what it leads to is changed.
pub(super) fn edit(
    path: &Path,
    change: impl FnOnce(&str) -> Result<String, KeyError>,
) -> Result<(), KeyError> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let unwritten = || KeyError::unwritten(path);
    let folder = File::open(folder_of(path)).map_err(unwritten())?;
    folder.lock().map_err(unwritten())?;
    let (old, mode) = match open(path)? {
        Some(file) => {
            let mode = file.mode;
            (file.read(path, MAX_TEXT)?, mode & 0o777)
        }
        None => (Zeroizing::default(), 0o600),
    };
    let new = Unfinished::write(path, change(&old)?.as_bytes(), mode).map_err(unwritten())?;
    fs::rename(&new.0, path).map_err(unwritten())?;
    sync_folder(path).map_err(unwritten())
}

/// A file beside the one that it is to be, which goes unless it was moved there.
struct Unfinished(PathBuf);

impl Unfinished {
    fn write(path: &Path, content: &[u8], mode: u32) -> io::Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let random = u64::from_ne_bytes(random);
        let new = Self(folder_of(path).join(format!(".{name}.{random:016x}")));
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(mode).open(&new.0)?;
        file.write_all(content)?;
        file.sync_all()?;
        Ok(new)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name is on the disk when its folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn what_is_there_is_not_replaced_and_nothing_is_left_over() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x");
        create(&path, b"one").unwrap();
        create(&path, b"two").unwrap();
        assert_eq!(text(&path), "one");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_edit_keeps_links_and_permissions_and_fails_whole() {
        let home = tempfile::tempdir().unwrap();
        let (file, link) = (home.path().join("file"), home.path().join("link"));
        edit(&file, |old| Ok(format!("{old}a"))).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        edit(&link, |old| Ok(format!("{old}b"))).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!((text(&file).as_str(), text(&link).as_str()), ("ab", "ab"));
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
        let refused = edit(&file, |_| Err(KeyError::NoHome));
        assert!(refused.is_err() && text(&file) == "ab");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
    }

    #[test]
    fn edits_at_once_lose_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x");
        std::thread::scope(|scope| {
            for n in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for m in 0..8 {
                        edit(path, |old| Ok(format!("{old}{n}.{m}\n"))).unwrap();
                    }
                });
            }
        });
        assert_eq!(text(&path).lines().count(), 64);
    }

    #[test]
    fn what_is_no_file_or_too_long_is_not_read() {
        let home = tempfile::tempdir().unwrap();
        assert!(open(&home.path().join("x")).unwrap().is_none());
        let pipe = home.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for path in [home.path(), &pipe, Path::new("/dev/zero")] {
            assert!(matches!(open(path), Err(KeyError::NotAFile { .. })), "{path:?}");
        }
        let long = home.path().join("long");
        fs::write(&long, [b'x'; 100]).unwrap();
        let read = |limit| open(&long).unwrap().unwrap().read(&long, limit);
        assert_eq!(read(100).unwrap().len(), 100);
        assert!(matches!(read(99), Err(KeyError::TooLong { limit: 99, .. })));
    }
}
