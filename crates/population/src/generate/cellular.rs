//! Traces of rates as cellular links have them: a rate that wanders over an order of magnitude
//! within seconds, and outages (Winstein, Sivaraman and Balakrishnan, NSDI 2013, model theirs as a
//! Brownian motion of the rate with a sticky outage). Ours are made, not recorded.

use polypath_link::DeliveryTrace;

use crate::dice::Dice;

/// A rate holds for so long, ms.
const SLOT: u64 = 100;
/// How far the logarithm of the rate wanders in a slot, at most.
const STEP: f64 = 0.5;
/// How strongly it returns to its mean in a slot.
const RETURN: f64 = 0.03;
/// The probability that an outage begins in a slot: one in twenty seconds.
const OUTAGE: f64 = 0.005;
/// The probability that an outage goes on in the next slot: half a second in the mean.
const STICKINESS: f64 = 0.8;
/// The longest trace, slots: half a minute. It is repeated.
const MOST_SLOTS: u64 = 300;
/// The least, slots.
const LEAST_SLOTS: u64 = 40;
/// Moments of a trace, about: long lists make large files.
const MOST_MOMENTS: f64 = 20_000.0;

/// The text of a trace with about this mean rate, bit/s, in Mahimahi's format.
pub(crate) fn draw_trace(dice: &mut Dice, mean: u64) -> String {
    let per_milli = mean as f64 / (8.0 * f64::from(DeliveryTrace::BYTES)) / 1e3;
    let slots = (MOST_MOMENTS / per_milli / SLOT as f64) as u64;
    let rates = draw_rates(dice, slots.clamp(LEAST_SLOTS, MOST_SLOTS));
    let scale = rates.len() as f64 / rates.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut text = String::from("# Made, not recorded: a cellular link.\n");
    let (mut credit, mut now) = (0.0, 0);
    for rate in rates {
        for _ in 0..SLOT {
            now += 1;
            credit += rate * scale * per_milli;
            while credit >= 1.0 {
                text.push_str(&format!("{now}\n"));
                credit -= 1.0;
            }
        }
    }
    // The last moment is the period.
    text.push_str(&format!("{now}\n"));
    text
}

/// Rates of slots, with any mean.
fn draw_rates(dice: &mut Dice, slots: u64) -> Vec<f64> {
    let (mut log, mut is_out) = (0.0_f64, false);
    let slot = |_| {
        log = log * (1.0 - RETURN) + STEP * (2.0 * dice.draw_share() - 1.0);
        is_out = dice.decide_with(if is_out { STICKINESS } else { OUTAGE });
        if is_out { 0.0 } else { log.exp() }
    };
    (0..slots).map(slot).collect()
}
