//! Any columns of a table: an axis, a setting, a metric, or what its owner added.

use std::io;
use std::path::Path;

use csv::StringRecord;
use indexmap::{IndexMap, IndexSet};
use polypath_experiments::experiment::parse_amount;
use polypath_run::metrics::Unit;

use crate::run_table::RunTable;

/// Columns named in a message, at most.
const NAMED: usize = 12;

/// What is wanted of a table.
#[derive(Clone, Copy, Debug)]
pub struct ChosenColumns<'a> {
    /// Grid, in a table of runs.
    pub grid: &'a str,
    /// Along x; without it the first axis with numbers.
    pub x: Option<&'a str>,
    /// Columns of figures.
    pub y: &'a [String],
    /// Columns whose values make the curves; without them all other axes.
    pub curves: Option<&'a [String]>,
    /// Columns and the values that rows must have to be read.
    pub keep: &'a [(String, String)],
}

/// The rows of a table by the chosen columns.
#[derive(Clone, Debug)]
pub struct ChosenTable {
    /// Its axes are `x` and `curves`, its metrics the columns of figures.
    pub table: RunTable,
    /// Along x.
    pub x: String,
    /// Columns whose values make the curves.
    pub curves: Vec<String>,
    /// By column of figures: the unit in which its cells are written; base units in the table.
    pub units: Vec<Unit>,
}

/// A table as it was read, and which of its columns are axes.
struct Raw {
    header: Vec<String>,
    rows: Vec<StringRecord>,
    axes: Vec<usize>,
    seed: Option<usize>,
}

impl ChosenTable {
    /// Reads a CSV file. Rows that agree in the chosen columns are runs of one point.
    ///
    /// # Errors
    /// When it cannot be read, has no such column or row, or an axis that is left open differs
    /// between the runs of a point.
    pub fn read_csv(path: &Path, chosen: &ChosenColumns<'_>) -> io::Result<Self> {
        let raw = Raw::read(path, chosen)?;
        let x = match chosen.x {
            Some(name) => raw.find(name)?,
            None => raw.default_x()?,
        };
        let curves = match chosen.curves {
            Some(names) => names.iter().map(|name| raw.find(name)).collect::<io::Result<_>>()?,
            // What moves with x tells no curves apart.
            None => raw.axes.iter().copied().filter(|axis| raw.differs(*axis, &[x])).collect(),
        };
        let curves: Vec<usize> = curves;
        let figures = chosen.y.iter().map(|name| raw.find(name)).collect::<io::Result<Vec<_>>>()?;
        let keys: Vec<usize> = curves.iter().copied().chain([x]).collect();
        raw.check_open_axes(&keys)?;
        let named = |columns: &[usize]| -> Vec<String> {
            columns.iter().filter_map(|at| raw.header.get(*at).cloned()).collect()
        };
        let runs = raw.rows.iter().enumerate().map(|(n, row)| {
            let seed = raw.seed.and_then(|at| row.get(at));
            let seed = seed.map_or_else(|| n.to_string(), str::to_owned);
            (texts(row, &keys), seed, figures.iter().map(|at| cell_value(row, *at)).collect())
        });
        Ok(Self {
            table: RunTable::from_runs(&named(&keys), named(&figures), runs),
            x: named(&[x]).concat(),
            curves: named(&curves),
            units: figures.iter().map(|at| raw.unit_of(*at)).collect(),
        })
    }
}

impl Raw {
    fn read(path: &Path, chosen: &ChosenColumns<'_>) -> io::Result<Self> {
        let mut reader = csv::Reader::from_path(path)?;
        let header: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
        let rows = reader.records().collect::<Result<Vec<_>, _>>()?;
        let seed = header.iter().position(|name| name == "seed");
        let mut raw = Self { header, rows, axes: Vec::new(), seed };
        if raw.rows.is_empty() {
            return Err(io::Error::other("no rows (allowed: at least one below the header)"));
        }
        if let Some(seed) = raw.seed.filter(|_| raw.header.first().is_some_and(|a| a == "grid")) {
            raw.keep_rows("grid", chosen.grid)?;
            let used = |at: &usize| {
                raw.rows.iter().any(|row| row.get(*at).is_some_and(|cell| !cell.is_empty()))
            };
            // Axes of other grids are empty here.
            raw.axes = (1..seed).filter(used).collect();
        }
        chosen.keep.iter().try_for_each(|(name, value)| raw.keep_rows(name, value))?;
        Ok(raw)
    }

