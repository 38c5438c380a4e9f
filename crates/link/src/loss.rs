//! Ways in which packets get lost apart from full queues.

use rand_chacha::ChaCha12Rng;

use crate::error::{ConfigError, check_probability};
use crate::random::{Stream, draw_chance};
use crate::{DropReason, LinkSeed};

/// A cause of loss.
#[derive(Clone, Debug, PartialEq)]
pub enum LossModel {
    /// Each packet is lost with this probability, independently of all others.
    Bernoulli(f64),
    /// Each bit is wrong with this probability, independently of all others; one wrong bit loses
    /// the packet.
    BitError(f64),
    /// A channel with a good and a bad state (Gilbert 1960, Elliott 1963), good at first. A packet
    /// is lost with the probability of the current state; then the state may change.
    GilbertElliott {
        /// Probability, after a packet, of leaving the good state.
        p_good_to_bad: f64,
        /// Probability, after a packet, of leaving the bad state.
        p_bad_to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// Loses the packets with these numbers, counted from 0 over the packets this model has seen.
    Scripted(Vec<u64>),
}

impl LossModel {
    pub(crate) fn check_probabilities(&self) -> Result<(), ConfigError> {
        match self {
            Self::Bernoulli(p) => check_probability("loss", *p),
            Self::BitError(p) => check_probability("bit_error", *p),
            Self::GilbertElliott { p_good_to_bad, p_bad_to_good, loss_good, loss_bad } => {
                check_probability("p_good_to_bad", *p_good_to_bad)?;
                check_probability("p_bad_to_good", *p_bad_to_good)?;
                check_probability("loss_good", *loss_good)?;
                check_probability("loss_bad", *loss_bad)
            }
            Self::Scripted(_) => Ok(()),
        }
    }
}

/// The loss models of one link at work.
#[derive(Debug)]
pub(crate) struct Losses {
    losses: Vec<Loss>,
    seed: LinkSeed,
    /// How often the models were replaced.
    replaced: u32,
}

impl Losses {
    pub(crate) fn new(models: Vec<LossModel>, seed: LinkSeed) -> Self {
        let mut losses = Self { losses: Vec::new(), seed, replaced: 0 };
        losses.install_models(models);
        losses
    }

    /// Puts others in the models' place, with random streams of their own: from the start of the
    /// old streams, the packets after the change would meet the fates of those before.
    pub(crate) fn replace_models(&mut self, models: Vec<LossModel>) {
        self.replaced = self.replaced.wrapping_add(1);
        self.install_models(models);
    }

    fn install_models(&mut self, models: Vec<LossModel>) {
        let (seed, replaced) = (self.seed, self.replaced);
        let stream = |place| seed.random_stream(Stream::Loss { replaced, place });
        let loss = |(place, model)| Loss::new(model, stream(place));
        self.losses = (0..).zip(models).map(loss).collect();
    }

    /// Why the next packet, of `size` bytes, is lost, if it is. Every model sees every packet,
    /// whatever the models before it said: otherwise one model's drops would shift the next one's
    /// draws.
    pub(crate) fn next_loss(&mut self, size: u32) -> Option<DropReason> {
        self.losses.iter_mut().fold(None, |reason, loss| {
            let lost = loss.loses_next(size);
            reason.or(lost.then_some(loss.drop_reason()))
        })
    }
}

/// One model with its state and its own random stream.
#[derive(Debug)]
struct Loss {
    state: State,
    rng: ChaCha12Rng,
}

#[derive(Debug)]
enum State {
    Bernoulli(f64),
    /// ln(1 - bit error rate).
    BitError(f64),
    GilbertElliott {
        bad: bool,
        leave: [f64; 2],
        loss: [f64; 2],
    },
    /// The numbers still to come, greatest first, and the number of the next packet.
    Scripted {
        numbers: Vec<u64>,
        next: u64,
    },
}

impl Loss {
    fn new(model: LossModel, rng: ChaCha12Rng) -> Self {
        let state = match model {
            LossModel::Bernoulli(p) => State::Bernoulli(p),
            LossModel::BitError(p) => State::BitError((-p).ln_1p()),
            LossModel::GilbertElliott { p_good_to_bad, p_bad_to_good, loss_good, loss_bad } => {
                State::GilbertElliott {
                    bad: false,
                    leave: [p_good_to_bad, p_bad_to_good],
                    loss: [loss_good, loss_bad],
                }
            }
            LossModel::Scripted(mut numbers) => {
                numbers.sort_unstable_by(|a, b| b.cmp(a));
                numbers.dedup();
                State::Scripted { numbers, next: 0 }
            }
        };
        Self { state, rng }
    }

    fn drop_reason(&self) -> DropReason {
        match self.state {
            State::BitError(_) => DropReason::BitError,
            _ => DropReason::Loss,
        }
    }

    fn loses_next(&mut self, size: u32) -> bool {
        match &mut self.state {
            State::Bernoulli(p) => draw_chance(&mut self.rng, *p),
            State::BitError(ln_right) => {
                // 1 - (1 - ber)^bits, without the cancellation that tiny rates would suffer.
                let p = -(f64::from(size) * 8.0 * *ln_right).exp_m1();
                draw_chance(&mut self.rng, p)
            }
            State::GilbertElliott { bad, leave, loss } => {
                let [p_leave, p_loss] =
                    if *bad { [leave[1], loss[1]] } else { [leave[0], loss[0]] };
                let lost = draw_chance(&mut self.rng, p_loss);
                *bad ^= draw_chance(&mut self.rng, p_leave);
                lost
            }
            State::Scripted { numbers, next } => {
                let lost = numbers.pop_if(|number| *number == *next).is_some();
                *next += 1;
                lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_loses_the_packets_it_names_in_any_order_and_once() {
        let mut losses =
            Losses::new(vec![LossModel::Scripted(vec![4, 1, 1, 0])], LinkSeed::new(0, 0));
        let lost: Vec<_> = (0..6).filter(|_| losses.next_loss(100).is_some()).collect();
        assert_eq!(lost, [0, 1, 4]);
    }

    #[test]
    fn the_first_model_is_blamed() {
        let models = vec![LossModel::BitError(1.0), LossModel::Bernoulli(1.0)];
        let mut losses = Losses::new(models, LinkSeed::new(0, 0));
        assert_eq!(losses.next_loss(1), Some(DropReason::BitError));
    }

    #[test]
    fn sure_things_are_sure() {
        let mut losses = Losses::new(vec![LossModel::BitError(0.0)], LinkSeed::new(0, 0));
        assert!((0..1000).all(|_| losses.next_loss(1500).is_none()));
    }
}
