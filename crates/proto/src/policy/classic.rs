//! The classic engine of RFC 9260 section 7.2: slow start, byte counting, one cut per window.
//!
//! Most controllers differ only in how much a window grows and shrinks: that is a [`WindowRule`]. A
//! rule that measures, or that grows otherwise than by one step per window, overrides the hooks;
//! their provided bodies are RFC 9260.

use super::common::Policy;
use super::congestion::{AckedInfo, CongestionControl, LossInfo};
use super::congestion_config::{CcConfig, InitialSsthresh};
use crate::ids::PathId;
use crate::time::Time;
use crate::view::{AssocView, LossKind, PathView};

/// How windows grow and shrink. Sizes in bytes; `mtu` is the unit that [`CcConfig::unit`] chose.
pub trait WindowRule: Send + core::fmt::Debug {
    /// The name of the whole controller.
    fn name(&self) -> &'static str;

    /// The initial window, given the one of a single path and the number of paths.
    fn initial_window(&self, single: u64, _paths: usize, _mtu: u64) -> u64 {
        single
    }

    /// Growth in slow start after `acked` bytes (`limit`: at most this much, L of RFC 3465 times
    /// the MTU).
    fn slow_start(&self, _view: &AssocView<'_>, _path: &PathView, acked: u64, limit: u64) -> u64 {
        acked.min(limit)
    }

    /// Growth in congestion avoidance, per fully acknowledged window.
    fn avoidance_growth(&self, _view: &AssocView<'_>, _path: &PathView, mtu: u64) -> u64 {
        mtu
    }

    /// Congestion avoidance on one acknowledgement: one step per fully acknowledged window that was
    /// in use (RFC 9260 section 7.2.2). `unit.limit` is for rules that grow with every
    /// acknowledgement.
    fn grow_in_avoidance(
        &mut self,
        view: &AssocView<'_>,
        path: &PathView,
        ev: &AckedInfo,
        unit: CwndStep,
        w: &mut PathWindow,
    ) {
        if w.full_window_acked(ev) {
            w.cwnd = w.cwnd.saturating_add(self.avoidance_growth(view, path, unit.mtu));
        }
    }

    /// `path` joins, or starts anew: forget what was measured on it.
    fn path_added(&mut self, _path: PathId) {}

    /// A SACK acknowledged data of `path`, whether or not the window may grow by it; called before
    /// it grows. A rule that ends slow start by itself lowers `w.ssthresh` here.
    fn observe_ack(
        &mut self,
        _view: &AssocView<'_>,
        _path: &PathView,
        _ev: &AckedInfo,
        _w: &mut PathWindow,
    ) {
    }

    /// `path` lost data; `cut` is what [`windows_after_loss`](Self::windows_after_loss) just
    /// answered.
    fn on_lost(&mut self, _view: &AssocView<'_>, _path: &PathView, _kind: LossKind, _cut: Cut) {}

    /// The timeout that `path` suffered was spurious, and its windows are restored: take back what
    /// [`on_lost`](Self::on_lost) did at the first expiry in a row, the one that found more than
    /// its cut left.
    fn on_spurious_timeout(&mut self, _path: PathId) {}

    /// The windows after a loss; `floor_mtus` is the smallest ssthresh in MTUs (RFC 9260: 4).
    fn windows_after_loss(
        &self,
        view: &AssocView<'_>,
        path: &PathView,
        kind: LossKind,
        mtu: u64,
        floor_mtus: u64,
    ) -> Cut;
}

/// The windows after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// New congestion window.
    pub cwnd: u64,
    /// New slow start threshold.
    pub ssthresh: u64,
}

impl Cut {
    /// The usual pair: after a fast retransmit cwnd becomes ssthresh, after a timeout one MTU.
    pub const fn to(ssthresh: u64, kind: LossKind, mtu: u64) -> Self {
        let cwnd = match kind {
            LossKind::FastRetransmit => ssthresh,
            LossKind::Timeout => mtu,
        };
        Self { cwnd, ssthresh }
    }
}

