//! Cross traffic: packets of others on a link, which nobody acknowledges.

use polypath_link::Nanos;
use polypath_proto::rng::Rng;

use crate::check::SpecError;
use crate::random::named_rng;
use crate::results::CrossResult;
use crate::spec::{CrossSpec, Period, Spacing};

/// Counters of a source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
}

/// A running source.
#[derive(Debug)]
pub(crate) struct Source {
    spec: CrossSpec,
    /// Draws of the packets' distances and of the phases, so that changing one leaves the other as
    /// it is.
    gaps: Rng,
    phases: Rng,
    /// When the present phase of sending began and ends.
    on: (Nanos, Nanos),
    /// Packets since the phase began.
    sent_in_phase: u64,
    next: Nanos,
    pub(crate) counts: Counts,
    settled: Counts,
}

impl Source {
    pub(crate) fn new(spec: &CrossSpec, seed: u64) -> Self {
        let rng = |what| named_rng(seed, &format!("cross.{}.{what}", spec.name));
        let mut source = Self {
            spec: spec.clone(),
            gaps: rng("gaps"),
            phases: rng("phases"),
            on: (0, 0),
            sent_in_phase: 0,
            next: 0,
            counts: Counts::default(),
            settled: Counts::default(),
        };
        source.switch_on(spec.start);
        source
    }

    /// When the next packet is due; `None` when there are no more.
    pub(crate) fn next_at(&self) -> Option<Nanos> {
        Some(self.next).filter(|&at| self.spec.until.is_none_or(|until| at < until))
    }

    /// Bytes of a packet, headers included.
    pub(crate) const fn packet_bytes(&self) -> u32 {
        self.spec.packet_bytes
    }

    /// Counts a packet, and works out when the next one is due.
    pub(crate) fn note_sent(&mut self) {
        self.counts.sent += 1;
        self.sent_in_phase += 1;
        self.next = match self.spec.spacing {
            Spacing::Even => self.on.0.saturating_add(self.sending_time(self.sent_in_phase)),
            Spacing::Poisson => {
                let gap = self.sending_time(1) as f64 * draw_exponential(&mut self.gaps);
                // Saturates, as it should.
                self.next.saturating_add(gap as Nanos)
            }
        };
        self.skip_silence();
    }

    /// Starts a phase of sending. The first packet of evenly spaced ones comes at once.
    fn switch_on(&mut self, from: Nanos) {
        let length =
            self.spec.on_off.map_or(Nanos::MAX, |(on, _)| draw_period(on, &mut self.phases));
        self.on = (from, from.saturating_add(length));
        self.sent_in_phase = 0;
        self.next = match self.spec.spacing {
            Spacing::Even => from,
            Spacing::Poisson => {
                let gap = self.sending_time(1) as f64 * draw_exponential(&mut self.gaps);
                from.saturating_add(gap as Nanos)
            }
        };
    }

    /// Moves on to the next phase of sending while the next packet lies beyond this one.
    fn skip_silence(&mut self) {
        while self.next >= self.on.1 {
            let Some((_, off)) = self.spec.on_off else { return };
            let from = self.on.1.saturating_add(draw_period(off, &mut self.phases));
            self.switch_on(from);
            if from == Nanos::MAX {
                return;
            }
        }
    }

    /// Time that `packets` take at the source's rate.
    fn sending_time(&self, packets: u64) -> Nanos {
        let bits = u128::from(packets) * u128::from(self.spec.packet_bytes) * 8;
        let ns = bits * 1_000_000_000 / u128::from(self.spec.rate.max(1));
        Nanos::try_from(ns).unwrap_or(Nanos::MAX)
    }

    /// Forgets the counters so far.
    pub(crate) fn restart_counters(&mut self) {
        self.settled = self.counts;
    }

    pub(crate) fn result(&self) -> CrossResult {
        let bytes = |packets: u64| packets * u64::from(self.spec.packet_bytes);
        let sent = self.counts.sent - self.settled.sent;
        let delivered = self.counts.delivered - self.settled.delivered;
        CrossResult {
            name: self.spec.name.clone(),
            sent,
            sent_bytes: bytes(sent),
            delivered,
            delivered_bytes: bytes(delivered),
        }
    }
}

