//! `cubic`: windows that follow a cubic function of the time since the last loss, on each path by
//! itself.
//!
//! With C = 0.4 packets/s³, β = 0.7 and t the time in congestion avoidance,
//!
//! ```text
//! W(t) = C (t - K)³ + W_max
//! ```
//!
//! An acknowledgement in congestion avoidance moves the window towards W(t + RTT), in bytes by
//!
//! ```text
//! acked · (W(t + RTT) - cwnd) / cwnd
//! ```
//!
//! or up to W_est, the window that Reno with the same β would have, if W(t) is below that. A loss
//! leaves β · cwnd.
//!
//! | | RFC 8312 | RFC 9438 (default) |
//! |---|---|---|
//! | K | ∛(W_max (1 - β) / C) | ∛((W_max - cwnd at the start of avoidance) / C) |
//! | W_est | W_max β + 3 (1 - β)/(1 + β) · t/RTT | grows from cwnd by α · acked / cwnd |
//! | W(t + RTT) | as it is | at least cwnd, at most 1.5 cwnd |
//! | fast convergence | compares with the last W_max before its own reduction | compares with W_max |
//! | slow start | RFC 5681 or hybrid | HyStart++ |
//!
//! α = 3 (1 - β)/(1 + β), and 1 once W_est has the size of the window before the loss.
//!
//! Where SCTP differs: bytes are counted, not acknowledgements; growth per SACK stays within slow
//! start's limit (`abc-limit`); the smallest ssthresh is `loss-floor` (RFC 9260: 4 MTUs) where the
//! RFCs have 2 packets. A loss is measured by cwnd and not by the data in flight, which RFC 9438
//! section 4.6 allows where windows grow only while they are full, as they do here. t stands still
//! while the window is not full (RFC 9438 section 4.2). Spurious timeouts are undone (section 4.9),
//! curve and all; spurious fast retransmits are not: nobody reports them.

use polypath_proto::PathId;
use polypath_proto::policy::{AckedInfo, CongestionControl, Cut, CwndStep, PathWindow, WindowRule};
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, LossKind, PathView};

use super::per_path::{BeforeTimeout, PerPath};
use super::{coupling_mode, hystart, lia};
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

/// Packets per cubic second.
const C: f64 = 0.4;
/// What is left of a window after a loss.
const BETA: f64 = 0.7;
/// Packets per RTT with which AIMD with [`BETA`] has Reno's average window.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::congestion("cubic", read_options)
    .summary(
        "CUBIC on each path by itself: windows by the time since the last loss, not by the RTT",
    )
    .source("RFC 9438, RFC 8312")
    .options(&[
        OptionEntry { name: "rfc", default: "9438", values: "9438|8312", summary: "which edition" },
        OptionEntry {
            name: "fast-convergence",
            default: "true",
            values: "true|false",
            summary: "aim lower when losses come at smaller windows, so that newcomers find room",
        },
        coupling_mode::NEVER,
        OptionEntry { default: "true", values: "true|false", ..hystart::SWITCH },
        hystart::SAMPLES,
    ]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
    let edition =
        options.choice("rfc", &[("9438", CubicRfc::Rfc9438), ("8312", CubicRfc::Rfc8312)])?;
    let fast = options.choice("fast-convergence", &[("true", true), ("false", false)])?;
    hystart::layered_recipe(Cubic::new(edition, fast), options)
}

/// Which edition of CUBIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CubicRfc {
    /// RFC 8312 (2018).
    Rfc8312,
    /// RFC 9438 (2023).
    #[default]
    Rfc9438,
}

/// CUBIC on each path by itself.
#[derive(Clone, Debug)]
pub struct Cubic {
    edition: CubicRfc,
    fast_convergence: bool,
    paths: PerPath<Curve>,
    before_timeout: BeforeTimeout<Curve>,
}

/// What a path remembers of its losses, bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    /// Where the curve levels off; `None` before the first loss and after a timeout.
    w_max: Option<f64>,
    /// RFC 8312: W_max before fast convergence reduced it.
    w_last_max: f64,
    /// The window before the last loss, or at the end of the first slow start.
    cwnd_prior: f64,
    stage: Option<Stage>,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    w_max: f64,
    /// What the path takes of a flow's growth: 1, or less in a group.
    part: f64,
    /// Seconds.
    k: f64,
    /// The time in this stage during which the window was in use.
    elapsed: Duration,
    /// When the path was last heard of.
    heard: Time,
    /// Nothing has been in flight since then.
    idle: bool,
    w_est: f64,
    /// Growth below one byte.
    fraction: f64,
}

