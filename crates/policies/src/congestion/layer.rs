//! Layers around a window rule: what changes a part of another rule's behaviour, such as its slow
//! start, says that part alone; everything else is handed on here.

use polypath_proto::PathId;
use polypath_proto::policy::{AckedInfo, Cut, CwndStep, PathWindow, WindowRule};
use polypath_proto::time::Time;
use polypath_proto::view::{AssocView, LossKind, PathView};

/// What a layer changes. Each default leaves the rule as it is.
pub trait RuleLayer: Send + core::fmt::Debug {
    /// What is left of a growth of `bytes` in slow start.
    fn scale_slow_start(&self, _path: PathId, bytes: u64) -> u64 {
        bytes
    }

    /// The window up to which congestion avoidance may grow by what is acknowledged, as slow start
    /// does, bytes; 0 leaves growth to the rule. Asked before the rule grows the window `w`.
    fn fast_growth_bound(
        &self,
        _now: Time,
        _path: &PathView,
        _ev: &AckedInfo,
        _w: &PathWindow,
    ) -> u64 {
        0
    }

    /// `path` joins, or starts anew.
    fn forget_path(&mut self, _path: PathId) {}

    /// A SACK acknowledged data of `path`; after the rule's own `measure`.
    fn note_ack(&mut self, _now: Time, _path: &PathView, _ev: &AckedInfo, _w: &mut PathWindow) {}

    /// `path` lost data, and the rule cuts its windows to `cut`.
    fn note_loss(&mut self, _now: Time, _path: &PathView, _kind: LossKind, _cut: Cut) {}

    /// The timeout that `path` suffered was spurious.
    fn undo_timeout(&mut self, _path: PathId) {}
}

/// A rule with a layer around it.
#[derive(Clone, Debug)]
pub struct Layered<L, R> {
    pub(super) layer: L,
    inner: R,
}

impl<L, R> Layered<L, R> {
    /// `layer` around `inner`.
    pub const fn new(layer: L, inner: R) -> Self {
        Self { layer, inner }
    }
}

impl<L: RuleLayer, R: WindowRule> WindowRule for Layered<L, R> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn initial_window(&self, single: u64, paths: usize, mtu: u64) -> u64 {
        self.inner.initial_window(single, paths, mtu)
    }

    fn slow_start(&self, view: &AssocView<'_>, path: &PathView, acked: u64, limit: u64) -> u64 {
        let growth = self.inner.slow_start(view, path, acked, limit);
        self.layer.scale_slow_start(path.id, growth)
    }

    fn avoidance_growth(&self, view: &AssocView<'_>, path: &PathView, mtu: u64) -> u64 {
        self.inner.avoidance_growth(view, path, mtu)
    }

    fn grow_in_avoidance(
        &mut self,
        view: &AssocView<'_>,
        path: &PathView,
        ev: &AckedInfo,
        unit: CwndStep,
        w: &mut PathWindow,
    ) {
        let bound = self.layer.fast_growth_bound(view.now, path, ev, w);
        self.inner.grow_in_avoidance(view, path, ev, unit, w);
        let more = ev.bytes.min(unit.limit);
        w.cwnd = w.cwnd.saturating_add(more.min(bound.saturating_sub(w.cwnd)));
    }

    fn path_added(&mut self, path: PathId) {
        self.inner.path_added(path);
        self.layer.forget_path(path);
    }

    fn observe_ack(
        &mut self,
        view: &AssocView<'_>,
        path: &PathView,
        ev: &AckedInfo,
        w: &mut PathWindow,
    ) {
        self.inner.observe_ack(view, path, ev, w);
        self.layer.note_ack(view.now, path, ev, w);
    }

    fn windows_after_loss(
        &self,
        view: &AssocView<'_>,
        path: &PathView,
        kind: LossKind,
        mtu: u64,
        floor_mtus: u64,
    ) -> Cut {
        self.inner.windows_after_loss(view, path, kind, mtu, floor_mtus)
    }

    fn on_lost(&mut self, view: &AssocView<'_>, path: &PathView, kind: LossKind, cut: Cut) {
        self.inner.on_lost(view, path, kind, cut);
        self.layer.note_loss(view.now, path, kind, cut);
    }

    fn on_spurious_timeout(&mut self, path: PathId) {
        self.inner.on_spurious_timeout(path);
        self.layer.undo_timeout(path);
    }
}
