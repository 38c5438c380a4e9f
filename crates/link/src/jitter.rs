//! Delays that vary from packet to packet.

use core::f64::consts::TAU;

use rand_chacha::ChaCha12Rng;

use crate::Nanos;
use crate::random::{draw_unit, up_to};

/// An extra delay, drawn for each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// Greatest extra delay in ns; of a normal one, two standard deviations.
    pub max: Nanos,
    /// How delays are spread.
    pub shape: JitterShape,
    /// Whether packets may overtake each other. If not, a late packet also holds back those behind
    /// it.
    pub reorder: bool,
}

/// How extra delays are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JitterShape {
    /// Each delay up to the greatest is as likely as any other.
    #[default]
    Uniform,
    /// The absolute value of a normal deviation whose standard deviation is half of
    /// [`Jitter::max`]: small delays are the rule, one packet in 22 has more than `max`, and none
    /// more than 4.3 times that.
    HalfNormal,
}

impl Jitter {
    /// The extra delay of the next packet, ns.
    pub(crate) fn draw_delay(self, rng: &mut ChaCha12Rng) -> Nanos {
        match self.shape {
            JitterShape::Uniform => up_to(rng, self.max),
            JitterShape::HalfNormal => (0.5 * self.max as f64 * draw_half_normal(rng)) as Nanos,
        }
    }
}

/// The absolute value of a standard normal number (Box and Muller 1958), with functions that give
/// the same bits on every machine.
fn draw_half_normal(rng: &mut ChaCha12Rng) -> f64 {
    // A logarithm of 0 is never asked for: the draw is below 1.
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - draw_unit(rng)));
    libm::fabs(radius * libm::cos(TAU * draw_unit(rng)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkSeed;
    use crate::random::Stream;

    const DRAWS: u32 = 100_000;

    fn draw_delays(shape: JitterShape) -> Vec<f64> {
        let mut rng = LinkSeed::new(1, 2).random_stream(Stream::Jitter);
        let jitter = Jitter { max: 1_000_000, shape, reorder: false };
        (0..DRAWS).map(|_| jitter.draw_delay(&mut rng) as f64 * 1e-6).collect()
    }

    fn mean_of(delays: &[f64]) -> f64 {
        delays.iter().sum::<f64>() / f64::from(DRAWS)
    }

    fn share_above(delays: &[f64], bound: f64) -> f64 {
        delays.iter().filter(|delay| **delay > bound).count() as f64 / f64::from(DRAWS)
    }

    #[test]
    fn uniform_delays_end_at_the_greatest() {
        let delays = draw_delays(JitterShape::Uniform);
        assert!((mean_of(&delays) - 0.5).abs() < 0.005);
        assert_eq!(share_above(&delays, 1.0), 0.0);
    }

    /// The mean of a half-normal number is sqrt(2 / pi) standard deviations; 4.55 % are above two,
    /// 0.27 % above three.
    #[test]
    fn half_normal_delays_have_a_normal_tail() {
        let delays = draw_delays(JitterShape::HalfNormal);
        assert!((mean_of(&delays) - 0.5 * 0.797_885).abs() < 0.005);
        assert!((share_above(&delays, 1.0) - 0.0455).abs() < 0.003);
        assert!((share_above(&delays, 1.5) - 0.0027).abs() < 0.001);
        assert_eq!(share_above(&delays, 4.5), 0.0);
    }
}
