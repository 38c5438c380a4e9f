//! Interval policies under the whole stack, in hostile networks: nothing stands still, nothing is
//! lost, and a run repeats.

mod common;

use core::time::Duration;

use common::read_file;
use polypath_policies::scheduler::interval::{
    Action, Interval, IntervalPolicy, Observation, PathAction,
};
use polypath_policies::{PolicyEntry, PolicySpec, Registry};
use polypath_proto::rng::Rng;
use polypath_proto::time::Time;
use polypath_testkit::interact::{Ending, Policies, Script, explore_scripts, packet_hash};

const SEEDS: core::ops::Range<u64> = 1..121;

/// Anything that is allowed, extremes often: what a policy that learns may try.
#[derive(Debug)]
struct Erratic(Rng);

impl IntervalPolicy for Erratic {
    fn decide(&mut self, _now: Time, seen: &Observation) -> Action {
        // The last path may be left to the default.
        let known = seen.paths().len().saturating_sub(self.0.below(2));
        let action = |_| PathAction {
            weight: [0.0, 0.0, f32::MIN_POSITIVE, 1.0, 3.0, f32::MAX][self.0.below(6)],
            cwnd_factor: [f32::MIN_POSITIVE, 0.1, 0.5, 1.0][self.0.below(4)],
        };
        Action::from_paths((0..known).map(action)).expect("allowed")
    }
}

const ERRATIC: PolicyEntry = PolicyEntry::path_scheduler("erratic", |_| {
    Ok(Box::new(|_, rng| {
        let every = Duration::from_millis([0, 1, 10, 1000][rng.below(4)]);
        Box::new(Interval::new(Erratic(rng.fork()), every))
    }))
});

fn random_policies(rng: &mut Rng) -> Policies {
    let names = ["learned?file=one-layer", "learned?file=two-layers", "erratic", "erratic"];
    let name = names[rng.below(names.len())].to_owned();
    let spec = PolicySpec { path_scheduler: name.clone(), ..PolicySpec::default() };
    let mut registry = Registry::builtin().with_files(read_file);
    registry.add(ERRATIC).expect("a new name");
    Policies { name, factory: registry.factory(&spec).expect("valid") }
}

#[test]
fn hostile_worlds_come_to_an_end() {
    let scripts = SEEDS.map(|seed| Script::random(seed, &random_policies));
    let summary = explore_scripts(scripts, |_| {}).unwrap_or_else(|failure| panic!("{failure}"));
    let graceful = summary.endings.get(&Ending::Graceful).copied().unwrap_or_default();
    assert!(graceful * 3 > SEEDS.end, "few end gracefully: {summary}");
}

#[test]
fn a_run_repeats_bit_for_bit() {
    for seed in SEEDS.step_by(20) {
        let hash = || packet_hash(&Script::random(seed, &random_policies));
        assert_eq!(hash(), hash(), "seed {seed}");
    }
}
