//! Path schedulers in one scenario, ours among them.

mod scheduler;

use std::error::Error;
use std::sync::Arc;

use polypath::Profile;
use polypath::policy::{PolicySpec, Registry};
use polypath_run::{read_scenario, world_spec};
use polypath_scenario::Source;

const SCHEDULERS: [&str; 5] = ["rr", "min-rtt", "knapsack", "most-room", "most-room?reserve=3000"];
const SEEDS: u32 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut registry = Registry::builtin();
    registry.add(scheduler::ENTRY)?;
    let text = std::fs::read_to_string("uplinks.toml")?;
    let scenario = read_scenario(&Source::new("uplinks.toml", text)?)?;
    let mut world = world_spec(&scenario, false)?;
    for name in SCHEDULERS {
        // All other policies are those of the profile, which the scenario names, too.
        let (_, others) = Profile::Fast.stack();
        let spec = PolicySpec { path_scheduler: name.to_owned(), ..others };
        let mut sender = (*world.flows[0].client.assoc).clone();
        sender.policies = registry.factory(&spec)?;
        world.flows[0].client.assoc = Arc::new(sender);
        let mut sum = 0.0;
        for seed in 1..=SEEDS {
            let result = polypath_sim::run(&world, seed.into(), None)?;
            sum += result.flows[0].total.goodput;
        }
        println!("{name:24} {:5.2} Mbit/s", sum / f64::from(SEEDS) / 1e6);
    }
    Ok(())
}
