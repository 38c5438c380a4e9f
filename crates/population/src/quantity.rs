//! What is drawn from which range: the one place that says so.

use polypath_scenario::units::{Delay, Packets, Probability, Quantity as _, Rate, Size};

/// A range that values are drawn from. A range over more than a decade is log-uniform: each decade
/// has the same share, or nothing would ever be small. Others are uniform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// What is drawn.
    pub name: &'static str,
    /// What its base unit is.
    pub unit: Unit,
    /// The smallest value, in base units.
    pub low: f64,
    /// The greatest value, in base units.
    pub high: f64,
    /// What else has to be known.
    pub note: &'static str,
}

/// The base units of quantities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// bit/s.
    Rate,
    /// ns.
    Time,
    /// Bytes.
    Size,
    /// Packets.
    Packets,
    /// A probability, from 0 to 1.
    Probability,
    /// A plain number.
    Number,
}

/// How values are spread over a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Each value is as likely as any other.
    Uniform,
    /// Each ratio of two values is as likely as any other.
    LogUniform,
}

impl Quantity {
    /// How values are spread.
    pub fn shape(&self) -> Shape {
        if self.low > 0.0 && self.high / self.low > 10.0 {
            Shape::LogUniform
        } else {
            Shape::Uniform
        }
    }

    /// The value at `share` of the range, from 0 to 1.
    pub fn value_at(&self, share: f64) -> f64 {
        match self.shape() {
            Shape::Uniform => self.low + share * (self.high - self.low),
            Shape::LogUniform => self.low * (self.high / self.low).powf(share),
        }
    }

    /// The same quantity with another lower end, which is not above the upper one.
    #[must_use]
    pub fn from_least(self, low: f64) -> Self {
        Self { low: self.low.max(low).min(self.high), ..self }
    }

    /// The same quantity with another upper end, which is not below the lower one.
    #[must_use]
    pub fn up_to(self, high: f64) -> Self {
        Self { high: self.high.min(high).max(self.low), ..self }
    }

    /// The range as people write it.
    pub fn shown_range(&self) -> String {
        format!("{} to {}", self.unit.shown(self.low), self.unit.shown(self.high))
    }
}

impl Unit {
    fn shown(self, value: f64) -> String {
        match self {
            Self::Rate => Rate(value as u64).to_string(),
            Self::Time => Delay(value as u64).to_string(),
            Self::Size => Size(value as u64).to_string(),
            Self::Packets => Packets(value as u64).to_string(),
            Self::Probability => probability_of(value).to_string(),
            Self::Number => value.to_string(),
        }
    }
}

/// The nearest probability that scenario files can say with three digits.
pub(crate) fn probability_of(value: f64) -> Probability {
    let base = value * Probability::ONE.base() as f64;
    Probability::from_base(round_to_three_digits(base).min(Probability::ONE.base()))
}

/// Three digits say enough, and make files that people can read.
pub(crate) fn round_to_three_digits(value: f64) -> u64 {
    let value = value.max(0.0);
    let step = 10_f64.powf((value.max(1.0).log10().floor() - 2.0).max(0.0));
    ((value / step).round() * step) as u64
}

const MS: f64 = 1e6;
const S: f64 = 1e9;
const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

const fn quantity(
    name: &'static str,
    unit: Unit,
    low: f64,
    high: f64,
    note: &'static str,
) -> Quantity {
    Quantity { name, unit, low, high, note }
}

pub(crate) const RATE: Quantity =
    quantity("rate of a path", Unit::Rate, 64e3, 1e9, "both ways, unless the way back is thin");
/// Faster ones are over, by the budget of packets, before they have settled.
pub(crate) const PLAIN_RATE: Quantity =
    quantity("rate of a path, plain draws", Unit::Rate, 64e3, 100e6, "both ways");
pub(crate) const DELAY: Quantity =
    quantity("delay of a path, one way", Unit::Time, 0.05 * MS, 600.0 * MS, "the same both ways");
