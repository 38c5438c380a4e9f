//! The paths of an association: pairs (local address, remote address) and all that is known of
//! each.

mod black_hole;
mod delivery_rate;
mod header;
mod health;
mod heartbeat;
mod heartbeat_info;
mod learned;
mod mtu;
mod ns2;
mod pacer;
mod packet_size;
mod rate_probe;
mod retire;
mod rto;
mod rtt_probe;
mod verification;
mod verify;
mod way_back;

pub(crate) use delivery_rate::DeliveryRate;
pub(crate) use heartbeat_info::HeartbeatInfo;
pub(crate) use learned::Learned;
pub(crate) use mtu::MtuStep;
pub(crate) use ns2::Ns2Path;
pub(crate) use pacer::Pacers;
pub(crate) use rate_probe::{RateProbe, RateProbes};
pub(crate) use rtt_probe::Probe;
pub(crate) use verification::Verification;
pub(crate) use way_back::clock_of;

use crate::config::{AssocConfig, Encapsulation, MAX_PATHS, PathSettings};
use crate::ids::{FourTuple, PathId};
use crate::stats::PathCounters;
use crate::time::Time;
use crate::view::{PathAdmin, PathState, PathView};
use black_hole::BlackHoleDetector;
use header::header_bytes;
use way_back::WayBack;

/// All paths. The views are what policies see; the rest is the engine's own.
#[derive(Debug)]
pub(crate) struct PathSet {
    pub(crate) views: Vec<PathView>,
    own: Vec<Path>,
    pub(crate) primary: PathId,
    /// Bytes of every packet that DATA must leave to an AUTH chunk.
    pub(crate) reserved: u32,
    /// The chunks of a packet must fit a record.
    pub(crate) in_records: bool,
    encapsulation: Encapsulation,
    /// MTUs are searched for.
    searches: bool,
    /// With every path inactive, one alone carries data (RFC 7829 section 4.1).
    one_when_dormant: bool,
    /// When the latest SACK came, on whichever path.
    latest_sack: Time,
}

/// What the engine keeps of a path beside its view.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) tuple: FourTuple,
    /// T3-rtx expires; `Time::MAX` while it is off.
    pub(crate) t3: Time,
    /// The next heartbeat; `Time::MAX` while there is none.
    pub(crate) heartbeat_at: Time,
    /// The HEARTBEAT in flight, if any.
    pub(crate) heartbeat: Option<heartbeat_info::Outstanding>,
    /// Earlier ones that were given up while the path was failed: a path that became slow may still
    /// answer them.
    pub(crate) overdue: Option<Box<heartbeat_info::Overdue>>,
    /// Its local address is one that the peer does not know yet: nothing but ASCONF may go out (RFC
    /// 5061 section 5.3, F1).
    pub(crate) dormant: bool,
    /// What proving its address has cost so far.
    pub(crate) verification: Verification,
    /// The timeout without back-off.
    pub(crate) rto_estimate: crate::time::Duration,
    /// The chunk whose acknowledgement gives the next RTT sample.
    pub(crate) rtt_probe: Option<Probe>,
    /// Bytes of new data that this send attempt may still send (Max.Burst).
    pub(crate) burst_left: u64,
    /// What ns-2 counts; only where its faults are imitated.
    pub(crate) ns2: Option<Box<Ns2Path>>,
    /// DATA chunk bytes acknowledged since the last send attempt.
    pub(crate) acked: u64,
    /// What tells of an MTU hole.
    pub(crate) black_hole: BlackHoleDetector,
    /// T3-rtx expired, and nothing was acknowledged since: one packet alone may be in flight (RFC
    /// 9260 section 7.2.1).
    pub(crate) on_probation: bool,
    /// Discovery of the path's MTU, where it is on.
    pub(crate) mtu: Option<Box<mtu::MtuSearch>>,
    /// What tells how thin it is while it carries no data.
    pub(crate) rate_probes: RateProbes,
    /// What its user may change.
    pub(crate) settings: PathSettings,
    /// When the path became potentially failed, or fell silent before.
    pub(crate) failed_since: Time,
    /// The last time that a window was halved for idleness, or data was sent.
    pub(crate) idle_since: Time,
    /// A T3-rtx expired and nothing was acknowledged since.
    pub(crate) timeouts_in_a_row: u32,
    /// No new data before this time: a chunk of it blocked a buffer.
    pub(crate) held_back_until: Time,
    /// When a packet came on it, or data that it carried was acknowledged, last; `Time::MAX`:
    /// never.
    pub(crate) last_contact: Time,
    /// Since when nobody listens at its far end, says ICMP, and nothing is acknowledged;
    /// `Time::MAX`: somebody does.
    pub(crate) refused: Time,
    /// When the latest packet came on it.
    pub(crate) last_packet: Time,
    /// Present where nobody named it.
    pub(crate) learned: Option<Box<Learned>>,
    pub(crate) stats: PathCounters,
    /// Present once the peer told when a HEARTBEAT came.
    way_back: Option<Box<WayBack>>,
    /// Measures what the path delivers.
    pub(crate) delivery_rate: DeliveryRate,
}

