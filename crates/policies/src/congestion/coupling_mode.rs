//! Which paths a congestion control couples: all, none, or those found to share a bottleneck.

use core::num::NonZeroU64;

use polypath_proto::PathId;
use polypath_proto::policy::{AckedInfo, CongestionControl, LossInfo, Policy};
use polypath_proto::view::{AssocView, LossKind, LostTransmission, RateSample};

use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;
use crate::shared_bottleneck::Detector;

const NAME: &str = "couple";
const VALUES: &str = "never|detected|always";
const SUMMARY: &str = "couple no paths, those that are found to share a bottleneck, or all of them";

/// The option of a control that is uncoupled unless asked.
pub(super) const NEVER: OptionEntry =
    OptionEntry { name: NAME, default: "never", values: VALUES, summary: SUMMARY };
/// The option of a control whose nature is to couple.
pub(super) const ALWAYS: OptionEntry =
    OptionEntry { name: NAME, default: "always", values: VALUES, summary: SUMMARY };

/// Which paths are coupled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CouplingMode {
    /// None.
    Never,
    /// Those that are found to share a bottleneck.
    Detected,
    /// All.
    Always,
}

/// The choice in `options`.
pub(super) fn read_mode(options: &Options<'_>) -> Result<CouplingMode, PolicyError> {
    let values = [
        ("never", CouplingMode::Never),
        ("detected", CouplingMode::Detected),
        ("always", CouplingMode::Always),
    ];
    options.choice(NAME, &values)
}

/// `inner` with the groups that `couple` says.
pub(super) fn with_groups(
    couple: CouplingMode,
    inner: impl CongestionControl + 'static,
) -> Box<dyn CongestionControl> {
    match couple {
        CouplingMode::Never => Box::new(inner),
        CouplingMode::Detected => Box::new(Grouped { inner, groups: Detector::default() }),
        CouplingMode::Always => Box::new(Grouped { inner, groups: OneGroup }),
    }
}

/// Who says which paths belong together.
trait Groups: core::fmt::Debug + Send {
    fn path_added(&mut self, _path: PathId) {}
    fn on_acked(&mut self, _view: &AssocView<'_>, _ev: &AckedInfo) {}
    fn group_of(&self, path: PathId) -> PathId;

    /// The next path that was found to belong to others.
    fn take_joined(&mut self) -> Option<PathId> {
        None
    }

    /// What may be in flight on `path` for the sake of finding out.
    fn test_limit(&self, _path: PathId) -> Option<u64> {
        None
    }

    /// Whether any path has such a limit.
    fn limits_any(&self) -> bool {
        false
    }
}

/// All paths belong together.
#[derive(Clone, Copy, Debug)]
struct OneGroup;

impl Groups for OneGroup {
    fn group_of(&self, _path: PathId) -> PathId {
        PathId(0)
    }
}

impl Groups for Detector {
    fn path_added(&mut self, path: PathId) {
        Self::path_added(self, path);
    }

    fn on_acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) {
        Self::on_acked(self, view, ev);
    }

    fn group_of(&self, path: PathId) -> PathId {
        Self::group_of(self, path)
    }

    fn take_joined(&mut self) -> Option<PathId> {
        Self::take_joined(self)
    }

    fn test_limit(&self, path: PathId) -> Option<u64> {
        Self::test_limit(self, path)
    }

    fn limits_any(&self) -> bool {
        Self::limits_any(self)
    }
}

/// A congestion control and its groups.
#[derive(Debug)]
struct Grouped<C, G> {
    inner: C,
    groups: G,
}

impl<C: CongestionControl, G: Groups> Grouped<C, G> {
    /// Lets the control see its own windows, not what a trial leaves of them.
    fn with_windows<R>(
        &mut self,
        view: &AssocView<'_>,
        act: impl FnOnce(&mut C, &AssocView<'_>) -> R,
    ) -> R {
        if !self.groups.limits_any() {
            return act(&mut self.inner, view);
        }
        let mut paths = view.paths.to_vec();
        for path in &mut paths {
            path.cwnd = self.inner.cwnd(path.id);
        }
        let mut whole = *view;
        whole.paths = &paths;
        act(&mut self.inner, &whole)
    }
}

impl<C: CongestionControl, G: Groups> Policy for Grouped<C, G> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn trace_values(&self) -> Vec<(&'static str, f64)> {
        self.inner.trace_values()
    }
}

impl<C: CongestionControl, G: Groups> CongestionControl for Grouped<C, G> {
    fn path_added(&mut self, view: &AssocView<'_>, path: PathId) {
        self.groups.path_added(path);
        self.inner.path_added(view, path);
    }

