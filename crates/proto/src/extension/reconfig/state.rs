//! What is under way between the two ends.

use std::collections::VecDeque;

use polypath_wire::param::ReconfigResult;

use super::answered::Answered;
use super::implied::Implied;
use super::operation::{Operation, Request};
use super::outstanding::Outstanding;
use crate::ids::{StreamId, Tsn};
use crate::time::{Duration, Time};

/// SSN/TSN resets have this distance at least: a maximum segment lifetime (section 5.1.4).
const BETWEEN_RESETS: Duration = Duration::from_secs(30);

/// The reconfiguration of the streams of one association. Made when it is first needed.
#[derive(Debug)]
pub(crate) struct Reconfig {
    /// Our next request sequence number.
    pub(super) next: u32,
    /// The one of the peer that is expected.
    pub(super) expected: u32,
    /// Requests of the application so far.
    pub(super) ids: u64,
    pub(super) waiting: VecDeque<Request>,
    /// What waits for the peer's answer: one chunk at a time (section 5.1.1).
    pub(super) outstanding: Option<Outstanding>,
    /// Answered as it seems, but perhaps never received.
    pub(super) implied: Implied,
    /// Our answer to the peer's latest request, for repetitions of it.
    pub(super) answered: Option<Answered>,
    /// When TSNs were last reset, by either side's request.
    pub(super) reset_at: Option<Time>,
    /// The peer's request to reset them, while data of ours is outstanding.
    pub(super) reset_asked: Option<u32>,
    /// The re-configuration timer (section 5.1.1); `Time::MAX` while it is off.
    pub(super) timer: Time,
}

impl Reconfig {
    pub(crate) fn new(own: Tsn, peer: Tsn) -> Self {
        Self {
            next: own.0,
            expected: peer.0,
            ids: 0,
            waiting: VecDeque::new(),
            outstanding: None,
            implied: Implied::default(),
            answered: None,
            reset_at: None,
            reset_asked: None,
            timer: Time::MAX,
        }
    }

    pub(super) fn was_reset_lately(&self, now: Time) -> bool {
        self.reset_at.is_some_and(|at| now.since(at) < BETWEEN_RESETS)
    }

    /// Whether a reset of the association waits or is under way.
    pub(super) fn resets_association(&self) -> bool {
        let resets = |operation: &Operation| *operation == Operation::ResetAssociation;
        self.waiting.iter().any(|r| r.operations.iter().any(resets))
            || self
                .outstanding
                .iter()
                .any(|f| f.operations.iter().any(|(_, operation, _)| resets(operation)))
    }

    /// Whether requests that wait or are under way concern what `operations` would hold back.
    pub(super) fn is_in_the_way(&self, operations: &[Operation]) -> bool {
        let waiting = self.waiting.iter().flat_map(|r| &r.operations);
        let flying = self
            .outstanding
            .iter()
            .flat_map(|f| f.operations.iter().map(|(_, operation, _)| operation));
        let mut open = waiting.chain(flying);
        let holds = |operation: &&Operation| {
            matches!(operation, Operation::ResetOutgoing { .. } | Operation::ResetAssociation)
        };
        self.reset_asked.is_some() && operations.iter().any(|operation| holds(&operation))
            || open.any(|operation| operations.iter().any(|new| operation.overlaps(new)))
    }

    /// Streams of ours that requests add which wait or are under way.
    pub(super) fn outgoing_to_come(&self) -> u16 {
        let waiting = self.waiting.iter().flat_map(|r| &r.operations);
        let open = |(_, operation, result): &'_ (u32, Operation, Option<ReconfigResult>)| {
            result.is_none().then(|| operation.clone())
        };
        let flying = self.outstanding.iter().flat_map(|f| f.operations.iter().filter_map(open));
        waiting.cloned().chain(flying).fold(0, |sum: u16, operation| match operation {
            Operation::AddOutgoing { count } => sum.saturating_add(count),
            _ => sum,
        })
    }

    /// Whether any request of ours waits or is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.outstanding.is_some() || !self.waiting.is_empty()
    }

    /// Whether the peer was asked to reset streams of its own, and has not begun to.
    pub(super) fn awaits_reset(&self) -> bool {
        let open = |(_, operation, result): &(u32, Operation, Option<ReconfigResult>)| {
            matches!(operation, Operation::ResetIncoming { .. }) && result.is_none()
        };
        self.outstanding.iter().any(|f| f.operations.iter().any(open))
    }

    /// Whether streams of ours are being reset already that include all of these (section 5.2.3).
    pub(super) fn is_resetting(&self, wanted: &[StreamId]) -> bool {
        let covers = |operation: &Operation| match operation {
            Operation::ResetOutgoing { streams, .. } => {
                streams.is_empty()
                    || !wanted.is_empty() && wanted.iter().all(|s| streams.contains(s))
            }
            _ => false,
        };
        self.outstanding
            .iter()
            .any(|f| f.operations.iter().any(|(_, operation, _)| covers(operation)))
    }

    /// Whether a request that answers `request` waits (`Some(false)`) or is in outstanding (`Some(true)`).
    pub(super) fn answering(&self, request: u32) -> Option<bool> {
        let answers = |operation: &Operation| matches!(operation, Operation::ResetOutgoing { answers, .. } if *answers == Some(request));
        if self
            .outstanding
            .iter()
            .any(|f| f.operations.iter().any(|(_, operation, _)| answers(operation)))
        {
            return Some(true);
        }
        self.waiting.iter().any(|r| r.operations.iter().any(answers)).then_some(false)
    }

    /// The peer has processed request number `request`. Numbers that were not used yet prove nothing.
    pub(super) fn arrived(&mut self, request: u32) {
        // They began as TSNs do, and wrap as they do (section 4.1).
        let request = Tsn(request);
        if request.lt(Tsn(self.next)) {
            self.implied.arrived(request);
        }
    }

    /// When the re-configuration timer expires; `Time::MAX` while it is off.
    pub(crate) const fn timer(&self) -> Time {
        self.timer
    }
}
