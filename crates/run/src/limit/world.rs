//! The limits of all flows of a world.

use polypath_sim::WorldSpec;

use super::message::sending;
use super::model::WorldLimits;
use super::over_time;

/// The limits of all flows of a world in a run with this seed, which repeating schedules may draw from.
pub fn of_world(spec: &WorldSpec, seed: u64) -> WorldLimits {
    if spec.repeats.is_empty() {
        return limits(spec);
    }
    let mut drawn = spec.clone();
    for link in &mut drawn.topology.links {
        link.config.schedule = spec.link_schedule(&link.name, seed);
    }
    limits(&drawn)
}

/// The limits of a world whose links' own schedules have every change.
fn limits(spec: &WorldSpec) -> WorldLimits {
    let saturated = spec.flows.iter().filter(|flow| sending(flow).is_ok()).count();
    WorldLimits {
        flows: spec.flows.iter().map(|flow| over_time::alone(spec, flow)).collect(),
        joint: (saturated > 1).then(|| over_time::together(spec)),
    }
}
