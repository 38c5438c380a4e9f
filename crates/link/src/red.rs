//! Random early detection (Floyd and Jacobson 1993), in packets, without the later "gentle" extension.

use rand_chacha::ChaCha12Rng;

use crate::config::check_probability;
use crate::queue::Arrival;
use crate::random::chance;
use crate::{ConfigError, DropReason, Nanos};

/// Settings of RED; the averages count waiting packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Below this average no packet is dropped early.
    pub min_packets: f64,
    /// From this average on every packet is dropped.
    pub max_packets: f64,
    /// Drop probability as the average nears `max_packets`.
    pub max_p: f64,
    /// Weight of the newest queue length in the average.
    pub weight: f64,
    /// Most packets that wait, whatever the average.
    pub limit_packets: u32,
}

impl Default for RedConfig {
    /// Thresholds 5 and 15, probability 2 % and weight 0.002 as Floyd and Jacobson used, and 50 packets of room.
    fn default() -> Self {
        Self { min_packets: 5.0, max_packets: 15.0, max_p: 0.02, weight: 0.002, limit_packets: 50 }
    }
}

impl RedConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let (min, max) = (self.min_packets, self.max_packets);
        if !(0.0 <= min && min < max) {
            return Err(ConfigError::RedThresholds { min, max });
        }
        check_probability("red.max_p", self.max_p)?;
        check_probability("red.weight", self.weight)
    }
}

/// The state of a RED queue.
#[derive(Debug)]
pub(crate) struct Red {
    config: RedConfig,
    average: f64,
    /// Packets let in since the last drop while the average was between the thresholds; `None` below them.
    since_drop: Option<u32>,
}

impl Red {
    pub(crate) fn new(config: RedConfig) -> Self {
        Self { config, average: 0.0, since_drop: None }
    }

    /// Updates the average and decides about the arriving packet.
    pub(crate) fn refuse(&mut self, arrival: Arrival, rng: &mut ChaCha12Rng) -> Option<DropReason> {
        self.update_average(arrival);
        let forced = arrival.idle.is_none()
            && arrival.waiting.packets >= u64::from(self.config.limit_packets);
        let early = self.drops_early(rng);
        if forced || early {
            self.since_drop = Some(0);
        }
        match (forced, early) {
            (true, _) => Some(DropReason::QueueFull),
            (false, true) => Some(DropReason::Red),
            (false, false) => None,
        }
    }

    /// An exponentially weighted mean of the queue lengths that arriving packets see: `avg += w (q - avg)`. After an
    /// idle time it decays as if the small packets that could have been sent meanwhile had each seen an empty queue:
    /// `avg *= (1 - w)^m`, with m the idle time over the transmission time of the packet that ends it.
    fn update_average(&mut self, arrival: Arrival) {
        let weight = self.config.weight;
        match arrival.idle {
            Some(idle) => {
                self.average *= (1.0 - weight).powi(missed_packets(idle, arrival.transmission));
            }
            None => self.average += weight * (arrival.waiting.packets as f64 - self.average),
        }
    }

    fn drops_early(&mut self, rng: &mut ChaCha12Rng) -> bool {
        let RedConfig { min_packets, max_packets, max_p, .. } = self.config;
        if self.average < min_packets {
            self.since_drop = None;
            return false;
        }
        if self.average >= max_packets {
            return true;
        }
        let count = self.since_drop.map_or(0, |count| count.saturating_add(1));
        self.since_drop = Some(count);
        let base = max_p * (self.average - min_packets) / (max_packets - min_packets);
        chance(rng, spread(base, count))
    }
}

/// Makes the gaps between drops uniform instead of geometric: `p / (1 - count p)`.
fn spread(base: f64, count: u32) -> f64 {
    let rest = 1.0 - f64::from(count) * base;
    if rest > base { base / rest } else { 1.0 }
}

fn missed_packets(idle: Nanos, transmission: Nanos) -> i32 {
    let packets = idle.checked_div(transmission).unwrap_or(u64::MAX);
    i32::try_from(packets).unwrap_or(i32::MAX)
}
