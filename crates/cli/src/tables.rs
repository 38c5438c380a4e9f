//! Tables of runs in files.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use polypath_experiments::reproduce::{Stored, Study};
use polypath_report::report::{Runs, write_csv};

use crate::failure::{Failure, unwritten};

/// Writes the runs into a folder, and says where the CSV file is.
pub(crate) fn write(folder: &Path, study: &Study, stored: &Stored) -> Result<PathBuf, Failure> {
    let runs = Runs::of(study, stored);
    let path = folder.join("runs.csv");
    write_csv(&runs, create(&path)?).map_err(|error| unwritten(&path, &error))?;
    #[cfg(feature = "parquet")]
    {
        let path = folder.join("runs.parquet");
        let written = polypath_report::report::write_parquet(&runs, create(&path)?);
        written.map_err(|error| unwritten(&path, &error))?;
    }
    Ok(path)
}

fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    File::create(path).map(BufWriter::new).map_err(|error| unwritten(path, &error))
}