/// RFC 9260 section 7.2 on each path by itself ("rfc9260").
#[derive(Clone, Copy, Debug, Default)]
pub struct Rfc9260Rule;

impl WindowRule for Rfc9260Rule {
    fn name(&self) -> &'static str {
        "rfc9260"
    }

    fn windows_after_loss(
        &self,
        _view: &AssocView<'_>,
        path: &PathView,
        kind: LossKind,
        mtu: u64,
        floor_mtus: u64,
    ) -> Cut {
        Cut::to((path.cwnd / 2).max(floor_mtus * mtu), kind, mtu)
    }
}

/// The units of growth, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CwndStep {
    /// The MTU of the window formulas.
    pub mtu: u64,
    /// Growth per SACK in slow start, at most.
    pub limit: u64,
}

/// One path's windows, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathWindow {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow start threshold.
    pub ssthresh: u64,
    partial_bytes_acked: u64,
    /// ssthresh was set to cwnd at the beginning of an idle period.
    idle: bool,
    /// It counts as in use until then, for it was full.
    in_use_until: Time,
    /// It counts as in use by the SACK at hand.
    in_use: bool,
}

impl PathWindow {
    /// Windows of these sizes; for tests of rules.
    pub const fn new(cwnd: u64, ssthresh: u64) -> Self {
        Self {
            cwnd,
            ssthresh,
            partial_bytes_acked: 0,
            idle: false,
            in_use_until: Time::ZERO,
            in_use: false,
        }
    }

    /// Whether the path is in slow start (RFC 9260 section 7.2.1: cwnd <= ssthresh).
    pub const fn slow_start(&self) -> bool {
        self.cwnd <= self.ssthresh
    }

    /// Whether the window was in use when the acknowledged data was on its way.
    pub const fn was_full(&self, ev: &AckedInfo) -> bool {
        self.in_use || ev.outstanding_before >= self.cwnd
    }

    /// A SACK comes; a window that it finds full is in use for the path's round trip from now on.
    fn note_use(&mut self, now: Time, path: &PathView, ev: &AckedInfo) {
        if ev.outstanding_before >= self.cwnd {
            self.in_use_until = now + path.srtt.unwrap_or(path.rto);
        }
        self.in_use = now < self.in_use_until;
    }

    /// Counts the bytes that `ev` acknowledged; true once per window of them, while the window is
    /// in use (RFC 9260 section 7.2.2).
    pub fn full_window_acked(&mut self, ev: &AckedInfo) -> bool {
        let full = self.was_full(ev);
        self.partial_bytes_acked += ev.bytes;
        if self.partial_bytes_acked >= self.cwnd && full {
            self.partial_bytes_acked -= self.cwnd;
            return true;
        }
        self.partial_bytes_acked = self.partial_bytes_acked.min(self.cwnd);
        false
    }
}

/// The engine around a [`WindowRule`].
#[derive(Debug)]
pub struct ClassicCc<R> {
    rule: R,
    config: CcConfig,
    windows: Vec<PathWindow>,
    /// The windows before the first timeout in a row, should it prove spurious.
    before_timeout: Vec<Option<PathWindow>>,
}

impl<R: WindowRule> ClassicCc<R> {
    /// An engine without paths yet.
    pub const fn new(rule: R, config: CcConfig) -> Self {
        Self { rule, config, windows: Vec::new(), before_timeout: Vec::new() }
    }

    /// Keeps the windows that a timeout is about to cut; later ones of the same row find nothing
    /// left to cut.
    fn remember(&mut self, ev: &LossInfo, cut: Cut) {
        let window = self.window(ev.path);
        if self.before_timeout.len() <= ev.path.index() {
            self.before_timeout.resize(ev.path.index() + 1, None);
        }
        let Some(before) = self.before_timeout.get_mut(ev.path.index()) else { return };
        match ev.kind {
            LossKind::FastRetransmit => *before = None,
            LossKind::Timeout if window.cwnd > cut.cwnd => *before = Some(window),
            LossKind::Timeout => {}
        }
    }