impl Stage {
    /// W(t), bytes.
    fn window_at(&self, t: f64, mtu: f64) -> f64 {
        let d = t - self.k;
        C * self.part * self.part * mtu * d * d * d + self.w_max
    }
}

impl Cubic {
    /// CUBIC before the first loss.
    pub const fn new(edition: CubicRfc, fast_convergence: bool) -> Self {
        Self {
            edition,
            fast_convergence,
            paths: PerPath::new(),
            before_timeout: BeforeTimeout::new(),
        }
    }
}

impl Curve {
    /// Congestion avoidance begins with a window of `cwnd` bytes. Where no loss says how far to go,
    /// the curve begins at its level part (RFC 9438 sections 4.8 and 4.10).
    fn begin_stage(
        &mut self,
        edition: CubicRfc,
        now: Time,
        cwnd: f64,
        (mtu, part): (f64, f64),
    ) -> Stage {
        let w_max = self.w_max.filter(|&w| w > cwnd);
        let k = w_max.map_or(0.0, |w| {
            let climb = match edition {
                CubicRfc::Rfc8312 => w * (1.0 - BETA),
                CubicRfc::Rfc9438 => w - cwnd,
            };
            // In software, so that it is the same number on every platform.
            libm::cbrt(climb / (C * part * part * mtu))
        });
        let w_max = w_max.unwrap_or(cwnd);
        self.w_max = Some(w_max);
        if self.cwnd_prior == 0.0 {
            self.cwnd_prior = cwnd;
        }
        let (elapsed, heard) = (Duration::ZERO, now);
        Stage { w_max, part, k, elapsed, heard, idle: false, w_est: cwnd, fraction: 0.0 }
    }

    /// W_max after a fast retransmit at `cwnd` bytes (RFC 8312 section 4.6, RFC 9438 section 4.7).
    fn remember_loss(&mut self, edition: CubicRfc, fast_convergence: bool, cwnd: f64) {
        let last = match edition {
            CubicRfc::Rfc8312 => self.w_last_max,
            CubicRfc::Rfc9438 => self.w_max.unwrap_or(0.0),
        };
        let reduced = fast_convergence && cwnd < last;
        self.w_max = Some(if reduced { cwnd * (1.0 + BETA) / 2.0 } else { cwnd });
        self.w_last_max = cwnd;
    }
}

/// The growth of a full window in congestion avoidance, bytes.
fn growth_of_full_window(
    edition: CubicRfc,
    stage: &mut Stage,
    cwnd_prior: f64,
    cwnd: f64,
    (acked, mtu, rtt): (f64, f64, f64),
) -> f64 {
    let t = stage.elapsed.as_secs_f64();
    let ahead = stage.window_at(t + rtt, mtu);
    let target = match edition {
        CubicRfc::Rfc8312 => {
            stage.w_est = stage.w_max * BETA + ALPHA * stage.part * mtu * t / rtt;
            ahead
        }
        CubicRfc::Rfc9438 => {
            let alpha = if stage.w_est >= cwnd_prior { 1.0 } else { ALPHA };
            stage.w_est += alpha * stage.part * mtu * acked / cwnd;
            ahead.clamp(cwnd, 1.5 * cwnd)
        }
    };
    if stage.window_at(t, mtu) < stage.w_est {
        stage.w_est - cwnd
    } else {
        acked * (target - cwnd) / cwnd
    }
}

impl WindowRule for Cubic {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn grow_in_avoidance(
        &mut self,
        view: &AssocView<'_>,
        path: &PathView,
        ev: &AckedInfo,
        unit: CwndStep,
        w: &mut PathWindow,
    ) {
        if !w.was_full(ev) {
            return;
        }
        let edition = self.edition;
        let curve = self.paths.value_of(path.id);
        let mtu = unit.mtu.max(1) as f64;
        let mut stage = match curve.stage {
            Some(stage) => stage,
            None => {
                let part = lia::growth_part(view, path);
                curve.begin_stage(edition, view.now, w.cwnd as f64, (mtu, part))
            }
        };
        let cwnd = w.cwnd as f64 + stage.fraction;
        let rtt = path.srtt_or(view.rto_initial).max(1e-9);
        let wanted = growth_of_full_window(
            edition,
            &mut stage,
            curve.cwnd_prior,
            cwnd,
            (ev.bytes as f64, mtu, rtt),
        );
        let limit = ev.bytes.min(unit.limit) as f64;
        let grown = stage.fraction + wanted.clamp(0.0, limit);
        stage.fraction = grown.fract();
        w.cwnd = w.cwnd.saturating_add(grown as u64);
        curve.stage = Some(stage);
    }

