//! Traffic of others that comes and goes.

use std::collections::BTreeSet;

use polypath_scenario::units::{Delay, Rate};
use polypath_scenario::{CrossTraffic, Direction};

use super::network::{Network, picked_for};
use crate::dice::Cup;
use crate::feature::Feature;
use crate::quantity::{CROSS_RATE, CROSS_TIME, round_to_three_digits};

/// The sources of a draw, one per link that has any.
pub(crate) fn draw_cross(
    cup: Cup,
    features: &BTreeSet<Feature>,
    network: &Network,
) -> Vec<CrossTraffic> {
    let all: Vec<usize> = (0..network.paths.len()).collect();
    let source = |number: usize| {
        let mut dice = cup.dice_for(&format!("cross traffic of path {number}"));
        let rate = network.rate_of(number) * dice.draw_value(&CROSS_RATE);
        CrossTraffic {
            link: network.link_name(number),
            direction: Some(Direction::Forward),
            rate: Rate(round_to_three_digits(rate).max(1)),
            packet: None,
            spacing: None,
            on: Some(Delay(dice.draw_whole(&CROSS_TIME))),
            off: Some(Delay(dice.draw_whole(&CROSS_TIME))),
            fixed: None,
            start: None,
            until: None,
        }
    };
    picked_for(cup, features, Feature::CrossTraffic, &all).into_iter().map(source).collect()
}
