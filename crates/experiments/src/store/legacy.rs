//! Stores of version 0.1 and before: a CSV file for each set of figures.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::key::Key;
use super::row::Row;

/// The tables of a folder: files named by 32 hexadecimal digits.
///
/// # Errors
/// When the folder cannot be read.
pub(super) fn list_tables(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<io::Result<_>>()?;
    paths.retain(|path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_hash = stem.len() == 32 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash && path.extension().is_some_and(|ending| ending == "csv")
    });
    paths.sort();
    Ok(paths)
}

/// Hands each row of a table to `take`. A last line that an interruption left without its end is no
/// row, nor is one that has other columns than the head says.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn read_table(path: &Path, take: &mut dyn FnMut(Key, Row)) -> io::Result<()> {
    let text = fs::read(path)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let text = text.get(..whole).unwrap_or_default();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let names: Arc<[String]> = reader.headers()?.iter().skip(1).map(str::to_owned).collect();
    for record in reader.records() {
        let record = record?;
        let values: Vec<_> = record.iter().skip(1).map(|text| text.parse::<f64>().ok()).collect();
        if let (Some(Ok(key)), true) = (record.get(0).map(str::parse), values.len() == names.len())
        {
            take(key, Row { names: Arc::clone(&names), values });
        }
    }
    Ok(())
}
