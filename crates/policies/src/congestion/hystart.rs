//! HyStart++: slow start that ends before the queue overflows (RFC 9406), around any rule.
//!
//! A round ends when the data that was in flight at its beginning is acknowledged. When the smallest RTT of a round exceeds that of
//! the round before by max(4 ms, min(RTT/8, 16 ms)), slow start becomes conservative: growth is a quarter. If the RTT falls below what
//! it was then, the suspicion was wrong and slow start resumes; after five conservative rounds ssthresh becomes cwnd. Only the
//! first slow start of a path is watched (RFC 9406 section 4.3). L is `abc-limit`.
//!
//! RFC 9406 judges a round by eight samples or more. SCTP times one chunk per path and round trip (RFC 9260 section 6.3.1, rule C4), so
//! a round has one; `hystart-samples` is what a round needs, and 1 unless an engine samples more often. That chunk is the first that
//! follows the previous sample, so it sees the queue which the round before has left: the standing queue that RFC 9406 looks for by
//! its minimum. Rounds without a sample prolong the one before.

use polypath_proto::PathId;
use polypath_proto::policy::{
    AckedInfo, ClassicCc, CongestionControl, Cut, CwndStep, PathWindow, WindowRule,
};
use polypath_proto::time::Duration;
use polypath_proto::view::{AssocView, LossKind, PathView};

use super::couple;
use crate::PolicyError;
use crate::entry::Recipe;
use crate::options::{OptionEntry, Options};

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

/// The engine around `rule`, with or without HyStart++, with the groups that the option `couple` says.
pub(super) fn recipe<R>(
    rule: R,
    options: &Options<'_>,
) -> Result<Recipe<dyn CongestionControl>, PolicyError>
where
    R: WindowRule + Clone + Sync + 'static,
{
    let samples = options.choice("hystart-samples", &[("1", 1), ("2", 2), ("4", 4), ("8", 8)])?;
    let couple = couple::choice(options)?;
    if options.choice("hystart", &[("false", false), ("true", true)])? {
        Ok(Box::new(move |cc, _| {
            let rule = HyStart::new(rule.clone(), samples);
            couple::grouped(couple, ClassicCc::new(rule, cc.clone()))
        }))
    } else {
        Ok(Box::new(move |cc, _| couple::grouped(couple, ClassicCc::new(rule.clone(), cc.clone()))))
    }
}

/// HyStart++ around the slow start of another rule.
#[derive(Clone, Debug)]
pub struct HyStart<R> {
    inner: R,
    /// N_RTT_SAMPLE.
    samples: u32,
    paths: Vec<Rounds>,
    /// The rounds before the first timeout in a row, should it prove spurious.
    before_timeout: Vec<Option<Rounds>>,
}

impl<R> HyStart<R> {
    /// HyStart++ that judges a round by `samples` RTT samples or more.
    pub const fn new(inner: R, samples: u32) -> Self {
        Self { inner, samples, paths: Vec::new(), before_timeout: Vec::new() }
    }

    fn rounds_of(&mut self, path: PathId) -> Option<&mut Rounds> {
        if self.paths.len() <= path.index() {
            self.paths.resize(path.index() + 1, Rounds::default());
        }
        self.paths.get_mut(path.index())
    }

    /// Keeps the rounds that a timeout is about to end.
    fn remember(&mut self, path: &PathView, kind: LossKind, cut: Cut) {
        let rounds = self.paths.get(path.id.index()).copied();
        if self.before_timeout.len() <= path.id.index() {
            self.before_timeout.resize(path.id.index() + 1, None);
        }
        let Some(before) = self.before_timeout.get_mut(path.id.index()) else { return };
        match kind {
            LossKind::FastRetransmit => *before = None,
            LossKind::Timeout if path.cwnd > cut.cwnd => *before = rounds,
            LossKind::Timeout => {}
        }
    }