    fn path_added(&mut self, path: PathId) {
        *self.paths.value_of(path) = Curve::default();
    }

    fn observe_ack(
        &mut self,
        view: &AssocView<'_>,
        path: &PathView,
        ev: &AckedInfo,
        w: &mut PathWindow,
    ) {
        let curve = self.paths.value_of(path.id);
        if w.slow_start() {
            curve.stage = None;
        }
        if let Some(stage) = &mut curve.stage {
            if w.was_full(ev) && !stage.idle {
                stage.elapsed = stage.elapsed.saturating_add(view.now.since(stage.heard));
            }
            (stage.heard, stage.idle) = (view.now, ev.outstanding == 0);
        }
    }

    fn windows_after_loss(
        &self,
        _view: &AssocView<'_>,
        path: &PathView,
        kind: LossKind,
        mtu: u64,
        floor_mtus: u64,
    ) -> Cut {
        let left = (path.cwnd as f64 * BETA).round() as u64;
        Cut::to(left.max(floor_mtus * mtu), kind, mtu)
    }

    fn on_lost(&mut self, _view: &AssocView<'_>, path: &PathView, kind: LossKind, cut: Cut) {
        let known = self.paths.get(path.id).copied();
        self.before_timeout.remember(path, kind, cut, known);
        let (edition, fast_convergence) = (self.edition, self.fast_convergence);
        let curve = self.paths.value_of(path.id);
        let cwnd = path.cwnd as f64;
        curve.stage = None;
        curve.cwnd_prior = cwnd;
        match kind {
            LossKind::FastRetransmit => curve.remember_loss(edition, fast_convergence, cwnd),
            LossKind::Timeout => curve.w_max = None,
        }
    }

