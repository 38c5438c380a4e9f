//! The limits of all flows of a world.

use polypath_sim::WorldSpec;

use super::message::model_sending;
use super::model::WorldLimits;
use super::over_time;

/// The limits of all flows of a world in a run with this seed, which repeating schedules may draw
/// from.
pub fn of_world(spec: &WorldSpec, seed: u64) -> WorldLimits {
    if spec.repeats.is_empty() {
        return compute_limits(spec);
    }
    let mut drawn = spec.clone();
    for link in &mut drawn.topology.links {
        link.config.schedule = spec.link_schedule(&link.name, seed);
    }
    compute_limits(&drawn)
}

/// The limits of a world whose links' own schedules have every change.
fn compute_limits(spec: &WorldSpec) -> WorldLimits {
    let saturated = spec.flows.iter().filter(|flow| model_sending(flow).is_ok()).count();
    WorldLimits {
        flows: spec.flows.iter().map(|flow| over_time::limit_alone(spec, flow)).collect(),
        joint: (saturated > 1).then(|| over_time::limit_together(spec)),
    }
}
