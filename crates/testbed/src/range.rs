//! A scenario on wires, beside what the simulator makes of it with several seeds.
//!
//! What a scheduler does can hang on the seed where nothing but the stack's own choices and the
//! losses are left to chance. One emulated run is then as good as any simulated one, but equal to
//! none of them: it is held against their range.

use polypath_run::{RunError, world_spec};
use polypath_scenario::Scenario;
use polypath_sim::WorldSpec;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::TestbedError;
use crate::meter::FlowOutcome;
use crate::reach::{Beyond, Reach};
use crate::worlds::{Simulated, emulate_once, simulate_once};

/// An emulated goodput may be so far outside of the simulated ones, as a share of the nearest.
const TOLERANCE: f64 = 0.05;

/// The first flow of a scenario in both worlds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RangeComparison {
    /// A run for each seed, from the first one on; at least one.
    pub simulated: Vec<RunFigures>,
    /// With the first seed; where that is outside of the range, a second time.
    pub emulated: Vec<RunFigures>,
    /// In the last emulated run, 99 % of the packets were at most so late, in s.
    pub late_p99: f64,
}

/// What a flow came to in one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RunFigures {
    /// Payload bit/s delivered.
    pub goodput: f64,
    /// 99th percentile of the delays of messages, s; `None` without messages that carry a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_p99: Option<f64>,
    /// SACKs that came for each packet that the sender sent; `None` if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sacks: Option<f64>,
}

/// Runs a checked scenario `runs` times in the simulator and once in an emulated network, and there
/// once more if the two do not agree. `told` hears what is being done. Scenarios beyond `reach` are
/// not run in real time.
///
/// # Errors
/// When either world fails or refuses the scenario.
pub fn compare_with_range(
    scenario: &Scenario,
    (seed, runs): (u64, u32),
    reach: &Reach,
    told: &mut dyn FnMut(&str),
) -> Result<Result<RangeComparison, Beyond>, TestbedError> {
    let world = world_spec(scenario, false)?;
    world.check().map_err(RunError::from)?;
    if let Err(beyond) = reach.check_world(&world) {
        return Ok(Err(beyond));
    }
    let first = simulate_once(&world, seed)?;
    if let Err(beyond) = reach.check_end(first.end) {
        return Ok(Err(beyond));
    }
    told("simulated");
    let simulated = simulate_range(&world, first, seed, runs)?;
    let mut comparison = RangeComparison { simulated, emulated: Vec::new(), late_p99: 0.0 };
    while comparison.emulated.is_empty() || comparison.is_to_be_repeated() {
        told(if comparison.emulated.is_empty() { "emulated" } else { "emulated once more" });
        let played = emulate_once(scenario, &world, seed, false)?;
        comparison.emulated.extend(played.flows.first().map(RunFigures::of_flow));
        comparison.late_p99 = played.lateness.p99 as f64 * 1e-9;
    }
    Ok(Ok(comparison))
}

fn simulate_range(
    world: &WorldSpec,
    first: Simulated,
    seed: u64,
    runs: u32,
) -> Result<Vec<RunFigures>, TestbedError> {
    let later = (1..runs).map(|n| simulate_once(world, seed.wrapping_add(n.into())));
    let all = std::iter::once(Ok(first)).chain(later);
    all.filter_map(|run| run.map(|run| run.flows.first().map(RunFigures::of_flow)).transpose())
        .collect()
}

impl RangeComparison {
    /// Least and greatest simulated goodput, bit/s.
    #[must_use]
    pub fn simulated_range(&self) -> (f64, f64) {
        let goodputs = self.simulated.iter().map(|run| run.goodput);
        (goodputs.clone().fold(f64::INFINITY, f64::min), goodputs.fold(0.0, f64::max))
    }

    /// The last emulated run over the simulated one with the same seed: the same losses, bursts,
    /// sizes and traffic of others.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        let pair = self.emulated.last().zip(self.simulated.first());
        pair.map_or(f64::NAN, |(emulated, simulated)| emulated.goodput / simulated.goodput)
    }

    /// Whether the last emulated run is within 5 % of the simulated one with the same seed.
    #[must_use]
    pub fn agrees_by_seed(&self) -> bool {
        (self.ratio() - 1.0).abs() <= TOLERANCE
    }

    /// Whether emulated run `n`, from 0 on, is within 5 % of the simulated range; no if there was
    /// none.
    #[must_use]
    pub fn agrees_in(&self, n: usize) -> bool {
        let (least, most) = self.simulated_range();
        self.emulated.get(n).is_some_and(|run| {
            let allowed = least * (1.0 - TOLERANCE)..=most * (1.0 + TOLERANCE);
            allowed.contains(&run.goodput)
        })
    }

    /// Whether the last emulated run is within 5 % of the simulated range.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.agrees_in(self.emulated.len().saturating_sub(1))
    }

    fn is_to_be_repeated(&self) -> bool {
        self.emulated.len() == 1 && !self.agrees()
    }
}

impl RunFigures {
    fn of_flow(flow: &FlowOutcome) -> Self {
        Self { goodput: flow.goodput, delay_p99: flow.delay_p99, sacks: flow.sacks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(simulated: &[f64], emulated: &[f64]) -> RangeComparison {
        let runs = |of: &[f64]| {
            of.iter().map(|&goodput| RunFigures { goodput, delay_p99: None, sacks: None }).collect()
        };
        RangeComparison { simulated: runs(simulated), emulated: runs(emulated), late_p99: 0.0 }
    }

    #[test]
    fn a_run_agrees_within_five_per_cent_of_the_range() {
        let range = [10.0, 12.0];
        for (emulated, agrees) in [(9.4, false), (9.6, true), (11.0, true), (12.7, false)] {
            let comparison = compare(&range, &[emulated]);
            assert_eq!((comparison.agrees(), comparison.is_to_be_repeated()), (agrees, !agrees));
        }
        let again = compare(&range, &[9.0, 11.0]);
        assert_eq!((again.agrees_in(0), again.agrees_in(1), again.agrees()), (false, true, true));
        assert!(!again.is_to_be_repeated() && !again.agrees_in(2));
        assert_eq!((again.ratio(), again.agrees_by_seed()), (1.1, false));
        assert!(!compare(&range, &[]).agrees());
    }
}
