//! Runs in segments: which there are, where, and their figures.

use std::fs::File;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};

use super::block::{Kind, Rows};
use super::columns::{Columns, Wanted};
use super::error::StoreError;
use super::index::Index;
use super::key::Key;
use super::row::Row;
use super::segment::{Damage, FIRST, Place, open_segment, read_body, scan_segment};
use super::writer::{Writer, Written};

/// Runs in segments, and the segment that more of them go to.
#[derive(Debug, Default)]
pub(super) struct Segments {
    pub(super) index: Index,
    pub(super) blocks: Vec<Located>,
    /// Files that were read; the last one may be the writer's.
    pub(super) files: Vec<PathBuf>,
    pub(super) writer: Option<Writer>,
    pub(super) damage: Vec<(PathBuf, Damage)>,
}

/// A block and its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located {
    file: u32,
    pub(super) place: Place,
}

/// The file of blocks that the writer keeps in memory.
const MEMORY: u32 = u32::MAX;

impl Segments {
    /// None yet; what is added goes to `writer`.
    pub(super) fn with_writer(writer: Writer) -> Self {
        Self { writer: Some(writer), ..Self::default() }
    }

    /// The runs of these segments, which are not written to.
    ///
    /// # Errors
    /// When one cannot be read or is no segment.
    pub(super) fn of_segments(paths: &[PathBuf]) -> Result<Self, StoreError> {
        let mut store = Self::default();
        for path in paths {
            store.load_segment(path)?;
        }
        store.index.sort();
        Ok(store)
    }

    /// The runs of these segments and what is added, in a new one at `path`.
    ///
    /// # Errors
    /// When one cannot be read, or the new one cannot be made.
    pub(super) fn continue_segments(
        paths: &[PathBuf],
        path: &Path,
        about: &str,
    ) -> Result<Self, StoreError> {
        let mut store = Self::of_segments(paths)?;
        let failed = |error| StoreError { path: path.to_owned(), error };
        let mut writer = Writer::in_file(path).map_err(failed)?;
        writer.append(Kind::About, 0, about.as_bytes()).map_err(failed)?;
        let old = std::mem::take(&mut store.blocks);
        store.index = Index::default();
        for located in old {
            let body = store.read_block(located)?;
            let place =
                writer.append(Kind::Runs, located.place.head.rows, &body).map_err(failed)?;
            let keys = Rows::decode(place.head.rows, &body).map(|rows| rows.keys().collect());
            store.note_written(MEMORY, [(place, keys.unwrap_or_default())]);
        }
        store.files = vec![path.to_owned()];
        store.blocks.iter_mut().for_each(|block| block.file = 0);
        store.index.sort();
        store.writer = Some(writer);
        Ok(store)
    }

    pub(super) fn load_segment(&mut self, path: &Path) -> Result<(), StoreError> {
        let failed = |error| StoreError { path: path.to_owned(), error };
        let (mut file, is_marked) = open_segment(path).map_err(failed)?;
        let number = self.files.len() as u32;
        let (index, blocks) = (&mut self.index, &mut self.blocks);
        let mut take = |place: Place, body: &[u8]| match place.head.kind {
            Kind::Runs => {
                let Some(rows) = Rows::decode(place.head.rows, body) else { return false };
                let block = blocks.len() as u32;
                rows.keys().zip(0..).for_each(|(key, row)| index.add(&key, block, row));
                blocks.push(Located { file: number, place });
                true
            }
            Kind::About | Kind::Lines => true,
        };
        let scan = scan_segment(&mut file, &mut take).map_err(failed)?;
        if !is_marked && scan.blocks.is_empty() {
            let text = "no segment (allowed: files that this program wrote, *.seg)";
            return Err(failed(io::Error::other(text)));
        }
        let unmarked = Damage { at: 0, bytes: FIRST.len() as u64, rows: None, is_tail: false };
        let damage = (!is_marked).then_some(unmarked).into_iter().chain(scan.damage);
        self.damage.extend(damage.map(|damage| (path.to_owned(), damage)));
        self.files.push(path.to_owned());
        Ok(())
    }

    /// Whether there is such a run.
    pub(super) fn has_run(&self, key: &Key) -> bool {
        self.index.find(key).is_some()
    }

    /// Adds a run. It is found once [`flush`](Self::flush) was called, and on disk within a
    /// fifth of a second, when others are added meanwhile.
    ///
    /// # Errors
    /// When it cannot be written, or the store takes none.
    pub(super) fn add_row(&mut self, key: Key, row: Row) -> Result<(), StoreError> {
        self.write(|writer| writer.add(key, row))
    }

