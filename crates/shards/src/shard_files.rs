//! The files of a shard: one under its name once it is whole, and before that numbered parts, each
//! of which one process wrote.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::ShardError;
use crate::shard::Shard;

/// Where a shard's results go.
#[derive(Debug)]
pub(crate) struct ShardFiles {
    folder: PathBuf,
    /// The file's name without its ending.
    stem: String,
}

impl ShardFiles {
    /// The files of a plan's shard in a folder, which is made if it is missing.
    pub(crate) fn new(folder: &Path, plan: &str, shard: Shard) -> Result<Self, ShardError> {
        let width = shard.of.to_string().len();
        let stem = format!("{plan}-{:0width$}-of-{}", shard.number, shard.of);
        fs::create_dir_all(folder)
            .map_err(|error| ShardError::File { path: folder.to_owned(), error })?;
        Ok(Self { folder: folder.to_owned(), stem })
    }

    /// The file once it is whole.
    pub(crate) fn whole(&self) -> PathBuf {
        self.folder.join(format!("{}.seg", self.stem))
    }

    /// What earlier processes left: the whole file, which may be damaged, and parts by number.
    pub(crate) fn found(&self) -> Result<Vec<PathBuf>, ShardError> {
        let whole = self.whole();
        let parts = self.numbers()?.into_iter().map(|number| self.part(number));
        Ok(std::iter::once(whole).filter(|path| path.exists()).chain(parts).collect())
    }

    /// A part that nobody has yet.
    pub(crate) fn next_part(&self) -> Result<PathBuf, ShardError> {
        let last = self.numbers()?.last().copied().unwrap_or(0);
        Ok(self.part(last.saturating_add(1)))
    }

    fn part(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{}.part{number}", self.stem))
    }

    fn numbers(&self) -> Result<Vec<u32>, ShardError> {
        let failed = |error| ShardError::File { path: self.folder.clone(), error };
        let prefix = format!("{}.part", self.stem);
        let number = |entry: io::Result<fs::DirEntry>| {
            Ok(entry?
                .file_name()
                .to_str()
                .and_then(|name| name.strip_prefix(&prefix)?.parse().ok()))
        };
        let numbers = fs::read_dir(&self.folder).map_err(failed)?.map(number);
        let numbers: Vec<Option<u32>> = numbers.collect::<io::Result<_>>().map_err(failed)?;
        let mut numbers: Vec<u32> = numbers.into_iter().flatten().collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Refuses to go on while a process of this machine writes a part. Where the file system has no
    /// locks it is not known, and does no harm: each process writes a file of its own.
    pub(crate) fn refuse_busy(&self) -> Result<(), ShardError> {
        for path in self.found()? {
            let Ok(file) = File::open(&path) else { continue };
            if let Err(TryLockError::WouldBlock) = file.try_lock_shared() {
                return Err(ShardError::Busy(path));
            }
        }
        Ok(())
    }

    /// Gives a part the shard's name, and removes the others. Where there are no locks, another
    /// machine may have done both with its own part: then the shard is whole all the same.
    pub(crate) fn finish(&self, part: &Path) -> Result<PathBuf, ShardError> {
        let whole = self.whole();
        match fs::rename(part, &whole) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && whole.exists() => {}
            renamed => {
                renamed.map_err(|error| ShardError::File { path: whole.clone(), error })?;
            }
        }
        for number in self.numbers()? {
            // Another machine may have removed it; what stays is only in the way.
            let _ = fs::remove_file(self.part(number));
        }
        Ok(whole)
    }
}
