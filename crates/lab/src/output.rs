//! Files that appear under their names only once they are whole.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// A file being written. What is dropped before [`keep`](Self::keep) leaves nothing under its name.
#[derive(Debug)]
pub struct Output(Kind);

#[derive(Debug)]
enum Kind {
    /// A hidden neighbour of the file, renamed at the end.
    Hidden(BufWriter<NamedTempFile>, PathBuf),
    /// A pipe or device, which cannot be renamed.
    Direct(BufWriter<File>),
}

impl Output {
    /// Begins to write `path`.
    ///
    /// # Errors
    /// When its folder does not take new files.
    pub fn create(path: &Path) -> io::Result<Self> {
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(Self(Kind::Direct(BufWriter::new(file))));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut builder = Builder::new();
        builder.prefix(".polypath-").suffix(".part");
        readable(&mut builder);
        let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        Ok(Self(Kind::Hidden(BufWriter::new(file), path.to_owned())))
    }

    /// Ends the file and gives it its name.
    ///
    /// # Errors
    /// When the last bytes cannot be written, or the name cannot be taken.
    pub fn keep(self) -> io::Result<()> {
        match self.0 {
            Kind::Direct(mut file) => file.flush(),
            Kind::Hidden(file, path) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.persist(path).map(drop).map_err(|error| error.error)
            }
        }
    }
}

/// Temporary files are private by default; results are not secrets, so the umask decides.
#[cfg(unix)]
fn readable(builder: &mut Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt as _;
    builder.permissions(std::fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn readable(_: &mut Builder<'_, '_>) {}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Hidden(file, _) => file.write(bytes),
            Kind::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Hidden(file, _) => file.flush(),
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
        kept.keep().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn a_folder_that_is_missing_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Output::create(&folder.path().join("no/such")).is_err());
    }
}
