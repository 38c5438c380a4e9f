//! `knapsack`: fill the paths in the order of how long they hold a byte, none beyond its
//! bandwidth-delay product.

mod burst;
mod loss;
mod own;
mod paced;
mod runs;
mod set;
mod streams;
mod tail;

use polypath_proto::PathId;
use polypath_proto::policy::{
    AckedInfo, LossInfo, PaddedTrip, PathPick, PathScheduler, Policy, Trigger,
};
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, ChunkMeta, PathView, RateSample};

use smallvec::SmallVec;

use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;
use crate::path_model::estimate::HostJitter;
use crate::path_model::rate_bound::RateBound;
use loss::average_window;
use own::Own;
use runs::Runs;
use set::{Candidate, Case, Choice, Free, NEARLY, bit};
use streams::Streams;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("knapsack", read_options)
    .summary("shortest hold time first, each path up to its bandwidth-delay product")
    .source("this project; docs/explanation/knapsack.md")
    .options(&[
        OptionEntry {
            name: "slack",
            default: "2",
            values: "<0..1000>",
            summary: "packets in flight beyond the bandwidth-delay product",
        },
        OptionEntry {
            name: "gain",
            default: "6",
            values: "<0..1000>",
            summary: "percent by which another path must raise the rate of an ordered stream to be used",
        },
        OptionEntry {
            name: "copies",
            default: "no",
            values: "yes|no",
            summary: "messages of low-delay streams that fit a packet go out on a second path, too",
        },
    ]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn PathScheduler>, PolicyError> {
    let slack = options.number("slack", 0..=1_000)?;
    let gain = options.number("gain", 0..=1_000)? as f64 / 100.0;
    let copies = options.choice("copies", &[("yes", true), ("no", false)])?;
    Ok(Box::new(move |_, _| Box::new(Knapsack { copies, ..Knapsack::new(slack, gain) })))
}

/// Seconds that a queue is taken for at most.
const MAX_QUEUE: f64 = 60.0;

/// Paths are as fast as each other where they differ by less than this part of a packet's time.
const EQUAL: f64 = 0.1;

/// The buffer is the limit where there is as much to be done as this part of it.
const FULL: f64 = 0.75;

/// Packets that are spread go by so many times the rate that the path is known to carry, so that it
/// may turn out to carry more.
const SPREAD: f64 = 1.25;

/// Every path.
const ALL: u64 = u64::MAX;

/// Bytes that the smaller one of the two buffers takes.
#[inline]
fn buffer(view: &AssocView<'_>) -> f64 {
    view.send_buffer.limit.min(view.peer_rwnd_max) as f64
}

/// Bytes that are to be delivered as far as anybody knows: what waits and what is in flight, and no
/// more than the buffers take. Where they are no limit it is rounded, to three per cent: a plan
/// need not be made anew for each packet.
#[inline]
fn work(view: &AssocView<'_>) -> f64 {
    /// The bits of a number that are left: sign, exponent, and five of the mantissa.
    const ROUNDED: u64 = !0 << 47;
    let sent: u64 = view.paths.iter().map(|path| path.outstanding).sum();
    let all = view.send_buffer.unsent.saturating_add(sent) as f64;
    buffer(view).min(f64::from_bits(all.to_bits() & ROUNDED))
}

/// Whether nothing else is in flight on the path, nor waits. The SACK of such a packet would be
/// delayed, and what it tells of the path would be that delay (RFC 7053 section 4 has the I bit for
/// that).
fn is_lone(view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta) -> bool {
    let first = |path: &PathView| path.outstanding <= u64::from(path.pmdcs);
    view.send_buffer.unsent <= u64::from(chunk.bytes) && view.path(path).is_some_and(first)
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Knapsack {
    slack: u64,
    gain: f64,
    /// Small messages of low delay take two paths.
    copies: bool,
    paths: Vec<Own>,
    /// What is known of paths that carried nothing yet: an idle association has no more.
    probed: Vec<RateBound>,
    /// The paths for one ordered stream, as bits.
    set: u64,
    /// Those for what does not wait for all other data, while the buffer is the limit.
    free: Free,
    choice: Choice,
    /// The slower ones of them while the buffer is the limit: their packets are spread.
    spread: u64,
    /// Chunks to be delivered in order were seen.
    ordered: bool,
    /// Present once streams sent while the buffer was the limit.
    streams: Option<Box<Streams>>,
    /// Paths that may carry more than one packet at a time: what they carried of late told how fast
    /// they are at most, or there is none that is nearer.
    tried: u64,
    runs: Runs,
    /// The caps of usable paths together, which every chunk of a send attempt asks for; none since
    /// something else changed.
    wanted: Option<u64>,
}

impl Knapsack {
    /// `slack` packets beyond the bandwidth-delay product; another path must be worth a share
    /// `gain` to an ordered stream.
    pub fn new(slack: u64, gain: f64) -> Self {
        Self {
            slack,
            gain,
            copies: false,
            paths: Vec::new(),
            probed: Vec::new(),
            set: ALL,
            free: Free::default(),
            choice: Choice::default(),
            spread: 0,
            ordered: false,
            streams: None,
            tried: ALL,
            runs: Runs::default(),
            wanted: None,
        }
    }

    fn cap(&self, path: &PathView) -> u64 {
        self.paths.get(path.id.index()).map_or(path.cwnd, |own| own.cap(path, self.slack))
    }

    /// What may be in flight on all usable paths together.
    fn caps(&self, view: &AssocView<'_>) -> u64 {
        view.usable().map(|path| self.cap(path)).fold(0, u64::saturating_add)
    }

    /// Whether the paths could use more buffer than there is.
    #[inline]
    fn is_scarce(&self, view: &AssocView<'_>) -> bool {
        let wanted = self.wanted.unwrap_or_else(|| self.caps(view));
        buffer(view) < wanted as f64
    }

    /// How long an empty path holds a byte: as long as its data took, or else as its heartbeats
    /// say. These return on their own path, while SACKs may return on the fastest: half of either
    /// round trip.
    #[inline]
    fn hold(&self, view: &AssocView<'_>, path: &PathView) -> Duration {
        let own = self.paths.get(path.id.index());
        match own.and_then(|own| own.estimate.data_rtt(view.now)) {
            Some(measured) => measured,
            None => Self::hold_of_idle(view, path),
        }
    }

    fn hold_of_idle(view: &AssocView<'_>, path: &PathView) -> Duration {
        let fastest = view.usable().filter_map(|p| p.min_rtt).min();
        // Heartbeats of a path without data see no queue of ours: the latest one is what counts, as
        // paths change.
        let guess = path.last_rtt.or(path.min_rtt).zip(fastest);
        guess.map_or(view.rto_initial, |(own, fastest)| (own + fastest) / 2)
    }

    /// What the buffer has beyond the paths' bandwidth-delay products, for each of them. Half of it
    /// is for data that waits for a slower path's; where one path has all that is in flight there
    /// is none.
    fn spare(&self, view: &AssocView<'_>) -> f64 {
        let mut used = 0.0;
        for path in view.paths {
            used += self.paths.get(path.id.index()).map_or(0.0, |own| own.estimate.bdp(path));
        }
        let busy = view.paths.iter().filter(|path| path.outstanding > 0).count();
        let (part, paths) = if busy == 1 { (1.0, 1) } else { (0.5, self.paths.len().max(1)) };
        (part * buffer(view) - used).max(0.0) / paths as f64
    }

    #[inline]
    fn is_open(&self, path: &PathView, next: &ChunkMeta) -> bool {
        let after = path.outstanding + u64::from(next.bytes);
        let waits = self.tried & bit(path.id) == 0 && path.outstanding > 0;
        path.sendable
            && !waits
            && match self.paths.get(path.id.index()) {
                Some(own) => {
                    let cap = self.runs.cap(path, own.cap(path, self.slack));
                    own.burst.allows(path) && after <= cap
                }
                None => after <= path.cwnd,
            }
    }

    /// Bytes per second that the path can carry, as far as is known; boundless where nothing is.
    #[inline]
    fn rate(&self, now: Time, path: &PathView) -> f64 {
        match self.paths.get(path.id.index()) {
            Some(own) => own.rate(now),
            None => self.bound(now, path.id).unwrap_or(f64::INFINITY),
        }
    }

    /// Bytes per second that the latest data or heartbeats leave possible, if there were any.
    fn bound(&self, now: Time, path: PathId) -> Option<f64> {
        match self.paths.get(path.index()) {
            Some(own) => own.bound.get(now),
            None => self.probed.get(path.index())?.get(now),
        }
    }

    /// The same, or the rate of a path that was full, as far as either is known.
    fn known_rate(&self, now: Time, path: &PathView) -> Option<f64> {
        let own = self.paths.get(path.id.index());
        let is_full = own.is_some_and(|own| own.estimate.is_full());
        (is_full || self.bound(now, path.id).is_some()).then(|| self.rate(now, path))
    }

    /// What is known of a path, with what its heartbeats told before it carried data.
    fn own_mut(&mut self, path: PathId) -> Option<&mut Own> {
        while self.paths.len() <= path.index() {
            let bound = self.probed.get(self.paths.len()).copied().unwrap_or_default();
            self.paths.push(Own::new(bound));
        }
        self.paths.get_mut(path.index())
    }

    /// The share of its packets that the path loses.
    fn loss(&self, path: &PathView) -> f64 {
        self.paths.get(path.id.index()).map_or(0.0, |own| own.loss.share(path))
    }

    /// What the path carries of the [`work`]: no more than its window lets it, or will once it stops
    /// to grow fast.
    fn share(&self, view: &AssocView<'_>, path: &PathView, hold: f64, loss: f64) -> f64 {
        let (work, cwnd) = (work(view), path.cwnd.max(1) as f64);
        // In slow start a window doubles once a round trip, and little work is done before it is
        // large.
        let grows = path.cwnd < path.ssthresh;
        let window = match grows {
            true => work.max(cwnd) / (1.0 + work / cwnd).log2().max(1.0),
            false => cwnd,
        };
        // What it comes to on average with such losses: a choice that followed every halving would
        // not settle, and a path left with a small window would not be used again.
        let is_cut = loss > 0.0 && !path.rate_based;
        let own = self.paths.get(path.id.index());
        let cuts = own.filter(|_| is_cut).map_or(0.0, |own| own.loss.cut_share(path));
        let mtu = f64::from(path.mtu);
        let window = if cuts > 0.0 { mtu * average_window(cuts, work / mtu) } else { window };
        // A writer that waits for room has more to send than the buffer takes. After an outage the
        // window will soon be what it was, but not while another path fills that buffer.
        let returns = own.filter(|_| grows && work >= FULL * buffer(view));
        let carried = returns.map_or(0.0, |own| own.estimate.rate() * hold);
        let window = window.max(carried.min(path.ssthresh as f64));
        self.rate(view.now, path).min(window / hold.max(1e-6))
    }

    fn candidate(&self, view: &AssocView<'_>, path: &PathView) -> Candidate {
        let (hold, loss) = (self.hold(view, path).as_secs_f64(), self.loss(path));
        // In use it holds a byte for longer, by the packets of slack that it may queue.
        let queue = (self.slack * u64::from(path.mtu)) as f64 / self.rate(view.now, path);
        let rate = self.share(view, path, hold, loss);
        let sure = self.sure(path, hold).min(rate);
        Candidate { bit: bit(path.id), empty: hold, held: hold + queue, rate, sure, loss }
    }

    /// Bytes per second that the path carried, or that its window lets it carry now while it was
    /// never full: of equally fast paths none waits for the end of another one's first slow start.
    fn sure(&self, path: &PathView, hold: f64) -> f64 {
        let estimate = self.paths.get(path.id.index()).map(|own| &own.estimate);
        let carried = estimate.map_or(0.0, |estimate| estimate.rate());
        match estimate.is_some_and(|estimate| estimate.is_full()) {
            true => carried,
            false => carried.max(path.cwnd as f64 / hold.max(1e-6)),
        }
    }

    /// Chooses the paths that carry most of what there is to do.
    fn choose(&mut self, view: &AssocView<'_>) {
        let candidates: SmallVec<[Candidate; 4]> =
            view.usable().map(|path| self.candidate(view, path)).collect();
        let (buffer, work) = (buffer(view), work(view));
        // Without NR-SACKs all that follows missing data stays in the send buffer; and where
        // buffers are no limit there is nothing to be had.
        self.free = match view.nr_sacks && work >= FULL * buffer {
            true => Free::of(candidates.clone(), buffer, self.gain),
            false => Free::default(),
        };
        let packet = f64::from(view.usable().next().map_or(1500, |path| path.mtu));
        self.set = self.choice.of(Case { candidates, buffer: work, packet, gain: self.gain });
    }

    /// Whether streams may have paths of their own now.
    fn parts_streams(&self, now: Time) -> bool {
        let streams = self.streams.as_ref();
        self.beyond() != 0 && streams.is_some_and(|streams| streams.may_part(now))
    }

    /// The paths that an ordered stream may have for itself.
    const fn beyond(&self) -> u64 {
        self.free.all & !self.free.shared
    }

    /// The path for a chunk of one ordered stream among several, while the buffer is the limit: see
    /// [`Streams`].
    fn pick_for_stream(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        let shared = self.fastest(view, next, self.free.shared);
        let unused = shared.and_then(|id| view.path(id)).map_or(0.0, |path| {
            1.0 - path.outstanding as f64 / self.cap(path).min(path.cwnd).max(1) as f64
        });
        let Some(streams) = &mut self.streams else { return PathPick::Skip };
        if let Some(own) = streams.path_of(next.stream) {
            // What buffer there is belongs to those that fill the faster paths, if they do.
            if shared.is_some() {
                streams.note_idle(view.now, unused);
                return PathPick::Skip;
            }
            let open = view.path(own).is_some_and(|path| self.is_open(path, next));
            return if open { PathPick::Use(own) } else { PathPick::Skip };
        }
        match shared {
            Some(path) => PathPick::Use(path),
            None if !streams.have_company(next.stream) => PathPick::Skip,
            None => self.fastest(view, next, self.beyond()).map_or(PathPick::Skip, PathPick::Use),
        }
    }

    /// See [`Knapsack::tried`]. A heartbeat tells how far a path is, not how fast; until its first
    /// packet has told that, one that looked near may hold a whole window for seconds. Who is as
    /// near as the nearest risks no more than that one.
    fn tried(&self, view: &AssocView<'_>) -> u64 {
        let hold = |path: &PathView| self.hold(view, path).as_secs_f64();
        let nearest = view.usable().map(hold).fold(f64::INFINITY, f64::min);
        let known = |path: &PathView| self.bound(view.now, path.id).is_some();
        let tried = |path: &&PathView| known(path) || path.usable && hold(path) <= NEARLY * nearest;
        view.paths.iter().filter(tried).fold(0, |bits, path| bits | bit(path.id))
    }

    /// Of the paths in use, all but the fastest make gaps.
    fn begin_runs(&mut self, view: &AssocView<'_>) {
        // NR-SACKs are ours, and tell all. Until the first one nobody knows that they come.
        if view.nr_sacks || view.paths.len() < 2 {
            return self.runs.end();
        }
        let used = || view.usable().filter(|path| (self.set | self.free.all) & bit(path.id) != 0);
        let Some(fastest) = used().min_by_key(|path| self.hold(view, path)).map(|p| p.id) else {
            return;
        };
        let slower = used().filter(|path| path.id != fastest);
        let slower = slower.map(|path| self.cap(path).min(path.cwnd)).fold(0, u64::saturating_add);
        self.runs.begin_attempt(view, fastest, slower);
    }

    /// Paths on which packets of one ordered stream do not go in bursts, but a little faster than
    /// they are known to carry ([`pacing_rate`](PathScheduler::pacing_rate)). All that follows
    /// waits for the slowest path, so a packet that queues there lengthens the turn of the whole
    /// buffer, and the burst that is freed when it arrives makes the next one queue. Repairs of
    /// losses free most of the buffer at once, and filling it again in time is worth more.
    fn to_spread(&self, view: &AssocView<'_>) -> u64 {
        if !self.ordered || self.runs.are_needed() || !self.is_scarce(view) {
            return 0;
        }
        let used = || view.usable().filter(|path| self.set & bit(path.id) != 0);
        if used().any(|path| self.loss(path) > 0.0) {
            return 0;
        }
        let held = |path: &PathView| self.hold(view, path).as_secs_f64();
        let fastest = used().map(held).fold(f64::INFINITY, f64::min);
        // At which rate the others would have to go nobody knows.
        let full =
            |p: &PathView| self.paths.get(p.id.index()).is_some_and(|own| own.estimate.is_full());
        let slower = used().filter(|p| held(p) > NEARLY * fastest && full(p));
        slower.fold(0, |bits, p| bits | bit(p.id))
    }

    /// How long the path would hold `next`: with the queue that it would find there.
    fn expected(&self, view: &AssocView<'_>, path: &PathView, next: &ChunkMeta) -> Duration {
        self.expected_with(view, path, next.bytes)
    }

    /// The same for so many bytes.
    fn expected_with(&self, view: &AssocView<'_>, path: &PathView, bytes: u32) -> Duration {
        let hold = self.hold(view, path);
        let bytes = (path.outstanding + u64::from(bytes)) as f64;
        // Of a path that was never full no more is known than how fast it is at most.
        let own = self.paths.get(path.id.index()).filter(|own| own.estimate.is_full());
        let beyond = bytes - own.map_or(0.0, |own| own.estimate.bdp(path));
        if beyond <= 0.0 {
            return hold;
        }
        let queue = (beyond / self.rate(view.now, path).max(1.0)).min(MAX_QUEUE);
        // To the nearest: what `Duration::from_secs_f64` gives, in a tenth of the instructions.
        hold + Duration::from_nanos((queue * 1e9 + 0.5) as u64)
    }

    /// The open path of a set that would hold `next` for the shortest time.
    fn fastest(&self, view: &AssocView<'_>, next: &ChunkMeta, set: u64) -> Option<PathId> {
        let mut best: Option<(&PathView, Option<Duration>)> = None;
        for path in view.paths {
            if set & bit(path.id) == 0 || !self.is_open(path, next) {
                continue;
            }
            // Most often it is the only one, and nothing has to be compared.
            best = Some(best.map_or((path, None), |(fastest, known)| {
                let least = known.unwrap_or_else(|| self.expected(view, fastest, next));
                let here = self.expected(view, path, next);
                if here < least { (path, Some(here)) } else { (fastest, Some(least)) }
            }));
        }
        best.map(|(path, _)| path.id)
    }

    /// The same where the order of chunks does not bind them to a path: of paths that are as fast,
    /// the one with least in flight. A source that does not fill them would else find a queue on
    /// the one that is faster by a hair.
    fn fastest_of_equals(&self, view: &AssocView<'_>, next: &ChunkMeta, set: u64) -> PathPick {
        let Some(fastest) = self.fastest(view, next, set).and_then(|id| view.path(id)) else {
            return PathPick::Wait;
        };
        let mut best = fastest;
        for path in view.sendable() {
            if self.is_emptier(view, path, best)
                && set & bit(path.id) != 0
                && self.is_open(path, next)
                && self.loss(path) <= self.loss(fastest)
                && self.as_fast(view, path, fastest, next)
            {
                best = path;
            }
        }
        PathPick::Use(best.id)
    }

    /// Whether `path` holds `next` for no longer than `fastest`, to a part of the time that a
    /// packet takes.
    fn as_fast(
        &self,
        view: &AssocView<'_>,
        path: &PathView,
        fastest: &PathView,
        next: &ChunkMeta,
    ) -> bool {
        let Some(own) = self.paths.get(fastest.id.index()) else { return false };
        let equal = EQUAL * f64::from(fastest.mtu) / own.estimate.rate().max(1.0);
        let later = |a: Duration, b: Duration| a.saturating_sub(b).as_secs_f64();
        // Without what is in flight, too: a faster path with a queue is not like a slow one
        // without.
        later(self.hold(view, path), self.hold(view, fastest)) <= equal
            && later(self.expected(view, path, next), self.expected(view, fastest, next)) <= equal
    }

    /// The path on which an urgent chunk arrives first, whatever else the buffers could do.
    fn soonest(&self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        let paths = view.sendable().map(|p| (self.expected(view, p, next), p.id));
        paths.min().map_or(PathPick::Wait, |(_, id)| PathPick::Use(id))
    }
}

impl Policy for Knapsack {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn trace_values(&self) -> Vec<(&'static str, f64)> {
        // At most this many paths have a name here.
        const NAMES: [[&str; 2]; 4] =
            [["rate0", "full0"], ["rate1", "full1"], ["rate2", "full2"], ["rate3", "full3"]];
        let mut out = Vec::new();
        if self.set != ALL {
            out.push(("set", self.set as f64));
        }
        for (own, [rate, full]) in self.paths.iter().zip(NAMES) {
            out.push((rate, own.estimate.rate()));
            out.push((full, f64::from(u8::from(own.estimate.is_full()))));
        }
        out
    }
}

impl PathScheduler for Knapsack {
    fn begin_attempt(&mut self, view: &AssocView<'_>, _why: Trigger) {
        self.choose(view);
        self.tried = self.tried(view);
        let rate: f64 = self.paths.iter().map(|own| own.estimate.rate()).sum();
        let host_jitter = HostJitter::of(buffer(view), rate);
        let spare = self.spare(view);
        let apart = view.paths.iter().all(|path| path.group == path.id);
        for path in view.paths {
            let Some(own) = self.paths.get_mut(path.id.index()) else { continue };
            own.loss.update(view.now, path);
            own.estimate.set_host_jitter(host_jitter, path);
            if path.silent {
                own.bound.on_silence(view.now, path);
            }
            let members = match apart {
                true => u64::from(path.usable),
                false => view.usable().filter(|p| p.group == path.group).count() as u64,
            };
            own.begin_attempt(view.now, path, self.slack, spare, members);
        }
        self.wanted = Some(self.caps(view));
        self.begin_runs(view);
        self.spread = self.to_spread(view);
        let beyond = self.beyond();
        let hold = |path| self.hold(view, path);
        let fastest = view.usable().map(hold).min().unwrap_or_default();
        let slowest = view.usable().map(hold).max().unwrap_or_default();
        if let Some(streams) = &mut self.streams {
            let promise = || self.choice.promise();
            streams.begin_attempt(view.now, (fastest, slowest), beyond, promise);
        }
    }

    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        let pick = if next.needs.is_urgent() {
            self.soonest(view, next)
        } else if next.ordered && self.parts_streams(view.now) {
            self.pick_for_stream(view, next)
        } else if next.ordered && view.send_buffer.unsent > next.message_remaining {
            // While data waits, not of equals in turn: with as much in flight on either, SACKs have
            // no faster way, and a cut of the way that they happen to take is missed late
            // (`crates/run/tests/failover.rs`).
            self.ordered = true;
            self.fastest(view, next, self.set).map_or(PathPick::Wait, PathPick::Use)
        } else {
            self.ordered |= next.ordered;
            // Pieces of a message wait for each other.
            let whole = next.first && next.last;
            let free = if whole && !next.ordered { self.free.all } else { 0 };
            let all = self.set | free;
            let set = if next.ordered { self.set } else { all };
            let pick = self.fastest_of_equals(view, next, set);
            self.unless_busy(view, pick, next, all)
        };
        // Without anything in flight there is no feedback that could wake us.
        match pick {
            PathPick::Use(_) => pick,
            _ if view.outstanding > 0 => pick,
            _ => view.sendable().next().map_or(PathPick::Wait, |p| PathPick::Use(p.id)),
        }
    }

    /// The next best path for a small urgent message: a packet that is lost, or queues, on the one
    /// is not waited for.
    fn copy_paths(&self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta) -> Vec<PathId> {
        let small = chunk.first && chunk.last;
        if !self.copies || !small || !chunk.needs.is_urgent() {
            return Vec::new();
        }
        let others = view.usable().filter(|other| other.id != path);
        let soonest = others.min_by_key(|other| (self.expected(view, other, chunk), other.id));
        soonest.map(|other| other.id).into_iter().collect()
    }

    fn pick_for_copy(
        &mut self,
        view: &AssocView<'_>,
        from: PathId,
        sent: Time,
        bytes: u32,
    ) -> Option<PathId> {
        self.sooner(view, from, sent, bytes)
    }

    fn keeps_tsns_together(&self, path: PathId) -> bool {
        self.runs.is_under_way(path)
    }

    fn pacing_rate(&self, path: PathId) -> Option<u64> {
        let own = self.paths.get(path.index()).filter(|_| self.spread & bit(path) != 0)?;
        Some((SPREAD * own.estimate.rate()) as u64)
    }

    fn expected_trip(&self, view: &AssocView<'_>, path: &PathView, bytes: u32) -> Option<Duration> {
        Some(self.expected_with(view, path, bytes))
    }

    fn on_lost(&mut self, view: &AssocView<'_>, ev: &LossInfo) {
        self.wanted = None;
        if let (Some(own), Some(path)) = (self.paths.get_mut(ev.path.index()), view.path(ev.path)) {
            own.loss.cut(path);
        }
    }

    fn on_sent(&mut self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta, new_packet: bool) {
        let now = view.now;
        self.runs.on_sent(path);
        if let (Some(own), Some(view)) = (self.paths.get_mut(path.index()), view.path(path)) {
            own.burst.on_sent(view, chunk.bytes, new_packet);
            own.burst.occupy(now, chunk.bytes, own.estimate.rate());
        }
        if chunk.ordered && !chunk.needs.is_urgent() && self.free.all != 0 {
            let beyond = self.beyond() & bit(path) != 0;
            self.streams.get_or_insert_default().note_sent(now, chunk.stream, path, beyond);
        }
    }

    fn on_rate_sample(&mut self, view: &AssocView<'_>, path: PathId, sample: &RateSample) {
        let Some(seen) = view.path(path) else { return };
        if let Some(own) = self.own_mut(path) {
            own.bound.on_sample(view.now, seen, sample);
            own.estimate.on_sample(sample);
        }
    }

    fn on_rate_probe(&mut self, view: &AssocView<'_>, path: PathId, trip: &PaddedTrip) {
        if let (Some(own), Some(seen)) = (self.paths.get_mut(path.index()), view.path(path)) {
            return own.on_probe(view.now, seen, trip);
        }
        let more = (path.index() + 1).saturating_sub(self.probed.len());
        self.probed.reserve_exact(more);
        self.probed.extend((0..more).map(|_| RateBound::default()));
        if let Some(bound) = self.probed.get_mut(path.index()) {
            bound.on_probe(view.now, trip);
        }
    }

    fn on_overtaken(&mut self, view: &AssocView<'_>, path: PathId, trip: Duration) {
        let packet = view.path(path).map_or(0, |path| u64::from(path.pmdcs));
        self.on_rate_sample(view, path, &RateSample::of_trip(packet, trip));
    }

    fn on_acked(&mut self, view: &AssocView<'_>, ev: &AckedInfo) {
        let Some(path) = view.path(ev.path) else { return };
        self.wanted = None;
        if let Some(streams) = &mut self.streams {
            streams.on_acked(ev.bytes);
        }
        let slack = self.slack;
        if let Some(own) = self.own_mut(ev.path) {
            own.on_acked(view.now, path, ev, slack);
        }
    }

    fn wants_sack_at_once(&self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta) -> bool {
        self.is_scarce(view) || is_lone(view, path, chunk)
    }
}

#[cfg(test)]
mod tests;
