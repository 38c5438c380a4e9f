//! Runs as CSV.

use std::io::{self, Write};

use crate::runs::Runs;

/// Writes one line per run: grid, axes, seed, settings, figures. Figures that a run has not are
/// empty.
///
/// # Errors
/// When `out` takes no more, or the store cannot be read.
pub fn write_csv(runs: &Runs<'_>, out: impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let names = |list: &'static str| std::iter::once(list.to_owned());
    let head = names("grid").chain(runs.axes.iter().cloned()).chain(names("seed"));
    writer.write_record(head.chain(runs.settings.iter().cloned()).chain(runs.metrics.clone()))?;
    let axes = 1 + runs.axes.len();
    for piece in runs.pieces() {
        let piece = piece.map_err(io::Error::other)?;
        for (n, run) in piece.rows.iter().enumerate() {
            let place = runs.points.get(run.point).map(Vec::as_slice).unwrap_or_default();
            let (axes, settings) = place.split_at_checked(axes).unwrap_or_default();
            axes.iter().try_for_each(|cell| writer.write_field(cell))?;
            writer.write_field(run.seed.to_string())?;
            settings.iter().try_for_each(|cell| writer.write_field(cell))?;
            for name in &runs.metrics {
                let value = piece.figure(n, name);
                writer.write_field(value.map_or(String::new(), |value| value.to_string()))?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
    }
    writer.flush()
}
