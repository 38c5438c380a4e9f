//! The transmitter: when each packet starts and ends its transmission, in exact integer arithmetic.

use crate::{DeliveryTrace, Nanos};

/// A bit takes this much work, and a transmitter of r bit/s does r of it per nanosecond: no
/// fractions anywhere.
const WORK_PER_BIT: u128 = 1_000_000_000;

/// The transmission of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// When its first bit is sent: from then on it does not wait.
    pub(crate) starts: Nanos,
    /// When its last bit is sent, rounded up.
    pub(crate) departs: Nanos,
}

/// Work that a packet of `size` bytes makes.
pub(crate) fn packet_work(size: u32) -> u128 {
    u128::from(size) * 8 * WORK_PER_BIT
}

/// Serves packets one after another in the order in which they come.
#[derive(Debug)]
pub(crate) enum Server {
    Unlimited,
    Rate(RateServer),
    Trace(TraceServer),
}

impl Server {
    pub(crate) fn with_rate(rate: Option<u64>) -> Self {
        match rate {
            None => Self::Unlimited,
            Some(rate) => Self::Rate(RateServer { rate: rate.max(1), end: 0, fraction: 0 }),
        }
    }

    /// A new server that had its last work at `end`.
    pub(crate) fn idle_since(mut self, end: Nanos) -> Self {
        match &mut self {
            Self::Unlimited => {}
            Self::Rate(server) => server.end = end,
            Self::Trace(server) => server.busy_until = end,
        }
        self
    }

    pub(crate) fn with_trace(trace: DeliveryTrace) -> Self {
        Self::Trace(TraceServer { trace, moment: 0, left: DeliveryTrace::BYTES, busy_until: 0 })
    }

    /// Transmits a packet that comes at `now`, behind all that came before.
    pub(crate) fn serve_packet(&mut self, now: Nanos, size: u32) -> Slot {
        match self {
            Self::Unlimited => Slot { starts: now, departs: now },
            Self::Rate(server) => server.serve_work(now, packet_work(size)),
            Self::Trace(server) => server.serve_packet(now, size),
        }
    }

    /// Transmits the rest of a packet whose transmission began on another server.
    pub(crate) fn resume_packet(&mut self, now: Nanos, remaining: u128) -> Slot {
        match self {
            Self::Unlimited => Slot { starts: now, departs: now },
            Self::Rate(server) => server.serve_work(now, remaining),
            Self::Trace(server) => {
                let bytes = remaining.div_ceil(8 * WORK_PER_BIT);
                server.serve_packet(now, u32::try_from(bytes).unwrap_or(u32::MAX))
            }
        }
    }

    /// Forgets all work not done by `now`.
    pub(crate) fn abandon_work(&mut self, now: Nanos) {
        match self {
            Self::Unlimited => {}
            Self::Rate(server) => {
                server.end = server.end.min(now);
                server.fraction = 0;
            }
            Self::Trace(server) => {
                server.skip_to(server.trace.first_from(now));
                server.busy_until = server.busy_until.min(now);
            }
        }
    }

    /// When all work accepted so far is done; 0 when there never was any.
    pub(crate) fn busy_until(&self) -> Nanos {
        match self {
            Self::Unlimited => 0,
            Self::Rate(server) => server.busy_until(),
            Self::Trace(server) => server.busy_until,
        }
    }

    /// Work still to be done at `now`; `None` if this server does not count work.
    pub(crate) fn backlog(&self, now: Nanos) -> Option<u128> {
        match self {
            Self::Unlimited => Some(0),
            Self::Rate(server) => Some(server.backlog(now)),
            Self::Trace(_) => None,
        }
    }

    /// Time in ns that a packet of `size` bytes needs, on average for a trace.
    pub(crate) fn transmission_time(&self, size: u32) -> Nanos {
        let rate = match self {
            Self::Unlimited => return 0,
            Self::Rate(server) => server.rate,
            Self::Trace(server) => server.trace.mean_rate().max(1),
        };
        saturate(packet_work(size).div_ceil(rate.into()))
    }
}

/// A constant rate. The end of the last transmission is kept as a whole number of nanoseconds plus
/// `fraction / rate`, so that rounding never adds up: in the long run the rate is exact.
#[derive(Debug)]
pub(crate) struct RateServer {
    rate: u64,
    end: Nanos,
    fraction: u64,
}

