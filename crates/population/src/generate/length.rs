//! How long a run lasts: by rates and round trips, and never more packets than the budget.

use polypath_scenario::TimeSpec;
use polypath_scenario::units::Delay;

use super::network::Network;
use crate::quantity::round_to_three_digits;

/// A run settles, and is then measured, for this and so many round trips at least, s: until slow
/// start is over and estimates are settled.
pub(crate) const LEAST_TIME: f64 = 10.0;
/// See [`LEAST_TIME`].
pub(crate) const LEAST_ROUND_TRIPS: f64 = 30.0;
/// Full packets that the fastest path carries while it is measured, at least: one packet more or
/// less is a tenth of a per cent.
const LEAST_PACKETS: f64 = 1_000.0;
/// Requests that are measured, at least, if none is late.
const LEAST_REQUESTS: f64 = 300.0;
/// Settling takes at most this share of a run that the budget makes short.
const MOST_SETTLING: f64 = 2.0 / 3.0;
/// A file has so many times as long as the fastest path needs at its full rate.
const PATIENCE: f64 = 20.0;
/// By then every path has opened an association, s, and so many round trips.
const OPEN_TIME: f64 = 1.0;
/// See [`OPEN_TIME`].
const OPEN_ROUND_TRIPS: f64 = 3.0;
/// Applications wait for at most this share of the settling time.
const MOST_WAITING: f64 = 0.75;
/// Bits of a full packet.
const PACKET_BITS: f64 = 12_000.0;

/// How long a run lasts, s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Length {
    pub(crate) settle: f64,
    pub(crate) measure: f64,
    /// From when on changes make a difference.
    pub(crate) begin: f64,
    /// For how long they do.
    pub(crate) horizon: f64,
    pub(crate) is_file: bool,
    /// Whether the budget of packets made it shorter.
    pub(crate) is_cut: bool,
}

impl Length {
    /// The whole run, s.
    pub(crate) fn total(&self) -> f64 {
        self.settle + self.measure
    }

    /// When applications begin: at the same moment whichever paths are used. An association opens
    /// over its first path, which may be the slowest of all, and no scheduler has a say in that.
    pub(crate) fn source_start(&self, network: &Network) -> Delay {
        let open = opening_time(network);
        to_delay(if self.is_file { open } else { open.min(MOST_WAITING * self.settle) })
    }

    /// As scenario files say it.
    pub(crate) fn spec(&self) -> TimeSpec {
        if self.is_file {
            return TimeSpec { end: Some(to_delay(self.measure)), ..TimeSpec::default() };
        }
        TimeSpec {
            settle: Some(to_delay(self.settle)),
            measure: Some(to_delay(self.measure)),
            ..TimeSpec::default()
        }
    }
}

/// Seconds with three digits, as scenario files have them.
pub(crate) fn to_delay(seconds: f64) -> Delay {
    Delay(round_to_three_digits(seconds * 1e9).max(1))
}

/// By when an association is open over every path, s.
fn opening_time(network: &Network) -> f64 {
    OPEN_TIME + OPEN_ROUND_TRIPS * network.longest_round_trip()
}

/// The length of a run whose packets last for `most` seconds, and whose requests, if any, take
/// `cycle` seconds each.
pub(crate) fn fit_length(network: &Network, most: f64, cycle: Option<f64>) -> Length {
    let round_trips = LEAST_ROUND_TRIPS * network.longest_round_trip();
    let settle = round_trips.max(LEAST_TIME);
    let counted = LEAST_PACKETS * PACKET_BITS / network.best_rate();
    let measure = settle.max(cycle.map_or(counted, |cycle| LEAST_REQUESTS * cycle));
    let total = most.min(settle + measure);
    let is_cut = most < settle + measure;
    let settle = settle.min(MOST_SETTLING * total);
    let measure = total - settle;
    Length { settle, measure, begin: 0.0, horizon: total, is_file: false, is_cut }
}

/// The length of a run that carries a file.
pub(crate) fn fit_file(network: &Network, bytes: u64) -> Length {
    let bits = 8.0 * bytes as f64;
    let round_trips = LEAST_ROUND_TRIPS * network.longest_round_trip();
    let begin = opening_time(network);
    Length {
        settle: 0.0,
        begin,
        measure: begin + LEAST_TIME + round_trips + PATIENCE * bits / network.best_rate(),
        horizon: bits / network.total_rate() + 4.0 * network.longest_round_trip(),
        is_file: true,
        is_cut: false,
    }
}
