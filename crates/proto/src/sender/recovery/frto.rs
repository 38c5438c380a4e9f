//! Detection of spurious timeouts (F-RTO, RFC 5682 section 3: the version for SACK), per path.
//!
//! A timeout is spurious if what it declared lost was only late. That shows when, after the
//! timeout, a chunk is acknowledged that was not sent again since: it was delivered from before.
//! One case looks alike: the chunk had been delivered long ago, its SACKs were lost, and the answer
//! to the first retransmission tells of both. So such an acknowledgement is proof at once only if
//! it comes too soon to answer that retransmission. Otherwise the RFC's second step decides:
//! instead of more retransmissions, new data is sent; if the next acknowledgement is again for a
//! chunk that was not sent again, the timeout was spurious.
//!
//! With several paths all suspects may have gone out on another one at once, and no such chunk is
//! left. Then the duplicates tell: when the peer has reported every retransmission as one, nothing
//! had been lost (RFC 3708, but SCTP always reports).

use std::collections::BTreeSet;

use crate::ids::PathId;
use crate::time::Time;

/// What is known of the latest timeout of a path.
#[derive(Debug)]
pub(super) struct FRto {
    /// TSNs that the timeout declared lost, ascending.
    suspects: Vec<u64>,
    /// When it expired.
    expired: Time,
    /// The first retransmission of a suspect, and its path.
    first_again: Option<(Time, PathId)>,
    second: Option<SecondStep>,
    evidence: Evidence,
}

/// New data is sent in place of retransmissions (section 3.1, step 2b).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SecondStep {
    began: Time,
    /// DATA chunks sent on the path until then.
    data_chunks: u64,
    /// A SACK came since that acknowledged nothing.
    empty_sack: bool,
}

/// What the SACK in hand says about the timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Evidence {
    /// A transmission from before the timeout was delivered, without retransmission.
    original: bool,
    /// The same of a suspect that was sent again: its acknowledgement came too soon to answer that.
    proof: bool,
    /// A suspect that was sent again was acknowledged.
    again: bool,
    /// Something that was first sent after the timeout was acknowledged.
    beyond: bool,
}

/// What a chunk that is acknowledged was for the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acked {
    /// Not sent since.
    Original,
    /// Sent again; `too_soon`: less than the smallest round trip ago.
    Again { too_soon: bool },
    /// First sent after the timeout.
    Beyond,
}

/// What is known after a SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing yet.
    Open,
    /// The timeout was right.
    Genuine,
    /// The timeout was wrong.
    Spurious,
}

impl FRto {
    pub(super) const fn new(suspects: Vec<u64>, expired: Time) -> Self {
        let evidence = Evidence { original: false, proof: false, again: false, beyond: false };
        Self { suspects, expired, first_again: None, second: None, evidence }
    }

    pub(super) fn suspects(&self) -> &[u64] {
        &self.suspects
    }

    pub(super) fn is_suspect(&self, tsn: u64) -> bool {
        self.suspects.binary_search(&tsn).is_ok()
    }

    pub(super) const fn expired_at(&self) -> Time {
        self.expired
    }

    /// `tsn` is sent again on `to`.
    pub(super) fn note_retransmission(&mut self, now: Time, tsn: u64, to: PathId) {
        if self.first_again.is_none() && self.is_suspect(tsn) {
            self.first_again = Some((now, to));
        }
    }

    pub(super) const fn first_again(&self) -> Option<(Time, PathId)> {
        self.first_again
    }

    /// A SACK acknowledged a chunk.
    pub(super) const fn note_acked(&mut self, what: Acked) {
        match what {
            Acked::Original => self.evidence.original = true,
            Acked::Again { too_soon: true } => self.evidence.proof = true,
            Acked::Again { too_soon: false } => self.evidence.again = true,
            Acked::Beyond => self.evidence.beyond = true,
        }
    }

    /// What the SACK at hand acknowledges of the originals may have arrived before the timeout.
    pub(super) const fn forget_originals(&mut self) {
        (self.evidence.original, self.evidence.proof) = (false, false);
    }

    /// The SACK is processed. `early`: it came too soon to answer a retransmission. `waiting`:
    /// suspects are still to be sent again. `data_chunks`: sent on the path so far.
    pub(super) fn judge_sack(
        &mut self,
        now: Time,
        early: bool,
        waiting: bool,
        data_chunks: u64,
    ) -> Verdict {
        let seen = core::mem::take(&mut self.evidence);
        let second = self.second.is_some();
        if seen.proof || seen.original && (early || second && !seen.beyond) {
            return Verdict::Spurious;
        }
        if seen == Evidence::default() {
            return Verdict::Open;
        }
        if second || !waiting {
            return Verdict::Genuine;
        }
        self.second = Some(SecondStep { began: now, data_chunks, empty_sack: false });
        Verdict::Open
    }

