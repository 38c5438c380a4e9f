//! Send attempts: which path was served first, and by which numbers the path scheduler decided.

use std::collections::BTreeMap;

use polypath_proto::trace::{TraceEvent, TraceRecord};

use super::super::Figures;

/// Paths of an attempt that are told apart.
const PATHS: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// Of the attempt under way: the paths in the order in which they were served first, with what could have sent.
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
    pub(super) fn record(&mut self, record: &TraceRecord) {
        match &record.event {
            TraceEvent::Decision { sendable, state, .. } => self.decision(*sendable, state),
            TraceEvent::Sent { path, retransmission: None, .. } => {
                let path = usize::from(path.0);
                if !self.served.iter().any(|(known, _)| *known == path) {
                    self.served.push((path, self.sendable));
                }
            }
            TraceEvent::Round { .. } => self.end(),
            _ => {}
        }
    }

    fn decision(&mut self, sendable: u16, state: &[(&'static str, f64)]) {
        self.sendable = sendable;
        for (name, value) in state {
            let (sum, count) = self.sums.entry(name).or_default();
            *sum += value;
            *count += 1;
        }
        self.numbers.get_or_insert_with(|| state.to_vec());
    }

    fn end(&mut self) {
        let served = core::mem::take(&mut self.served);
        let numbers = self.numbers.take().unwrap_or_default();
        let Some((first, _)) = served.first() else { return };
        self.with_data += 1;
        if served.len() > 1 {
            self.on_several += 1;
            count(&mut self.first, *first);
        }
        for (path, sendable) in &served {
            count(&mut self.on_path, *path);
            let before = (1u32 << (*path).min(PATHS - 1)) - 1;
            if u32::from(*sendable) & before == 0 {
                count(&mut self.last_resort, *path);
            }
        }
        self.decided += u64::from(!numbers.is_empty());
        for (name, value) in &numbers {
            let same = numbers.iter().filter(|(other, _)| stem(other) == stem(name));
            if same.map(|(_, other)| *other).fold(f64::INFINITY, f64::min) >= *value {
                *self.lowest.entry(name).or_default() += 1;
            }
        }
    }

    pub(super) fn figures(&self, out: &mut Figures, paths: &[&str]) {
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        out.put("rounds", self.with_data as f64);
        for (n, name) in paths.iter().enumerate().take(PATHS) {
            let of = |counts: &[u64; PATHS]| counts.get(n).copied().unwrap_or_default();
            let own = of(&self.on_path);
            out.put(format!("rounds.path.{name}"), own as f64);
            out.put(format!("first-choice.path.{name}"), share(of(&self.first), self.on_several));
            out.put(format!("last-resort.path.{name}"), share(of(&self.last_resort), own));
        }
        for (key, (sum, count)) in &self.sums {
            out.put(format!("decision.{key}.mean"), sum / *count as f64);
            let number: Option<usize> = key.get(stem(key).len()..).and_then(|n| n.parse().ok());
            let Some(path) = number.and_then(|n| paths.get(n)) else { continue };
            let stem = stem(key);
            out.put(format!("decision.{stem}.path.{path}.mean"), sum / *count as f64);
            let lowest = self.lowest.get(key).copied().unwrap_or_default();
            out.put(format!("decision-lowest.{stem}.path.{path}"), share(lowest, self.decided));
        }
    }
}

fn count(counts: &mut [u64; PATHS], path: usize) {
    if let Some(count) = counts.get_mut(path) {
        *count += 1;
    }
}

/// A number's name without the number of its path.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}
