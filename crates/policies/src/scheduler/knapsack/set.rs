//! Which paths carry most of one ordered stream.

use polypath_proto::PathId;
use smallvec::SmallVec;

/// The path in a set.
pub(super) const fn bit(path: PathId) -> u64 {
    1 << (path.0 % 64)
}

/// A path as a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    /// Its bit in a set of paths.
    pub(super) bit: u64,
    /// How long it holds a byte, s: empty, and with the packets of slack that may queue.
    pub(super) empty: f64,
    pub(super) held: f64,
    /// What it carries, bytes/s; boundless if nothing is known to bound it.
    pub(super) rate: f64,
    /// What it carried at least.
    pub(super) sure: f64,
    /// Share of its packets that are lost.
    pub(super) loss: f64,
}

/// What a choice depends on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) candidates: SmallVec<[Candidate; 4]>,
    /// Bytes.
    pub(super) buffer: f64,
    /// Bytes of a packet.
    pub(super) packet: f64,
    /// The share by which a slower path must raise the rate.
    pub(super) gain: f64,
}

/// The latest choice: the same case gives the same set, and cases rarely change from one round to
/// the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    made: Option<(Case, u64)>,
    /// The set without those that come along.
    best: u64,
}

impl Choice {
    /// The set that is best in this case.
    pub(super) fn of(&mut self, case: Case) -> u64 {
        if let Some((made, set)) = &self.made
            && *made == case
        {
            return *set;
        }
        let mut candidates = case.candidates.clone();
        self.best = best(&mut candidates, case.buffer, case.packet, case.gain, self.best);
        let set = with_sure_ones(candidates, self.best, case.buffer, case.packet, case.gain);
        self.made = Some((case, set));
        set
    }

    /// Bytes per second that one ordered stream gets through the set, by what its paths carried at
    /// least.
    pub(super) fn promise(&self) -> f64 {
        let Some((case, set)) = &self.made else { return 0.0 };
        let mut candidates = case.candidates.clone();
        candidates.sort_unstable_by(|a, b| a.held.total_cmp(&b.held).then(a.bit.cmp(&b.bit)));
        candidates.iter_mut().for_each(|c| c.rate = c.rate.min(c.sure));
        let fastest = candidates.first().map_or(0.0, |c| c.held);
        let members = candidates.iter().enumerate().filter(|(_, c)| c.bit & set != 0);
        let members = members.fold(0_u32, |members, (n, _)| members | 1 << n);
        carried(&candidates, members, case.buffer, case.packet, fastest)
    }
}

/// The paths that carry most where not all data waits for all other data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Free {
    /// All of them.
    pub(super) all: u64,
    /// The fastest ones, which carry all that they can although the data on them is in order.
    pub(super) shared: u64,
}

impl Free {
    /// Each byte occupies the buffer for its own hold time, so paths are filled in the order of
    /// these as far as the buffer lasts. A path that does not raise the rate by a share `gain` is
    /// not worth what it may hold up.
    pub(super) fn of(mut candidates: SmallVec<[Candidate; 4]>, buffer: f64, gain: f64) -> Self {
        candidates.sort_unstable_by(|a, b| a.held.total_cmp(&b.held).then(a.bit.cmp(&b.bit)));
        let (mut left, mut sum, mut free) = (buffer, 0.0, Self::default());
        for path in &candidates {
            let rate = path.rate.min(left / path.held.max(1e-6));
            if rate <= gain * sum {
                continue;
            }
            if free.all == free.shared && (sum + path.rate) * path.held <= buffer {
                free.shared |= path.bit;
            }
            free.all |= path.bit;
            sum += rate;
            left -= rate * path.held;
        }
        // One that the buffer does not fill is still the fastest.
        if free.shared == 0 {
            free.shared = candidates.first().map_or(0, |path| path.bit);
        }
        free
    }
}

/// Hold times that differ by less are taken for equal.
pub(super) const NEARLY: f64 = 1.1;

/// A path with fewer packets in flight often has none behind a lost one that would tell of it.
const FEW_PACKETS: f64 = 5.0;

/// The share of the buffer that may be taken while a path is tried in the company of another one
/// that was never full either: with more, the buffer would be the limit, and the path that could
/// carry all of it alone would never show that.
const MOST: f64 = 0.75;

