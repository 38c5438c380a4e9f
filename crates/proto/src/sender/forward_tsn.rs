//! Telling the peer what it need not wait for (RFC 3758 section 3.5): how far its cum-ack could be if it knew, and the
//! FORWARD-TSN that says so.

use std::collections::BTreeMap;

use polypath_wire::{
    ForwardTsnRepr, IForwardTsnRepr, PacketWriter, SkippedMessage, SkippedStream, StreamId,
};

use super::outstanding::OutstandingQueue;
use super::types::Number;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::time::{Duration, Time};
use crate::tsn_map::wire;

/// Bytes of a FORWARD-TSN before its list.
const FIXED: usize = 8;

/// Bytes of an entry of its list: of a FORWARD-TSN, and of an I-FORWARD-TSN.
const ENTRIES: [usize; 2] = [4, 8];

/// The last number of each stream, or of each class of messages of a stream, that is abandoned.
type Skipped = BTreeMap<(StreamId, bool), Number>;

/// How far the peer is to be told to go on, and since when.
#[derive(Debug)]
pub(crate) struct ForwardTsn {
    /// Once a message that had TSNs was abandoned.
    state: Option<Box<State>>,
    /// The last TSN before a reset of streams that the peer was asked for.
    reset_point: Option<u64>,
    /// Numbers of messages up to this TSN mean nothing any more: streams were reset since.
    numbered_to: u64,
}

/// What there is to tell the peer.
#[derive(Debug)]
struct State {
    /// Advanced.Peer.Ack.Point.
    point: u64,
    /// The highest point that any FORWARD-TSN told.
    told: u64,
    /// A FORWARD-TSN is to be sent.
    due: bool,
    /// The latest one's path and time, while the peer has not answered it.
    sent: Option<(PathId, Time)>,
    /// T3 expired since: the next one takes another path.
    failed: bool,
}

impl State {
    const fn new(cum_ack: u64) -> Self {
        Self { point: cum_ack, told: cum_ack, due: false, sent: None, failed: false }
    }
}

impl ForwardTsn {
    /// Nothing is to be told. The first chunk gets TSN `base`.
    pub(crate) const fn new(base: u64) -> Self {
        Self { state: None, reset_point: None, numbered_to: base - 1 }
    }

    /// TSNs start anew at `base` (RFC 6525 section 5.2.4).
    pub(crate) fn restart(&mut self, base: u64) {
        *self = Self::new(base);
    }

    /// The association is over: nothing is to be told any more.
    pub(crate) fn clear(&mut self) {
        self.state = None;
    }

    /// A request to reset streams is under way: numbers of messages up to TSN `last` and behind it
    /// must not be told together.
    pub(crate) const fn note_reset_point(&mut self, last: u64) {
        self.reset_point = Some(last);
    }

    /// It was answered; where it was `performed`, the peer has everything up to that TSN.
    pub(crate) fn clear_reset_point(&mut self, performed: Option<u64>) {
        self.reset_point = None;
        self.numbered_to = self.numbered_to.max(performed.unwrap_or(0));
    }

    /// The path whose T3 watches an unanswered FORWARD-TSN.
    #[inline]
    pub(crate) fn watched_path(&self) -> Option<PathId> {
        self.state.as_ref()?.sent.map(|(path, _)| path)
    }

    /// Moves Advanced.Peer.Ack.Point over what was abandoned (C1 and C2). The peer is told at once
    /// (F3 allows no long delay).
    pub(crate) fn advance_point(&mut self, outstanding: &OutstandingQueue) {
        let cum_ack = outstanding.cum_ack();
        let abandoned = |tsn: u64| outstanding.get(tsn).is_some_and(|c| c.state().is_abandoned());
        let mut point = self.state.as_ref().map_or(cum_ack, |f| f.point.max(cum_ack));
        let before = point;
        while abandoned(point + 1) {
            point += 1;
        }
        if self.state.is_none() && point == before {
            return;
        }
        let forward = self.state.get_or_insert_with(|| Box::new(State::new(cum_ack)));
        forward.point = point;
        if point == cum_ack {
            (forward.due, forward.sent, forward.failed) = (false, None, false);
        } else {
            forward.due |= point > forward.told;
        }
    }

    /// A SACK came (C1 to C3). The peer may not have got the last FORWARD-TSN, or its answer may be
    /// on the way: another one not before a round trip (F2).
    pub(crate) fn on_sack(&mut self, now: Time, outstanding: &OutstandingQueue, paths: &PathSet) {
        self.advance_point(outstanding);
        let Some(forward) = &mut self.state else { return };
        if let Some((path, at)) = forward.sent {
            let trip = paths.view(path).map_or(Duration::ZERO, |v| v.srtt.unwrap_or(v.rto));
            forward.due |= now >= at + trip;
        }
    }

