//! The table of a sweep.

use polypath_experiments::experiment::Axis;
use polypath_experiments::reproduce::{Measured, Study, SweepRow};
use polypath_report::figure::Rows;
use polypath_report::{Listing, TableFormat, format_listings, space_unit};
use polypath_run::metrics::{format_pair, metric_unit};

/// The sweep for people, or as CSV for programs.
pub(super) fn format_sweep(
    study: &Study,
    rows: &[SweepRow],
    metrics: &[String],
    format: TableFormat,
) -> String {
    // A sweep has one grid.
    let grid = study.points.grids.first();
    let axes = grid.map(|grid| grid.axes.as_slice()).unwrap_or_default();
    let seeds = grid.map_or(0, |grid| grid.seeds.len());
    let table = Sweep { axes, rows, metrics };
    if format == TableFormat::Csv {
        return format_listings(&[table.list_values(seeds)], "", format);
    }
    let tables = match axes {
        [] => vec![table.without_axes()],
        [one] => vec![table.over_one_axis(&one.name)],
        [down @ .., across] => {
            (0..metrics.len()).flat_map(|n| table.over_axes(n, down, across)).collect()
        }
    };
    format_listings(&tables, &table.note(seeds), format)
}

struct Sweep<'a> {
    axes: &'a [Axis],
    rows: &'a [SweepRow],
    metrics: &'a [String],
}

impl Sweep<'_> {
    fn note(&self, seeds: usize) -> String {
        let interval = match seeds {
            1 => "One seed, so no intervals".to_owned(),
            _ => format!("Mean over {seeds} seeds +- half width of the 95 % interval"),
        };
        match self.rows {
            [_] | [] => format!("{interval}."),
            _ => format!("{interval}; change: against the first point, paired by seed."),
        }
    }

    fn measured(&self, row: &SweepRow, metric: usize) -> Option<Measured> {
        row.metrics.get(metric).and_then(|(_, measured)| *measured)
    }

    /// One unit for all points: their figures are there to be compared.
    fn scale(&self, metric: usize) -> (f64, &'static str) {
        let values = self.rows.iter().filter_map(|row| self.measured(row, metric));
        let most = values.map(|value| value.mean.abs()).fold(0.0, f64::max);
        metric_unit(self.name(metric)).scale_for(most)
    }

    fn name(&self, metric: usize) -> &str {
        self.metrics.get(metric).map(String::as_str).unwrap_or_default()
    }

    fn name_with_unit(&self, metric: usize) -> String {
        match self.scale(metric).1 {
            "" => self.name(metric).to_owned(),
            unit => format!("{} ({unit})", self.name(metric)),
        }
    }

    fn value_cell(&self, row: &SweepRow, metric: usize) -> String {
        let (factor, _) = self.scale(metric);
        self.measured(row, metric)
            .map_or("-".to_owned(), |value| format_pair(value.mean * factor, value.half * factor))
    }

    /// In per cent; a dash at the first point itself.
    fn change_cell(&self, row: &SweepRow, metric: usize) -> String {
        let is_first = self.rows.first().is_some_and(|first| first.at == row.at);
        let change = self.measured(row, metric).and_then(|value| value.against_first);
        change.filter(|_| !is_first).map_or("-".to_owned(), |(ratio, half)| {
            let change = format_pair(100.0 * (ratio - 1.0), 100.0 * half);
            if ratio > 1.0 { format!("+{change}") } else { change }
        })
    }

    fn without_axes(&self) -> Listing {
        let row =
            |(row, n): (&SweepRow, usize)| vec![self.name_with_unit(n), self.value_cell(row, n)];
        let rows = self.rows.iter().take(1);
        let rows = rows.flat_map(|one| (0..self.metrics.len()).map(move |n| (one, n)));
        let head = ["metric", "value"].map(str::to_owned).to_vec();
        Listing {
            title: String::new(),
            labels: 1,
            rows: Rows { head, rows: rows.map(row).collect() },
        }
    }

    /// Points down, metrics across.
    fn over_one_axis(&self, axis: &str) -> Listing {
        let metrics = 0..self.metrics.len();
        let heads = metrics.clone().flat_map(|n| [self.name_with_unit(n), "change (%)".to_owned()]);
        let row = |row: &SweepRow| {
            let label = row.at.get(axis).map(|label| space_unit(label)).unwrap_or_default();
            let cells =
                metrics.clone().flat_map(|n| [self.value_cell(row, n), self.change_cell(row, n)]);
            std::iter::once(label).chain(cells).collect()
        };
        let rows = self.rows.iter().map(row).collect();
        let head = std::iter::once(axis.to_owned()).chain(heads).collect();
        Listing { title: String::new(), labels: 1, rows: Rows { head, rows } }
    }

    /// All axes but the last down, the last one across: values, then changes.
    fn over_axes(&self, metric: usize, down: &[Axis], across: &Axis) -> [Listing; 2] {
        let changes = format!("{}, change (%)", self.name(metric));
        [(self.name_with_unit(metric), false), (changes, true)].map(|(title, change)| {
            let cell = |row: &SweepRow| match change {
                true => self.change_cell(row, metric),
                false => self.value_cell(row, metric),
            };
            let labels = |row: &SweepRow| -> Vec<String> {
                let label = |axis: &Axis| row.at.get(&axis.name).map(|label| space_unit(label));
                down.iter().filter_map(label).collect()
            };
            // The last axis varies fastest, so the points of a row stand together.
            let rows = self.rows.chunk_by(|a, b| labels(a) == labels(b));
            let rows = rows.map(|row| {
                let first = row.first().map(labels).unwrap_or_default();
                first.into_iter().chain(row.iter().map(cell)).collect()
            });
            let names = down.iter().map(|axis| axis.name.clone());
            let values = across.labels.iter().map(|label| space_unit(label));
            let head = names.chain(values).collect();
            let rows = Rows { head, rows: rows.collect() };
            Listing { title: format!("{title}; across: {}", across.name), labels: down.len(), rows }
        })
    }

    /// Every value in a cell of its own, in base units.
    fn list_values(&self, seeds: usize) -> Listing {
        let figures =
            ["metric", "unit", "seeds", "mean", "half_width", "ratio_to_first", "ratio_half_width"];
        let number = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
        let row = |(row, n): (&SweepRow, usize)| {
            let measured = self.measured(row, n);
            let values = measured.map_or([f64::NAN; 4], |value| {
                let (ratio, half) = value.against_first.unwrap_or((f64::NAN, f64::NAN));
                [value.mean, value.half, ratio, half]
            });
            let (name, unit) = (self.name(n), metric_unit(self.name(n)).base());
            let labels = self.axes.iter().map(|axis| row.at.get(&axis.name).cloned());
            let names = [name.to_owned(), unit.to_owned(), seeds.to_string()];
            labels.flatten().chain(names).chain(values.map(number)).collect()
        };
        let metrics = 0..self.metrics.len();
        let rows = self.rows.iter().flat_map(|one| metrics.clone().map(move |n| (one, n)));
        let axes = self.axes.iter().map(|axis| axis.name.clone());
        let head = axes.chain(figures.map(str::to_owned)).collect();
        let labels = self.axes.len() + 2;
        Listing { title: String::new(), labels, rows: Rows { head, rows: rows.map(row).collect() } }
    }
}
