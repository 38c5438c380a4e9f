//! The runs of an experiment as one table.

use std::io::{self, Write};

use crate::reproduce::{Stored, Study};

/// Writes one row per run: grid, axes, settings, seed, figures.
///
/// # Errors
/// When `out` takes no more.
pub fn write_runs(study: &Study, stored: &Stored, out: impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let (mut axes, mut names): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    each_run(study, stored, &mut |run| {
        for axis in &run.grid.axes {
            add(&mut axes, &axis.name);
        }
        for (name, _) in run.row.iter() {
            add(&mut names, name);
        }
        Ok(())
    })?;
    let fixed = ["grid".to_owned()];
    let tail = ["seed".to_owned()];
    writer.write_record(fixed.iter().chain(&axes).chain(&tail).chain(&names))?;
    each_run(study, stored, &mut |run| {
        let mut cells = vec![run.grid.name.clone()];
        for axis in &axes {
            let at = run.grid.axis(axis).and_then(|(at, _)| run.labels.get(at));
            cells.push(at.cloned().unwrap_or_default());
        }
        cells.push(run.seed.to_string());
        for name in &names {
            let value = run.row.find(name).flatten();
            cells.push(value.map_or(String::new(), |value| value.to_string()));
        }
        writer.write_record(&cells).map_err(io::Error::from)
    })?;
    writer.flush()
}

struct Run<'a> {
    grid: &'a crate::experiment::Grid,
    labels: &'a [String],
    seed: u64,
    row: &'a crate::store::Row,
}

fn each_run(
    study: &Study,
    stored: &Stored,
    visit: &mut dyn FnMut(Run<'_>) -> io::Result<()>,
) -> io::Result<()> {
    for (g, grid) in study.points.grids.iter().enumerate() {
        for (p, point) in grid.points.iter().enumerate() {
            for (seed, row) in grid.seeds.iter().zip(stored.rows(g, p)) {
                visit(Run { grid, labels: &point.labels, seed: *seed, row })?;
            }
        }
    }
    Ok(())
}

fn add(list: &mut Vec<String>, name: &str) {
    if !list.iter().any(|known| known == name) {
        list.push(name.to_owned());
    }
}