    fn window(&self, path: PathId) -> PathWindow {
        self.windows.get(path.index()).copied().unwrap_or_default()
    }

    fn initial_cwnd(&self, view: &AssocView<'_>, path: &PathView) -> u64 {
        let (mtu, single) = (self.config.mtu(path), self.config.initial_window(path));
        self.rule.initial_window(single, view.paths.len(), mtu).max(1)
    }

    fn grow(&mut self, view: &AssocView<'_>, path: &PathView, ev: &AckedInfo) {
        let mtu = self.config.mtu(path);
        let limit = self.config.most_growth(mtu, ev.bytes);
        let Some(w) = self.windows.get_mut(ev.path.index()) else { return };
        if !w.slow_start() {
            self.rule.grow_in_avoidance(view, path, ev, CwndStep { mtu, limit }, w);
        } else if w.was_full(ev) {
            w.cwnd = w.cwnd.saturating_add(self.rule.slow_start(view, path, ev.bytes, limit));
        }
    }
}

impl<R: WindowRule> Policy for ClassicCc<R> {
    fn name(&self) -> &'static str {
        self.rule.name()
    }
}

impl<R: WindowRule> CongestionControl for ClassicCc<R> {
    fn path_added(&mut self, view: &AssocView<'_>, path: PathId) {
        let Some(p) = view.path(path) else { return };
        let ssthresh = match self.config.initial_ssthresh {
            InitialSsthresh::PeerWindow => view.peer_rwnd_max,
            InitialSsthresh::Bytes(bytes) => bytes,
        };
        let cwnd = self.initial_cwnd(view, p);
        if self.windows.len() <= path.index() {
            self.windows.reserve_exact(path.index() + 1 - self.windows.len());
            self.windows.resize(path.index() + 1, PathWindow::default());
        }
        if let Some(w) = self.windows.get_mut(path.index()) {
            *w = PathWindow::new(cwnd, ssthresh);
        }
        self.rule.path_added(path);
    }