    /// A SACK acknowledges nothing new, on whichever path, `data_chunks` sent on this one so far.
    /// Whether that answers the new data: that is the duplicate acknowledgement of section 3.1,
    /// step 3a. Who takes the next TSN alone (RFC 6525 section 5.2.4, while an association is
    /// reset) gives no other answer; to wait for one would be to wait for T3.
    ///
    /// `late`: whether an answer to what was sent at a time could be here. What comes sooner may be
    /// a second copy of a SACK (but not two of them), or the way may be shorter than it ever was.
    pub(super) fn note_empty_sack(
        &mut self,
        data_chunks: u64,
        late: impl Fn(Time) -> bool,
    ) -> bool {
        let Some(step) = self.second.as_mut().filter(|step| step.data_chunks < data_chunks) else {
            return false;
        };
        late(step.began) || core::mem::replace(&mut step.empty_sack, true)
    }

    /// Whether retransmissions on the path wait for the second step's answer.
    pub(super) const fn is_in_second_step(&self) -> bool {
        self.second.is_some()
    }

    /// Whether the second step is pointless: nothing new went out on the path, of which
    /// `data_chunks` were sent so far.
    pub(super) fn is_stuck(&self, data_chunks: u64) -> bool {
        self.second.is_some_and(|step| step.data_chunks == data_chunks)
    }
}

/// Retransmissions after a timeout whose duplicates would prove it spurious.
#[derive(Debug, Default)]
pub(super) struct Resent {
    unreported: BTreeSet<u64>,
    reported: bool,
    /// A chunk was sent a third time: its duplicate need not be the original.
    ambiguous: bool,
}

impl Resent {
    /// `tsn` was sent again because of the timeout, for the `nth` time.
    pub(super) fn note_retransmission(&mut self, tsn: u64, nth: u16) {
        self.unreported.insert(tsn);
        self.ambiguous |= nth > 2;
    }

    /// The peer got `tsn` twice.
    pub(super) fn note_duplicate(&mut self, tsn: u64) {
        self.reported |= self.unreported.remove(&tsn);
    }

    /// Whether there were retransmissions, and all were reported.
    pub(super) fn were_all_reported(&self) -> bool {
        self.reported && !self.ambiguous && self.unreported.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_secs(2);

    fn timeout() -> FRto {
        let mut frto = FRto::new(vec![3, 4, 5], Time::from_secs(1));
        frto.note_retransmission(Time::from_secs(1), 3, PathId(0));
        assert_eq!(frto.first_again(), Some((Time::from_secs(1), PathId(0))));
        frto
    }

    #[test]
    fn an_early_original_is_proof() {
        let mut frto = timeout();
        assert_eq!(frto.judge_sack(NOW, true, true, 9), Verdict::Open);
        frto.note_acked(Acked::Original);
        assert_eq!(frto.judge_sack(NOW, true, true, 9), Verdict::Spurious);
        let mut frto = timeout();
        frto.note_acked(Acked::Again { too_soon: true });
        assert_eq!(frto.judge_sack(NOW, false, false, 9), Verdict::Spurious);
    }

    #[test]
    fn a_late_original_needs_a_second_one() {
        let step = |second: &[Acked]| {
            let mut frto = timeout();
            frto.note_acked(Acked::Original);
            frto.note_acked(Acked::Again { too_soon: false });
            assert_eq!(frto.judge_sack(NOW, false, true, 9), Verdict::Open);
            assert!(frto.is_in_second_step() && frto.is_stuck(9) && !frto.is_stuck(10));
            second.iter().for_each(|&acked| frto.note_acked(acked));
            frto.judge_sack(NOW, false, true, 10)
        };
        assert_eq!(step(&[Acked::Original]), Verdict::Spurious);
        assert_eq!(step(&[Acked::Original, Acked::Beyond]), Verdict::Genuine, "step 3a");
        assert_eq!(step(&[Acked::Beyond]), Verdict::Genuine);
        assert_eq!(step(&[]), Verdict::Open);
    }

    #[test]
    fn a_late_answer_that_tells_of_nothing_ends_the_second_step() {
        let second_step = || {
            let mut frto = timeout();
            assert!(!frto.note_empty_sack(9, |_| true), "no second step yet");
            frto.note_acked(Acked::Again { too_soon: false });
            assert_eq!(frto.judge_sack(NOW, false, true, 9), Verdict::Open);
            frto
        };
        assert!(!second_step().note_empty_sack(9, |_| true), "nothing new was sent");
        assert!(second_step().note_empty_sack(10, |began| began == NOW));
        let mut early = second_step();
        assert!(!early.note_empty_sack(10, |_| false), "may be the copy of a SACK");
        assert!(early.note_empty_sack(10, |_| false), "not twice");
    }

    #[test]
    fn an_answer_that_leaves_nothing_to_send_again_proves_nothing() {
        let mut frto = timeout();
        frto.note_acked(Acked::Again { too_soon: false });
        frto.note_acked(Acked::Original);
        assert_eq!(frto.judge_sack(NOW, false, false, 9), Verdict::Genuine, "step 2a");
    }

    #[test]
    fn every_retransmission_must_be_reported_as_a_duplicate() {
        let mut resent = Resent::default();
        resent.note_duplicate(3);
        assert!(!resent.were_all_reported(), "nothing was sent again");
        resent.note_retransmission(3, 2);
        resent.note_retransmission(4, 2);
        resent.note_duplicate(4);
        assert!(!resent.were_all_reported());
        resent.note_duplicate(3);
        assert!(resent.were_all_reported());
        resent.note_retransmission(5, 3);
        resent.note_duplicate(5);
        assert!(!resent.were_all_reported(), "the second of three may have been lost");
    }
}
