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

use super::error::MAX_WAITING;

/// Requests for streams of the peer of which nothing proves that they arrived, in order.
#[derive(Debug, Default)]
pub(super) struct Implied(VecDeque<Unproven>);

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unproven {
    /// Its sequence number.
    pub(super) request: u32,
    /// Streams that it asks for.
    pub(super) count: u16,
}

impl Implied {
    /// Remembers request number `request`. Of too many the oldest is believed to have arrived.
    pub(super) fn push(&mut self, request: u32, count: u16) {
        if self.0.len() >= MAX_WAITING {
            self.0.pop_front();
        }
        self.0.push_back(Unproven { request, count });
    }

    /// The peer has processed request number `request`. It takes them in order, hence also those before.
    pub(super) fn arrived(&mut self, request: Tsn) {
        self.0.retain(|unproven| request.lt(Tsn(unproven.request)));
    }

    /// The number of the oldest.
    pub(super) fn first(&self) -> Option<u32> {
        self.0.front().map(|unproven| unproven.request)
    }

    /// Takes all of them out, the newest first.
    pub(super) fn drain_newest_first(&mut self) -> impl Iterator<Item = Unproven> + '_ {
        self.0.drain(..).rev()
    }
}