impl CrossSpec {
    /// When each packet is sent in a run with this seed, and its bytes: the same as in the
    /// simulator.
    pub fn packets(&self, seed: u64) -> impl Iterator<Item = (Nanos, u32)> + Send + use<> {
        let mut source = Source::new(self, seed);
        std::iter::from_fn(move || {
            let packet = (source.next_at()?, source.packet_bytes());
            source.note_sent();
            Some(packet)
        })
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        let error = |value: String, allowed| {
            Err(SpecError::Range { field: format!("cross {}", self.name), value, allowed })
        };
        if self.rate == 0 {
            return error("0 bit/s".into(), "a rate of at least 1 bit/s");
        }
        if self.packet_bytes == 0 {
            return error("0 bytes".into(), "packets of at least 1 byte");
        }
        let zero = |period| matches!(period, Period::Fixed(0) | Period::Exponential(0));
        match self.on_off {
            Some((on, off)) if zero(on) || zero(off) => {
                error("0 ns".into(), "phases of at least 1 ns")
            }
            _ => Ok(()),
        }
    }
}

/// Exponentially distributed with mean 1.
fn draw_exponential(rng: &mut Rng) -> f64 {
    -(1.0 - rng.unit()).ln()
}

/// A duration of at least 1 ns, so that phases always advance.
fn draw_period(period: Period, rng: &mut Rng) -> Nanos {
    match period {
        Period::Fixed(ns) => ns.max(1),
        Period::Exponential(mean) => ((mean as f64 * draw_exponential(rng)) as Nanos).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn spec(spacing: Spacing) -> CrossSpec {
        CrossSpec {
            name: "x".into(),
            link: "l".into(),
            rate: 8_000_000,
            packet_bytes: 1000,
            spacing,
            on_off: None,
            start: 5 * MS,
            until: None,
        }
    }

    fn times(spec: &CrossSpec, seed: u64, until: Nanos) -> Vec<Nanos> {
        spec.packets(seed).map(|(at, _)| at).take_while(|&at| at < until).collect()
    }

    #[test]
    fn even_packets_come_at_their_rate() {
        // 8000 bits at 8 Mbit/s: one a millisecond.
        let seen = times(&spec(Spacing::Even), 1, 9 * MS);
        assert_eq!(seen, [5, 6, 7, 8].map(|ms| ms * MS));
        let ends = CrossSpec { until: Some(7 * MS), ..spec(Spacing::Even) };
        assert_eq!(times(&ends, 1, 90 * MS), [5, 6].map(|ms| ms * MS));
    }

    #[test]
    fn fixed_phases_alternate() {
        let on_off = Some((Period::Fixed(2 * MS), Period::Fixed(3 * MS)));
        let seen = times(&CrossSpec { on_off, ..spec(Spacing::Even) }, 1, 17 * MS);
        assert_eq!(seen, [5, 6, 10, 11, 15, 16].map(|ms| ms * MS));
    }

    #[test]
    fn poisson_packets_come_at_their_rate_on_average_and_vary_as_they_should() {
        let seen = times(&spec(Spacing::Poisson), 3, 10_005 * MS);
        // 10,000 expected, a standard deviation of 100.
        assert!((9_600..10_400).contains(&seen.len()), "{}", seen.len());
        let mut per_ten_ms = vec![0u32; 1000];
        for at in &seen {
            per_ten_ms[((at - 5 * MS) / (10 * MS)) as usize] += 1;
        }
        let mean = seen.len() as f64 / 1000.0;
        let variance: f64 =
            per_ten_ms.iter().map(|&n| (f64::from(n) - mean).powi(2)).sum::<f64>() / 1000.0;
        // Of a Poisson process they are equal.
        assert!((0.8..1.25).contains(&(variance / mean)), "{variance} of {mean}");
        assert_eq!(seen, times(&spec(Spacing::Poisson), 3, 10_005 * MS));
        assert_ne!(seen, times(&spec(Spacing::Poisson), 4, 10_005 * MS));
    }

    #[test]
    fn drawn_phases_halve_the_rate_when_they_are_alike() {
        let on_off = Some((Period::Exponential(20 * MS), Period::Exponential(20 * MS)));
        let seen = times(&CrossSpec { on_off, ..spec(Spacing::Poisson) }, 1, 20_000 * MS);
        assert!((9_000..11_000).contains(&seen.len()), "{}", seen.len());
    }
}
