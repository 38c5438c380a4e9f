//! Whether two machines compute the same bits.

use polypath_experiments::store::Key;
use polypath_population::Population;
use polypath_run::metrics::compute_metrics;
use polypath_run::{Recording, limit, run_world, world_spec};

use crate::error::ShardError;

/// Networks that are simulated: with losses, jitter, cross traffic and foreign receivers among them.
const DRAWS: u64 = 20;
/// Where they are drawn from, with so many packets each.
const POPULATION: Population = Population { seed: 20, packets: 3_000 };

/// Simulates twenty networks, and gives 16 hexadecimal digits that stand for every bit of what came
/// out. It takes a fraction of a second.
///
/// # Errors
/// When one cannot be simulated.
pub fn run_selftest() -> Result<String, ShardError> {
    let mut bits = Vec::new();
    for number in 0..DRAWS {
        let draw = POPULATION.draw(number).map_err(polypath_population::ExecuteError::from)?;
        let seed = draw.scenario.seeds.first;
        let failed = |error| polypath_population::ExecuteError::Run { seed, number, error };
        let spec = world_spec(&draw.scenario, false).map_err(|error| failed(error.into()))?;
        let recording = Recording::default();
        let result = run_world(&spec, seed, recording, &mut |_done| ()).map_err(failed)?;
        let metrics = compute_metrics(&result, &limit::of_world(&spec, seed), None);
        for (name, value) in metrics.0 {
            bits.extend(name.into_bytes());
            bits.extend(value.map_or([0; 8], |value| value.to_bits().to_le_bytes()));
        }
    }
    Ok(Key::from_content(&bits).to_string().chars().take(16).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_to_the_same_twice() {
        let one = run_selftest().unwrap();
        assert_eq!((one.len(), run_selftest().unwrap()), (16, one));
    }
}