    fn on_spurious_timeout(&mut self, path: PathId) {
        if let Some(before) = self.before_timeout.take(path) {
            let curve = self.paths.value_of(path);
            *curve = before;
            // The silence before the timeout is no time on the curve.
            if let Some(stage) = &mut curve.stage {
                stage.idle = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{acked, measured};
    use proptest::prelude::*;

    const MTU: u64 = 1000;

    /// One path with an MTU of 1000 bytes that is always full.
    struct Path {
        rule: Cubic,
        w: PathWindow,
        now: Time,
        rtt: u64,
    }

    impl Path {
        fn new(edition: CubicRfc, packets: u64, rtt: u64) -> Self {
            let rule = Cubic::new(edition, true);
            Self { rule, w: PathWindow::new(packets * MTU, 1), now: Time::ZERO, rtt }
        }

        fn views(&self) -> Vec<PathView> {
            measured(&[(self.w.cwnd, self.rtt)])
        }

        fn lose(&mut self, kind: LossKind) {
            let p = self.views();
            let view = AssocView::new(self.now, &p);
            let cut = self.rule.windows_after_loss(&view, &p[0], kind, MTU, 2);
            self.rule.on_lost(&view, &p[0], kind, cut);
            // The engine leaves slow start with the first step beyond ssthresh.
            self.w = PathWindow::new(cut.cwnd.max(cut.ssthresh), cut.ssthresh - 1);
        }

        /// `ms` later a packet is acknowledged, of a window that was full or half full.
        fn ack(&mut self, ms: u64, full: bool) {
            self.now += Duration::from_millis(ms);
            let p = self.views();
            let view = AssocView::new(self.now, &p);
            let before = if full { self.w.cwnd } else { self.w.cwnd / 2 };
            let ev = acked(PathId(0), MTU, before);
            self.rule.observe_ack(&view, &p[0], &ev, &mut self.w);
            let unit = CwndStep { mtu: MTU, limit: MTU };
            self.rule.grow_in_avoidance(&view, &p[0], &ev, unit, &mut self.w);
        }

        fn curve(&self) -> Curve {
            *self.rule.paths.get(PathId(0)).expect("met")
        }

        fn k(&self) -> f64 {
            self.curve().stage.expect("in congestion avoidance").k
        }
    }

    #[test]
    fn a_spurious_timeout_is_undone() {
        let mut p = Path::new(CubicRfc::Rfc9438, 100, 100);
        p.lose(LossKind::FastRetransmit);
        (0..50).for_each(|_| p.ack(2, true));
        let (before, window) = (p.curve(), p.w);
        p.lose(LossKind::Timeout);
        // The second expiry finds one MTU, which is all that it leaves.
        p.w.cwnd = MTU;
        p.lose(LossKind::Timeout);
        assert_eq!(p.curve().w_max, None);
        p.now += Duration::from_secs(1);
        p.rule.on_spurious_timeout(PathId(0));
        p.w = window;
        p.ack(2, true);
        let (stage, old) = (p.curve().stage.expect("kept"), before.stage.expect("in avoidance"));
        assert_eq!((stage.w_max, stage.k), (old.w_max, old.k));
        assert_eq!(stage.elapsed, old.elapsed, "the silence does not count");
        p.ack(2, true);
        assert_eq!(
            p.curve().stage.map(|s| s.elapsed),
            Some(old.elapsed + Duration::from_millis(2))
        );
        p.rule.on_spurious_timeout(PathId(0));
        assert_eq!(p.curve().w_max, before.w_max, "only once");
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_the_curve_returns_to_w_max_after_k() {
        for edition in [CubicRfc::Rfc8312, CubicRfc::Rfc9438] {
            let mut path = Path::new(edition, 1000, 10);
            path.lose(LossKind::FastRetransmit);
            assert_eq!(path.w.cwnd, 700_000);
            path.ack(0, true);
            // ∛(300 packets / 0.4) = ∛750 = 9.0856 s, in both editions.
            assert!((path.k() - 9.0856).abs() < 1e-4, "{}", path.k());
            let stage = path.curve().stage.expect("in congestion avoidance");
            assert!((stage.window_at(0.0, 1000.0) - 700_000.0).abs() < 1e-3);
            assert!((stage.window_at(stage.k, 1000.0) - 1_000_000.0).abs() < 1e-3);
            // A second later: 0.4 x 1000 x 1.
            assert!((stage.window_at(stage.k + 1.0, 1000.0) - 1_000_400.0).abs() < 1e-3);
        }
    }

    #[test]
    fn an_ack_moves_the_window_towards_the_target() {
        let mut path = Path::new(CubicRfc::Rfc9438, 1000, 100);
        path.lose(LossKind::FastRetransmit);
        path.ack(0, true);
        // Reno's window is ahead at first: 1000 x 0.529 / 700 = 0.756.
        assert_eq!(path.w.cwnd, 700_000);
        path.ack(100, true);
        // W(0.1) = 1e6 - 400 x 8.9856³ = 709,797 is ahead of it; W(0.2) = 719,380: 1000 x 19,379 /
        // 700,001 = 27.7.
        assert_eq!(path.w.cwnd, 700_028);
    }

    #[test]
    fn small_windows_follow_reno() {
        let mut path = Path::new(CubicRfc::Rfc9438, 10, 10);
        path.lose(LossKind::FastRetransmit);
        path.ack(0, true);
        // α = 0.9/1.7 = 0.529: 1000 x 0.529 / 7 = 75.6; the curve would have added 34 (W(0.01) =
        // 7240).
        assert_eq!(path.w.cwnd, 7075);
        let mut old = Path::new(CubicRfc::Rfc8312, 10, 10);
        old.lose(LossKind::FastRetransmit);
        old.ack(0, true);
        old.ack(10, true);
        // One RTT: 10,000 x 0.7 + 529.
        assert_eq!(old.w.cwnd, 7529);
    }

    #[test]
    fn reno_pace_once_the_old_window_is_reached() {
        let mut path = Path::new(CubicRfc::Rfc9438, 10, 10);
        path.lose(LossKind::FastRetransmit);
        while path.w.cwnd < 10_000 {
            path.ack(1, true);
        }
        // A window of 10 packets acknowledged: about one packet.
        let before = path.w.cwnd;
        for _ in 0..10 {
            path.ack(1, true);
        }
        assert!((930..=1000).contains(&(path.w.cwnd - before)), "{}", path.w.cwnd - before);
    }

    #[test]
    fn fast_convergence_aims_lower() {
        for edition in [CubicRfc::Rfc8312, CubicRfc::Rfc9438] {
            let mut path = Path::new(edition, 1000, 10);
            path.lose(LossKind::FastRetransmit);
            assert_eq!(path.curve().w_max, Some(1_000_000.0));
            path.w.cwnd = 800_000;
            path.lose(LossKind::FastRetransmit);
            assert_eq!(path.curve().w_max, Some(680_000.0), "800,000 x 0.85");
            // 700,000: below what RFC 8312 remembers (800,000), above what RFC 9438 does (680,000).
            path.w.cwnd = 700_000;
            path.lose(LossKind::FastRetransmit);
            let expected = match edition {
                CubicRfc::Rfc8312 => 595_000.0,
                CubicRfc::Rfc9438 => 700_000.0,
            };
            assert_eq!(path.curve().w_max, Some(expected));
        }
    }

    #[test]
    fn after_a_timeout_and_before_a_loss_the_curve_is_level_at_its_beginning() {
        let mut path = Path::new(CubicRfc::Rfc9438, 100, 10);
        path.ack(0, true);
        assert_eq!((path.k(), path.curve().w_max), (0.0, Some(100_000.0)));
        path.lose(LossKind::FastRetransmit);
        path.ack(0, true);
        assert!(path.k() > 4.0);
        path.lose(LossKind::Timeout);
        path.ack(0, true);
        assert_eq!(path.k(), 0.0);
    }

    #[test]
    fn a_timeout_leaves_one_mtu_and_the_floor_holds() {
        let rule = Cubic::new(CubicRfc::Rfc9438, true);
        let p = measured(&[(100_000, 10), (3000, 10)]);
        let view = AssocView::new(Time::ZERO, &p);
        let cut = |i: usize, kind| rule.windows_after_loss(&view, &p[i], kind, 1500, 4);
        assert_eq!(cut(0, LossKind::Timeout), Cut { cwnd: 1500, ssthresh: 70_000 });
        assert_eq!(cut(1, LossKind::FastRetransmit), Cut { cwnd: 6000, ssthresh: 6000 });
    }

    #[test]
    fn time_stands_still_while_the_window_is_not_full() {
        let elapsed = |path: &Path| path.curve().stage.map(|s| s.elapsed);
        let mut path = Path::new(CubicRfc::Rfc9438, 1000, 10);
        path.lose(LossKind::FastRetransmit);
        path.ack(5, true);
        path.ack(5, true);
        assert_eq!(elapsed(&path), Some(Duration::from_millis(5)));
        let cwnd = path.w.cwnd;
        path.ack(60_000, false);
        assert_eq!((elapsed(&path), path.w.cwnd), (Some(Duration::from_millis(5)), cwnd));
        path.ack(5, true);
        assert_eq!(elapsed(&path), Some(Duration::from_millis(10)));
    }

    #[test]
    fn an_empty_path_is_idle() {
        let mut path = Path::new(CubicRfc::Rfc9438, 1000, 10);
        path.lose(LossKind::FastRetransmit);
        path.ack(5, true);
        let p = path.views();
        let ev = AckedInfo { outstanding: 0, ..acked(PathId(0), MTU, path.w.cwnd) };
        path.rule.observe_ack(&AssocView::new(path.now, &p), &p[0], &ev, &mut path.w);
        path.ack(60_000, true);
        assert_eq!(path.curve().stage.map(|s| s.elapsed), Some(Duration::ZERO));
    }

    proptest! {
        /// A SACK adds at most slow start's limit, never takes away, and a loss leaves at least the
        /// floor.
        #[test]
        fn between_the_floor_and_slow_start(
            old in any::<bool>(),
            packets in 1u64..5000,
            rtt in 1u64..1000,
            steps in prop::collection::vec((0u64..3000, 0u8..20), 1..200),
        ) {
            let edition = if old { CubicRfc::Rfc8312 } else { CubicRfc::Rfc9438 };
            let mut path = Path::new(edition, packets, rtt);
            for (ms, what) in steps {
                let before = path.w.cwnd;
                match what {
                    0 => path.lose(LossKind::FastRetransmit),
                    1 => path.lose(LossKind::Timeout),
                    _ => {
                        path.ack(ms, what > 4);
                        prop_assert!(path.w.cwnd >= before && path.w.cwnd <= before + MTU);
                    }
                }
                prop_assert!(path.w.cwnd >= 2 * MTU || path.w.cwnd >= before);
            }
        }

        /// RFC 9438 section 4.3: a window that is always full grows at least as fast as AIMD with
        /// the same β.
        #[test]
        fn at_least_as_fast_as_reno_with_the_same_beta(packets in 5u64..500, rtt in 1u64..500) {
            let mut path = Path::new(CubicRfc::Rfc9438, packets, rtt);
            path.lose(LossKind::FastRetransmit);
            let start = path.w.cwnd;
            let acks = 20 * path.w.cwnd / MTU;
            let mut reno = start as f64;
            for _ in 0..acks {
                path.ack(rtt * MTU / path.w.cwnd, true);
                reno += ALPHA * 1e6 / path.w.cwnd as f64;
            }
            prop_assert!(path.w.cwnd as f64 + 2.0 >= reno, "{} below {reno}", path.w.cwnd);
        }
    }
}
