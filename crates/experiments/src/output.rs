//! Files that appear under their names only once they are whole.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, NamedTempFile};

/// Hidden files that nobody would remove if the process ended now.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes every file that is not whole yet; for programs that are interrupted and end at once.
pub fn abandon_unfinished() {
    for path in unfinished_files().iter() {
        // What cannot be removed stays; there is nobody left to tell.
        let _ = fs::remove_file(path);
    }
}

/// A set of paths is whole even if a thread panicked while it held the lock.
fn unfinished_files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error alone: users know the name that they gave, and not that of the hidden file.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((what, _)) => io::Error::new(error.kind(), what),
        None => error,
    }
}

/// A file being written. What is dropped before [`keep_file`](Self::keep_file) leaves nothing under
/// its name.
#[derive(Debug)]
pub struct Output(Kind);

#[derive(Debug)]
enum Kind {
    /// A hidden neighbour of the file, renamed at the end.
    Hidden(BufWriter<NamedTempFile>, Listed, PathBuf),
    /// A pipe or device, which cannot be renamed.
    Direct(BufWriter<File>),
}

/// An entry among the unfinished files, for as long as it lives.
#[derive(Debug)]
struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        unfinished_files().remove(&self.0);
    }
}

impl Output {
    /// Writes to what is open already, such as a pipe.
    pub fn to_open_file(file: File) -> Self {
        Self(Kind::Direct(BufWriter::new(file)))
    }

    /// Begins to write `path`; of a symbolic link, what it leads to.
    ///
    /// # Errors
    /// When its folder does not take new files, or a link leads nowhere.
    pub fn create(path: &Path) -> io::Result<Self> {
        let path = &follow_link(path)?;
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(Self(Kind::Direct(BufWriter::new(file))));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut builder = Builder::new();
        builder.prefix(".polypath-").suffix(".part");
        make_readable(&mut builder);
        // The lock is held until the file is listed, so that none is overlooked.
        let mut list = unfinished_files();
        let file = builder.tempfile_in(folder.unwrap_or(Path::new("."))).map_err(without_path)?;
        list.insert(file.path().to_owned());
        let listed = Listed(file.path().to_owned());
        Ok(Self(Kind::Hidden(BufWriter::new(file), listed, path.to_owned())))
    }

    /// Ends the file and gives it its name.
    ///
    /// # Errors
    /// When the last bytes cannot be written, or the name cannot be taken.
    pub fn keep_file(self) -> io::Result<()> {
        match self.0 {
            Kind::Direct(mut file) => file.flush(),
            Kind::Hidden(file, _listed, path) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.persist(path).map(drop).map_err(|error| error.error)
            }
        }
    }
}

/// Where a symbolic link leads. What it leads to is replaced, and the link stays.
fn follow_link(path: &Path) -> io::Result<PathBuf> {
    if !path.is_symlink() {
        return Ok(path.to_owned());
    }
    fs::canonicalize(path).map_err(|error| {
        let text = format!("it is a symbolic link that leads nowhere ({error})");
        io::Error::new(error.kind(), text)
    })
}

/// Temporary files are private by default; results are not secrets, so the umask decides.
#[cfg(unix)]
fn make_readable(builder: &mut Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt as _;
    builder.permissions(std::fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn make_readable(_: &mut Builder<'_, '_>) {}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Hidden(file, ..) => file.write(bytes),
            Kind::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Hidden(file, ..) => file.flush(),
            Kind::Direct(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_name_only_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut dropped = Output::create(&path).unwrap();
        dropped.write_all(b"half").unwrap();
        drop(dropped);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut kept = Output::create(&path).unwrap();
        kept.write_all(b"whole").unwrap();
        assert!(!path.exists());
        kept.keep_file().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn what_is_whole_or_dropped_is_no_longer_listed() {
        let folder = tempfile::tempdir().unwrap();
        let listed =
            || unfinished_files().iter().filter(|path| path.starts_with(folder.path())).count();
        let one = Output::create(&folder.path().join("one")).unwrap();
        let two = Output::create(&folder.path().join("two")).unwrap();
        assert_eq!(listed(), 2);
        one.keep_file().unwrap();
        drop(two);
        assert_eq!(listed(), 0);
    }

    #[test]
    #[cfg(unix)]
    fn a_symbolic_link_is_followed_and_stays() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, b"before").unwrap();
        symlink(&file, &link).unwrap();
        let mut out = Output::create(&link).unwrap();
        out.write_all(b"after").unwrap();
        out.keep_file().unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"after");
        std::fs::remove_file(&file).unwrap();
        let error = Output::create(&link).unwrap_err().to_string();
        assert!(error.contains("leads nowhere"), "{error}");
    }

    #[test]
    fn a_folder_that_is_missing_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Output::create(&folder.path().join("no/such")).is_err());
    }
}
