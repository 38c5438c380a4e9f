//! Where a figure goes.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use polypath_experiments::output::Output;
use polypath_report::figure::{Diagram, PictureFormat, draw_panels, encode_picture};

use crate::failure::{Failure, file_not_written};

/// A file, or stdout, and what is written there.
#[derive(Debug)]
pub(crate) struct Canvas {
    file: Option<PathBuf>,
    format: PictureFormat,
}

impl Canvas {
    /// A file; without `format` its ending says what it becomes. `option` is named in refusals.
    pub(crate) fn file(
        path: &Path,
        option: &str,
        format: Option<PictureFormat>,
    ) -> Result<Self, Failure> {
        let format = format.map_or_else(|| PictureFormat::from_path(path), Ok);
        let refused = |why| Failure::bad_input(format!("{option} {}: {why}", path.display()));
        Ok(Self { file: Some(path.to_owned()), format: format.map_err(refused)? })
    }

    /// Stdout, but no pixels on a terminal.
    pub(crate) fn stdout(format: Option<PictureFormat>) -> Result<Self, Failure> {
        let format = format.unwrap_or(PictureFormat::Svg);
        if !format.is_text() && io::stdout().is_terminal() {
            return Err(Failure::bad_input(format!(
                "--format {format}: a terminal does not show it (allowed: with --out FILE, or into a pipe or file)"
            )));
        }
        Ok(Self { file: None, format })
    }

    /// Draws diagrams one below the other. A file is there whole or not at all.
    pub(crate) fn draw(&self, diagrams: &[Diagram]) -> Result<(), Failure> {
        let svg = draw_panels(diagrams).map_err(Failure::run_failed)?;
        let bytes = encode_picture(svg, self.format).map_err(Failure::run_failed)?;
        match &self.file {
            Some(path) => Output::create(path)
                .and_then(|mut out| out.write_all(&bytes).and_then(|()| out.keep_file()))
                .map_err(|error| file_not_written(path, &error)),
            None => crate::output::print_bytes(&bytes),
        }
    }
}