/// With more faster paths, all of them or none are tried.
const ALL_SETS: u32 = 5;

/// The set that carries most through `buffer` bytes, packets of `packet` bytes; a slower path only
/// where it is worth a share `gain`; `current` is the set in use.
fn best(
    candidates: &mut SmallVec<[Candidate; 4]>,
    buffer: f64,
    packet: f64,
    gain: f64,
    current: u64,
) -> u64 {
    candidates.sort_unstable_by(|a, b| a.held.total_cmp(&b.held).then(a.bit.cmp(&b.bit)));
    let fastest = candidates.first().map_or(0.0, |c| c.held);
    let bits = |members: u32| {
        let chosen = candidates.iter().enumerate().filter(|(n, _)| members & 1 << n != 0);
        chosen.fold(0, |bits, (_, c)| bits | c.bit)
    };
    let carried = |members: u32| carried(candidates, members, buffer, packet, fastest);
    let slowest = |members: u32| candidates.get(members.checked_ilog2()? as usize);
    let held = |members: u32| slowest(members).map_or(0.0, |c| c.held);
    let (mut most, mut set) = (0.0, 0_u32);
    for slowest in 0..candidates.len() as u32 {
        let best = with_slowest(slowest).into_iter().map(|s| (carried(s), s));
        // Of equal ones the last: what is as fast or faster costs nothing.
        let best = best.fold((0.0, 0), |a, b| if b.0 >= a.0 { b } else { a });
        if best.0 > (1.0 + gain) * most {
            (most, set) = best;
        }
    }
    // Every change lets data wait for the path that was left: nothing changes for nothing.
    let used = candidates.iter().enumerate().filter(|(_, c)| c.bit & current != 0);
    let used = used.fold(0_u32, |members, (n, _)| members | 1 << n);
    let as_fast = held(used) <= NEARLY * held(set);
    if used != 0 && bits(used) == current && as_fast && carried(used) * (1.0 + gain) >= most {
        return current;
    }
    bits(set)
}

/// The same set with those that are as fast, where its own may carry less than is hoped: paths that
/// were never full count as boundless, so that they are tried, and what is known to carry something
/// must not rest meanwhile.
fn with_sure_ones(
    mut candidates: SmallVec<[Candidate; 4]>,
    mut set: u64,
    buffer: f64,
    packet: f64,
    gain: f64,
) -> u64 {
    let hoped = |c: &Candidate| c.sure < c.rate;
    if !candidates.iter().any(|c| c.bit & set != 0 && hoped(c)) {
        return set;
    }
    let known = candidates.iter().filter(|c| !hoped(c)).fold(0, |bits, c| bits | c.bit);
    let fastest = candidates.first().map_or(0.0, |c| c.held);
    let slowest = candidates.iter().filter(|c| c.bit & set != 0).map(|c| c.empty);
    let as_fast = NEARLY * slowest.fold(0.0, f64::max);
    candidates.iter_mut().for_each(|c| c.rate = c.rate.min(c.sure));
    let members = |set: u64| {
        let chosen = candidates.iter().enumerate().filter(|(_, c)| c.bit & set != 0);
        chosen.fold(0_u32, |members, (n, _)| members | 1 << n)
    };
    let carried = |set: u64| carried(&candidates, members(set), buffer, packet, fastest);
    let taken = |set: u64| {
        candidates.iter().filter(|c| c.bit & set != 0).map(|c| c.rate * c.held).sum::<f64>()
    };
    for path in &candidates {
        let more = set | path.bit;
        let room = known & path.bit != 0 || taken(more) <= MOST * buffer;
        if room && path.empty <= as_fast && carried(more) > (1.0 + gain) * carried(set) {
            set = more;
        }
    }
    set
}

/// The sets whose slowest member is number `slowest`, as bits; the larger one of two comes later.
fn with_slowest(slowest: u32) -> SmallVec<[u32; 16]> {
    let own = 1_u32 << slowest.min(31);
    let faster = own - 1;
    if slowest < ALL_SETS {
        (0..=faster).map(|some| some | own).collect()
    } else {
        SmallVec::from_slice(&[own, faster | own])
    }
}

