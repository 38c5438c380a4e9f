//! T3-rtx (RFC 9260 section 6.3.2), per path.

use super::OutstandingQueue;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::sender::sack_outcome::PathOutcome;
use crate::time::Time;

impl OutstandingQueue {
    /// Starts T3-rtx of `p` unless it runs.
    pub(crate) fn start_t3(&self, now: Time, p: PathId, paths: &mut PathSet) {
        if let Some((view, path)) = paths.both_mut(p) {
            path.start_t3(now, view);
        }
    }

    /// Starts T3-rtx of `p` anew if anything is in flight there. Gives whether there is.
    pub(crate) fn restart_t3(&self, now: Time, p: PathId, paths: &mut PathSet) -> bool {
        let flight = paths.both_mut(p).filter(|(view, _)| view.outstanding > 0);
        let Some((view, path)) = flight else { return false };
        path.t3 = now + view.rto;
        true
    }

    /// After a SACK: T3-rtx is off where nothing is in flight, and starts anew where the chunk that
    /// was sent first was acknowledged. Acks of other paths change nothing. On the path `watched`
    /// it waits for the answer to a FORWARD-TSN (RFC 3758 section 3.5, C5).
    pub(crate) fn update_t3(
        &mut self,
        now: Time,
        paths: &mut PathSet,
        outcomes: &[PathOutcome],
        watched: Option<PathId>,
    ) {
        for ((view, path), (list, outcome)) in
            paths.iter_mut().zip(self.lists.iter_mut().zip(outcomes))
        {
            if view.outstanding == 0 && list.abandoned_in_flight == 0 {
                if watched != Some(view.id) {
                    path.t3 = Time::MAX;
                }
                continue;
            }
            if path.t3 == Time::MAX
                || (outcome.acked || outcome.copy_left)
                    && list.earliest_sent(&self.chunks, view.id) != outcome.earliest_sent
            {
                path.t3 = now + view.rto;
            }
        }
    }

    /// The same where T3-rtx goes by TSNs, as in ns-2: it starts anew where the outcome says so.
    pub(crate) fn update_t3_by_tsn(
        &self,
        now: Time,
        paths: &mut PathSet,
        outcomes: &mut [PathOutcome],
    ) {
        for ((view, path), outcome) in paths.iter_mut().zip(outcomes) {
            let lowest = outcome.lowest_watched;
            let lowest_acked = lowest.is_some_and(|tsn| self.acked.contains(tsn.get()));
            if view.outstanding == 0 {
                path.t3 = Time::MAX;
            } else if path.t3 == Time::MAX || outcome.t3_stopped || lowest_acked {
                path.t3 = now + view.rto;
                outcome.t3_restarted = true;
            }
        }
    }
}
