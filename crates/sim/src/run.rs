//! A run from beginning to end.

use crate::check::SpecError;
use crate::observer::Observer;
use crate::results::RunResult;
use crate::spec::WorldSpec;
use crate::world::World;

/// Reports of progress in a run that lasts to its end.
const REPORTS: u64 = 100;

/// Runs a world to its end. The same specification and seed give the same result, observed or not.
///
/// # Errors
/// What [`WorldSpec::check`] finds.
pub fn run(
    spec: &WorldSpec,
    seed: u64,
    observer: Option<&mut dyn Observer>,
) -> Result<RunResult, SpecError> {
    let mut world = World::new(spec, seed, observer)?;
    for report in 1..=REPORTS {
        let part = u128::from(world.end()) * u128::from(report) / u128::from(REPORTS);
        // The quotient is at most the end of the run, which is a u64.
        world.run_until(part as u64);
        world.report_progress();
        if world.is_finished() {
            break;
        }
    }
    Ok(world.result())
}
