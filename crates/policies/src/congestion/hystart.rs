//! HyStart++: slow start that ends before the queue overflows (RFC 9406), around any rule.
//!
//! A round ends when the data that was in flight at its beginning is acknowledged. When the
//! smallest RTT of a round exceeds that of the round before by max(4 ms, min(RTT/8, 16 ms)), slow
//! start becomes conservative: growth is a quarter. If the RTT falls below what it was then, the
//! suspicion was wrong and slow start resumes; after five conservative rounds ssthresh becomes
//! cwnd. Only the first slow start of a path is watched (RFC 9406 section 4.3). L is `abc-limit`.
//!
//! RFC 9406 judges a round by eight samples or more. SCTP times one chunk per path and round trip
//! (RFC 9260 section 6.3.1, rule C4), so a round has one; `hystart-samples` is what a round needs,
//! and 1 unless an engine samples more often. That chunk is the first that follows the previous
//! sample, so it sees the queue which the round before has left: the standing queue that RFC 9406
//! looks for by its minimum. Rounds without a sample prolong the one before.

use polypath_proto::PathId;
use polypath_proto::policy::{
    AckedInfo, ClassicCc, CongestionControl, Cut, PathWindow, WindowRule,
};
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{LossKind, PathView};

use super::coupling_mode;
use super::layer::{Layered, RuleLayer};
use super::per_path::{BeforeTimeout, PerPath};
use crate::entry::Recipe;
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

/// MIN_RTT_THRESH and MAX_RTT_THRESH (RFC 9406 section 4.2).
const THRESHOLD: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));
/// MIN_RTT_DIVISOR.
const RTT_DIVISOR: u32 = 8;
/// CSS_GROWTH_DIVISOR.
const GROWTH_DIVISOR: u64 = 4;
/// CSS_ROUNDS.
const CONSERVATIVE_ROUNDS: u32 = 5;

pub(super) const SWITCH: OptionEntry = OptionEntry {
    name: "hystart",
    default: "false",
    values: "false|true",
    summary: "HyStart++ (RFC 9406): leave the first slow start when the RTT rises",
};

pub(super) const SAMPLES: OptionEntry = OptionEntry {
    name: "hystart-samples",
    default: "1",
    values: "1|2|4|8",
    summary: "RTT samples that a round needs to be judged; RFC 9406: 8, but the stack takes one per round",
};

/// The engine around `rule`, with or without HyStart++, with the groups that the option `couple`
/// says.
pub(super) fn layered_recipe<R>(
    rule: R,
    options: &Options<'_>,
) -> Result<Recipe<dyn CongestionControl>, PolicyError>
where
    R: WindowRule + Clone + Sync + 'static,
{
    let samples = options.choice("hystart-samples", &[("1", 1), ("2", 2), ("4", 4), ("8", 8)])?;
    let couple = coupling_mode::read_mode(options)?;
    if options.choice("hystart", &[("false", false), ("true", true)])? {
        Ok(Box::new(move |cc, _| {
            let rule = Layered::new(HyStart::new(samples), rule.clone());
            coupling_mode::with_groups(couple, ClassicCc::new(rule, cc.clone()))
        }))
    } else {
        Ok(Box::new(move |cc, _| {
            coupling_mode::with_groups(couple, ClassicCc::new(rule.clone(), cc.clone()))
        }))
    }
}

/// HyStart++, as a layer around the slow start of a rule.
#[derive(Clone, Debug)]
pub struct HyStart {
    /// N_RTT_SAMPLE.
    samples: u32,
    paths: PerPath<Rounds>,
    before_timeout: BeforeTimeout<Rounds>,
}

impl HyStart {
    /// HyStart++ that judges a round by `samples` RTT samples or more.
    pub const fn new(samples: u32) -> Self {
        Self { samples, paths: PerPath::new(), before_timeout: BeforeTimeout::new() }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    SlowStart,
    /// CSS: the RTT that gave rise to it, and its completed rounds.
    Conservative { baseline: Duration, rounds: u32 },
    /// The first slow start of the path is over.
    Over,
}

/// The rounds of one path.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    phase: Phase,
    /// Bytes of the data in flight at the beginning of the round that are not acknowledged yet.
    left: u64,
    smallest_before: Option<Duration>,
    smallest: Option<Duration>,
    samples: u32,
}