/// See [`PLAIN_RATE`].
pub(crate) const PLAIN_DELAY: Quantity = quantity(
    "delay of a path, plain draws",
    Unit::Time,
    0.05 * MS,
    300.0 * MS,
    "the same both ways",
);
/// Its upper end depends on the rate of the path.
pub(crate) const QUEUE: Quantity = quantity(
    "queue of a link",
    Unit::Packets,
    5.0,
    166_667.0,
    "at most what the link sends in 2 s; of plain draws, at least half of the path's \
     bandwidth-delay product; drop-tail",
);
pub(crate) const BUFFER: Quantity =
    quantity("send and receive buffer", Unit::Size, 32.0 * KIB, 128.0 * MIB, "one size for both");
pub(crate) const THIN: Quantity = quantity(
    "thin way back: its share of the rate",
    Unit::Number,
    0.01,
    0.5,
    "at least 6.4 kbit/s",
);
pub(crate) const JITTER: Quantity = quantity(
    "jitter",
    Unit::Time,
    0.5 * MS,
    50.0 * MS,
    "both ways; uniform up to so much, or, every second link, the absolute value of a normal \
     deviation whose standard deviation is half of it",
);
pub(crate) const LOSS: Quantity =
    quantity("random loss", Unit::Probability, 0.0001, 0.03, "per packet, both ways");
pub(crate) const TO_BAD: Quantity = quantity(
    "burst loss: leaving the good state",
    Unit::Probability,
    0.0001,
    0.005,
    "per packet (Gilbert-Elliott), both ways",
);
pub(crate) const TO_GOOD: Quantity =
    quantity("burst loss: leaving the bad state", Unit::Probability, 0.05, 0.5, "per packet");
pub(crate) const LOSS_BAD: Quantity =
    quantity("burst loss: loss in the bad state", Unit::Probability, 0.5, 1.0, "");
pub(crate) const DIPS: Quantity =
    quantity("dips of a path", Unit::Number, 1.0, 3.0, "a whole number");
pub(crate) const DIP_DEPTH: Quantity =
    quantity("dip: what is left of the rate", Unit::Number, 0.01, 0.5, "forward");
pub(crate) const DIP_LENGTH: Quantity =
    quantity("dip: how long", Unit::Time, 200.0 * MS, 5.0 * S, "at most a quarter of the run");
pub(crate) const STEP: Quantity =
    quantity("step: the new rate over the old one", Unit::Number, 0.25, 4.0, "forward, once");
pub(crate) const FLAPS: Quantity =
    quantity("cuts of a flapping path", Unit::Number, 1.0, 4.0, "a whole number");
pub(crate) const FLAP_LENGTH: Quantity =
    quantity("cut: how long", Unit::Time, 100.0 * MS, 5.0 * S, "at most a fifth of the run");
pub(crate) const CROSS_RATE: Quantity =
    quantity("cross traffic: share of the link", Unit::Number, 0.1, 0.9, "forward, Poisson");
pub(crate) const CROSS_TIME: Quantity = quantity(
    "cross traffic: mean time on, and off",
    Unit::Time,
    200.0 * MS,
    5.0 * S,
    "each drawn for itself; times are exponential",
);
pub(crate) const SHARED_RATE: Quantity = quantity(
    "shared bottleneck: its rate over the sum of the paths'",
    Unit::Number,
    0.3,
    0.9,
    "two paths at least lead over it",
);
pub(crate) const SHARED_DELAY: Quantity =
    quantity("shared bottleneck: delay", Unit::Time, 0.05 * MS, 20.0 * MS, "one way");
pub(crate) const RED_PROBABILITY: Quantity = quantity(
    "RED: drop probability at its upper threshold",
    Unit::Probability,
    0.01,
    0.2,
    "thresholds at a quarter and three quarters of the queue",
);
pub(crate) const CELLULAR_RATE: Quantity = quantity(
    "cellular trace: mean rate",
    Unit::Rate,
    64e3,
    60e6,
    "the path's rate, at most so much; outages and a wandering rate, every 100 ms",
);
pub(crate) const STREAMS: Quantity =
    quantity("streams in turn, or by backlog", Unit::Number, 2.0, 16.0, "a whole number");
