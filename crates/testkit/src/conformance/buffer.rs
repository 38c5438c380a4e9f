//! Buffer policies.

use polypath_proto::policy::BufferPolicy;

use super::world::World;
use super::{check_name, same_twice};

const STEPS: usize = 1000;

/// Checks a buffer policy: when nothing is in flight or held anywhere, every usable path may send a
/// packet; no path is granted nothing at all; what never restricts never refuses.
///
/// # Panics
/// When the policy breaks a rule.
pub fn check_buffer(make: impl Fn(u64) -> Box<dyn BufferPolicy>, seed: u64) {
    check_name(&*make(seed));
    let what = make(seed).name();
    same_twice(what, seed, || drive_policy(&*make(seed), seed));
}

fn drive_policy(policy: &dyn BufferPolicy, seed: u64) -> Vec<(bool, u64)> {
    let mut world = World::new(seed);
    let mut answers = Vec::new();
    for step in 0..STEPS {
        world.disturb_path();
        world.acknowledge_flight(step % 8 == 7);
        let empty = world.paths.iter().all(|p| p.queued == 0 && p.outstanding == 0);
        for path in world.paths.clone() {
            let bytes = 1 + world.rng.below(path.pmdcs as usize - 16) as u32;
            let view = world.view();
            let admitted = policy.may_take(&view, path.id, bytes);
            let share = policy.share_of(&view, path.id);
            let name = policy.name();
            assert!(
                admitted || !empty || !path.usable,
                "{name}, seed {seed}: {} may not begin, with all buffers empty",
                path.id
            );
            assert!(
                admitted || policy.restricts(),
                "{name}, seed {seed}: {} is refused by a policy that restricts nothing",
                path.id
            );
            assert!(share > 0, "{name}, seed {seed}: {} is granted nothing", path.id);
            if admitted && path.usable && world.rng.below(2) == 0 {
                world.transmit_chunk(path.id, bytes);
            }
            answers.push((admitted, share));
            if world.paths.iter().any(|p| p.queued > 0) {
                break;
            }
        }
    }
    answers
}
