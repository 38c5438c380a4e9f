//! Applications that send at a rate: all the time, or in bursts.

use std::time::{Duration, Instant};

use polypath_net::{Association, SendError};
use polypath_proto::rng::Rng;
use polypath_sim::spec::Period;
use tokio::time::{Instant as TokioInstant, sleep_until, timeout_at};

use crate::messages::Messages;
use crate::meter::Meter;

/// Sends at `rate` bit/s until the meter's end. What finds the send buffer full stays due, and is
/// late.
pub(crate) async fn send_paced(
    association: &Association,
    messages: &mut Messages,
    rate: u64,
    meter: &Meter,
) -> Result<(), SendError> {
    send_burst(association, messages, (Instant::now(), rate), meter.end(), meter).await
}

/// Sends at a rate in bursts, silent in between.
pub(crate) struct Bursts {
    pub(crate) rate: u64,
    pub(crate) on: Period,
    pub(crate) off: Period,
    /// The simulator draws from the same stream in the same order, so its bursts are these.
    pub(crate) draws: Rng,
}

impl Bursts {
    /// Until the meter's end. What is still due at the end of a burst is not sent.
    pub(crate) async fn send_all(
        &mut self,
        association: &Association,
        messages: &mut Messages,
        meter: &Meter,
    ) -> Result<(), SendError> {
        let mut begin = Instant::now();
        while begin < meter.end() {
            let end = begin + draw_period(self.on, &mut self.draws);
            let burst = send_burst(association, messages, (begin, self.rate), end, meter);
            // Nothing of a message was sent if it waited for room until then.
            if let Ok(sent) = timeout_at(TokioInstant::from_std(end), burst).await {
                sent?;
            }
            begin = end + draw_period(self.off, &mut self.draws);
            sleep_until(TokioInstant::from_std(begin)).await;
        }
        Ok(())
    }
}

/// Messages that are due one after the other from `begin` on, at `rate` bit/s, until `end`.
async fn send_burst(
    association: &Association,
    messages: &mut Messages,
    (begin, rate): (Instant, u64),
    end: Instant,
    meter: &Meter,
) -> Result<(), SendError> {
    let mut sent_bits = 0u64;
    loop {
        let due = begin + Duration::from_secs_f64(sent_bits as f64 / rate.max(1) as f64);
        if due >= end {
            return Ok(());
        }
        sleep_until(TokioInstant::from_std(due)).await;
        let bytes = messages.next_bytes();
        messages.send_next(association, meter).await?;
        sent_bits += 8 * u64::from(bytes);
    }
}

/// As the simulator draws it: at least 1 ns.
fn draw_period(period: Period, draws: &mut Rng) -> Duration {
    let ns = match period {
        Period::Fixed(ns) => ns,
        Period::Exponential(mean) => (-(1.0 - draws.unit()).ln() * mean as f64) as u64,
    };
    Duration::from_nanos(ns.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_periods_have_their_mean() {
        let mut draws = Rng::from_u64(1);
        let mean = Period::Exponential(1_000_000);
        let sum: Duration = (0..100_000).map(|_| draw_period(mean, &mut draws)).sum();
        assert!((sum.as_secs_f64() / 100.0 - 1.0).abs() < 0.02, "{sum:?}");
        assert_eq!(draw_period(Period::Fixed(0), &mut draws), Duration::from_nanos(1));
    }
}