    fn phase(&self, path: PathId) -> Phase {
        self.paths.get(path.index()).map_or(Phase::SlowStart, |r| r.phase)
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
    fn sample(&mut self, rtt: Duration) {
        self.smallest = Some(self.smallest.map_or(rtt, |s| s.min(rtt)));
        self.samples += 1;
    }

    /// RFC 9406 section 4.2: has the RTT risen, or was that an error?
    fn judge(&mut self, needed: u32) {
        let Some(smallest) = self.smallest.filter(|_| self.samples >= needed) else { return };
        match (self.phase, self.smallest_before) {
            (Phase::SlowStart, Some(before)) if smallest >= before + threshold(before) => {
                self.phase = Phase::Conservative { baseline: smallest, rounds: 0 };
            }
            (Phase::Conservative { baseline, .. }, _) if smallest < baseline => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
    }

    /// Counts acknowledged bytes; true at the end of a round.
    fn round_ends(&mut self, ev: &AckedInfo) -> bool {
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

fn threshold(rtt: Duration) -> Duration {
    (rtt / RTT_DIVISOR).clamp(THRESHOLD.0, THRESHOLD.1)
}

impl<R: WindowRule> WindowRule for HyStart<R> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn initial_window(&self, single: u64, paths: usize, mtu: u64) -> u64 {
        self.inner.initial_window(single, paths, mtu)
    }

    fn slow_start(&self, view: &AssocView<'_>, path: &PathView, acked: u64, limit: u64) -> u64 {
        let growth = self.inner.slow_start(view, path, acked, limit);
        match self.phase(path.id) {
            Phase::Conservative { .. } => growth / GROWTH_DIVISOR,
            Phase::SlowStart | Phase::Over => growth,
        }
    }

    fn avoidance(&self, view: &AssocView<'_>, path: &PathView, mtu: u64) -> u64 {
        self.inner.avoidance(view, path, mtu)
    }

    fn avoid(
        &mut self,
        view: &AssocView<'_>,
        path: &PathView,
        ev: &AckedInfo,
        unit: CwndStep,
        w: &mut PathWindow,
    ) {
        self.inner.avoid(view, path, ev, unit, w);
    }

    fn path_added(&mut self, path: PathId) {
        self.inner.path_added(path);
        if let Some(rounds) = self.rounds_of(path) {
            *rounds = Rounds::default();
        }
    }

    fn measure(
        &mut self,
        view: &AssocView<'_>,
        path: &PathView,
        ev: &AckedInfo,
        w: &mut PathWindow,
    ) {
        self.inner.measure(view, path, ev, w);
        let needed = self.samples;
        let Some(r) = self.rounds_of(path.id).filter(|r| r.phase != Phase::Over) else { return };
        if !w.slow_start() {
            r.phase = Phase::Over;
            return;
        }
        if let Some(rtt) = ev.rtt {
            r.sample(rtt);
            r.judge(needed);
        }
        let ended = r.round_ends(ev);
        if let Phase::Conservative { rounds, .. } = &mut r.phase {
            *rounds += u32::from(ended);
            if *rounds >= CONSERVATIVE_ROUNDS {
                w.ssthresh = w.cwnd;
                r.phase = Phase::Over;
            }
        }
    }

    fn decrease(
        &self,
        view: &AssocView<'_>,
        path: &PathView,
        kind: LossKind,
        mtu: u64,
        floor_mtus: u64,
    ) -> Cut {
        self.inner.decrease(view, path, kind, mtu, floor_mtus)
    }

    fn lost(&mut self, view: &AssocView<'_>, path: &PathView, kind: LossKind, cut: Cut) {
        self.inner.lost(view, path, kind, cut);
        self.remember(path, kind, cut);
        if let Some(rounds) = self.rounds_of(path.id) {
            rounds.phase = Phase::Over;
        }
    }

    fn spurious(&mut self, path: PathId) {
        self.inner.spurious(path);
        let before = self.before_timeout.get_mut(path.index()).and_then(Option::take);
        if let Some((rounds, before)) = self.rounds_of(path).zip(before) {
            *rounds = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{acked, measured, view};
    use polypath_proto::policy::Rfc9260Rule;
    use proptest::prelude::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    struct Path {
        rule: HyStart<Rfc9260Rule>,
        w: PathWindow,
    }

    impl Path {
        fn new(samples: u32) -> Self {
            let mut rule = HyStart::new(Rfc9260Rule, samples);
            let mut w = PathWindow::new(6000, 1_000_000);
            // The first acknowledgement begins a round of 6000 bytes.
            let p = measured(&[(6000, 100)]);
            rule.measure(&view(&p), &p[0], &acked(p[0].id, 1500, 7500), &mut w);
            Self { rule, w }
        }

        /// A round with these samples: as many acknowledgements, which end it. The growth that the last one earns.
        fn round(&mut self, samples: &[u64]) -> u64 {
            let p = measured(&[(6000, 100)]);
            let bytes = 6000 / samples.len() as u64;
            for &ms in samples {
                let ev = AckedInfo { rtt: Some(MS(ms)), ..acked(p[0].id, bytes, 6000 + bytes) };
                self.rule.measure(&view(&p), &p[0], &ev, &mut self.w);
            }
            self.rule.slow_start(&view(&p), &p[0], 3000, 1500)
        }
    }

    #[test]
    fn thresholds() {
        assert_eq!(
            [8, 31, 32, 100, 128, 500].map(|ms| threshold(MS(ms))),
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
        assert_eq!(path.rule.phase(PathId(0)), Phase::Over);
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
        let cut = path.rule.decrease(&view(&p), &p[0], LossKind::Timeout, 1500, 4);
        path.rule.lost(&view(&p), &p[0], LossKind::Timeout, cut);
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
