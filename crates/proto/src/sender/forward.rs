//! Telling the peer what it need not wait for (RFC 3758 section 3.5): how far its cum-ack could be if it knew, and the
//! FORWARD-TSN that says so.

use std::collections::BTreeMap;

use polypath_wire::{
    ForwardTsnRepr, IForwardTsnRepr, PacketWriter, SkippedMessage, SkippedStream, StreamId,
};

use super::Sender;
use super::chunk::Number;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::time::{Duration, Time};
use crate::tsn_map::wire;

/// Bytes of a FORWARD-TSN before its list.
const FIXED: usize = 8;

/// Bytes of an entry of its list: of a FORWARD-TSN, and of an I-FORWARD-TSN.
const ENTRIES: [usize; 2] = [4, 8];

/// The last number of each stream, or of each class of messages of a stream, that is given up.
type Skipped = BTreeMap<(StreamId, bool), Number>;

/// What there is to tell the peer.
#[derive(Debug)]
pub(super) struct Forward {
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

impl Forward {
    const fn new(cum_ack: u64) -> Self {
        Self { point: cum_ack, told: cum_ack, due: false, sent: None, failed: false }
    }

    /// Whether T3 of `p` watches an unanswered FORWARD-TSN.
    pub(super) fn is_watched_on(&self, p: PathId) -> bool {
        self.sent.is_some_and(|(path, _)| path == p)
    }
}

impl Sender {
    /// Moves Advanced.Peer.Ack.Point over what was given up (C1 and C2). The peer is told at once (F3 allows no long delay).
    pub(crate) fn advance_point(&mut self) {
        let cum_ack = self.cum_ack();
        let given_up = |tsn: u64| self.ring.get(tsn).is_some_and(|c| c.state.is_given_up());
        let mut point = self.forward.as_ref().map_or(cum_ack, |f| f.point.max(cum_ack));
        let before = point;
        while given_up(point + 1) {
            point += 1;
        }
        if self.forward.is_none() && point == before {
            return;
        }
        let forward = self.forward.get_or_insert_with(|| Box::new(Forward::new(cum_ack)));
        forward.point = point;
        if point == cum_ack {
            (forward.due, forward.sent, forward.failed) = (false, None, false);
        } else {
            forward.due |= point > forward.told;
        }
    }

    /// A SACK came (C1 to C3). The peer may not have got the last FORWARD-TSN, or its answer may be on the way: another one not
    /// before a round trip (F2).
    pub(crate) fn forward_after_sack(&mut self, now: Time, paths: &PathSet) {
        if self.partial.is_none() {
            return;
        }
        self.advance_point();
        let Some(forward) = &mut self.forward else { return };
        if let Some((path, at)) = forward.sent {
            let trip = paths.view(path).map_or(Duration::ZERO, |v| v.srtt.unwrap_or(v.rto));
            forward.due |= now >= at + trip;
        }
    }

    /// T3 of `p` expired (A5). Gives whether a FORWARD-TSN that it watched is lost.
    pub(crate) fn forward_timed_out(&mut self, p: PathId) -> bool {
        self.advance_point();
        let Some(forward) = &mut self.forward else { return false };
        let lost = forward.is_watched_on(p);
        forward.failed |= lost;
        forward.due |= forward.sent.is_some();
        lost
    }

    /// `p` is removed: nothing watches its FORWARD-TSN any more.
    pub(super) fn forward_path_gone(&mut self, p: PathId) {
        if let Some(forward) = self.forward.as_mut().filter(|f| f.is_watched_on(p)) {
            (forward.due, forward.failed) = (true, true);
        }
    }

    /// Whether a FORWARD-TSN is to be sent.
    #[inline]
    pub(crate) fn forward_due(&self) -> bool {
        self.forward.as_ref().is_some_and(|f| f.due)
    }

    /// The path for a FORWARD-TSN that nothing else takes along.
    pub(crate) fn forward_path(&self, paths: &PathSet) -> PathId {
        match self.forward.as_ref().and_then(|f| f.sent.filter(|_| f.failed)) {
            Some((path, _)) => paths.next_after(path),
            None => paths.preferred(),
        }
    }

    /// Whether the cum-ack may have passed `tsn` because we said so.
    pub(super) fn was_skipped(&self, tsn: u64) -> bool {
        self.forward.as_ref().is_some_and(|f| tsn <= f.told)
    }

    /// Writes a FORWARD-TSN, if it fits, and lets T3 of `p` watch it (C5).
    pub(crate) fn write_forward(
        &mut self,
        now: Time,
        p: PathId,
        writer: &mut PacketWriter<'_>,
        paths: &mut PathSet,
    ) -> bool {
        let Some(room) = writer.remaining().checked_sub(FIXED) else { return false };
        let entry = ENTRIES[usize::from(self.queue.is_interleaving())];
        let Some((point, skipped)) = self.skipped(room / entry) else { return false };
        if !push_forward(point, &skipped, self.queue.is_interleaving(), writer) {
            return false;
        }
        self.forward_sent(now, p, point);
        if let Some((view, path)) = paths.both_mut(p).filter(|(_, path)| path.t3 == Time::MAX) {
            path.t3 = now + view.rto;
        }
        true
    }

    fn forward_sent(&mut self, now: Time, p: PathId, point: u64) {
        let Some(forward) = &mut self.forward else { return };
        // C4: what does not fit is told once the peer has answered.
        forward.point = point;
        forward.told = forward.told.max(point);
        forward.due = false;
        forward.failed = false;
        forward.sent = Some((p, now));
    }

    /// How far one FORWARD-TSN with `entries` entries can tell the peer to go, and the last number of each stream on the way (C4): of
    /// ordered messages, and with I-DATA of unordered ones as well (RFC 8260 section 2.3.1). `None` if it would tell nothing.
    fn skipped(&self, entries: usize) -> Option<(u64, Skipped)> {
        let forward = self.forward.as_ref()?;
        let mut skipped = Skipped::new();
        let mut point = self.cum_ack();
        for tsn in self.ring.base()..=forward.point {
            let Some(chunk) = self.ring.get(tsn) else { break };
            if point >= self.ring.base() && self.reset_point == Some(point) {
                break;
            }
            let unordered = chunk.flags.unordered;
            let listed = !unordered || self.queue.is_interleaving();
            if listed && tsn > self.numbered_to {
                let key = (chunk.stream, unordered);
                if skipped.len() >= entries && !skipped.contains_key(&key) {
                    break;
                }
                skipped.insert(key, chunk.number);
            }
            point = tsn;
        }
        (point > self.cum_ack()).then_some((point, skipped))
    }
}

/// Writes a FORWARD-TSN, or an I-FORWARD-TSN where messages are interleaved; false if it does not fit.
fn push_forward(
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