    /// T3 of `p` expired (A5). Gives whether a FORWARD-TSN that it watched is lost.
    pub(crate) fn on_timeout(&mut self, p: PathId, outstanding: &OutstandingQueue) -> bool {
        self.advance_point(outstanding);
        let lost = self.watched_path() == Some(p);
        let Some(forward) = &mut self.state else { return false };
        forward.failed |= lost;
        forward.due |= forward.sent.is_some();
        lost
    }

    /// `p` is removed: nothing watches its FORWARD-TSN any more.
    pub(crate) fn on_path_removed(&mut self, p: PathId) {
        let watched = self.watched_path() == Some(p);
        if let Some(forward) = self.state.as_mut().filter(|_| watched) {
            (forward.due, forward.failed) = (true, true);
        }
    }

    /// Whether a FORWARD-TSN is to be sent.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.state.as_ref().is_some_and(|f| f.due)
    }

    /// The path for a FORWARD-TSN that nothing else takes along.
    pub(crate) fn choose_path(&self, paths: &PathSet) -> PathId {
        match self.state.as_ref().and_then(|f| f.sent.filter(|_| f.failed)) {
            Some((path, _)) => paths.next_after(path),
            None => paths.preferred(),
        }
    }

    /// Whether the cum-ack may have passed `tsn` because we said so.
    pub(crate) fn has_skipped(&self, tsn: u64) -> bool {
        self.state.as_ref().is_some_and(|f| tsn <= f.told)
    }

    /// Writes a FORWARD-TSN, or an I-FORWARD-TSN where messages are interleaved, if it fits; T3 of
    /// `p` watches it from now on (C5).
    pub(crate) fn write(
        &mut self,
        now: Time,
        p: PathId,
        interleaving: bool,
        outstanding: &OutstandingQueue,
        writer: &mut PacketWriter<'_>,
        paths: &mut PathSet,
    ) -> bool {
        let Some(room) = writer.remaining().checked_sub(FIXED) else { return false };
        let entry = ENTRIES[usize::from(interleaving)];
        let skipped = self.list_skipped(room / entry, interleaving, outstanding);
        let Some((point, skipped)) = skipped else { return false };
        if !push_forward_tsn(point, &skipped, interleaving, writer) {
            return false;
        }
        self.note_sent(now, p, point);
        outstanding.start_t3(now, p, paths);
        true
    }

    fn note_sent(&mut self, now: Time, p: PathId, point: u64) {
        let Some(forward) = &mut self.state else { return };
        // C4: what does not fit is told once the peer has answered.
        forward.point = point;
        forward.told = forward.told.max(point);
        forward.due = false;
        forward.failed = false;
        forward.sent = Some((p, now));
    }

    /// How far one FORWARD-TSN with `entries` entries can tell the peer to go, and the last number of
    /// each stream on the way (C4): of ordered messages, and with I-DATA of unordered ones as well
    /// (RFC 8260 section 2.3.1). `None` if it would tell nothing.
    fn list_skipped(
        &self,
        entries: usize,
        interleaving: bool,
        outstanding: &OutstandingQueue,
    ) -> Option<(u64, Skipped)> {
        let forward = self.state.as_ref()?;
        let mut skipped = Skipped::new();
        let mut point = outstanding.cum_ack();
        for tsn in outstanding.base()..=forward.point {
            let Some(chunk) = outstanding.get(tsn) else { break };
            if point >= outstanding.base() && self.reset_point == Some(point) {
                break;
            }
            let unordered = chunk.flags.unordered;
            let listed = !unordered || interleaving;
            if listed && tsn > self.numbered_to {
                let key = (chunk.stream, unordered);
                if skipped.len() >= entries && !skipped.contains_key(&key) {
                    break;
                }
                skipped.insert(key, chunk.number);
            }
            point = tsn;
        }
        (point > outstanding.cum_ack()).then_some((point, skipped))
    }
}

/// Writes a FORWARD-TSN, or an I-FORWARD-TSN where messages are interleaved; false if it does not fit.
fn push_forward_tsn(
    point: u64,
    skipped: &Skipped,
    interleaving: bool,
    writer: &mut PacketWriter<'_>,
) -> bool {
    let new_cumulative_tsn = wire(point);
    if interleaving {
        let message = |(&(stream, unordered), number): (&(StreamId, bool), &Number)| match *number {
            Number::Mid { mid, .. } => Some(SkippedMessage { stream, unordered, mid }),
            Number::Ssn(_) => None,
        };
        let skipped: Vec<_> = skipped.iter().filter_map(message).collect();
        return writer.push(&IForwardTsnRepr { new_cumulative_tsn, skipped: &skipped }).is_ok();
    }
    let stream = |(&(stream, _), number): (&(StreamId, bool), &Number)| match *number {
        Number::Ssn(ssn) => Some(SkippedStream { stream, ssn }),
        Number::Mid { .. } => None,
    };
    let skipped: Vec<_> = skipped.iter().filter_map(stream).collect();
    writer.push(&ForwardTsnRepr { new_cumulative_tsn, skipped: &skipped }).is_ok()
}
