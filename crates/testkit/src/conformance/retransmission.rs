//! Retransmission policies.

use polypath_proto::PathId;
use polypath_proto::ids::Tsn;
use polypath_proto::policy::{RetransmissionPolicy, RtxPick};
use polypath_proto::view::{LossKind, RtxMeta};

use super::world::World;
use super::{check_name, same_twice};

const STEPS: usize = 1000;
/// Questions with an open path that may go unanswered, at most.
const PATIENCE: u32 = 64;

/// Checks a retransmission policy: it names usable paths only, and while a usable path has room it
/// does not wait for long.
///
/// # Panics
/// When the policy breaks a rule.
pub fn check_retransmission(make: impl Fn(u64) -> Box<dyn RetransmissionPolicy>, seed: u64) {
    check_name(&*make(seed));
    let what = make(seed).name();
    same_twice(what, seed, || drive_policy(make(seed), seed));
}

fn drive_policy(mut policy: Box<dyn RetransmissionPolicy>, seed: u64) -> Vec<RtxPick> {
    let mut world = World::new(seed);
    let mut waited = 0;
    let mut picks = Vec::new();
    for _ in 0..STEPS {
        world.disturb_path();
        world.acknowledge_flight(false);
        let chunk = lost_chunk(&mut world);
        let view = world.view();
        let pick = policy.pick_path(&view, &chunk);
        let open = view.usable().any(|p| p.has_room());
        waited = if pick == RtxPick::Wait && open { waited + 1 } else { 0 };
        assert!(waited <= PATIENCE, "{}, seed {seed}: starves", policy.name());
        if let RtxPick::Use(path) = pick {
            let usable = view.path(path).is_some_and(|p| p.usable);
            assert!(usable, "{}, seed {seed}: {path} is not usable", policy.name());
            world.transmit_chunk(path, chunk.bytes);
        }
        picks.push(pick);
    }
    picks
}

fn lost_chunk(world: &mut World) -> RtxMeta {
    let last = PathId(world.rng.below(world.paths.len()) as u8);
    let cause = [LossKind::FastRetransmit, LossKind::Timeout][world.rng.below(2)];
    let sends = 1 + world.rng.below(5) as u32;
    RtxMeta::new(Tsn(world.rng.next_u32()), last, sends, 1 + world.rng.below(500) as u32, cause)
}
