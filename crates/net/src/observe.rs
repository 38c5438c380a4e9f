//! What an endpoint shows of itself: copies, made under its lock.

use polypath_proto::AssocHandle;
use polypath_proto::ids::PathId;
use polypath_proto::stats::PathStats;
use polypath_proto::time::Time;
use polypath_proto::view::{PathAdmin, PathView};

use crate::observer::{Snapshot, WAITS, Watched};
use crate::path_info::PathInfo;
use crate::shared::{Shared, Slot, State};

impl State {
    /// All paths of `h`; none once it is over.
    pub(crate) fn paths(&self, h: AssocHandle, now: Time) -> Vec<PathInfo> {
        let Some(association) = self.core.association(h) else { return Vec::new() };
        let view = association.view(now);
        let (stats, waits) = (association.path_stats(), association.path_waits(now));
        let info = |((stats, path), unacknowledged_for): ((PathStats, &PathView), _)| PathInfo {
            admin: path.admin,
            primary: view.primary == path.id,
            mtu: association.path_mtu(path.id).unwrap_or_default(),
            device: self.device_of(stats.local.ip()),
            contact: self.last_contact(h, association, &stats, now),
            min_rtt: path.min_rtt,
            lost_chunks: path.lost_chunks,
            unacknowledged_for,
            stats,
        };
        stats.into_iter().zip(view.paths).zip(waits).map(info).collect()
    }

    /// The association with this number that is not over.
    fn numbered(&self, number: u64) -> Option<AssocHandle> {
        let live = |slot: &Slot| u64::from(slot.number) == number && slot.closed.is_none();
        self.slots.iter().find(|(_, slot)| live(slot)).map(|(h, _)| *h)
    }
}

impl Watched for Shared {
    fn numbers(&self) -> Vec<u64> {
        let state = self.lock();
        let live = state.slots.values().filter(|slot| slot.closed.is_none());
        live.map(|slot| slot.number.into()).collect()
    }

    fn snapshot(&self, number: u64) -> Option<Snapshot> {
        let now = self.clock.now();
        let state = self.lock();
        let h = state.numbered(number)?;
        let association = state.core.association(h)?;
        Some(Snapshot {
            number,
            peer_port: association.peer_port(),
            state: association.state(),
            agreed: association.agreed(),
            protected: association.protection_stats().is_some(),
            stats: association.stats(),
            paths: state.paths(h, now),
            limits: association.limits(now),
            buffer_sizes: association.buffer_sizes(),
            received: association.receive_buffer(),
            send_queue: association.sender_queue_info(),
            waits: association.stream_waits(now, WAITS),
        })
    }

    fn set_path_admin(&self, number: u64, path: PathId, admin: PathAdmin) -> bool {
        let now = self.clock.now();
        let mut state = self.lock();
        let Some(h) = state.numbered(number) else { return false };
        let paths = state.core.association(h).map_or(0, |a| a.view(now).paths.len());
        let known = path.index() < paths;
        if let Some(association) = state.association(h).filter(|_| known) {
            association.set_path_admin(now, path, admin);
        }
        drop(state);
        self.work.notify_one();
        known
    }
}
