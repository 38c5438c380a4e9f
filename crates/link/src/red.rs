//! Random early detection (Floyd and Jacobson 1993), in packets, without the later "gentle"
//! extension.

use rand_chacha::ChaCha12Rng;

use crate::arrival::Arrival;
use crate::error::{ConfigError, check_probability};
use crate::random::draw_chance;
use crate::{DropReason, Nanos};

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
    /// Thresholds 5 and 15, probability 2 % and weight 0.002 as Floyd and Jacobson used, and 50
    /// packets of room.
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
    /// Packets let in since the last drop while the average was between the thresholds; `None`
    /// below them.
    since_drop: Option<u32>,
}

impl Red {
    pub(crate) fn new(config: RedConfig) -> Self {
        Self { config, average: 0.0, since_drop: None }
    }

    /// Updates the average and decides about the arriving packet.
    pub(crate) fn refuse_packet(
        &mut self,
        arrival: Arrival,
        rng: &mut ChaCha12Rng,
    ) -> Option<DropReason> {
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

    /// An exponentially weighted mean of the queue lengths that arriving packets see:
    /// `avg += w (q - avg)`. After an idle time it decays as if the packets that could have been
    /// sent meanwhile had each seen an empty queue: `avg *= (1 - w)^m`, with m the idle time over
    /// the transmission time of the packet that ends it.
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
        draw_chance(rng, spread_drops(base, count))
    }
}

/// Makes the gaps between drops uniform instead of geometric: `p / (1 - count p)`.
fn spread_drops(base: f64, count: u32) -> f64 {
    let rest = 1.0 - f64::from(count) * base;
    if rest > base { base / rest } else { 1.0 }
}

fn missed_packets(idle: Nanos, transmission: Nanos) -> i32 {
    let packets = idle.checked_div(transmission).unwrap_or(u64::MAX);
    i32::try_from(packets).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;
    use crate::QueueLen;

    fn arrival(packets: u64, idle: Option<Nanos>) -> Arrival {
        Arrival { size: 1500, waiting: QueueLen { packets, bytes: 0 }, idle, transmission: 100 }
    }

    /// The average follows the queue at once, so that a constant queue is a constant average.
    fn unsmoothed() -> Red {
        Red::new(RedConfig {
            min_packets: 10.0,
            max_packets: 30.0,
            max_p: 0.1,
            weight: 1.0,
            limit_packets: 100,
        })
    }

    fn drop_share(waiting: u64) -> f64 {
        const N: u32 = 200_000;
        let (mut red, mut rng) = (unsmoothed(), ChaCha12Rng::seed_from_u64(1));
        let refused = |_: &u32| red.refuse_packet(arrival(waiting, None), &mut rng).is_some();
        (0..N).filter(refused).count() as f64 / f64::from(N)
    }

    /// Gaps between drops are uniform on 1..1/p_b, whose mean is 1/(2 p_b).
    #[test]
    fn the_drop_rate_rises_linearly_between_the_thresholds() {
        assert_eq!(drop_share(9), 0.0);
        for (waiting, base) in [(12, 0.01), (14, 0.02), (18, 0.04), (20, 0.05)] {
            let share = drop_share(waiting);
            assert!((share / (2.0 * base) - 1.0).abs() < 0.03, "{waiting} waiting: {share}");
        }
        assert_eq!(drop_share(30), 1.0);
    }

    #[test]
    fn gaps_between_drops_stay_below_the_inverse_of_the_base_probability() {
        let (mut red, mut rng) = (unsmoothed(), ChaCha12Rng::seed_from_u64(2));
        let mut gap = 0;
        for _ in 0..100_000 {
            gap += 1;
            if red.refuse_packet(arrival(20, None), &mut rng).is_some() {
                assert!(gap <= 20, "{gap}");
                gap = 0;
            }
        }
    }

    #[test]
    fn the_limit_holds_whatever_the_average() {
        let config = RedConfig { limit_packets: 3, ..RedConfig::default() };
        let (mut red, mut rng) = (Red::new(config), ChaCha12Rng::seed_from_u64(3));
        assert_eq!(red.refuse_packet(arrival(3, None), &mut rng), Some(DropReason::QueueFull));
        assert_eq!(red.refuse_packet(arrival(2, None), &mut rng), None);
    }

    #[test]
    fn the_average_decays_while_idle() {
        let mut red = Red::new(RedConfig { weight: 0.5, ..RedConfig::default() });
        red.update_average(arrival(16, None));
        assert_eq!(red.average, 8.0);
        red.update_average(arrival(0, Some(350)));
        assert_eq!(red.average, 1.0, "three packets of 100 ns fit into 350 ns");
    }
}
