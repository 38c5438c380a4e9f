//! Proportional rate reduction (RFC 6937): in fast recovery, what goes out follows what comes in,
//! so that the window shrinks over one round trip instead of falling silent for half of it.

use crate::config::RateReduction;

/// PRR's state of a path in fast recovery. DATA chunk bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    /// In flight when the loss was noticed (RecoverFS).
    flight: u64,
    delivered: u64,
    out: u64,
    /// What may still be sent until the next SACK (sndcnt); `None` before the reduced window is
    /// known.
    budget: Option<u64>,
}

impl Prr {
    pub(super) const fn new(flight: u64) -> Self {
        Self { flight, delivered: 0, out: 0, budget: None }
    }

    /// So much goes out on the path, new or again.
    pub(super) const fn note_sent(&mut self, bytes: u64) {
        self.out += bytes;
        if let Some(budget) = &mut self.budget {
            *budget = budget.saturating_sub(bytes);
        }
    }

    /// A SACK delivered `delivered` bytes of the path; `pipe` are in flight now, and recovery shall
    /// end with a window of `target`.
    pub(super) fn update_budget(
        &mut self,
        bound: RateReduction,
        delivered: u64,
        pipe: u64,
        target: u64,
        mtu: u64,
    ) {
        self.delivered += delivered;
        let budget = if pipe > target {
            let due = u128::from(self.delivered) * u128::from(target);
            let due = due.div_ceil(u128::from(self.flight.max(1)));
            u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.out)
        } else {
            let banked = self.delivered.saturating_sub(self.out);
            let limit = match bound {
                RateReduction::Conservative => banked,
                RateReduction::Off | RateReduction::SlowStart => banked.max(delivered) + mtu,
            };
            (target - pipe).min(limit)
        };
        // With nothing in flight, nothing would ever be delivered again.
        self.budget = Some(if pipe == 0 { budget.max(mtu) } else { budget });
    }

    /// The window that lets through what may be sent: with nothing in flight, a packet always may.
    pub(super) fn window(&self, pipe: u64) -> Option<u64> {
        Some(pipe.saturating_add(self.budget?).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937 section 3.1, in segments: 20 in flight, a target of 10. Each entry of `pipes` is
    /// the pipe after an acknowledgement of one segment. What is sent is added to the pipe by the
    /// caller of the real thing.
    fn run(bound: RateReduction, mut pipe: u64, acks: usize) -> Vec<u64> {
        let mut prr = Prr::new(20);
        let mut sent = Vec::new();
        for i in 0..acks {
            // The first acknowledgement is the one that found the loss: `pipe` is what it left.
            pipe -= u64::from(i > 0);
            prr.update_budget(bound, 1, pipe, 10, 1);
            let mut n = 0;
            while Some(pipe) < prr.window(pipe) && n < 10 {
                prr.note_sent(1);
                (pipe, n) = (pipe + 1, n + 1);
            }
            sent.push(n);
        }
        sent
    }

    #[test]
    fn a_single_loss_sends_one_for_two() {
        // As in the RFC's example: one segment for every second acknowledgement.
        for bound in [RateReduction::Conservative, RateReduction::SlowStart] {
            let sent = run(bound, 18, 17);
            assert_eq!(sent[..15], [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
            // 8 sent for 17 delivered: the pipe went from 18 to the target of 10.
            assert_eq!(sent[15..], [0, 0]);
        }
    }

    #[test]
    fn many_losses_are_refilled_as_the_bound_allows() {
        // 15 of 20 lost, the pipe is at 4: CRB sends 1 per acknowledgement, SSRB 2.
        assert_eq!(run(RateReduction::Conservative, 4, 3), [1, 1, 1]);
        assert_eq!(run(RateReduction::SlowStart, 4, 3), [2, 2, 2]);
    }

    #[test]
    fn a_timer_finds_losses_without_deliveries() {
        let mut prr = Prr::new(20);
        assert_eq!(prr.window(3), None);
        prr.update_budget(RateReduction::SlowStart, 0, 3, 10, 1);
        assert_eq!(prr.window(3), Some(4));
        prr.update_budget(RateReduction::Conservative, 0, 3, 10, 1);
        assert_eq!(prr.window(3), Some(3));
        prr.update_budget(RateReduction::Conservative, 0, 0, 10, 1);
        assert_eq!(prr.window(0), Some(1), "never a dead end");
    }
}
