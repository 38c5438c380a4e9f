//! The folder of a store: who uses it, and how its segments are put in order.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::block::{Kind, Rows};
use super::error::StoreError;
use super::legacy;
use super::row::Row;
use super::segments::{Located, Segments};
use super::writer::Writer;

/// So many small segments are made one.
const MOST_SMALL: usize = 16;
/// A segment with fewer bytes is small.
const SMALL: u64 = 4 << 20;

/// A folder that is in use.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Shared while the store is open, exclusive while it is put in order. Where the file system has
    /// no locks, nothing is put in order.
    lock: File,
}

impl Folder {
    pub(super) fn open(folder: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(StoreError::at(folder))?;
        let path = folder.join("lock");
        let lock = OpenOptions::new().append(true).create(true).open(&path);
        let lock = lock.map_err(StoreError::at(&path))?;
        // Without locks everything works but putting in order.
        let _ = lock.lock_shared();
        Ok(Self { path: folder.to_owned(), lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Does something while no other process has the folder open; not at all if one has.
    pub(super) fn alone<T>(&self, what: impl FnOnce() -> T) -> Option<T> {
        let is_alone = self.lock.unlock().is_ok() && self.lock.try_lock().is_ok();
        let done = is_alone.then(what);
        let _ = self.lock.unlock();
        let _ = self.lock.lock_shared();
        done
    }
}

/// The segments of a folder, by name.
pub(super) fn list_segments(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "seg"));
    paths.sort();
    Ok(paths)
}

/// Takes the rows of a store of before, and removes its tables once they are kept.
///
/// # Errors
/// When tables cannot be read, or their rows not be written.
pub(super) fn convert_tables(disk: &Folder, segments: &mut Segments) -> Result<(), StoreError> {
    let tables = legacy::list_tables(&disk.path).map_err(StoreError::at(&disk.path))?;
    if tables.is_empty() {
        return Ok(());
    }
    for path in &tables {
        let mut rows = Vec::new();
        legacy::read_table(path, &mut |key, row| rows.push((key, row)))
            .map_err(StoreError::at(path))?;
        for (key, row) in rows {
            if !segments.has_run(&key) {
                segments.add_row(key, row)?;
            }
        }
        segments.flush()?;
    }
    segments.sync()?;
    let remove = || tables.iter().try_for_each(fs::remove_file);
    disk.alone(remove).unwrap_or(Ok(())).map_err(StoreError::at(&disk.path))
}

/// Makes one segment of many small ones and of damaged ones.
///
/// # Errors
/// When files cannot be read or written.
pub(super) fn merge_segments(folder: &Path, segments: &mut Segments) -> Result<(), StoreError> {
    let is_small =
        |path: &&PathBuf| fs::metadata(path).is_ok_and(|metadata| metadata.len() < SMALL);
    let small = segments.files.iter().filter(is_small).count();
    let is_damaged = |path: &PathBuf| segments.damage.iter().any(|(damaged, _)| damaged == path);
    let chosen = |path: &&PathBuf| is_damaged(path) || small > MOST_SMALL && is_small(path);
    let old: Vec<PathBuf> = segments.files.iter().filter(chosen).cloned().collect();
    let Some(name) = old.first() else { return Ok(()) };
    let new = folder.join("merged.part");
    // One of an attempt that was interrupted.
    let _ = fs::remove_file(&new);
    let mut writer = Writer::in_file(&new).map_err(StoreError::at(&new))?;
    let part = Segments::of_segments(&old)?;
    for (block, located) in part.blocks.iter().enumerate() {
        copy_block(&part, block as u32, *located, &mut writer)?;
    }
    writer.flush().map_err(StoreError::at(&new))?;
    writer.sync().map_err(StoreError::at(&new))?;
    drop(writer);
    fs::rename(&new, name).map_err(StoreError::at(name))?;
    old.iter().skip(1).try_for_each(fs::remove_file).map_err(StoreError::at(folder))?;
    *segments = Segments::with_writer(Writer::in_folder(folder));
    let rest = list_segments(folder).map_err(StoreError::at(folder))?;
    rest.iter().try_for_each(|path| segments.load_segment(path))?;
    segments.index.sort();
    Ok(())
}

/// Copies those rows of a block that the index finds there: others are there twice.
fn copy_block(
    from: &Segments,
    block: u32,
    located: Located,
    writer: &mut Writer,
) -> Result<(), StoreError> {
    debug_assert_eq!(located.place.head.kind, Kind::Runs, "no other blocks are located");
    let body = from.read_block(located)?;
    let Some(rows) = Rows::decode(located.place.head.rows, &body) else { return Ok(()) };
    let columns: Vec<_> = (0..rows.names.len()).map(|at| rows.column(at)).collect();
    for (row, key) in (0..).zip(rows.keys()) {
        if from.index.find(&key) != Some((block, row)) {
            continue;
        }
        let cell = |column: &Vec<Option<f64>>| column.get(row as usize).copied().flatten();
        let values = columns.iter().map(cell).collect();
        let copy = Row { names: rows.names.clone(), values };
        writer.add(key, copy).map_err(StoreError::at(writer.path()))?;
    }
    Ok(())
}
