//! Answers that only look like answers (RFC 6525 section 5.2.6).
//!
//! A peer asked for more of its streams may answer with nothing but its own Add Outgoing Streams Request, and that names no
//! request of ours: it may as well be one that its application asked for, under way while ours was lost. So we ask again, with the
//! same number: who has processed that request repeats its answer, and who has not does so now (section 5.2.1). Of a peer that says no
//! more even then it is believed.
//!
//! Yet our request's number may be unknown to it all the same, and it would call all later ones bad. So what was believed is remembered
//! until something proves that it arrived, and made again, with its numbers, once a later one is called out of sequence.

use std::collections::VecDeque;

use polypath_wire::Tsn;

use super::request::{Part, Request};
use super::{MAX_WAITING, Reconfig};
use crate::association::Association;
use crate::time::Time;

/// Requests for streams of the peer of which nothing proves that they arrived, in order.
#[derive(Debug, Default)]
pub(super) struct Implied(VecDeque<Unproven>);

/// One of them.
#[derive(Clone, Copy, Debug)]
struct Unproven {
    /// Its sequence number.
    request: u32,
    /// Streams that it asks for.
    count: u16,
}

impl Implied {
    /// Remembers request number `request`. Of too many the oldest is believed to have arrived.
    fn push(&mut self, request: u32, count: u16) {
        if self.0.len() >= MAX_WAITING {
            self.0.pop_front();
        }
        self.0.push_back(Unproven { request, count });
    }
}

impl Association {
    /// The peer adds `count` streams: if we want as many, that may be all it says to it.
    pub(super) fn streams_may_be_the_answer(&mut self, now: Time, count: u16) {
        let wanted = Part::AddIncoming { count };
        let Some(flight) = self.reconfig.as_mut().and_then(|r| r.flight.as_mut()) else { return };
        if flight.is_known_to_have_arrived() {
            self.request_answered(now, |_, part| *part == wanted);
        } else {
            flight.seems_answered(&wanted);
        }
    }

    /// The peer was asked again, and says no more than that it adds streams.
    pub(super) fn believe_answer(&mut self, now: Time) {
        let Some(reconfig) = &mut self.reconfig else { return };
        let alone = reconfig.flight.as_ref().and_then(super::Flight::sole_part);
        if let Some((request, &Part::AddIncoming { count })) = alone {
            reconfig.implied.push(request, count);
        }
        self.request_answered(now, |_, part| matches!(part, Part::AddIncoming { .. }));
    }

    /// The peer calls sequence number `request` bad. If it is in flight, and one before it perhaps never arrived, all of them are
    /// made again in order, with their numbers. Gives whether it is so.
    pub(super) fn goes_back(&mut self, now: Time, request: u32) -> bool {
        let Some(reconfig) = &mut self.reconfig else { return false };
        if !reconfig.go_back(request) {
            return false;
        }
        self.timers.reconfig = Time::MAX;
        self.tx.forward.clear_reset_point(None);
        self.rx.doubt_numbers(false);
        self.advance_requests(now);
        true
    }
}

impl Reconfig {
    /// The peer has processed request number `request`. It takes them in order, hence also those before. Numbers that were not used
    /// yet prove nothing.
    pub(super) fn arrived(&mut self, request: u32) {
        // They began as TSNs do, and wrap as they do (section 4.1).
        let request = Tsn(request);
        if request.lt(Tsn(self.next)) {
            self.implied.0.retain(|unproven| request.lt(Tsn(unproven.request)));
        }
    }

    fn go_back(&mut self, request: u32) -> bool {
        let Some(&Unproven { request: first, .. }) = self.implied.0.front() else { return false };
        let Some(flight) = self.flight.take_if(|f| f.awaits(request)) else { return false };
        self.waiting.push_front(flight.into_request());
        // The application has heard of these.
        for Unproven { count, .. } in self.implied.0.drain(..).rev() {
            let part = Part::AddIncoming { count };
            self.waiting.push_front(Request::new(None, vec![part]));
        }
        self.next = first;
        true
    }
}