    fn keep_rows(&mut self, name: &str, value: &str) -> io::Result<()> {
        let at = self.find(name)?;
        let has = |row: &StringRecord| row.get(at) == Some(value);
        if !self.rows.iter().any(has) {
            let known: Vec<&str> = self.values(at).into_iter().take(NAMED).collect();
            let known = known.join(", ");
            return Err(io::Error::other(format!("no {name} {value:?} (allowed: {known})")));
        }
        self.rows.retain(has);
        Ok(())
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        let at = self.header.iter().position(|known| known == name);
        at.ok_or_else(|| {
            io::Error::other(format!("no column {name:?} (allowed: {})", self.named()))
        })
    }

    /// The columns in words: the axes before all others.
    fn named(&self) -> String {
        let name = |at: &usize| self.header.get(*at).map(String::as_str);
        let others = 0..self.header.len();
        let all: IndexSet<usize> = self.axes.iter().copied().chain(others).collect();
        let shown: Vec<&str> = all.iter().filter_map(name).take(NAMED).collect();
        let more = match all.len() - shown.len() {
            0 => String::new(),
            n => format!(" and {n} more of its header"),
        };
        format!("{}{more}", shown.join(", "))
    }

    fn values(&self, at: usize) -> IndexSet<&str> {
        self.rows.iter().filter_map(|row| row.get(at)).collect()
    }

    fn varies(&self, at: usize) -> bool {
        self.values(at).len() > 1
    }

    fn default_x(&self) -> io::Result<usize> {
        let varying = || self.axes.iter().copied().filter(|axis| self.varies(*axis));
        let numeric = |axis: &usize| self.values(*axis).iter().all(|v| parse_amount(v).is_some());
        let found = varying().find(numeric).or_else(|| varying().next());
        let found = found.or_else(|| self.axes.first().copied());
        let problem =
            || format!("no axis to draw over: --x has to say (allowed: {})", self.named());
        found.ok_or_else(|| io::Error::other(problem()))
    }

    /// Runs of one point agree in every axis: their mean would be one of different things.
    fn check_open_axes(&self, keys: &[usize]) -> io::Result<()> {
        let open = self.axes.iter().find(|axis| self.differs(**axis, keys));
        let Some(name) = open.and_then(|axis| self.header.get(*axis)) else { return Ok(()) };
        Err(io::Error::other(format!(
            "axis {name:?} has several values at one point (allowed: {name} among --curves, or --where {name}=VALUE)"
        )))
    }

    /// Whether rows that agree in `keys` differ in a column.
    fn differs(&self, column: usize, keys: &[usize]) -> bool {
        let mut seen: IndexMap<Vec<String>, &str> = IndexMap::new();
        self.rows.iter().any(|row| {
            let own = row.get(column).unwrap_or_default();
            *seen.entry(texts(row, keys)).or_insert(own) != own
        })
    }

    /// Cells such as `10ms` say their unit.
    fn unit_of(&self, at: usize) -> Unit {
        let with_unit = self.values(at).into_iter().find(|cell| cell.parse::<f64>().is_err());
        match with_unit.filter(|cell| parse_amount(cell).is_some()) {
            Some(cell) if cell.ends_with("bit/s") => Unit::Rate,
            Some(cell) if cell.ends_with('B') => Unit::Bytes,
            Some(cell) if cell.ends_with(['%', 'm']) => Unit::Share,
            Some(cell) if cell.ends_with("packets") => Unit::Plain,
            Some(cell) if cell.ends_with('s') => Unit::Time,
            _ => Unit::Plain,
        }
    }
}

fn texts(row: &StringRecord, columns: &[usize]) -> Vec<String> {
    columns.iter().map(|at| row.get(*at).unwrap_or_default().to_owned()).collect()
}