impl Path {
    /// ns-2: T3-rtx goes by TSNs.
    pub(crate) fn is_t3_by_tsn(&self) -> bool {
        self.ns2.as_ref().is_some_and(|own| own.t3_by_tsn)
    }

    /// Starts T3-rtx unless it runs (RFC 9260 section 6.3.2, R1).
    #[inline]
    pub(crate) fn start_t3(&mut self, now: Time, view: &PathView) {
        if self.t3 == Time::MAX {
            self.t3 = now + view.rto;
        }
    }

    /// See [`PathSet::must_wait`].
    #[inline]
    pub(crate) const fn must_wait(&self, view: &PathView) -> bool {
        self.on_probation && view.outstanding > 0
    }

    /// Whether the path takes no new data for a while: a chunk of it blocked a buffer.
    pub(crate) fn is_held_back(&self, now: Time) -> bool {
        now < self.held_back_until
    }

    /// When discovery of the MTU must be served.
    #[inline]
    pub(crate) fn mtu_timer(&self) -> Time {
        self.mtu.as_ref().map_or(Time::MAX, |search| search.timer())
    }
}

impl PathSet {
    pub(crate) const fn new(encapsulation: Encapsulation) -> Self {
        Self {
            views: Vec::new(),
            own: Vec::new(),
            primary: PathId(0),
            reserved: 0,
            in_records: false,
            encapsulation,
            searches: false,
            one_when_dormant: false,
            latest_sack: Time::ZERO,
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.views.len()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..self.views.len()).map(|i| PathId(i as u8))
    }

    /// Whether another packet must not begin on `p`, whatever its window says.
    pub(crate) fn must_wait(&self, p: PathId) -> bool {
        self.both(p).is_some_and(|(view, path)| path.must_wait(view))
    }

    /// Adds a path, or gives the one that is there already; `None` at the limit of [`MAX_PATHS`].
    pub(crate) fn add(
        &mut self,
        now: Time,
        tuple: FourTuple,
        confirmed: bool,
        config: &AssocConfig,
    ) -> Option<PathId> {
        if let Some(id) = self.by_tuple(&tuple) {
            return Some(id);
        }
        let full = self.views.len() >= MAX_PATHS;
        let id = if full { self.recyclable()? } else { PathId(self.views.len() as u8) };
        self.one_when_dormant = config.potentially_failed.is_some();
        let mtu = config.path_mtu;
        let headers = header_bytes(tuple.remote.ip(), self.encapsulation);
        let pmdcs = mtu.saturating_sub(headers).min(self.longest_chunks());
        let mut view = PathView::new(id, mtu, pmdcs & !3, config.rto.initial);
        view.ipv6 = tuple.remote.is_ipv6();
        if confirmed {
            view.state = PathState::Active;
        }
        let path = Path {
            tuple,
            t3: Time::MAX,
            heartbeat_at: Time::MAX,
            heartbeat: None,
            overdue: None,
            dormant: false,
            verification: Verification::default(),
            rto_estimate: config.rto.initial,
            ns2: config.reproduction.ns2.counts_on_paths().then(|| {
                let t3_by_tsn = config.reproduction.ns2.t3_by_tsn;
                Box::new(Ns2Path { t3_by_tsn, ..Ns2Path::default() })
            }),
            rtt_probe: None,
            burst_left: 0,
            acked: 0,
            black_hole: BlackHoleDetector::default(),
            on_probation: false,
            settings: PathSettings::of(config),
            mtu: None,
            rate_probes: RateProbes::default(),
            failed_since: Time::ZERO,
            idle_since: now,
            timeouts_in_a_row: 0,
            held_back_until: Time::ZERO,
            last_contact: Time::MAX,
            refused: Time::MAX,
            last_packet: Time::ZERO,
            learned: None,
            stats: PathCounters::default(),
            way_back: None,
            delivery_rate: DeliveryRate::default(),
        };
        if let Some((old_view, old_path)) = self.both_mut(id) {
            (*old_view, *old_path) = (view, path);
        } else {
            // Most associations have one path or two, and a server has many associations.
            self.views.reserve_exact(1);
            self.own.reserve_exact(1);
            self.views.push(view);
            self.own.push(path);
        }
        self.reset_mtu(id, config);
        self.refresh_usable();
        Some(id)
    }

    /// The path of a pair of addresses.
    pub(crate) fn by_tuple(&self, tuple: &FourTuple) -> Option<PathId> {
        for (i, path) in self.own.iter().enumerate() {
            if path.tuple.is(tuple) && self.is_there(i) {
                return Some(PathId(i as u8));
            }
        }
        None
    }

