//! Paths that come to life, fail and recover, for policies to be driven with.

use polypath_proto::PathId;
use polypath_proto::policy::PathChange;
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, PathAdmin, PathState, PathView, SendBufferView};

const STATES: [PathState; 4] =
    [PathState::Active, PathState::PotentiallyFailed, PathState::Inactive, PathState::Unconfirmed];

/// The paths of an association, without the association.
pub(super) struct World {
    pub(super) rng: Rng,
    pub(super) now: Time,
    pub(super) paths: Vec<PathView>,
    peer_rwnd_max: u64,
}

impl World {
    /// One to five paths, all active at first.
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::from_u64(seed);
        let count = 1 + rng.below(5) as u8;
        let mut world = Self { now: Time::ZERO, paths: Vec::new(), peer_rwnd_max: 1 << 16, rng };
        for id in 0..count {
            let mtu = 576 + world.rng.below(1000) as u32;
            let mut path = PathView::new(PathId(id), mtu, mtu - 32, Duration::from_secs(1));
            path.state = PathState::Active;
            path.cwnd = 4 * u64::from(mtu);
            path.ssthresh = world.peer_rwnd_max;
            world.paths.push(path);
        }
        world.settle_usable();
        world
    }

    pub(super) fn view(&self) -> AssocView<'_> {
        let mut view = AssocView::new(self.now, &self.paths);
        view.outstanding = self.paths.iter().map(|p| p.outstanding_payload).sum();
        view.peer_rwnd = self.peer_rwnd_max.saturating_sub(view.outstanding);
        view.peer_rwnd_max = self.peer_rwnd_max;
        let held = self.paths.iter().map(|p| p.queued).sum();
        view.send_buffer = SendBufferView::new(1 << 18, held, 0, 0);
        view
    }

    /// Something happens to some path; says what policies are told of it.
    pub(super) fn disturb_path(&mut self) -> Option<(PathId, PathChange)> {
        self.now += Duration::from_micros(self.rng.below(50_000) as u64);
        let at = self.rng.below(self.paths.len());
        let (kind, amount) = (self.rng.below(8), self.rng.below(1 << 16) as u64);
        let path = self.paths.get_mut(at)?;
        let mut change = None;
        match kind {
            0 => {
                path.state = STATES[self.rng.below(4)];
                change = Some((path.id, PathChange::State(path.state)));
            }
            1 => {
                path.admin =
                    [PathAdmin::Active, PathAdmin::Backup, PathAdmin::Disabled][self.rng.below(3)];
            }
            2 => (path.cwnd, path.ssthresh) = (1 + amount, 1 + amount / 2),
            3 => {
                path.srtt = Some(Duration::from_micros(amount));
                path.min_rtt = path.srtt;
                path.last_rtt = path.srtt;
            }
            _ => {}
        }
        self.settle_usable();
        change
    }

    /// Part of what is in flight is acknowledged; all of it with `everything`.
    pub(super) fn acknowledge_flight(&mut self, everything: bool) {
        for path in &mut self.paths {
            let part = if everything { 4 } else { self.rng.below(5) as u64 };
            let rest = |bytes: u64| bytes - bytes * part / 4;
            path.outstanding = rest(path.outstanding);
            path.outstanding_payload = rest(path.outstanding_payload);
            path.queued = rest(path.queued);
        }
    }

    /// A chunk with `payload` bytes went out on `path`.
    pub(super) fn transmit_chunk(&mut self, path: PathId, payload: u32) {
        let now = self.now;
        let Some(path) = self.paths.get_mut(path.index()) else { return };
        path.outstanding += u64::from(payload) + 16;
        path.outstanding_payload += u64::from(payload);
        path.queued += u64::from(payload);
        path.data_chunks += 1;
        path.last_data = now;
    }

    /// Derives `usable` as the engine does: a worse path only while no better one is there.
    fn settle_usable(&mut self) {
        let rank = |p: &PathView| match (p.admin, p.state) {
            (PathAdmin::Disabled, _) | (_, PathState::Unconfirmed | PathState::Inactive) => None,
            (_, PathState::Removed) => None,
            (PathAdmin::Active, PathState::Active) => Some(0),
            (PathAdmin::Backup, PathState::Active) => Some(1),
            (_, PathState::PotentiallyFailed) => Some(2),
        };
        let best = self.paths.iter().filter_map(rank).min();
        for path in &mut self.paths {
            path.usable = best.is_some() && rank(path) == best;
            path.sendable = false;
        }
    }
}
