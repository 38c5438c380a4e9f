//! What changes while a run goes on: steps, dips, flaps.

use std::collections::BTreeSet;

use polypath_scenario::units::Rate;
use polypath_scenario::{Action, Change, Direction};

use super::length::{Length, to_delay};
use super::network::{Network, picked_for};
use crate::dice::{Cup, Dice};
use crate::feature::Feature;
use crate::quantity::{
    DIP_DEPTH, DIP_LENGTH, DIPS, FLAP_LENGTH, FLAPS, STEP, round_to_three_digits,
};

/// Changes come between these shares of the run, so that some are measured and end in time.
const FIRST: f64 = 0.2;
const LAST: f64 = 0.8;
/// A dip takes at most this share of the run.
const LONGEST_DIP: f64 = 0.25;
/// A cut takes at most this share of the run.
const LONGEST_CUT: f64 = 0.2;

/// The changes of a draw, by time.
pub(crate) fn draw_changes(
    cup: Cup,
    features: &BTreeSet<Feature>,
    network: &Network,
    length: &Length,
) -> Vec<Change> {
    let all: Vec<usize> = (0..network.paths.len()).collect();
    // The rate of a trace is its own; nothing changes it.
    let rated = (0..).zip(&network.paths).filter(|(_, path)| !path.is_cellular);
    let rated: Vec<usize> = rated.map(|(number, _)| number).collect();
    let steps = picked_for(cup, features, Feature::Steps, &rated);
    let dips = picked_for(cup, features, Feature::Dips, &rated);
    let flaps = picked_for(cup, features, Feature::Flaps, &all);
    let mut changes = Vec::new();
    for number in all {
        let dice = |what: &str| cup.dice_for(&format!("{what} of path {number}"));
        let line = Line { name: network.link_name(number), rate: network.rate_of(number), length };
        let step = steps.contains(&number).then(|| line.draw_step(&mut dice("step")));
        changes.extend(step.map(|step| line.rate_change(step.time, step.rate)));
        if dips.contains(&number) {
            changes.extend(line.draw_dips(&mut dice("dips"), step));
        }
        if flaps.contains(&number) {
            changes.extend(line.draw_cuts(&mut dice("flaps")));
        }
    }
    changes.sort_by_key(|change| change.time.0);
    changes
}

/// A link whose rate and state change.
struct Line<'a> {
    name: String,
    rate: f64,
    length: &'a Length,
}

/// A new rate from a time on.
#[derive(Clone, Copy)]
struct Step {
    /// s.
    time: f64,
    /// bit/s.
    rate: f64,
}

impl Line<'_> {
    fn draw_time(&self, dice: &mut Dice) -> f64 {
        self.length.begin + self.length.horizon * (FIRST + (LAST - FIRST) * dice.draw_share())
    }

    fn draw_step(&self, dice: &mut Dice) -> Step {
        Step { time: self.draw_time(dice), rate: self.rate * dice.draw_value(&STEP) }
    }

    /// Falls, and rises to what the rate is by then.
    fn draw_dips(&self, dice: &mut Dice, step: Option<Step>) -> Vec<Change> {
        let rate_at = |time: f64| match step {
            Some(step) if step.time <= time => step.rate,
            _ => self.rate,
        };
        let mut changes = Vec::new();
        for _ in 0..dice.draw_count(&DIPS) {
            let start = self.draw_time(dice);
            let lasts = 1e-9 * dice.draw_value(&DIP_LENGTH);
            let end = start + lasts.min(LONGEST_DIP * self.length.horizon);
            let low = rate_at(start) * dice.draw_value(&DIP_DEPTH);
            changes.push(self.rate_change(start, low));
            changes.push(self.rate_change(end, rate_at(end)));
        }
        changes
    }

    fn draw_cuts(&self, dice: &mut Dice) -> Vec<Change> {
        let mut changes = Vec::new();
        for _ in 0..dice.draw_count(&FLAPS) {
            let start = self.draw_time(dice);
            let lasts = 1e-9 * dice.draw_value(&FLAP_LENGTH);
            let end = start + lasts.min(LONGEST_CUT * self.length.horizon);
            changes.push(self.action(start, Action::Cut));
            changes.push(self.action(end, Action::Restore));
        }
        changes
    }

    fn rate_change(&self, time: f64, rate: f64) -> Change {
        let rate = Rate(round_to_three_digits(rate).max(1));
        let direction = Some(Direction::Forward);
        Change { rate: Some(rate), direction, ..self.nothing_at(time) }
    }

    fn action(&self, time: f64, action: Action) -> Change {
        Change { action: Some(action), ..self.nothing_at(time) }
    }

    fn nothing_at(&self, time: f64) -> Change {
        Change {
            time: to_delay(time),
            target: self.name.clone(),
            direction: None,
            action: None,
            rate: None,
            delay: None,
            loss: None,
            admin: None,
        }
    }
}