    /// Writes what was added.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        if self.writer.is_some() {
            self.write(Writer::flush)?;
        }
        self.index.sort();
        Ok(())
    }

    fn write(
        &mut self,
        what: impl FnOnce(&mut Writer) -> io::Result<Vec<Written>>,
    ) -> Result<(), StoreError> {
        let Some(writer) = &mut self.writer else {
            let error = io::Error::other("these segments are only read");
            return Err(StoreError {
                path: self.files.first().cloned().unwrap_or_default(),
                error,
            });
        };
        let had_file = writer.has_file();
        let written = what(writer);
        let path = writer.path().to_owned();
        let is_file = writer.has_file();
        if is_file && !had_file {
            self.files.push(path.clone());
        }
        let written = written.map_err(|error| StoreError { path, error })?;
        let file = if is_file { (self.files.len() as u32).saturating_sub(1) } else { MEMORY };
        self.note_written(file, written);
        Ok(())
    }

    fn note_written(&mut self, file: u32, written: impl IntoIterator<Item = Written>) {
        for (place, keys) in written {
            let block = self.blocks.len() as u32;
            keys.iter().zip(0..).for_each(|(key, row)| self.index.add(key, block, row));
            self.blocks.push(Located { file, place });
        }
    }

    /// The figures of these runs, whose places are their numbers in the result; those that are not
    /// here are not made there. Each block is read once.
    ///
    /// # Errors
    /// When a segment cannot be read, or is not what it was when it was opened.
    pub(super) fn collect(&self, keys: &[Key], wanted: Wanted<'_>) -> Result<Columns, StoreError> {
        let mut places: Vec<(u32, u32, u32)> = Vec::with_capacity(keys.len());
        for (run, key) in keys.iter().enumerate() {
            if let Some((block, row)) = self.index.find(key) {
                places.push((block, row, run as u32));
            }
        }
        places.sort_unstable();
        let mut columns = Columns::new(keys.len());
        let mut open: Option<(u32, File)> = None;
        for of_block in places.chunk_by(|a, b| a.0 == b.0) {
            let block = of_block.first().and_then(|(block, ..)| self.blocks.get(*block as usize));
            let Some(located) = block else { continue };
            if open.as_ref().is_none_or(|(file, _)| *file != located.file) {
                open = match self.files.get(located.file as usize) {
                    Some(path) => {
                        Some((located.file, File::open(path).map_err(StoreError::at(path))?))
                    }
                    None => None,
                };
            }
            let file = open.as_mut().map(|(_, file)| file);
            let body = self.read_from(file, *located)?;
            let Some(rows) = Rows::decode(located.place.head.rows, &body) else { continue };
            let runs: Vec<(u32, u32)> = of_block.iter().map(|(_, row, run)| (*row, *run)).collect();
            columns.take(&rows, &runs, wanted);
        }
        Ok(columns)
    }

    pub(super) fn read_block(&self, located: Located) -> Result<Vec<u8>, StoreError> {
        let mut file = match self.files.get(located.file as usize) {
            Some(path) => Some(File::open(path).map_err(StoreError::at(path))?),
            None => None,
        };
        self.read_from(file.as_mut(), located)
    }

    fn read_from(&self, file: Option<&mut File>, located: Located) -> Result<Vec<u8>, StoreError> {
        let memory = self.writer.as_ref().map(Writer::memory).unwrap_or_default();
        let read = match file {
            Some(file) => read_body(file, located.place),
            None => read_body(&mut Cursor::new(memory), located.place),
        };
        let path = self.files.get(located.file as usize).map(PathBuf::as_path);
        read.map_err(StoreError::at(path.unwrap_or(Path::new(""))))
    }

    /// Asks the system to keep what was written also if it loses its power.
    ///
    /// # Errors
    /// When it cannot.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        let Some(writer) = &self.writer else { return Ok(()) };
        writer.sync().map_err(StoreError::at(writer.path()))
    }

    /// The figures of one run.
    ///
    /// # Errors
    /// When its segment cannot be read.
    pub(super) fn find_row(&self, key: &Key) -> Result<Option<Row>, StoreError> {
        let Some((block, at)) = self.index.find(key) else { return Ok(None) };
        let Some(located) = self.blocks.get(block as usize) else { return Ok(None) };
        let body = self.read_block(*located)?;
        let Some(rows) = Rows::decode(located.place.head.rows, &body) else { return Ok(None) };
        let cell = |n: usize| rows.column(n).get(at as usize).copied().flatten();
        let values = (0..rows.names.len()).map(cell).collect();
        Ok(Some(Row { names: rows.names.clone(), values }))
    }
}