impl Rounds {
    /// Follows a slow start through its rounds, and ends it (by ssthresh) after the conservative
    /// ones.
    fn follow_slow_start(&mut self, ev: &AckedInfo, needed: u32, w: &mut PathWindow) {
        if !w.slow_start() {
            self.phase = Phase::Over;
            return;
        }
        if let Some(rtt) = ev.rtt {
            self.add_sample(rtt);
            self.judge_round(needed);
        }
        let ended = self.count_acked(ev);
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += u32::from(ended);
            if *rounds >= CONSERVATIVE_ROUNDS {
                w.ssthresh = w.cwnd;
                self.phase = Phase::Over;
            }
        }
    }

    fn add_sample(&mut self, rtt: Duration) {
        self.smallest = Some(self.smallest.map_or(rtt, |s| s.min(rtt)));
        self.samples += 1;
    }

    /// RFC 9406 section 4.2: has the RTT risen, or was that an error?
    fn judge_round(&mut self, needed: u32) {
        let Some(smallest) = self.smallest.filter(|_| self.samples >= needed) else { return };
        match (self.phase, self.smallest_before) {
            (Phase::SlowStart, Some(before)) if smallest >= before + rise_threshold(before) => {
                self.phase = Phase::Conservative { baseline: smallest, rounds: 0 };
            }
            (Phase::Conservative { baseline, .. }, _) if smallest < baseline => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
    }

    /// Counts acknowledged bytes; true at the end of a round.
    fn count_acked(&mut self, ev: &AckedInfo) -> bool {
        self.left = self.left.saturating_sub(ev.bytes);
        if self.left > 0 {
            return false;
        }
        self.left = ev.outstanding;
        if self.samples > 0 {
            self.smallest_before = self.smallest.take();
            self.samples = 0;
        }
        true
    }
}

fn rise_threshold(rtt: Duration) -> Duration {
    (rtt / RTT_DIVISOR).clamp(THRESHOLD.0, THRESHOLD.1)
}

impl RuleLayer for HyStart {
    fn scale_slow_start(&self, path: PathId, bytes: u64) -> u64 {
        match self.paths.get(path).map(|rounds| rounds.phase) {
            Some(Phase::Conservative { .. }) => bytes / GROWTH_DIVISOR,
            Some(Phase::SlowStart | Phase::Over) | None => bytes,
        }
    }

    fn forget_path(&mut self, path: PathId) {
        *self.paths.value_of(path) = Rounds::default();
    }

    fn note_ack(&mut self, _now: Time, path: &PathView, ev: &AckedInfo, w: &mut PathWindow) {
        let rounds = self.paths.value_of(path.id);
        if rounds.phase != Phase::Over {
            rounds.follow_slow_start(ev, self.samples, w);
        }
    }

    fn note_loss(&mut self, _now: Time, path: &PathView, kind: LossKind, cut: Cut) {
        let known = self.paths.get(path.id).copied();
        self.before_timeout.remember(path, kind, cut, known);
        self.paths.value_of(path.id).phase = Phase::Over;
    }

