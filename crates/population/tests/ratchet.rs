//! A ratchet: small draws on which ours is below the best path alone. Their number may not rise.

use polypath_population::summary::Summary;
use polypath_population::{Plan, Population, Records, execute};
use polypath_scenario::Policies;

/// A seed for tuning, and runs that take a second of processor time at most.
const POPULATION: Population = Population { seed: 24, packets: 50_000 };
/// Of a hundred a handful turn by chance with whatever changes.
const DRAWS: u64 = 360;

/// Draws below the best path alone by more than 1 %.
const BELOW: usize = 34;

#[test]
fn no_more_draws_than_before_are_below_the_best_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut records = Records::open(folder.path(), false).expect("writable");
    let plan = Plan {
        population: POPULATION,
        draws: DRAWS,
        schedulers: Vec::new(),
        jobs: 0,
        policies: Policies::default(),
    };
    let done = execute(&plan, &mut records, &|_| (), &|| false).expect("every draw runs");
    let summary = Summary::of_records(POPULATION, &done);
    let below = summary.classes[0].below.count;
    let command = format!(
        "polypath population --draws {DRAWS} --seed {} --packets {} --schedulers none",
        POPULATION.seed, POPULATION.packets
    );
    assert!(below <= BELOW, "{below} draws instead of {BELOW} are below; see {command}");
    assert!(below >= BELOW, "only {below} draws are below: lower BELOW from {BELOW} to that");
}