/// `None` where there is no finite number.
fn cell_value(row: &StringRecord, at: usize) -> Option<f64> {
    let cell = row.get(at)?;
    let value = cell.parse().ok().or_else(|| parse_amount(cell));
    value.filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use polypath_experiments::evaluate::{Results as _, Sample};

    use super::*;

    const RUNS: &str = "grid,buffer,mode,seed,scenario.path.A.delay,goodput,mine\n\
        main,64KiB,rr,1,10ms,10,5\nmain,64KiB,rr,2,10ms,12,7\n\
        main,128KiB,rr,1,20ms,20,6\nmain,128KiB,rr,2,20ms,22,\n\
        main,64KiB,fixed,1,10ms,3,1\nother,1,,1,1ms,1,1\n";

    struct Wanted<'a> {
        x: Option<&'a str>,
        y: &'a str,
        curves: Option<&'a [&'a str]>,
        keep: &'a [(&'a str, &'a str)],
    }

    fn read(text: &str, wanted: Wanted<'_>) -> Result<ChosenTable, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        std::fs::write(&path, text).unwrap();
        let owned = |name: &&str| (*name).to_owned();
        let curves: Option<Vec<String>> = wanted.curves.map(|all| all.iter().map(owned).collect());
        let keep: Vec<(String, String)> =
            wanted.keep.iter().map(|(a, b)| (owned(a), owned(b))).collect();
        let chosen = ChosenColumns {
            grid: "main",
            x: wanted.x,
            y: &[wanted.y.to_owned()],
            curves: curves.as_deref(),
            keep: &keep,
        };
        ChosenTable::read_csv(&path, &chosen).map_err(|error| error.to_string())
    }

    fn samples(chosen: &ChosenTable, y: &str) -> Vec<Sample> {
        let shape = chosen.table.shape();
        (0..shape.points.len()).map(|point| chosen.table.sample(shape, point, y)).collect()
    }

    #[test]
    fn without_a_choice_the_axes_of_the_grid_are_taken() {
        let all = read(RUNS, Wanted { x: None, y: "goodput", curves: None, keep: &[] }).unwrap();
        assert_eq!((all.x.as_str(), all.curves.as_slice()), ("buffer", &["mode".to_owned()][..]));
        let [rr, _, fixed] = samples(&all, "goodput").try_into().unwrap();
        assert_eq!((rr, fixed), (Sample::Values(vec![10.0, 12.0]), Sample::Values(vec![3.0])));
    }

    #[test]
    fn settings_and_columns_of_ones_own_are_axes_and_figures() {
        let keep = [("mode", "rr")];
        let wanted =
            Wanted { x: Some("scenario.path.A.delay"), y: "mine", curves: None, keep: &keep };
        let own = read(RUNS, wanted).unwrap();
        assert!(own.curves.is_empty(), "the buffer moves with the delay");
        let values = samples(&own, "mine");
        assert_eq!(values, [Sample::Values(vec![5.0, 7.0]), Sample::Missing(1, 2)]);
        let wanted =
            Wanted { x: Some("buffer"), y: "scenario.path.A.delay", curves: None, keep: &[] };
        let times = read(RUNS, wanted).unwrap();
        assert_eq!(times.units, [Unit::Time]);
        assert_eq!(samples(&times, "scenario.path.A.delay")[1], Sample::Values(vec![0.02, 0.02]));
    }

    #[test]
    fn a_table_of_ones_own_needs_no_seed() {
        let text = "who,x,y\na,1,5\na,1,7\nb,2,6\n";
        let wanted = Wanted { x: Some("x"), y: "y", curves: Some(&["who"]), keep: &[] };
        let own = read(text, wanted).unwrap();
        assert_eq!(samples(&own, "y")[0], Sample::Values(vec![5.0, 7.0]));
        let refused = read(text, Wanted { x: None, y: "y", curves: None, keep: &[] }).unwrap_err();
        assert_eq!(refused, "no axis to draw over: --x has to say (allowed: who, x, y)");
    }

    #[test]
    fn different_things_are_not_averaged() {
        let wanted = Wanted { x: Some("buffer"), y: "goodput", curves: Some(&[]), keep: &[] };
        let refused = read(RUNS, wanted).unwrap_err();
        assert!(refused.starts_with("axis \"mode\" has several values at one point"), "{refused}");
        let keep = [("mode", "cmt")];
        let refused = read(RUNS, Wanted { x: None, y: "goodput", curves: None, keep: &keep });
        assert_eq!(refused.unwrap_err(), "no mode \"cmt\" (allowed: rr, fixed)");
        let refused = read(RUNS, Wanted { x: None, y: "godput", curves: None, keep: &[] });
        let refused = refused.unwrap_err();
        assert!(
            refused.starts_with("no column \"godput\" (allowed: buffer, mode, grid"),
            "{refused}"
        );
    }
}
