//! What a fault adds to the waiting of a run, and what of that is charged rightly.

use std::collections::BTreeMap;

use polypath_population::Population;
use polypath_run::{Recording, run};
use polypath_scenario::Scenario;
use polypath_why::{Cause, Trace, explain};

use crate::fault::{Fault, calm_network};

/// Waiting that a fault added to a draw, byte-seconds.
#[derive(Clone, Debug)]
pub(crate) struct Score {
    /// The draw.
    pub(crate) number: u64,
    /// Charged to its path and cause.
    pub(crate) right: f64,
    /// Charged elsewhere.
    pub(crate) wrong: f64,
    /// Where, and how much.
    pub(crate) elsewhere: Vec<(u8, Cause, f64)>,
}

impl Score {
    pub(crate) fn share(&self) -> f64 {
        self.right / (self.right + self.wrong)
    }
}

/// Byte-seconds by path and cause.
type Charged = BTreeMap<(u8, Cause), f64>;

/// `None`: the draw does not fit, or the fault adds next to nothing.
pub(crate) fn score_draw(population: Population, number: u64, fault: Fault) -> Option<Score> {
    let calm = calm_network(population, number, fault)?;
    let mut faulty = calm.clone();
    fault.inject(&mut faulty);
    let (before, after) = (charged_in(&calm), charged_in(&faulty));
    let mut score = Score { number, right: 0.0, wrong: 0.0, elsewhere: Vec::new() };
    for (&(path, cause), &charged) in &after {
        let more = charged - before.get(&(path, cause)).copied().unwrap_or(0.0);
        if cause == fault.cause() && fault.path().is_none_or(|own| own == path) {
            score.right += more.max(0.0);
        } else if more > 0.0 {
            score.wrong += more;
            score.elsewhere.push((path, cause, more));
        }
    }
    let whole: f64 = after.values().sum();
    (score.right + score.wrong > 0.02 * whole).then_some(score)
}

fn charged_in(scenario: &Scenario) -> Charged {
    let mut file = Vec::new();
    let recording = Recording { trace: Some(&mut file), ..Recording::default() };
    run(scenario, scenario.seeds.first, recording, &mut |_| ()).expect("a run");
    charged_by(&file).into_iter().map(|(key, charged)| (key, charged as f64 / 1e9)).collect()
}

/// Byte-nanoseconds by path and cause, of the direction with most data.
pub(crate) fn charged_by(file: &[u8]) -> BTreeMap<(u8, Cause), u128> {
    let mut trace = Trace::default();
    trace.read("run", file).expect("a trace");
    let explanation = explain(&trace, None).expect("both ends");
    let data = explanation.directions.into_iter().max_by_key(|way| way.bytes).expect("data");
    let sum: u128 = data.charged.iter().map(|one| one.measure.byte_time_ns).sum();
    assert_eq!(sum, data.whole.byte_time_ns, "the sum is the whole");
    data.charged.iter().map(|one| ((one.path, one.cause), one.measure.byte_time_ns)).collect()
}
