//! What a link is made of, and the check that it makes sense.

use crate::error::ConfigError;
use crate::{Change, DeliveryTrace, Jitter, LossModel, Nanos, Queue};

/// One direction of a link. The default is an ideal wire: no rate limit, no delay, no loss.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkConfig {
    /// Transmission rate in bit/s; `None` sends in no time.
    pub rate: Option<u64>,
    /// When set, transmission follows the trace, and `rate` is not used.
    pub trace: Option<DeliveryTrace>,
    /// The largest packet that it carries, bytes, the IP header included; larger ones vanish.
    /// `None` carries any.
    pub mtu: Option<u32>,
    /// Propagation delay in ns, from the last bit sent to the last bit received.
    pub delay: Nanos,
    /// Extra delay drawn for each packet.
    pub jitter: Option<Jitter>,
    /// Room for packets that wait for the transmitter.
    pub queue: Queue,
    /// Causes of loss. Each sees every packet, and a packet is lost when one of them says so; the
    /// first is blamed.
    pub loss: Vec<LossModel>,
    /// Where the loss models look at packets.
    pub loss_at: LossAt,
    /// Changes at given times; equal times keep their order.
    pub schedule: Vec<(Nanos, Change)>,
}

/// Where packets are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossAt {
    /// Before the queue, as ns-2's error model on a link does: a lost packet takes neither room nor
    /// time.
    #[default]
    Entry,
    /// On the wire, as on a radio channel: a lost packet has waited and has been sent.
    Exit,
}

impl LinkConfig {
    /// Checks what the types cannot say.
    ///
    /// # Errors
    /// The first setting that is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        check_rate(self.rate)?;
        self.loss.iter().try_for_each(LossModel::check_probabilities)?;
        if let Queue::Red(red) = &self.queue {
            red.check()?;
        }
        self.schedule.iter().try_for_each(|(_, change)| match change {
            Change::Rate(rate) => check_rate(*rate),
            Change::Loss(models) => models.iter().try_for_each(LossModel::check_probabilities),
            Change::Up(_) | Change::Delay(_) => Ok(()),
        })
    }
}

fn check_rate(rate: Option<u64>) -> Result<(), ConfigError> {
    if rate == Some(0) { Err(ConfigError::ZeroRate) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RedConfig;

    #[test]
    fn the_default_is_valid() {
        assert_eq!(LinkConfig::default().check(), Ok(()));
    }

    #[test]
    fn impossible_settings_are_named() {
        let zero = LinkConfig { rate: Some(0), ..LinkConfig::default() };
        assert_eq!(zero.check(), Err(ConfigError::ZeroRate));
        let loss = LinkConfig { loss: vec![LossModel::Bernoulli(1.5)], ..LinkConfig::default() };
        assert_eq!(
            loss.check().unwrap_err().to_string(),
            "loss: 1.5 is not a probability (allowed: 0 to 1)"
        );
        let later = LinkConfig {
            schedule: vec![(5, Change::Loss(vec![LossModel::BitError(f64::NAN)]))],
            ..LinkConfig::default()
        };
        assert!(later.check().is_err());
        let red = RedConfig { min_packets: 9.0, max_packets: 3.0, ..RedConfig::default() };
        let red = LinkConfig { queue: Queue::Red(red), ..LinkConfig::default() };
        assert_eq!(red.check(), Err(ConfigError::RedThresholds { min: 9.0, max: 3.0 }));
    }
}
