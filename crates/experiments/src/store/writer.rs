//! The segment that this process writes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
#[expect(
    clippy::disallowed_types,
    reason = "rows are not kept back for long, by the user's clock"
)]
use std::time::Instant;

use super::block::{HEAD, Kind, MOST_ROWS, encode_rows};
use super::key::Key;
use super::row::Row;
use super::segment::{Place, append_block, create_segment};

/// Rows wait for others of their block for so long: what a killed process loses.
const PATIENCE: Duration = Duration::from_millis(200);

/// Where rows go.
#[derive(Debug)]
pub(super) struct Writer {
    target: Target,
    /// Rows that are not written yet, by the names of their figures.
    pending: Vec<Pending>,
    #[expect(clippy::disallowed_types, reason = "as above")]
    written: Instant,
    /// Where the next block begins.
    end: u64,
}

#[derive(Debug)]
struct Pending {
    names: Arc<[String]>,
    rows: Vec<(Key, Row)>,
}

/// Where blocks go.
#[derive(Debug)]
enum Target {
    /// A new file of this folder, once there is something to write.
    Folder(PathBuf),
    /// That file.
    File { path: PathBuf, file: File },
    /// Bytes of this process.
    Memory(Vec<u8>),
}

/// A block that was written, and the keys of its rows.
pub(super) type Written = (Place, Vec<Key>);

impl Writer {
    fn new(target: Target, end: u64) -> Self {
        #[expect(clippy::disallowed_types, reason = "as above")]
        let written = Instant::now();
        Self { target, pending: Vec::new(), written, end }
    }

    /// Writes to a new segment of this folder, with the next number, if there is anything to write.
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self::new(Target::Folder(folder.to_owned()), 0)
    }

    /// Writes to this new file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn in_file(path: &Path) -> io::Result<Self> {
        let file = create_segment(path)?;
        let end = file.metadata()?.len();
        Ok(Self::new(Target::File { path: path.to_owned(), file }, end))
    }

    pub(super) fn in_memory() -> Self {
        Self::new(Target::Memory(Vec::new()), 0)
    }

    /// The bytes, where there is no file.
    pub(super) fn memory(&self) -> &[u8] {
        match &self.target {
            Target::Memory(bytes) => bytes,
            Target::Folder(_) | Target::File { .. } => &[],
        }
    }

    /// The file, once there is one, or its folder.
    pub(super) fn path(&self) -> &Path {
        match &self.target {
            Target::Folder(path) | Target::File { path, .. } => path,
            Target::Memory(_) => Path::new(""),
        }
    }

    /// Whether a file is being written.
    pub(super) const fn has_file(&self) -> bool {
        matches!(self.target, Target::File { .. })
    }

    /// Adds a row; blocks that are full or old are written.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(super) fn add(&mut self, key: Key, row: Row) -> io::Result<Vec<Written>> {
        let known = self.pending.iter_mut().find(|pending| pending.names == row.names);
        let is_full = match known {
            Some(pending) => {
                // The names are the same; then one list of them is enough.
                pending.rows.push((key, Row { names: Arc::clone(&pending.names), ..row }));
                pending.rows.len() >= MOST_ROWS
            }
            None => {
                let names = Arc::clone(&row.names);
                self.pending.push(Pending { names, rows: vec![(key, row)] });
                false
            }
        };
        if self.written.elapsed() >= PATIENCE {
            return self.flush();
        }
        if !is_full {
            return Ok(Vec::new());
        }
        let full = self.pending.iter().position(|pending| pending.rows.len() >= MOST_ROWS);
        let full = full.map(|at| self.pending.swap_remove(at));
        full.iter().map(|pending| self.write(pending)).collect()
    }

    /// Writes what is pending.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn flush(&mut self) -> io::Result<Vec<Written>> {
        #[expect(clippy::disallowed_types, reason = "as above")]
        let now = Instant::now();
        self.written = now;
        let pending = std::mem::take(&mut self.pending);
        pending.iter().map(|pending| self.write(pending)).collect()
    }

    fn write(&mut self, pending: &Pending) -> io::Result<Written> {
        let body = encode_rows(&pending.names, &pending.rows);
        let place = self.append(Kind::Runs, pending.rows.len() as u32, &body)?;
        Ok((place, pending.rows.iter().map(|(key, _)| *key).collect()))
    }

    /// Writes a block.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn append(&mut self, kind: Kind, rows: u32, body: &[u8]) -> io::Result<Place> {
        if let Target::Folder(folder) = &self.target {
            let (path, file) = next_in_folder(folder)?;
            self.end = file.metadata()?.len();
            self.target = Target::File { path, file };
        }
        let out: &mut dyn Write = match &mut self.target {
            Target::Folder(_) => return Err(io::ErrorKind::NotFound.into()),
            Target::File { file, .. } => file,
            Target::Memory(bytes) => bytes,
        };
        let head = match append_block(&mut { out }, kind, rows, body) {
            Ok(head) => head,
            Err(error) => {
                self.cut_tail();
                return Err(error);
            }
        };
        let place = Place { at: self.end, head };
        self.end += HEAD as u64 + head.bytes;
        Ok(place)
    }

    /// Takes back what a full disk took of a block. Where that fails, readers leave it out.
    fn cut_tail(&mut self) {
        match &mut self.target {
            Target::File { file, .. } => drop(file.set_len(self.end)),
            Target::Memory(bytes) => bytes.truncate(self.end as usize),
            Target::Folder(_) => {}
        }
    }

    /// Asks the system to keep what was written also if it loses its power.
    ///
    /// # Errors
    /// When it cannot.
    pub(super) fn sync(&self) -> io::Result<()> {
        match &self.target {
            Target::File { file, .. } => file.sync_all(),
            Target::Folder(_) | Target::Memory(_) => Ok(()),
        }
    }
}

/// A new segment with the next number. Others may take the same number at the same time: then the
/// next.
fn next_in_folder(folder: &Path) -> io::Result<(PathBuf, File)> {
    let number = |entry: io::Result<fs::DirEntry>| {
        let name = entry.ok()?.file_name();
        name.to_str()?.strip_suffix(".seg")?.parse::<u32>().ok()
    };
    let mut next = fs::read_dir(folder)?.filter_map(number).max().unwrap_or(0);
    loop {
        next = next.saturating_add(1);
        let path = folder.join(format!("{next:06}.seg"));
        match create_segment(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && next < u32::MAX => {}
            made => return made.map(|file| (path, file)),
        }
    }
}
