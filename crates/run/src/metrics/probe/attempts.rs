//! Send attempts: which path was served first, and by which numbers the path scheduler decided.

use std::collections::BTreeMap;

use polypath_proto::trace::{TraceEvent, TraceRecord};

/// Paths of an attempt that are told apart.
const PATHS: usize = 16;

#[derive(Debug, Default)]
pub(in crate::metrics) struct Attempts {
    /// Of the attempt under way: the paths in the order in which they were served first, with what
    /// could have sent.
    served: Vec<(usize, u16)>,
    /// Its first decision.
    numbers: Option<Vec<(&'static str, f64)>>,
    sendable: u16,
    with_data: u64,
    on_path: [u64; PATHS],
    on_several: u64,
    first: [u64; PATHS],
    last_resort: [u64; PATHS],
    /// Sum and number of each of the scheduler's numbers.
    sums: BTreeMap<&'static str, (f64, u64)>,
    /// Attempts in which a number was the least of its kind.
    lowest: BTreeMap<&'static str, u64>,
    decided: u64,
}

impl Attempts {
    pub(super) fn note_record(&mut self, record: &TraceRecord) {
        match &record.event {
            TraceEvent::Decision { sendable, state, .. } => self.note_decision(*sendable, state),
            TraceEvent::Sent { path, retransmission: None, .. } => {
                let path = usize::from(path.0);
                if !self.served.iter().any(|(known, _)| *known == path) {
                    self.served.push((path, self.sendable));
                }
            }
            TraceEvent::Round { .. } => self.end_attempt(),
            _ => {}
        }
    }

    fn note_decision(&mut self, sendable: u16, state: &[(&'static str, f64)]) {
        self.sendable = sendable;
        for (name, value) in state {
            let (sum, count) = self.sums.entry(name).or_default();
            *sum += value;
            *count += 1;
        }
        self.numbers.get_or_insert_with(|| state.to_vec());
    }

    fn end_attempt(&mut self) {
        let served = core::mem::take(&mut self.served);
        let numbers = self.numbers.take().unwrap_or_default();
        let Some((first, _)) = served.first() else { return };
        self.with_data += 1;
        if served.len() > 1 {
            self.on_several += 1;
            count_path(&mut self.first, *first);
        }
        for (path, sendable) in &served {
            count_path(&mut self.on_path, *path);
            let before = (1u32 << (*path).min(PATHS - 1)) - 1;
            if u32::from(*sendable) & before == 0 {
                count_path(&mut self.last_resort, *path);
            }
        }
        self.decided += u64::from(!numbers.is_empty());
        for (name, value) in &numbers {
            let same = numbers
                .iter()
                .filter(|(other, _)| strip_path_number(other) == strip_path_number(name));
            if same.map(|(_, other)| *other).fold(f64::INFINITY, f64::min) >= *value {
                *self.lowest.entry(name).or_default() += 1;
            }
        }
    }

    /// Send attempts that sent new data.
    pub(in crate::metrics) fn with_data(&self) -> u64 {
        self.with_data
    }

    /// Those that sent some on this path.
    pub(in crate::metrics) fn on_path(&self, path: usize) -> Option<u64> {
        self.on_path.get(path).copied()
    }

    /// Of those that sent new data on several paths, the share in which this one was served first.
    pub(in crate::metrics) fn first_choice(&self, path: usize) -> Option<f64> {
        share_of(self.first.get(path).copied()?, self.on_several)
    }

    /// Of those that sent on this path, the share in which none before it could have sent.
    pub(in crate::metrics) fn last_resort(&self, path: usize) -> Option<f64> {
        share_of(self.last_resort.get(path).copied()?, self.on_path(path)?)
    }

    /// What the path scheduler reported with its decisions.
    pub(in crate::metrics) fn reported(&self) -> Vec<Reported> {
        let of = |(key, (sum, count)): (&&'static str, &(f64, u64))| {
            let quantity = strip_path_number(key);
            let lowest = self.lowest.get(key).copied().unwrap_or_default();
            Reported {
                key,
                quantity,
                path: key.get(quantity.len()..).and_then(|number| number.parse().ok()),
                mean: sum / *count as f64,
                lowest: share_of(lowest, self.decided),
            }
        };
        self.sums.iter().map(of).collect()
    }
}

/// A number that the path scheduler reports.
#[derive(Debug)]
pub(in crate::metrics) struct Reported {
    /// Its name.
    pub(in crate::metrics) key: &'static str,
    /// The name without the number of the path that ends it.
    pub(in crate::metrics) quantity: &'static str,
    /// That path.
    pub(in crate::metrics) path: Option<usize>,
    /// Mean over all decisions.
    pub(in crate::metrics) mean: f64,
    /// Share of the attempts with new data whose first decision reports the least of the quantity
    /// for this path.
    pub(in crate::metrics) lowest: Option<f64>,
}

fn share_of(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn count_path(counts: &mut [u64; PATHS], path: usize) {
    if let Some(count) = counts.get_mut(path) {
        *count += 1;
    }
}

/// A number's name without the number of its path.
fn strip_path_number(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}