    fn undo_timeout(&mut self, path: PathId) {
        if let Some(before) = self.before_timeout.take(path) {
            *self.paths.value_of(path) = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{acked, measured, view};
    use polypath_proto::policy::Rfc9260Rule;
    use proptest::prelude::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    struct Path {
        rule: Layered<HyStart, Rfc9260Rule>,
        w: PathWindow,
    }

    impl Path {
        fn new(samples: u32) -> Self {
            let mut rule = Layered::new(HyStart::new(samples), Rfc9260Rule);
            let mut w = PathWindow::new(6000, 1_000_000);
            // The first acknowledgement begins a round of 6000 bytes.
            let p = measured(&[(6000, 100)]);
            rule.observe_ack(&view(&p), &p[0], &acked(p[0].id, 1500, 7500), &mut w);
            Self { rule, w }
        }

        fn phase(&self) -> Phase {
            self.rule.layer.paths.get(PathId(0)).map_or(Phase::SlowStart, |rounds| rounds.phase)
        }

        /// A round with these samples: as many acknowledgements, which end it. The growth that the
        /// last one earns.
        fn round(&mut self, samples: &[u64]) -> u64 {
            let p = measured(&[(6000, 100)]);
            let bytes = 6000 / samples.len() as u64;
            for &ms in samples {
                let ev = AckedInfo { rtt: Some(MS(ms)), ..acked(p[0].id, bytes, 6000 + bytes) };
                self.rule.observe_ack(&view(&p), &p[0], &ev, &mut self.w);
            }
            self.rule.slow_start(&view(&p), &p[0], 3000, 1500)
        }
    }

    #[test]
    fn thresholds() {
        assert_eq!(
            [8, 31, 32, 100, 128, 500].map(|ms| rise_threshold(MS(ms))),
            [MS(4), MS(4), MS(4), MS(100) / 8, MS(16), MS(16)]
        );
    }

    #[test]
    fn a_rise_slows_growth_and_five_rounds_later_slow_start_is_over() {
        let mut path = Path::new(1);
        // 40 ms: the threshold is 5 ms.
        assert_eq!([40, 44, 48].map(|ms| path.round(&[ms])), [1500, 1500, 1500]);
        assert_eq!(path.round(&[54]), 375, "48 + 6");
        for _ in 0..3 {
            assert_eq!(path.round(&[60]), 375);
            assert!(path.w.ssthresh > path.w.cwnd);
        }
        path.round(&[60]);
        assert_eq!(path.w.ssthresh, path.w.cwnd, "the round of the rise counts as the first");
        assert_eq!(path.phase(), Phase::Over);
    }

    #[test]
    fn a_spurious_rise_is_taken_back() {
        let mut path = Path::new(1);
        assert_eq!([40, 60].map(|ms| path.round(&[ms])), [1500, 375]);
        assert_eq!(path.round(&[59]), 1500, "below the baseline");
        assert_eq!(path.w.ssthresh, 1_000_000);
        assert_eq!(path.round(&[70]), 375, "and rises again: 59 + 7.375");
    }

    #[test]
    fn the_smallest_of_a_round_counts_and_it_takes_enough_samples() {
        let mut path = Path::new(4);
        assert_eq!(path.round(&[40, 41, 42, 43]), 1500);
        assert_eq!(path.round(&[80, 80, 80]), 1500, "three samples of four");
        let mut path = Path::new(4);
        path.round(&[40, 41, 42, 43]);
        assert_eq!(path.round(&[80, 44, 80, 80]), 1500, "44 < 45");
        assert_eq!(path.round(&[80, 50, 80, 80]), 375);
    }

    #[test]
    fn a_loss_ends_it_and_a_new_path_begins_anew() {
        let mut path = Path::new(1);
        assert_eq!([40, 60].map(|ms| path.round(&[ms])), [1500, 375]);
        let p = measured(&[(6000, 100)]);
        let cut = path.rule.windows_after_loss(&view(&p), &p[0], LossKind::Timeout, 1500, 4);
        path.rule.on_lost(&view(&p), &p[0], LossKind::Timeout, cut);
        assert_eq!([40, 90].map(|ms| path.round(&[ms])), [1500, 1500]);
        path.rule.path_added(PathId(0));
        assert_eq!([40, 60].map(|ms| path.round(&[ms])), [1500, 375]);
    }

    proptest! {
        /// Growth is slow start's or a quarter, and ssthresh never rises.
        #[test]
        fn never_faster_than_slow_start(rtts in prop::collection::vec(1u64..400, 1..60)) {
            let mut path = Path::new(1);
            for ms in rtts {
                let before = path.w.ssthresh;
                let growth = path.round(&[ms]);
                prop_assert!(growth == 1500 || growth == 375);
                prop_assert!(path.w.ssthresh <= before && path.w.ssthresh >= path.w.cwnd);
            }
        }

        /// A path whose RTT never rises by 4 ms is left alone.
        #[test]
        fn jitter_below_the_threshold_is_no_rise(rtts in prop::collection::vec(30u64..34, 1..60)) {
            let mut path = Path::new(1);
            for ms in rtts {
                prop_assert_eq!(path.round(&[ms]), 1500);
            }
        }
    }
}
