//! Paths: rates, delays, queues, thin ways back, and a bottleneck in common.

use std::collections::BTreeSet;

use crate::dice::{Cup, Dice};
use crate::feature::Feature;
use crate::quantity::{
    CELLULAR_RATE, DELAY, PATHS, PLAIN_DELAY, PLAIN_RATE, QUEUE, RATE, SHARED_DELAY, SHARED_RATE,
    THIN, round_to_three_digits,
};

/// Bits of a full packet.
const PACKET_BITS: f64 = 12_000.0;
/// A queue holds at most what the link sends in so many seconds.
const LONGEST_QUEUE: f64 = 2.0;
/// The least rate of a way back: a tenth of the least rate of a path. Below it the answers of the
/// set-up alone take longer than their timers.
const LEAST_WAY_BACK: u64 = 6_400;

/// The paths of a draw as numbers, before they become a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) paths: Vec<Path>,
    pub(crate) shared: Option<Shared>,
}

/// A path's own link.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// bit/s, from client to server; the mean of a trace.
    pub(crate) rate: u64,
    /// bit/s, from server to client.
    pub(crate) back: u64,
    /// One way, ns.
    pub(crate) delay: u64,
    /// Packets.
    pub(crate) queue: u64,
    /// Whether the rate follows a trace.
    pub(crate) is_cellular: bool,
}

/// A link that several paths lead over.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) members: Vec<usize>,
    pub(crate) rate: u64,
    pub(crate) delay: u64,
    pub(crate) queue: u64,
}

impl Network {
    /// The names of the paths, in the order of their numbers.
    pub(crate) fn path_name(number: usize) -> String {
        format!("P{}", number + 1)
    }

    /// The link of a path: under the path's own name, or that of the access to a common link.
    pub(crate) fn link_name(&self, number: usize) -> String {
        let name = Self::path_name(number);
        if self.is_shared(number) { format!("access-{name}") } else { name }
    }

    /// Whether the path leads over the common link.
    pub(crate) fn is_shared(&self, number: usize) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.members.contains(&number))
    }

    /// bit/s that all paths carry together.
    pub(crate) fn total_rate(&self) -> f64 {
        let sum = |shared: bool| {
            let paths = (0..).zip(&self.paths).filter(|(n, _)| self.is_shared(*n) == shared);
            paths.map(|(_, path)| path.rate as f64).sum::<f64>()
        };
        let common = self.shared.as_ref().map_or(0.0, |shared| shared.rate as f64);
        sum(false) + sum(true).min(common)
    }

    /// bit/s on all links together, at most: a path never carries more than a whole buffer per
    /// round trip. Traffic of others knows no such limit.
    pub(crate) fn most_carried(&self, buffer: Option<u64>) -> f64 {
        let window = |number| buffer.map(|bytes| 8.0 * bytes as f64 / self.round_trip(number));
        let most = |number| self.rate_of(number).min(window(number).unwrap_or(f64::INFINITY));
        (0..self.paths.len()).map(most).sum::<f64>().min(self.total_rate())
    }

    /// bit/s of a path's own link.
    pub(crate) fn rate_of(&self, number: usize) -> f64 {
        self.paths.get(number).map_or(0.0, |path| path.rate as f64)
    }

    /// bit/s of each path when it has the network for itself.
    pub(crate) fn rate_alone(&self, number: usize) -> f64 {
        let own = self.rate_of(number);
        let common = self.shared.as_ref().filter(|_| self.is_shared(number));
        common.map_or(own, |shared| own.min(shared.rate as f64))
    }

    /// bit/s of the fastest path alone.
    pub(crate) fn best_rate(&self) -> f64 {
        (0..self.paths.len()).map(|n| self.rate_alone(n)).fold(0.0, f64::max)
    }

    /// Propagation there and back, s.
    pub(crate) fn round_trip(&self, number: usize) -> f64 {
        let own = self.paths.get(number).map_or(0, |path| path.delay);
        let common = self.shared.as_ref().filter(|_| self.is_shared(number));
        2e-9 * (own + common.map_or(0, |shared| shared.delay)) as f64
    }

    /// The longest of them, s.
    pub(crate) fn longest_round_trip(&self) -> f64 {
        (0..self.paths.len()).map(|n| self.round_trip(n)).fold(0.0, f64::max)
    }
}

