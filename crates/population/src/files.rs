//! Draws as files that `polypath simulate` takes.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use polypath_experiments::output::Output;

use crate::draw::{Draw, Population};

/// Writes a draw's scenario and the traces that it names into `folder`, which is made if it is
/// missing. The result is the scenario's file.
///
/// # Errors
/// When the folder takes no files.
pub fn write_draw(population: Population, draw: &Draw, folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    for (name, text) in &draw.files {
        write_file(&folder.join(name), text)?;
    }
    let path = folder.join(format!("{}.toml", population.file_stem(draw.number)));
    write_file(&path, &draw.text)?;
    Ok(path)
}

/// Writes a text under a name that appears once it is whole.
///
/// # Errors
/// When the folder takes no files.
pub fn write_file(path: &Path, text: &str) -> io::Result<()> {
    let mut output = Output::create(path)?;
    output.write_all(text.as_bytes())?;
    output.keep_file()
}