    fn is_there(&self, path: usize) -> bool {
        self.views.get(path).is_some_and(|v| v.state != PathState::Removed)
    }

    /// The path of a pair of IP addresses, whatever the remote UDP port.
    pub(crate) fn by_addresses(&self, tuple: FourTuple) -> Option<PathId> {
        let same = |(v, p): (&PathView, &Path)| {
            let addresses =
                p.tuple.local == tuple.local && p.tuple.remote.ip() == tuple.remote.ip();
            addresses && v.state != PathState::Removed
        };
        self.iter().position(same).map(|i| PathId(i as u8))
    }

    #[inline]
    pub(crate) fn view(&self, p: PathId) -> Option<&PathView> {
        self.views.get(p.index())
    }

    #[inline]
    pub(crate) fn view_mut(&mut self, p: PathId) -> Option<&mut PathView> {
        self.views.get_mut(p.index())
    }

    #[inline]
    pub(crate) fn get(&self, p: PathId) -> Option<&Path> {
        self.own.get(p.index())
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, p: PathId) -> Option<&mut Path> {
        self.own.get_mut(p.index())
    }

    /// Both halves of a path.
    #[inline]
    pub(crate) fn both(&self, p: PathId) -> Option<(&PathView, &Path)> {
        Some((self.views.get(p.index())?, self.own.get(p.index())?))
    }

    /// Both halves of a path.
    #[inline]
    pub(crate) fn both_mut(&mut self, p: PathId) -> Option<(&mut PathView, &mut Path)> {
        Some((self.views.get_mut(p.index())?, self.own.get_mut(p.index())?))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&mut PathView, &mut Path)> {
        self.views.iter_mut().zip(&mut self.own)
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&PathView, &Path)> {
        self.views.iter().zip(&self.own)
    }

    /// Recomputes which paths form the set A: confirmed, reachable and allowed; potentially failed,
    /// backup paths only while there is nothing better (RFC 7829 section 3.2).
    pub(crate) fn refresh_usable(&mut self) {
        let best = self.views.iter().filter_map(rank).min();
        for view in &mut self.views {
            view.usable = best.is_some() && rank(view) == best;
        }
        if best.is_some_and(|r| r.potentially_failed || r.inactive && self.one_when_dormant) {
            self.keep_best_failed();
        }
    }

    /// With every path potentially failed, data goes to the one with the fewest errors; among
    /// equals to the one that was active last (CMT-PF). RFC 7829: its state does not change by
    /// that. So it is where every path is inactive (section 4.1): timeouts of one path after the
    /// other end the association later than those of all together.
    fn keep_best_failed(&mut self) {
        let key = |(v, p): &(&PathView, &Path)| (v.errors, core::cmp::Reverse(p.failed_since));
        let best = self.iter().filter(|(v, _)| v.usable).min_by_key(key).map(|(v, _)| v.id);
        for view in &mut self.views {
            view.usable = Some(view.id) == best;
        }
    }

    /// The path for packets that may take any: the primary if it is usable, or any usable one, or
    /// any confirmed one.
    pub(crate) fn preferred(&self) -> PathId {
        let usable = |v: &&PathView| v.usable;
        let primary = self.view(self.primary).filter(usable);
        let confirmed = |v: &&PathView| v.state.is_confirmed();
        primary
            .or_else(|| self.views.iter().find(usable))
            .or_else(|| self.views.iter().find(confirmed))
            .map_or(self.primary, |v| v.id)
    }

    /// Another usable path than `p`, in turn, for retransmissions of control chunks (RFC 9260
    /// section 6.4.1).
    pub(crate) fn next_after(&self, p: PathId) -> PathId {
        let (before, from) = self.views.split_at(p.index().min(self.views.len()));
        let mut others = from.iter().skip(1).chain(before);
        let usable = others.find(|v| v.usable).map(|v| v.id);
        usable.unwrap_or(p)
    }
}

/// How good a path is as a carrier of data: the smallest rank wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// With every path inactive the association is dormant: data still probes (RFC 9260 section
    /// 8.4), or nobody would notice that a path works again, or that none ever will.
    inactive: bool,
    potentially_failed: bool,
    silent: bool,
    backup: bool,
}

fn rank(view: &PathView) -> Option<Rank> {
    if view.admin == PathAdmin::Disabled {
        return None;
    }
    if !view.state.is_confirmed() {
        return None;
    }
    Some(Rank {
        inactive: view.state == PathState::Inactive,
        potentially_failed: view.state == PathState::PotentiallyFailed,
        silent: view.silent,
        backup: view.admin == PathAdmin::Backup,
    })
}

#[cfg(test)]
mod tests;