    fn on_acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) {
        self.groups.on_acked(view, ev);
        self.with_windows(view, |inner, view| inner.on_acked(view, ev));
        // So far each had a share of its own. A group takes one.
        while let Some(path) = self.groups.take_joined() {
            let ev = LossInfo { path, kind: LossKind::FastRetransmit };
            self.with_windows(view, |inner, view| inner.on_lost(view, &ev));
        }
    }

    fn on_rate_sample(&mut self, view: &AssocView<'_>, path: PathId, sample: &RateSample) {
        self.with_windows(view, |inner, view| inner.on_rate_sample(view, path, sample));
    }

    fn on_transmission_lost(
        &mut self,
        view: &AssocView<'_>,
        path: PathId,
        lost: &LostTransmission,
    ) {
        self.with_windows(view, |inner, view| inner.on_transmission_lost(view, path, lost));
    }

    fn on_silent(&mut self, view: &AssocView<'_>, path: PathId) {
        self.with_windows(view, |inner, view| inner.on_silent(view, path));
    }

    fn on_restart(&mut self, view: &AssocView<'_>, path: PathId, is_app_limited: bool) {
        self.with_windows(view, |inner, view| inner.on_restart(view, path, is_app_limited));
    }

    fn is_rate_based(&self) -> bool {
        self.inner.is_rate_based()
    }

    fn bandwidth(&self, path: PathId) -> Option<NonZeroU64> {
        self.inner.bandwidth(path)
    }

    fn holds_back(&self, path: PathId) -> bool {
        self.inner.holds_back(path)
    }

    fn phase(&self, path: PathId) -> Option<&'static str> {
        self.inner.phase(path)
    }

    fn on_lost(&mut self, view: &AssocView<'_>, ev: &LossInfo) {
        self.with_windows(view, |inner, view| inner.on_lost(view, ev));
    }

    fn on_spurious_timeout(&mut self, view: &AssocView<'_>, path: PathId) {
        self.with_windows(view, |inner, view| inner.on_spurious_timeout(view, path));
    }

    fn sack_done(&mut self, view: &AssocView<'_>) {
        self.with_windows(view, |inner, view| inner.sack_done(view));
    }

    fn on_idle(&mut self, view: &AssocView<'_>, path: PathId) {
        self.with_windows(view, |inner, view| inner.on_idle(view, path));
    }

    fn on_resumed(&mut self, view: &AssocView<'_>, path: PathId, mtus: u32) {
        self.with_windows(view, |inner, view| inner.on_resumed(view, path, mtus));
    }

    fn pacing_rate(&self, view: &AssocView<'_>, path: PathId) -> Option<u64> {
        self.inner.pacing_rate(view, path)
    }

    fn group_of(&self, path: PathId) -> PathId {
        self.groups.group_of(path)
    }

    fn cwnd(&self, path: PathId) -> u64 {
        let window = self.inner.cwnd(path);
        self.groups.test_limit(path).map_or(window, |limit| limit.min(window))
    }

    fn ssthresh(&self, path: PathId) -> u64 {
        self.inner.ssthresh(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{acked, measured, view};
    use polypath_proto::config::CcConfig;
    use polypath_proto::policy::{ClassicCc, Rfc9260Rule};

    /// Path 1 is held at 20 kB; path 0 was found to belong to others.
    #[derive(Debug)]
    struct Held(Option<PathId>);

    impl Groups for Held {
        fn group_of(&self, path: PathId) -> PathId {
            path
        }
        fn take_joined(&mut self) -> Option<PathId> {
            self.0.take()
        }
        fn test_limit(&self, path: PathId) -> Option<u64> {
            (path == PathId(1)).then_some(20_000)
        }
        fn limits_any(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_trial_limits_what_is_seen_of_a_window_and_a_group_divides_it() {
        let inner = ClassicCc::new(Rfc9260Rule, CcConfig::default());
        let mut cc = Grouped { inner, groups: Held(Some(PathId(0))) };
        let mut paths = measured(&[(4_404, 50), (4_404, 50)]);
        (0..2).for_each(|p| cc.path_added(&view(&paths), PathId(p)));
        for _ in 0..40 {
            for (p, path) in paths.iter_mut().enumerate() {
                path.cwnd = cc.inner.cwnd(PathId(p as u8));
            }
            let window = cc.inner.cwnd(PathId(1));
            cc.inner.on_acked(&view(&paths), &acked(PathId(0), 1_468, window));
            cc.inner.on_acked(&view(&paths), &acked(PathId(1), 1_468, window));
        }
        let whole = cc.inner.cwnd(PathId(1));
        assert_eq!((cc.cwnd(PathId(0)), cc.cwnd(PathId(1))), (whole, 20_000));
        // The views have what is seen; the loss cuts what is there, once.
        paths[1].cwnd = 20_000;
        cc.on_acked(&view(&paths), &acked(PathId(1), 0, 0));
        assert_eq!((cc.cwnd(PathId(0)), cc.inner.cwnd(PathId(1))), (whole / 2, whole));
        let loss = LossInfo { path: PathId(1), kind: LossKind::FastRetransmit };
        cc.on_lost(&view(&paths), &loss);
        assert_eq!(cc.inner.cwnd(PathId(1)), whole / 2);
    }
}