    fn on_acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) {
        let Some(path) = view.path(ev.path) else { return };
        if let Some(w) = self.windows.get_mut(ev.path.index()) {
            if self.config.full_for_round_trip {
                w.note_use(view.now, path, ev);
            }
            self.rule.observe_ack(view, path, ev, w);
        }
        if ev.may_grow {
            self.grow(view, path, ev);
        }
        if let Some(w) = self.windows.get_mut(ev.path.index()) {
            w.idle = false;
            if ev.outstanding == 0 {
                w.partial_bytes_acked = 0;
            }
        }
    }

    fn on_lost(&mut self, view: &AssocView<'_>, ev: &LossInfo) {
        let Some(path) = view.path(ev.path) else { return };
        let mtu = self.config.mtu(path);
        let cut = self.rule.windows_after_loss(
            view,
            path,
            ev.kind,
            mtu,
            u64::from(self.config.loss_floor_mtus),
        );
        self.remember(ev, cut);
        if let Some(w) = self.windows.get_mut(ev.path.index()) {
            *w = PathWindow::new(cut.cwnd, cut.ssthresh);
        }
        self.rule.on_lost(view, path, ev.kind, cut);
    }

    fn on_spurious_timeout(&mut self, _view: &AssocView<'_>, path: PathId) {
        let before = self.before_timeout.get_mut(path.index()).and_then(Option::take);
        if let Some((w, before)) = self.windows.get_mut(path.index()).zip(before) {
            // What grew since, grew for good.
            w.cwnd = w.cwnd.max(before.cwnd);
            w.ssthresh = before.ssthresh;
            self.rule.on_spurious_timeout(path);
        }
    }

    fn on_idle(&mut self, view: &AssocView<'_>, path: PathId) {
        // RFC 9260 section 7.2.1: halve per RTO, keep what was learnt in ssthresh.
        let Some(p) = view.path(path) else { return };
        let floor = 4 * self.config.mtu(p);
        let Some(w) = self.windows.get_mut(path.index()) else { return };
        if self.config.idle_halves_alone {
            // CwndDegradeTimerExpiration in ns-2's sctp.cc.
            if w.cwnd > floor / 2 {
                w.cwnd = (w.cwnd / 2).max(floor);
            }
            return;
        }
        if !w.idle {
            w.ssthresh = w.ssthresh.max(w.cwnd);
            w.idle = true;
        }
        w.cwnd = (w.cwnd / 2).max(floor.min(w.cwnd));
    }

    fn on_resumed(&mut self, view: &AssocView<'_>, path: PathId, mtus: u32) {
        let Some(p) = view.path(path) else { return };
        let cwnd = u64::from(mtus) * self.config.mtu(p);
        if let Some(w) = self.windows.get_mut(path.index()) {
            w.cwnd = cwnd;
            w.partial_bytes_acked = 0;
        }
    }

    /// A little more than a window per round trip, twice that in slow start, so that the window
    /// stays the limit and the rate only spreads it (the factors are Linux's).
    fn pacing_rate(&self, view: &AssocView<'_>, path: PathId) -> Option<u64> {
        let w = self.window(path);
        let rtt = view.path(path)?.srtt?.as_nanos().max(1);
        let percent = if w.slow_start() { 200 } else { 120 };
        let rate = u128::from(w.cwnd) * percent * 10_000_000 / rtt;
        Some(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
    }

    fn cwnd(&self, path: PathId) -> u64 {
        self.window(path).cwnd
    }

    fn ssthresh(&self, path: PathId) -> u64 {
        self.window(path).ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    fn path(cc: &ClassicCc<Rfc9260Rule>) -> PathView {
        let mut p = PathView::new(PathId(0), 1500, 1468, Duration::from_secs(1));
        p.cwnd = cc.cwnd(PathId(0));
        p.ssthresh = cc.ssthresh(PathId(0));
        p
    }

    fn engine() -> ClassicCc<Rfc9260Rule> {
        let mut cc = ClassicCc::new(Rfc9260Rule, CcConfig::default());
        let p = [PathView::new(PathId(0), 1500, 1468, Duration::from_secs(1))];
        let mut view = AssocView::new(Time::ZERO, &p);
        view.peer_rwnd_max = 20_000;
        cc.path_added(&view, PathId(0));
        cc
    }

    fn ack(cc: &mut ClassicCc<Rfc9260Rule>, bytes: u64, outstanding_before: u64) {
        ack_at(cc, Time::ZERO, bytes, outstanding_before);
    }

    fn ack_at(cc: &mut ClassicCc<Rfc9260Rule>, now: Time, bytes: u64, outstanding_before: u64) {
        let mut p = [path(cc)];
        p[0].srtt = Some(Duration::from_millis(100));
        let ev = AckedInfo {
            path: PathId(0),
            bytes,
            outstanding_before,
            outstanding: outstanding_before - bytes,
            may_grow: true,
            rtt: None,
            sack_path: PathId(0),
        };
        cc.on_acked(&AssocView::new(now, &p), &ev);
    }

    #[test]
    fn slow_start_needs_a_full_window_and_grows_by_one_pmdcs_at_most() {
        let mut cc = engine();
        assert_eq!(cc.cwnd(PathId(0)), 4404);
        ack(&mut cc, 2936, 4404);
        assert_eq!(cc.cwnd(PathId(0)), 4404 + 1468);
        ack(&mut cc, 1468, 4404);
        assert_eq!(cc.cwnd(PathId(0)), 4404 + 1468, "the window was not full");
    }

    #[test]
    fn a_window_that_was_full_is_in_use_for_a_round_trip_where_that_is_wanted() {
        for (wanted, grown) in [(false, [1, 1, 1]), (true, [1, 2, 2])] {
            let mut cc = engine();
            cc.config.full_for_round_trip = wanted;
            let times = [(1_000, 4404), (1_099, 2936), (1_100, 2936)];
            for ((ms, outstanding), times) in times.into_iter().zip(grown) {
                ack_at(&mut cc, Time::from_millis(ms), 1468, outstanding);
                assert_eq!(cc.cwnd(PathId(0)), 4404 + 1468 * times, "{wanted} at {ms} ms");
            }
        }
    }

    #[test]
    fn pacing_spreads_a_window_over_a_round_trip() {
        let cc = engine();
        let mut p = [path(&cc)];
        let rate = |p: &[PathView]| cc.pacing_rate(&AssocView::new(Time::ZERO, p), PathId(0));
        assert_eq!(rate(&p), None, "not measured yet");
        p[0].srtt = Some(Duration::from_millis(50));
        // Slow start: 2 x 4404 bytes per 50 ms.
        assert_eq!(rate(&p), Some(176_160));
        p[0].srtt = Some(Duration::ZERO);
        assert!(rate(&p).is_some());
    }

    #[test]
    fn avoidance_grows_once_per_window_and_losses_cut() {
        let mut cc = engine();
        for _ in 0..12 {
            let cwnd = cc.cwnd(PathId(0));
            ack(&mut cc, 1468, cwnd);
        }
        let above = cc.cwnd(PathId(0));
        assert!(above > 20_000, "left slow start");
        for _ in 0..(above.div_ceil(1468)) {
            ack(&mut cc, 1468, above);
        }
        assert_eq!(cc.cwnd(PathId(0)), above + 1468);
        let p = [path(&cc)];
        let view = AssocView::new(Time::ZERO, &p);
        cc.on_lost(&view, &LossInfo { path: PathId(0), kind: LossKind::FastRetransmit });
        assert_eq!(cc.cwnd(PathId(0)), (above + 1468) / 2);
        let p = [path(&cc)];
        let view = AssocView::new(Time::ZERO, &p);
        cc.on_lost(&view, &LossInfo { path: PathId(0), kind: LossKind::Timeout });
        assert_eq!((cc.cwnd(PathId(0)), cc.ssthresh(PathId(0))), (1468, 4 * 1468));
    }

    #[test]
    fn a_spurious_timeout_is_taken_back_to_before_the_first_in_a_row() {
        let mut cc = engine();
        for _ in 0..4 {
            let cwnd = cc.cwnd(PathId(0));
            ack(&mut cc, 1468, cwnd);
        }
        let before = (cc.cwnd(PathId(0)), cc.ssthresh(PathId(0)));
        let mut lose = |kind| {
            let p = [path(&cc)];
            cc.on_lost(&AssocView::new(Time::ZERO, &p), &LossInfo { path: PathId(0), kind });
        };
        lose(LossKind::Timeout);
        lose(LossKind::Timeout);
        assert_eq!(cc.cwnd(PathId(0)), 1468);
        cc.on_spurious_timeout(&AssocView::new(Time::ZERO, &[]), PathId(0));
        assert_eq!((cc.cwnd(PathId(0)), cc.ssthresh(PathId(0))), before);
        cc.on_spurious_timeout(&AssocView::new(Time::ZERO, &[]), PathId(0));
        assert_eq!((cc.cwnd(PathId(0)), cc.ssthresh(PathId(0))), before, "once");
    }

    #[test]
    fn ns2_sets_small_windows_to_four_mtus_and_forgets_what_was_halved() {
        let mut cc = engine();
        cc.config.idle_halves_alone = true;
        let mut idle = |cwnd| {
            cc.windows[0] = PathWindow::new(cwnd, 3000);
            let p = [path(&cc)];
            cc.on_idle(&AssocView::new(Time::ZERO, &p), PathId(0));
            (cc.cwnd(PathId(0)), cc.ssthresh(PathId(0)))
        };
        assert_eq!(idle(20_000), (10_000, 3000));
        assert_eq!(idle(3 * 1468), (4 * 1468, 3000));
        assert_eq!(idle(2 * 1468), (2 * 1468, 3000));
    }
}