/// min(sum of the rates, B / greatest hold time), and less while a loss is repaired, which holds
/// all that came behind it.
///
/// A repair takes the hold time of the fastest path and a quarter of its own path's, which its
/// detection takes longer than an acknowledgement (RFC 8985), or two of these where only a probe
/// finds the loss (section 7). Repairs are averaged over time, not over hold times: what the buffer
/// bridges on average it does not bridge while one goes on.
fn carried(all: &[Candidate], members: u32, buffer: f64, packet: f64, fastest: f64) -> f64 {
    let set = || all.iter().enumerate().filter(|(n, _)| members & 1 << n != 0).map(|(_, c)| c);
    let rate = |c: &Candidate| c.rate.min(buffer / c.held.max(1e-6));
    let sum: f64 = set().map(rate).sum();
    let held = set().map(|c| c.held).fold(1e-6, f64::max);
    let undisturbed = sum.min(buffer / held);
    // For each path: seconds under repair per second, each loss for itself, and bytes that get
    // through meanwhile.
    let repairs = |c: &Candidate| {
        let few = rate(c) * c.held < FEW_PACKETS * packet;
        let time = held + c.held * if few { 2.0 } else { 0.25 } + fastest;
        let losses = undisturbed * rate(c) / sum.max(1.0) * c.loss / packet;
        (losses * time, losses * time * sum.min(buffer / time))
    };
    let (seconds, bytes) = set().map(repairs).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    // Several at a time hold no more than one.
    (undisturbed + bytes) / (1.0 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(n: u32, ms: f64, mbit: f64, loss: f64) -> Candidate {
        let (held, rate) = (ms / 1e3, mbit * 125e3);
        Candidate { bit: 1 << n, empty: held, held, rate, sure: rate, loss }
    }

    fn choose(paths: &[Candidate], kib: f64) -> u64 {
        best(&mut SmallVec::from_slice(paths), kib * 1024.0, 1500.0, 0.06, 0)
    }

    #[test]
    fn a_slow_path_is_taken_where_the_buffer_carries_more_with_it() {
        // 10 Mbit/s alone; both together B / 88.7 ms: 5.9, 8.9, 11.8 Mbit/s.
        let paths = [path(0, 21.2, 10.0, 0.0), path(1, 88.7, 10.0, 0.0)];
        assert_eq!([64.0, 96.0, 128.0].map(|kib| choose(&paths, kib)), [1, 1, 3]);
    }

    #[test]
    fn a_faster_path_comes_along_for_nothing_unless_it_loses() {
        // B / 100 ms is 5.2 Mbit/s with the slow one in the set, whatever else is in it.
        let paths = [path(0, 20.0, 1.0, 0.0), path(1, 100.0, 20.0, 0.0)];
        assert_eq!(choose(&paths, 64.0), 3);
        let paths = [path(0, 20.0, 1.0, 0.05), path(1, 100.0, 20.0, 0.0)];
        assert_eq!(choose(&paths, 64.0), 2);
    }

    #[test]
    fn a_lossy_path_is_left_while_its_repairs_cost_more_than_it_brings() {
        // 5 Mbit/s alone need 60 KiB. The other one's losses: 1 Mbit/s, 10 %, 8.3 a second, 115 ms
        // each, hold it up half of the time: 64 KiB / 150 ms is 3.5 Mbit/s.
        let paths = [path(0, 92.0, 5.0, 0.0), path(1, 92.0, 1.0, 0.1)];
        assert_eq!(choose(&paths, 64.0), 1);
        assert_eq!(choose(&paths, 256.0), 3, "enough to bridge the repairs");
    }

    #[test]
    fn a_buffer_that_bridges_repairs_on_average_does_not_bridge_each() {
        // Windows of 24 and 5 packets over 92 ms, 44 packets of buffer: 29 fit, and with a repair
        // of 115 ms under way 0.38 of the time the mean hold time of 136 ms would need 43. While it
        // goes on, though, 44 packets in 207 ms come through in place of 65.
        let packets = |n: f64| n * 1500.0 / 0.092 / 125e3;
        let paths = [path(0, 92.0, packets(24.0), 0.0), path(1, 92.0, packets(5.0), 0.1)];
        assert_eq!(choose(&paths, 64.5), 1);
        let paths = [path(0, 92.0, packets(24.0), 0.0), path(1, 92.0, packets(5.0), 0.01)];
        assert_eq!(choose(&paths, 64.5), 3);
    }

    #[test]
    fn many_paths_are_taken_in_the_order_of_their_hold_times() {
        let paths: Vec<_> = (0..8).map(|n| path(n, 20.0 + f64::from(n), 1.0, 0.0)).collect();
        assert_eq!(choose(&paths, 64.0), 0xff);
    }

    #[test]
    fn a_path_that_is_as_fast_does_not_rest_while_another_is_tried() {
        let full = Candidate { held: 0.024, ..path(0, 21.6, 10.0, 0.0) };
        let tried = Candidate { rate: f64::INFINITY, sure: 125e3, ..path(1, 21.6, 0.0, 0.0) };
        let set = |paths: &[Candidate]| {
            let candidates = SmallVec::from_slice(paths);
            let case = Case { candidates, buffer: 1e6, packet: 1500.0, gain: 0.06 };
            Choice::default().of(case)
        };
        assert_eq!(set(&[full, tried]), 3);
        assert_eq!(set(&[Candidate { empty: 0.1, held: 0.1, ..full }, tried]), 2, "too slow");
        let filled = Candidate { rate: 1e9, sure: 1e9, ..tried };
        assert_eq!(set(&[full, filled]), 2, "nothing is hoped");
    }

    #[test]
    fn new_paths_grow_side_by_side_while_the_buffer_is_no_limit() {
        // Windows of 20 kB each over 100 ms, nothing known of what the paths carry.
        let new = |n| Candidate { rate: f64::INFINITY, sure: 2e5, ..path(n, 100.0, 0.0, 0.0) };
        let set = |kib: f64| {
            let candidates = SmallVec::from_slice(&[new(0), new(1)]);
            let buffer = kib * 1024.0;
            Choice::default().of(Case { candidates, buffer, packet: 1500.0, gain: 0.06 })
        };
        assert_eq!(set(64.0), 3);
        // 40 kB are more than three quarters: the first one shows whether it carries all of it
        // alone.
        assert_eq!(set(48.0), 1);
    }

    #[test]
    fn who_comes_along_does_not_stay_for_that() {
        let hoped = |n, sure| Candidate { rate: f64::INFINITY, sure, ..path(n, 100.0, 0.0, 0.0) };
        let mut choice = Choice::default();
        let mut set = |sure| {
            let candidates = SmallVec::from_slice(&[hoped(0, sure), hoped(1, 2e5)]);
            choice.of(Case { candidates, buffer: 65_536.0, packet: 1500.0, gain: 0.06 })
        };
        assert_eq!([2e5, 5e5, 6e5].map(&mut set), [3, 1, 1]);
    }

    #[test]
    fn data_that_waits_for_none_takes_what_buffer_the_faster_paths_leave() {
        // 26.5 kB on the first. In order 222 kB are needed for the first two, 227 for all.
        let paths = [path(0, 21.2, 10.0, 0.0), path(1, 88.7, 10.0, 0.0), path(2, 90.0, 1.0, 0.0)];
        let set = |kib: f64| {
            let free = Free::of(SmallVec::from_slice(&paths), kib * 1024.0, 0.04);
            (free.all, free.shared)
        };
        assert_eq!([24.0, 64.0, 220.0, 256.0].map(set), [(1, 1), (3, 1), (7, 3), (7, 7)]);
    }

    #[test]
    fn what_is_promised_is_what_the_paths_of_the_set_carried() {
        let mut choice = Choice::default();
        let slow = Candidate { rate: f64::INFINITY, sure: 125e3, ..path(1, 50.0, 0.0, 0.0) };
        let candidates = SmallVec::from_slice(&[path(0, 20.0, 10.0, 0.0), slow]);
        assert_eq!(choice.promise(), 0.0);
        choice.of(Case { candidates, buffer: 1e6, packet: 1500.0, gain: 0.06 });
        assert_eq!(choice.promise(), 1.25e6 + 125e3);
    }

    #[test]
    fn no_paths_make_no_set() {
        assert_eq!(choose(&[], 64.0), 0);
    }
}
