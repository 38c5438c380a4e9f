//! Finished runs, found again by what was run: segments on disk, an index in memory.

mod block;
mod columns;
mod error;
mod folder;
mod index;
mod key;
mod legacy;
mod lines;
mod row;
mod segment;
mod segments;
mod writer;

use std::path::{Path, PathBuf};

pub use columns::{Columns, Wanted};
pub use error::StoreError;
pub use key::{Key, RunKeys, stack_version};
pub use lines::{LineWriter, Texts, glance_at_segment, read_texts};
pub use row::Row;
pub use segment::Damage;

use folder::{Folder, convert_tables, list_segments, merge_segments};
use segments::Segments;
use writer::Writer;

/// Finished runs. [`open`](Self::open) keeps them in a folder of segments, each of which one process
/// writes: an interrupted run loses what was finished in its last fifth of a second, and several
/// processes may share a folder. [`of_segments`](Self::of_segments) reads segments alone;
/// [`in_memory`](Self::in_memory) there are no files.
///
/// In memory a run takes 24 bytes, its figures none; [`collect`](Self::collect) reads these.
#[derive(Debug)]
pub struct Store {
    segments: Segments,
    folder: Option<Folder>,
}

impl Store {
    /// Opens a folder, and makes it if it is missing. Tables of a store of before are converted.
    ///
    /// # Errors
    /// When it cannot be read or made.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let disk = Folder::open(folder)?;
        let mut segments = Segments::with_writer(Writer::in_folder(folder));
        for path in list_segments(folder).map_err(StoreError::at(folder))? {
            segments.load_segment(&path)?;
        }
        segments.index.sort();
        convert_tables(&disk, &mut segments)?;
        Ok(Self { segments, folder: Some(disk) })
    }

    /// The runs of these segments, which are not written to.
    ///
    /// # Errors
    /// When one cannot be read or is no segment.
    pub fn of_segments(paths: &[PathBuf]) -> Result<Self, StoreError> {
        Ok(Self { segments: Segments::of_segments(paths)?, folder: None })
    }

    /// The runs of these segments and what is added, in a new one at `path`, of which `about` says
    /// in JSON what it is.
    ///
    /// # Errors
    /// When one cannot be read, or the new one cannot be made.
    pub fn continue_segments(
        paths: &[PathBuf],
        path: &Path,
        about: &str,
    ) -> Result<Self, StoreError> {
        Ok(Self { segments: Segments::continue_segments(paths, path, about)?, folder: None })
    }

    /// A store without files, for runs that nothing names for good.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { segments: Segments::with_writer(Writer::in_memory()), folder: None }
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.segments.index.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Places of segments that were damaged, and of which nothing was taken.
    pub fn damage(&self) -> &[(PathBuf, Damage)] {
        &self.segments.damage
    }

    /// The keys of all runs, in their order.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.segments.index.keys()
    }

    /// Whether there is such a run.
    pub fn has_run(&self, key: &Key) -> bool {
        self.segments.has_run(key)
    }

    /// Adds a run. It is found once [`flush`](Self::flush) was called, and on disk within a fifth of
    /// a second, when others are added meanwhile.
    ///
    /// # Errors
    /// When it cannot be written, or the store takes none.
    pub fn add_row(&mut self, key: Key, row: Row) -> Result<(), StoreError> {
        self.segments.add_row(key, row)
    }

    /// Writes what was added.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.segments.flush()
    }

    /// Writes what was added, and puts the folder in order unless another process has it open: many
    /// small segments become one, and so do damaged ones with what is whole of them.
    ///
    /// # Errors
    /// When files cannot be read or written.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        self.flush()?;
        let Some(disk) = &self.folder else { return Ok(()) };
        let segments = &mut self.segments;
        disk.alone(|| merge_segments(disk.path(), segments)).unwrap_or(Ok(()))
    }

    /// Asks the system to keep what was written also if it loses its power.
    ///
    /// # Errors
    /// When it cannot.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.segments.sync()
    }

    /// The figures of these runs, whose places are their numbers in the result; those that are not
    /// here are not made there. Each block is read once.
    ///
    /// # Errors
    /// When a segment cannot be read, or is not what it was when it was opened.
    pub fn collect(&self, keys: &[Key], wanted: Wanted<'_>) -> Result<Columns, StoreError> {
        self.segments.collect(keys, wanted)
    }

    /// The figures of one run.
    ///
    /// # Errors
    /// When its segment cannot be read.
    pub fn find_row(&self, key: &Key) -> Result<Option<Row>, StoreError> {
        self.segments.find_row(key)
    }
}

#[cfg(test)]
mod tests;
