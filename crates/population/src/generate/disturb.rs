//! What disturbs packets on a link: jitter, losses, RED.

use std::collections::BTreeSet;

use polypath_scenario::units::{Delay, Packets, QueueSize};
use polypath_scenario::{GilbertElliott, JitterShape, PathSpec, Red};

use super::network::picked_for;
use crate::dice::{Cup, Dice};
use crate::feature::Feature;
use crate::quantity::{JITTER, LOSS, LOSS_BAD, RED_PROBABILITY, TO_BAD, TO_GOOD, probability_of};

/// Adds the drawn disturbances to the links: those of the paths, and the common one.
pub(crate) fn disturb_links(cup: Cup, features: &BTreeSet<Feature>, links: &mut [PathSpec]) {
    let all: Vec<usize> = (0..links.len()).collect();
    let mut apply = |feature: Feature, change: &dyn Fn(&mut Dice, &mut PathSpec)| {
        for number in picked_for(cup, features, feature, &all) {
            let mut dice = cup.dice_for(&format!("{feature} of link {number}"));
            if let Some(link) = links.get_mut(number) {
                change(&mut dice, link);
            }
        }
    };
    apply(Feature::Jitter, &add_jitter);
    apply(Feature::Overtaking, &|dice, link| {
        add_jitter(dice, link);
        link.reorder = Some(true);
    });
    apply(Feature::RandomLoss, &|dice, link| {
        link.loss = Some(probability_of(dice.draw_value(&LOSS)));
    });
    apply(Feature::BurstLoss, &|dice, link| link.bursts = Some(draw_bursts(dice)));
    apply(Feature::Red, &|dice, link| {
        let Packets(queue) = link.queue.and_then(QueueSize::packets).unwrap_or_default();
        link.red = Some(draw_red(dice, queue));
    });
}

/// Of one shape or the other, each as likely.
fn add_jitter(dice: &mut Dice, link: &mut PathSpec) {
    link.jitter = Some(Delay(dice.draw_whole(&JITTER)));
    link.jitter_shape = dice.decide_with(0.5).then_some(JitterShape::HalfNormal);
}

fn draw_bursts(dice: &mut Dice) -> GilbertElliott {
    GilbertElliott {
        to_bad: probability_of(dice.draw_value(&TO_BAD)),
        to_good: probability_of(dice.draw_value(&TO_GOOD)),
        loss_good: probability_of(0.0),
        loss_bad: probability_of(dice.draw_value(&LOSS_BAD)),
    }
}

fn draw_red(dice: &mut Dice, queue: u64) -> Red {
    let min = (queue / 4).max(1);
    Red {
        min: Packets(min),
        max: Packets((queue * 3 / 4).max(min + 1)),
        probability: probability_of(dice.draw_value(&RED_PROBABILITY)),
        weight: None,
    }
}