impl RateServer {
    fn serve_work(&mut self, now: Nanos, work: u128) -> Slot {
        // A packet that comes in the very nanosecond in which the last one ends follows it without
        // a gap.
        if now > self.busy_until() {
            (self.end, self.fraction) = (now, 0);
        }
        let starts = self.busy_until();
        let (time, fraction) = divide(work + u128::from(self.fraction), self.rate);
        self.end = self.end.saturating_add(time);
        self.fraction = fraction;
        Slot { starts, departs: self.busy_until() }
    }

    fn busy_until(&self) -> Nanos {
        self.end.saturating_add(u64::from(self.fraction > 0))
    }

    fn backlog(&self, now: Nanos) -> u128 {
        if now >= self.busy_until() {
            return 0;
        }
        u128::from(self.end - now) * u128::from(self.rate) + u128::from(self.fraction)
    }
}

/// A delivery trace: at each moment up to 1500 bytes go out, shared by small packets that wait;
/// what is not used at its moment is lost.
#[derive(Debug)]
pub(crate) struct TraceServer {
    trace: DeliveryTrace,
    /// The moment that sends next, and the bytes it can still carry.
    moment: u64,
    left: u32,
    busy_until: Nanos,
}

impl TraceServer {
    fn serve_packet(&mut self, now: Nanos, size: u32) -> Slot {
        if self.left == 0 {
            self.skip_to(self.moment.saturating_add(1));
        }
        if self.trace.moment_at(self.moment) < now {
            self.skip_to(self.trace.first_from(now));
        }
        let starts = self.trace.moment_at(self.moment);
        if size > self.left {
            let beyond = size - self.left;
            let moments = beyond.div_ceil(DeliveryTrace::BYTES);
            self.moment = self.moment.saturating_add(moments.into());
            self.left =
                (u64::from(moments) * u64::from(DeliveryTrace::BYTES) - u64::from(beyond)) as u32;
        } else {
            self.left -= size;
        }
        self.busy_until = self.trace.moment_at(self.moment);
        Slot { starts, departs: self.busy_until }
    }

    fn skip_to(&mut self, moment: u64) {
        (self.moment, self.left) = (moment, DeliveryTrace::BYTES);
    }
}

/// Quotient and remainder. In 64 bits, where a packet's work nearly always fits, a division is
/// several times as fast.
fn divide(work: u128, rate: u64) -> (u64, u64) {
    match u64::try_from(work) {
        Ok(work) => (work / rate, work % rate),
        Err(_) => (saturate(work / u128::from(rate)), (work % u128::from(rate)) as u64),
    }
}

fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saturated_link_carries_exactly_its_rate() {
        // 1500 bytes at 7 bit/s and at 999,999,937 bit/s never take a whole number of nanoseconds.
        for rate in [10_000_000, 7, 999_999_937] {
            let mut server = Server::with_rate(Some(rate));
            let mut last = Slot { starts: 0, departs: 0 };
            for _ in 0..1_000_000 {
                last = server.serve_packet(0, 1500);
            }
            let exact = (1_000_000 * packet_work(1500)).div_ceil(rate.into());
            assert_eq!(u128::from(last.departs), exact.min(u64::MAX.into()), "{rate} bit/s");
        }
    }

    #[test]
    fn packets_that_come_as_the_last_one_leaves_lose_no_time() {
        let mut server = Server::with_rate(Some(7_000_000));
        let mut now = 0;
        for _ in 0..1_000_000 {
            now = server.serve_packet(now, 1500).departs;
        }
        assert_eq!(u128::from(now), (1_000_000 * packet_work(1500)).div_ceil(7_000_000));
    }

    #[test]
    fn an_idle_server_starts_at_once() {
        let mut server = Server::with_rate(Some(8_000_000));
        assert_eq!(server.serve_packet(0, 1000), Slot { starts: 0, departs: 1_000_000 });
        assert_eq!(
            server.serve_packet(5_000_000, 1000),
            Slot { starts: 5_000_000, departs: 6_000_000 }
        );
    }

    #[test]
    fn small_packets_share_a_moment_and_large_ones_take_several() {
        let trace = DeliveryTrace::parse("1\n2\n3\n4\n5").unwrap();
        let mut server = Server::with_trace(trace);
        let ms = |starts: u64, departs: u64| Slot {
            starts: starts * 1_000_000,
            departs: departs * 1_000_000,
        };
        assert_eq!(server.serve_packet(0, 700), ms(1, 1));
        assert_eq!(server.serve_packet(0, 800), ms(1, 1));
        assert_eq!(server.serve_packet(0, 100), ms(2, 2));
        assert_eq!(server.serve_packet(0, 3000), ms(2, 4));
        assert_eq!(server.serve_packet(0, 1400), ms(4, 4));
        assert_eq!(server.serve_packet(6_500_000, 1500), ms(7, 7));
    }
}