/// The network of a plain draw: paths with nothing else, and queues that hold half of a
/// bandwidth-delay product at least, without which no scheduler keeps a path full.
pub(crate) fn draw_plain_network(cup: Cup) -> Network {
    let count = draw_path_count(cup);
    let plain_path = |number| {
        let mut dice = cup.dice_for(&format!("path {number}"));
        let (rate, delay) = (dice.draw_whole(&PLAIN_RATE), dice.draw_whole(&PLAIN_DELAY));
        let product = 2e-9 * delay as f64 * rate as f64 / PACKET_BITS;
        // One more, for the number is rounded to three digits.
        let queue = draw_queue(&mut dice, rate, 0.5 * product * 1.01 + 1.0);
        Path { rate, back: rate, delay, queue, is_cellular: false }
    };
    Network { paths: (0..count).map(plain_path).collect(), shared: None }
}

fn draw_path_count(cup: Cup) -> usize {
    1 + cup.dice_for("number of paths").pick_weighted(&PATHS)
}

/// The network of any other draw. Features that it cannot have are taken out of `features`.
pub(crate) fn draw_network(cup: Cup, features: &mut BTreeSet<Feature>) -> Network {
    let count = draw_path_count(cup);
    let all: Vec<usize> = (0..count).collect();
    if count == 1 {
        // One path shares nothing; and where it follows a trace, no rate is left to change.
        features.remove(&Feature::SharedBottleneck);
        features.remove(&Feature::CellularTrace);
    }
    let cellular = picked_cellular(cup, features, &all);
    let thin = picked_for(cup, features, Feature::ThinWayBack, &all);
    let paths = all.iter().map(|n| draw_path(cup, *n, cellular.contains(n), thin.contains(n)));
    let mut network = Network { paths: paths.collect(), shared: None };
    if features.contains(&Feature::SharedBottleneck) {
        network.shared = Some(draw_shared(&mut cup.dice_for("shared link"), &network));
    }
    network
}

/// The paths that a feature is on: none without it; one, and each other with probability one half.
pub(crate) fn picked_for(
    cup: Cup,
    features: &BTreeSet<Feature>,
    feature: Feature,
    candidates: &[usize],
) -> Vec<usize> {
    if !features.contains(&feature) || candidates.is_empty() {
        return Vec::new();
    }
    cup.dice_for(&format!("paths with {feature}")).pick_some(candidates)
}

/// The paths that follow traces: at least one does not, so that rates can change on one.
fn picked_cellular(cup: Cup, features: &BTreeSet<Feature>, all: &[usize]) -> Vec<usize> {
    let mut cellular = picked_for(cup, features, Feature::CellularTrace, all);
    if cellular.len() == all.len() {
        cellular.pop();
    }
    cellular
}

fn draw_path(cup: Cup, number: usize, is_cellular: bool, is_thin: bool) -> Path {
    let mut dice = cup.dice_for(&format!("path {number}"));
    let drawn = dice.draw_whole(&RATE);
    let rate = if is_cellular { drawn.min(CELLULAR_RATE.high as u64) } else { drawn };
    let delay = dice.draw_whole(&DELAY);
    let queue = draw_queue(&mut dice, rate, 0.0);
    let ratio = dice.draw_value(&THIN);
    let back = round_to_three_digits(rate as f64 * ratio).max(LEAST_WAY_BACK);
    Path { rate, back: if is_thin { back } else { rate }, delay, queue, is_cellular }
}

/// Packets, `least` or more unless the link takes too long to send so many.
fn draw_queue(dice: &mut Dice, rate: u64, least: f64) -> u64 {
    let longest = QUEUE.up_to(LONGEST_QUEUE * rate as f64 / PACKET_BITS);
    dice.draw_whole(&longest.from_least(least))
}

fn draw_shared(dice: &mut Dice, network: &Network) -> Shared {
    let mut candidates: Vec<usize> = (0..network.paths.len()).collect();
    let first = candidates.remove(dice.pick_below(candidates.len()));
    let mut members = dice.pick_some(&candidates);
    members.push(first);
    members.sort_unstable();
    let paths = members.iter().filter_map(|n| network.paths.get(*n));
    let sum: f64 = paths.map(|path| path.rate as f64).sum();
    let rate = round_to_three_digits(sum * dice.draw_value(&SHARED_RATE)).max(1);
    let delay = dice.draw_whole(&SHARED_DELAY);
    Shared { members, rate, delay, queue: draw_queue(dice, rate, 0.0) }
}
