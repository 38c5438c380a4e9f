//! Which paths a congestion control couples: all, none, or those found to share a bottleneck.

use polypath_proto::PathId;
use polypath_proto::policy::{AckedInfo, CongestionControl, LossInfo, Policy};
use polypath_proto::view::AssocView;

use crate::PolicyError;
use crate::options::{OptionEntry, Options};
use crate::sharing::Detector;

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
pub enum Couple {
    /// None.
    Never,
    /// Those that are found to share a bottleneck.
    Detected,
    /// All.
    Always,
}

/// The choice in `options`.
pub(super) fn choice(options: &Options<'_>) -> Result<Couple, PolicyError> {
    let values =
        [("never", Couple::Never), ("detected", Couple::Detected), ("always", Couple::Always)];
    options.choice(NAME, &values)
}

/// `inner` with the groups that `couple` says.
pub(super) fn grouped(
    couple: Couple,
    inner: impl CongestionControl + 'static,
) -> Box<dyn CongestionControl> {
    match couple {
        Couple::Never => Box::new(inner),
        Couple::Detected => Box::new(Grouped { inner, groups: Detector::default() }),
        Couple::Always => Box::new(Grouped { inner, groups: OneGroup }),
    }
}

/// Who says which paths belong together.
trait Groups: core::fmt::Debug + Send {
    fn path_added(&mut self, _path: PathId) {}
    fn acked(&mut self, _view: &AssocView<'_>, _ev: &AckedInfo) {}
    fn group(&self, path: PathId) -> PathId;
}

/// All paths belong together.
#[derive(Clone, Copy, Debug)]
struct OneGroup;

impl Groups for OneGroup {
    fn group(&self, _path: PathId) -> PathId {
        PathId(0)
    }
}

impl Groups for Detector {
    fn path_added(&mut self, path: PathId) {
        Self::path_added(self, path);
    }

    fn acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) {
        Self::acked(self, view, ev);
    }

    fn group(&self, path: PathId) -> PathId {
        Self::group(self, path)
    }
}

/// A congestion control and its groups.
#[derive(Debug)]
struct Grouped<C, G> {
    inner: C,
    groups: G,
}

impl<C: CongestionControl, G: Groups> Policy for Grouped<C, G> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        self.inner.state()
    }
}

impl<C: CongestionControl, G: Groups> CongestionControl for Grouped<C, G> {
    fn path_added(&mut self, view: &AssocView<'_>, path: PathId) {
        self.groups.path_added(path);
        self.inner.path_added(view, path);
    }

    fn acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) {
        self.groups.acked(view, ev);
        self.inner.acked(view, ev);
    }

    fn lost(&mut self, view: &AssocView<'_>, ev: &LossInfo) {
        self.inner.lost(view, ev);
    }

    fn spurious(&mut self, view: &AssocView<'_>, path: PathId) {
        self.inner.spurious(view, path);
    }

    fn sack_done(&mut self, view: &AssocView<'_>) {
        self.inner.sack_done(view);
    }

    fn idle(&mut self, view: &AssocView<'_>, path: PathId) {
        self.inner.idle(view, path);
    }

    fn resumed(&mut self, view: &AssocView<'_>, path: PathId, mtus: u32) {
        self.inner.resumed(view, path, mtus);
    }

    fn pacing_rate(&self, view: &AssocView<'_>, path: PathId) -> Option<u64> {
        self.inner.pacing_rate(view, path)
    }

    fn group(&self, path: PathId) -> PathId {
        self.groups.group(path)
    }

    fn cwnd(&self, path: PathId) -> u64 {
        self.inner.cwnd(path)
    }

    fn ssthresh(&self, path: PathId) -> u64 {
        self.inner.ssthresh(path)
    }
}
