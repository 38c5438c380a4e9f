//! State that a congestion control keeps for each path.

use polypath_proto::PathId;
use polypath_proto::policy::Cut;
use polypath_proto::view::{LossKind, PathView};

/// A value for each path; a path that was not met before has the default.
#[derive(Clone, Debug, Default)]
pub(super) struct PerPath<T>(Vec<T>);

impl<T: Clone + Default> PerPath<T> {
    /// No path met yet.
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value of `path`, if there is one.
    pub(super) fn get(&self, path: PathId) -> Option<&T> {
        self.0.get(path.index())
    }

    /// The value of `path`, to be changed.
    #[expect(clippy::indexing_slicing, reason = "the list is as long as the index asks")]
    pub(super) fn value_of(&mut self, path: PathId) -> &mut T {
        let index = path.index();
        if self.0.len() <= index {
            // Paths are few, and idle associations many: no room for paths to come.
            self.0.reserve_exact(index + 1 - self.0.len());
            self.0.resize(index + 1, T::default());
        }
        &mut self.0[index]
    }
}

/// What was known of each path before the first timeout in a row. If that timeout proves spurious
/// (F-RTO, RFC 5682), it holds again.
#[derive(Clone, Debug, Default)]
pub(super) struct BeforeTimeout<T>(PerPath<Option<T>>);

impl<T: Clone> BeforeTimeout<T> {
    /// No timeout yet.
    pub(super) const fn new() -> Self {
        Self(PerPath(Vec::new()))
    }

    /// A loss is about to change `known`. A later timeout of the same row finds a window that the
    /// first one has cut, and nothing worth keeping; a fast retransmit in between makes what was
    /// kept obsolete.
    pub(super) fn remember(&mut self, path: &PathView, kind: LossKind, cut: Cut, known: Option<T>) {
        let before = self.0.value_of(path.id);
        match kind {
            LossKind::FastRetransmit => *before = None,
            LossKind::Timeout if path.cwnd > cut.cwnd => *before = known,
            LossKind::Timeout => {}
        }
    }

    /// The latest timeout of `path` was spurious: what was known before the first of its row, once.
    pub(super) fn take(&mut self, path: PathId) -> Option<T> {
        self.0.value_of(path).take()
    }
}
