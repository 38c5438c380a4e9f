//! Figures of many runs, column by column.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::block::Rows;

/// Which figures are read.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// All that there are.
    All,
    /// Those of these names.
    Only(&'a [String]),
}

/// Figures of runs, 8 bytes each. Runs have numbers: the places of their keys in what was asked
/// for.
#[derive(Debug)]
pub struct Columns {
    /// The names of the figures of each kind of run.
    kinds: Vec<Arc<[String]>>,
    /// By run: its kind, or [`NOT_MADE`].
    kind: Vec<u32>,
    columns: BTreeMap<String, Vec<u64>>,
}

/// The kind of a run that was not found.
const NOT_MADE: u32 = u32::MAX;
/// What stands for no value: a NaN that no calculation makes.
const NO_VALUE: u64 = 0xfff8_dead_0000_0000;

const fn cell_of(value: Option<f64>) -> u64 {
    match value {
        Some(value) if value.to_bits() == NO_VALUE => f64::NAN.to_bits(),
        Some(value) => value.to_bits(),
        None => NO_VALUE,
    }
}

impl Columns {
    /// Columns of so many runs, none of which is known yet.
    pub(super) fn new(runs: usize) -> Self {
        Self { kinds: Vec::new(), kind: vec![NOT_MADE; runs], columns: BTreeMap::new() }
    }

    /// Takes rows of a block: of each, its place there and the number of its run.
    pub(super) fn take(&mut self, rows: &Rows<'_>, runs: &[(u32, u32)], wanted: Wanted<'_>) {
        let kind = self.kind_of(&rows.names);
        for &(_, run) in runs {
            if let Some(own) = self.kind.get_mut(run as usize) {
                *own = kind;
            }
        }
        for (at, name) in rows.names.iter().enumerate() {
            let is_wanted = match wanted {
                Wanted::All => true,
                Wanted::Only(names) => names.contains(name),
            };
            if !is_wanted {
                continue;
            }
            let (from, count) = (rows.column(at), self.kind.len());
            let to = match self.columns.get_mut(name) {
                Some(column) => column,
                None => self.columns.entry(name.clone()).or_insert_with(|| vec![NO_VALUE; count]),
            };
            for &(row, run) in runs {
                if let (Some(cell), Some(value)) =
                    (to.get_mut(run as usize), from.get(row as usize))
                {
                    *cell = cell_of(*value);
                }
            }
        }
    }

    fn kind_of(&mut self, names: &Arc<[String]>) -> u32 {
        let found = self.kinds.iter().position(|known| known == names);
        let at = found.unwrap_or_else(|| {
            self.kinds.push(Arc::clone(names));
            self.kinds.len() - 1
        });
        at as u32
    }

    /// Whether this run was found.
    pub fn is_made(&self, run: usize) -> bool {
        self.kind.get(run).is_some_and(|kind| *kind != NOT_MADE)
    }

    /// The names of a run's figures, in their order; also of those that were not asked for.
    pub fn names_of(&self, run: usize) -> &[String] {
        let kind = self.kind.get(run).and_then(|kind| self.kinds.get(*kind as usize));
        kind.map(|names| &**names).unwrap_or_default()
    }

    /// A figure of a run; `None`: not a figure of this run, or not asked for.
    pub fn find_metric(&self, run: usize, name: &str) -> Option<Option<f64>> {
        let cell = *self.columns.get(name)?.get(run)?;
        if cell != NO_VALUE {
            return Some(Some(f64::from_bits(cell)));
        }
        self.names_of(run).iter().any(|known| known == name).then_some(None)
    }
}
