//! Loss recovery as BBR sees it: it keeps the window that held before, and restores it afterwards
//! ("Modulating cwnd in Loss Recovery").

use polypath_proto::time::Time;

use super::signals::LatestRound;

/// Whether the path is in loss recovery, and since when.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recovery {
    /// In fast recovery since.
    fast: Option<Time>,
    /// After a timeout: what had been delivered before it. What is sent afterwards ends it.
    timeout: Option<u64>,
}

impl Recovery {
    pub(super) const fn is_on(&self) -> bool {
        self.fast.is_some() || self.timeout.is_some()
    }

    /// Whether the round that ends now was one of fast recovery throughout.
    pub(super) fn lasts_since(&self, latest: &LatestRound) -> bool {
        self.fast.is_some_and(|began| began <= latest.began)
    }

    /// Fast recovery begins, perhaps by a timer: without an acknowledgement.
    pub(super) fn enter_fast(&mut self, now: Time) {
        self.fast.get_or_insert(now);
    }

    /// T3-rtx expired after so much had been delivered.
    pub(super) const fn enter_timeout(&mut self, delivered: u64) {
        self.timeout = Some(delivered);
    }

    /// An acknowledgement of something that was sent when so much had been delivered; gives whether
    /// recovery ends.
    pub(super) fn update(&mut self, now: Time, in_fast: bool, prior_delivered: u64) -> bool {
        let was_on = self.is_on();
        self.fast = in_fast.then_some(self.fast.unwrap_or(now));
        self.timeout = self.timeout.filter(|&delivered| prior_delivered < delivered);
        was_on && !self.is_on()
    }
}
