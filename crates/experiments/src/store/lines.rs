//! Segments of texts in place of rows: results that are no list of figures.

use std::path::{Path, PathBuf};

use super::block::Kind;
use super::error::StoreError;
use super::segment::{Damage, count_rows, open_segment, read_first, scan_segment};
use super::writer::Writer;

/// What segments say.
#[derive(Debug, Default)]
pub struct Texts {
    /// What they are of, in JSON, with their files.
    pub about: Vec<(PathBuf, String)>,
    /// Their lines, in the order of files and blocks.
    pub lines: Vec<String>,
    /// Places of which nothing was taken.
    pub damage: Vec<(PathBuf, Damage)>,
}

/// Reads the texts of segments.
///
/// # Errors
/// When one cannot be read.
pub fn read_texts(paths: &[PathBuf]) -> Result<Texts, StoreError> {
    let mut texts = Texts::default();
    for path in paths {
        let failed = |error| StoreError { path: path.clone(), error };
        let (mut file, _) = open_segment(path).map_err(failed)?;
        let (about, lines) = (&mut texts.about, &mut texts.lines);
        let scan = scan_segment(&mut file, &mut |place, body| {
            let Ok(text) = core::str::from_utf8(body) else {
                return place.head.kind == Kind::Runs;
            };
            match place.head.kind {
                Kind::About => about.push((path.clone(), text.to_owned())),
                Kind::Lines => lines.push(text.to_owned()),
                Kind::Runs => {}
            }
            true
        });
        let damage = scan.map_err(failed)?.damage;
        texts.damage.extend(damage.into_iter().map(|damage| (path.clone(), damage)));
    }
    Ok(texts)
}

/// What a segment is of, by its first block, and how many rows or lines it has so far. Blocks are
/// not checked but for their heads: it may be being written.
///
/// # Errors
/// When it cannot be read.
pub fn glance_at_segment(path: &Path) -> Result<(Option<String>, u64), StoreError> {
    let failed = |error| StoreError { path: path.to_owned(), error };
    let (mut file, _) = open_segment(path).map_err(failed)?;
    let rows = count_rows(&mut file).map_err(failed)?;
    let about = read_first(&mut file).map_err(failed)?;
    Ok((about, rows))
}

/// A segment of lines that is being written.
#[derive(Debug)]
pub struct LineWriter(Writer);

impl LineWriter {
    /// Begins a new segment, of which `about` says in JSON what it is.
    ///
    /// # Errors
    /// When there is such a file, or it cannot be made.
    pub fn create(path: &Path, about: &str) -> Result<Self, StoreError> {
        let failed = |error| StoreError { path: path.to_owned(), error };
        let mut writer = Writer::in_file(path).map_err(failed)?;
        writer.append(Kind::About, 0, about.as_bytes()).map_err(failed)?;
        Ok(Self(writer))
    }

    /// Adds a line, at once.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, line: &str) -> Result<(), StoreError> {
        let written = self.0.append(Kind::Lines, 1, line.as_bytes());
        written.map(drop).map_err(StoreError::at(self.0.path()))
    }

    /// Asks the system to keep what was written also if it loses its power.
    ///
    /// # Errors
    /// When it cannot.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.0.sync().map_err(StoreError::at(self.0.path()))
    }
}
