//! Points of reference data, from files in CSV.

use super::quantity::Bindings;
use crate::experiment::{Experiment, Reference, ReferenceAxis};

/// A point of reference data.
pub(crate) struct ReferencePoint {
    /// Values of the axes.
    pub(crate) at: Bindings,
    /// Its value, in the unit of the metric.
    pub(crate) value: f64,
    /// Half the width of its interval; 0 where the data have none.
    pub(crate) half: f64,
}

/// The points that a reference has. `None`: the file cannot be read.
pub(crate) fn read_points(
    experiment: &Experiment,
    reference: &Reference,
) -> Option<Vec<ReferencePoint>> {
    let text = read_file(experiment, &reference.file)?;
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let header = reader.headers().ok()?.clone();
    let column = |name: &str| header.iter().position(|known| known == name);
    let mut points = Vec::new();
    for record in reader.records() {
        let record = record.ok()?;
        let cell = |name: &str| record.get(column(name)?);
        if reference.only.iter().any(|(name, value)| cell(name) != Some(value)) {
            continue;
        }
        let label = |(axis, of): (&String, &ReferenceAxis)| {
            Some((axis.clone(), of.values.get(cell(&of.column)?)?.clone()))
        };
        let Some(at) = reference.axes.iter().map(label).collect::<Option<Bindings>>() else {
            continue;
        };
        let number = |name: &str| cell(name)?.parse::<f64>().ok();
        let Some(value) = number(&reference.value) else { continue };
        let half = reference.interval.as_deref().and_then(number).unwrap_or(0.0);
        points.push(ReferencePoint {
            at,
            value: value * reference.scale,
            half: half * reference.scale,
        });
    }
    Some(points)
}

/// The file below the nearest folder around the experiment that has it.
fn read_file(experiment: &Experiment, file: &str) -> Option<String> {
    // A path from the folder of the process goes no further up than that; the whole one does.
    let whole = experiment.file.canonicalize().unwrap_or_default();
    let around = experiment.file.ancestors().chain(whole.ancestors()).skip(1);
    around.map(|folder| folder.join(file)).find_map(|path| experiment.files.text(&path).ok())
}
