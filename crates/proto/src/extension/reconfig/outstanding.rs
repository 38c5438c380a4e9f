//! The request that waits for its answer: one at a time (RFC 6525 section 5.1.1).

use polypath_wire::ParamsBuf;
use polypath_wire::param::ReconfigResult;

use super::operation::{Operation, Request};
use crate::ids::{PathId, ReconfigId};

/// How often a peer is asked again that may have answered already.
const ASK_AGAIN: u8 = 2;

/// A request that waits for its answer.
#[derive(Clone, Debug)]
pub(super) struct Outstanding {
    pub(super) id: Option<ReconfigId>,
    /// Our last TSN then.
    pub(super) last: u64,
    /// With their sequence numbers and results.
    pub(super) operations: Vec<(u32, Operation, Option<ReconfigResult>)>,
    pub(super) params: ParamsBuf,
    pub(super) path: PathId,
    /// The peer said that it is at work: no answer in time is no error (H2).
    pub(super) in_progress: bool,
    /// What the peer does may be its answer (see [`super::implied`]): how often it is still to be asked again.
    pub(super) asks_left: Option<u8>,
}

impl Outstanding {
    /// The peer answered a operation of it, or said that it is at work.
    pub(super) fn is_known_to_have_arrived(&self) -> bool {
        self.in_progress || self.operations.iter().any(|(_, _, result)| result.is_some())
    }

    /// The only operation, with its number.
    pub(super) fn sole_part(&self) -> Option<(u32, &Operation)> {
        match &self.operations[..] {
            [(seq, operation, _)] => Some((*seq, operation)),
            _ => None,
        }
    }

    /// What the peer does may be all that it says to `operation`.
    pub(super) fn seems_answered(&mut self, operation: &Operation) {
        if self.asks_left.is_none() && self.operations.iter().any(|(_, own, _)| own == operation) {
            self.asks_left = Some(ASK_AGAIN);
        }
    }

    /// How often the peer is still to be asked again, if all that is open of it seems to be answered.
    pub(super) fn asks_left_for_implied_answer(&self) -> Option<u8> {
        let open = |(_, operation, result): &(u32, Operation, Option<ReconfigResult>)| {
            result.is_none() && !matches!(operation, Operation::AddIncoming { .. })
        };
        let left = if self.is_known_to_have_arrived() { Some(0) } else { self.asks_left };
        left.filter(|_| self.asks_left.is_some() && !self.operations.iter().any(open))
    }

    /// Whether request number `request` is operation of it and has no answer.
    pub(super) fn awaits(&self, request: u32) -> bool {
        self.operations.iter().any(|(seq, _, result)| *seq == request && result.is_none())
    }

    /// To be asked for once more.
    pub(super) fn into_request(self) -> Request {
        Request::new(
            self.id,
            self.operations.into_iter().map(|(_, operation, _)| operation).collect(),
        )
    }
}