pub(crate) const MESSAGE: Quantity = quantity(
    "size of messages",
    Unit::Size,
    100.0,
    64.0 * KIB,
    "at most a quarter of the buffer; every second draw has 1452 bytes, a full packet",
);
pub(crate) const UNEQUAL_MESSAGE: Quantity = quantity(
    "unequal messages: smallest and greatest on one stream",
    Unit::Size,
    100.0,
    64.0 * KIB,
    "every second draw with unequal messages; each message log-uniform between them; at most a \
     quarter of the buffer",
);
pub(crate) const SIDE_MESSAGE: Quantity = quantity(
    "unequal messages: size on a second stream",
    Unit::Size,
    100.0,
    16.0 * KIB,
    "the other draws with unequal messages; at most an eighth of the buffer",
);
pub(crate) const SIDE_RATE: Quantity = quantity(
    "unequal messages: the second stream's share of all rates",
    Unit::Number,
    0.01,
    0.05,
    "at even distances",
);
pub(crate) const PACED_RATE: Quantity = quantity(
    "paced: payload over the sum of the rates",
    Unit::Number,
    0.05,
    0.9,
    "more than the best path has, in some draws",
);
pub(crate) const BURST_LOAD: Quantity =
    quantity("bursts: mean payload over the best path's rate", Unit::Number, 0.05, 0.6, "");
pub(crate) const BURST_PEAK: Quantity =
    quantity("bursts: payload while on, over the sum of the rates", Unit::Number, 0.7, 4.0, "");
pub(crate) const BURST_CYCLE: Quantity = quantity(
    "bursts: mean time from one to the next",
    Unit::Time,
    50.0 * MS,
    2.0 * S,
    "the time on follows from load and rate; times on and off are exponential",
);
pub(crate) const FILE: Quantity =
    quantity("size of a file", Unit::Size, 1e3, 1e8, "at most what the packets of a run carry");
pub(crate) const REQUEST: Quantity = quantity("size of a request", Unit::Size, 50.0, 1452.0, "");
pub(crate) const RESPONSE: Quantity =
    quantity("size of a response", Unit::Size, 1e3, 1e6, "at most a quarter of the buffer");
pub(crate) const THINK: Quantity =
    quantity("pause before a request", Unit::Time, 1.0 * MS, 1.0 * S, "");

/// All ranges, in the order of the documentation.
pub const ALL: [Quantity; 37] = [
    RATE,
    PLAIN_RATE,
    DELAY,
    PLAIN_DELAY,
    QUEUE,
    BUFFER,
    THIN,
    JITTER,
    LOSS,
    TO_BAD,
    TO_GOOD,
    LOSS_BAD,
    DIPS,
    DIP_DEPTH,
    DIP_LENGTH,
    STEP,
    FLAPS,
    FLAP_LENGTH,
    CROSS_RATE,
    CROSS_TIME,
    SHARED_RATE,
    SHARED_DELAY,
    RED_PROBABILITY,
    CELLULAR_RATE,
    STREAMS,
    MESSAGE,
    UNEQUAL_MESSAGE,
    SIDE_MESSAGE,
    SIDE_RATE,
    PACED_RATE,
    BURST_LOAD,
    BURST_PEAK,
    BURST_CYCLE,
    FILE,
    REQUEST,
    RESPONSE,
    THINK,
];

/// The share of draws that are plain: no feature, an application that always has something to send,
/// messages of one size, queues that hold half of a bandwidth-delay product. Most have a limit.
pub(crate) const PLAIN: f64 = 0.2;

/// How many draws of twenty have so many paths, from one on.
pub const PATHS: [u32; 8] = [1, 6, 4, 3, 2, 2, 1, 1];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_over_more_than_a_decade_is_log_uniform() {
        assert_eq!(RATE.shape(), Shape::LogUniform);
        assert!((RATE.value_at(0.5) - 8e6).abs() < 1.0, "the geometric mean lies in the middle");
        assert_eq!(LOSS_BAD.shape(), Shape::Uniform);
        assert_eq!(LOSS_BAD.value_at(0.5), 0.75);
    }

    #[test]
    fn three_digits_are_kept() {
        for (value, kept) in
            [(0.0, 0), (7.4, 7), (123.4, 123), (1_234.0, 1_230), (98_765.0, 98_800)]
        {
            assert_eq!(round_to_three_digits(value), kept);
        }
    }

    #[test]
    fn an_upper_end_never_passes_the_lower_one() {
        assert_eq!(QUEUE.up_to(2.0).high, 5.0);
        assert_eq!(QUEUE.up_to(1e9).high, QUEUE.high);
    }
}
