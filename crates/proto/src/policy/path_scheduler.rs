//! Which path carries the next packet of new data?

use super::common::Policy;
use super::congestion::{AckedInfo, LossInfo};
use crate::ids::PathId;
use crate::time::{Duration, Time};
use crate::view::{AssocView, ChunkMeta, PathAdmin, PathState, PathView, RateSample};

/// How long a padded heartbeat took on a path that carries no data
/// ([`rate_probes`](crate::config::AssocConfig::rate_probes)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaddedTrip {
    /// Bytes of padding. The answer has none.
    pub bytes: u64,
    /// Its round trip.
    pub padded: Duration,
    /// That of the heartbeat before, which had none.
    pub unpadded: Duration,
}

/// Chooses the path of new data.
///
/// A *send attempt* (a round) begins when something happened that may allow sending:
/// [`begin_attempt`](Self::begin_attempt). The engine then asks [`pick_path`](Self::pick_path) for
/// each chunk until there is no data, no window or the policy waits, and closes with
/// [`end_attempt`](Self::end_attempt). `pick` may be asked several times about the same chunk; only
/// [`on_sent`](Self::on_sent) says that it went out. Paths with
/// [`sendable`](crate::view::PathView::sendable) set may be used; a path once unsendable stays so
/// until the round ends.
pub trait PathScheduler: Policy {
    /// A send attempt begins.
    fn begin_attempt(&mut self, _view: &AssocView<'_>, _why: Trigger) {}

    /// The send attempt is over.
    fn end_attempt(&mut self, _view: &AssocView<'_>) {}

    /// The path for `next`.
    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick;

    /// Whether what goes out on `path` now has the TSNs after the latest one there, although packets
    /// are paced: the engine writes them at once and holds each until its time, while other paths
    /// go on. Without it a path whose time has not come makes its data, and all behind it, wait.
    /// Where the congestion control names the rate this has no effect.
    fn keeps_tsns_together(&self, _path: PathId) -> bool {
        false
    }

    /// Bytes per second by which packets with DATA are spread on `path` at most, where packets are
    /// [paced](crate::config::AssocConfig::pacing) by its window; `None`: the window alone decides,
    /// and where the congestion control names the rate that does.
    fn pacing_rate(&self, _path: PathId) -> Option<u64> {
        None
    }

    /// How long until a packet of `bytes` that leaves on `path` now is acknowledged, for a
    /// scheduler that knows more of that than the view tells.
    fn expected_trip(
        &self,
        _view: &AssocView<'_>,
        _path: &PathView,
        _bytes: u32,
    ) -> Option<Duration> {
        None
    }

    /// `chunk` went out on `path`; the view includes it. `new_packet` says that it began a packet.
    fn on_sent(
        &mut self,
        _view: &AssocView<'_>,
        _path: PathId,
        _chunk: &ChunkMeta,
        _new_packet: bool,
    ) {
    }

    /// Further paths for `chunk`, which just went out on `path`: each carries a copy as soon as its
    /// window has room, unless the chunk is acknowledged before. Copies bypass
    /// [`pick_path`](Self::pick_path) and the buffer policy: they hold no buffer of their own.
    fn copy_paths(&self, _view: &AssocView<'_>, _path: PathId, _chunk: &ChunkMeta) -> Vec<PathId> {
        Vec::new()
    }

    /// Nothing waits to be sent, or the peer's window takes nothing. Another path for `bytes` that
    /// have been in flight on `from` since `sent`, if they would arrive sooner there; one with room
    /// in its window.
    fn pick_for_copy(
        &mut self,
        _view: &AssocView<'_>,
        _from: PathId,
        _sent: Time,
        _bytes: u32,
    ) -> Option<PathId> {
        None
    }

    /// A SACK gave a delivery-rate sample of `path`; before [`on_acked`](Self::on_acked).
    fn on_rate_sample(&mut self, _view: &AssocView<'_>, _path: PathId, _sample: &RateSample) {}

    /// A chunk that had been copied elsewhere arrived by `path`, too, after the copy: a SACK reported
    /// it as a duplicate. That took `trip`.
    fn on_overtaken(&mut self, _view: &AssocView<'_>, _path: PathId, _trip: Duration) {}

    /// A padded heartbeat was answered on a path that carries no data
    /// ([`rate_probes`](crate::config::AssocConfig::rate_probes)).
    fn on_rate_probe(&mut self, _view: &AssocView<'_>, _path: PathId, _trip: &PaddedTrip) {}

    /// A SACK acknowledged data of a path; the windows follow it already.
    fn on_acked(&mut self, _view: &AssocView<'_>, _ev: &AckedInfo) {}

    /// A path lost data: once when it enters fast recovery, once per expiry of T3-rtx.
    fn on_lost(&mut self, _view: &AssocView<'_>, _ev: &LossInfo) {}

    /// Whether `chunk`, about to go out on `path`, asks for its SACK at once (the I bit, RFC 9260
    /// section 3.3.1): worth a packet on the way back while the buffers are what limits the
    /// transfer.
    fn wants_sack_at_once(&self, _view: &AssocView<'_>, _path: PathId, _chunk: &ChunkMeta) -> bool {
        false
    }

    /// A path came, went, or changed its state.
    fn on_path_change(&mut self, _view: &AssocView<'_>, _path: PathId, _change: PathChange) {}
}

/// Why a send attempt begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Trigger {
    /// A SACK was processed.
    Sack,
    /// The application wrote.
    Write,
    /// A timer expired.
    Timer,
    /// A path became usable, or the association was set up.
    Path,
}

/// A path scheduler's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPick {
    /// This path. The engine treats a path that is not sendable as [`PathPick::Wait`].
    Use(PathId),
    /// This chunk not now: ask the stream scheduler for another stream (fixed maps).
    Skip,
    /// Nothing now, although a path may be open; ask again after the next feedback.
    Wait,
    /// Nothing now; ask again at this time at the latest.
    WaitUntil(Time),
}

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange {
    /// It was added.
    Added,
    /// Its [`PathState`] changed to this.
    State(PathState),
    /// It was removed and carries nothing any more.
    Removed,
}

/// RFC 9260 section 6.4: data goes to the primary path; when that fails, to another one.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrimaryPath;

impl Policy for PrimaryPath {
    fn name(&self) -> &'static str {
        "primary"
    }
}

impl PathScheduler for PrimaryPath {
    fn pick_path(&mut self, view: &AssocView<'_>, _next: &ChunkMeta) -> PathPick {
        // The engine keeps `usable` true for backups only while no active path is usable.
        let primary =
            view.path(view.primary).filter(|p| p.usable && p.admin != PathAdmin::Disabled);
        match primary.or_else(|| view.usable().next()) {
            Some(path) if path.sendable => PathPick::Use(path.id),
            _ => PathPick::Wait,
        }
    }
}
