//! Which path carries a retransmission?

use super::common::Policy;
use crate::ids::PathId;
use crate::time::Duration;
use crate::view::{AssocView, LossKind, PathView, RtxMeta};

/// Chooses the path of a retransmission, chunk by chunk, at the moment of sending (S1 section III).
pub trait RetransmissionPolicy: Policy {
    /// The path for `chunk`. When the chosen path's cwnd is full, nothing is sent for this chunk
    /// now, and the next feedback asks anew; the engine knows the one packet that may ignore cwnd
    /// after a loss.
    fn pick_path(&mut self, view: &AssocView<'_>, chunk: &RtxMeta) -> RtxPick;

    /// The same for a policy that counts with what the path scheduler knows: how long until data
    /// that leaves on a path now is acknowledged ([`PathScheduler::expected_trip`]).
    ///
    /// [`PathScheduler::expected_trip`]: super::PathScheduler::expected_trip
    fn pick_path_by_trips(
        &mut self,
        view: &AssocView<'_>,
        chunk: &RtxMeta,
        _trip: &dyn Fn(&PathView) -> Option<Duration>,
    ) -> RtxPick {
        self.pick_path(view, chunk)
    }
}

/// A retransmission policy's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtxPick {
    /// This path.
    Use(PathId),
    /// Not now.
    Wait,
}

/// RFC 9260 section 6.4: fast retransmissions to the same path (7.2.4), retransmissions after a
/// timeout to another active one where there is one (6.4.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Rfc9260Retransmission;

impl Policy for Rfc9260Retransmission {
    fn name(&self) -> &'static str {
        "rfc9260"
    }
}

impl RetransmissionPolicy for Rfc9260Retransmission {
    fn pick_path(&mut self, view: &AssocView<'_>, chunk: &RtxMeta) -> RtxPick {
        let same = view.path(chunk.last).filter(|p| p.usable);
        let next = || {
            let (before, after) = view.paths.split_at(chunk.last.index().min(view.paths.len()));
            after.iter().skip(1).chain(before).find(|p| p.usable)
        };
        let choice = match chunk.cause {
            LossKind::FastRetransmit => same.or_else(next),
            LossKind::Timeout => next().or(same),
        };
        choice.map_or(RtxPick::Wait, |p| RtxPick::Use(p.id))
    }
}
