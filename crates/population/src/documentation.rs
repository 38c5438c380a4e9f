//! What is drawn from what, as the documentation says it.

use crate::application::Application;
use crate::feature::Feature;
use crate::quantity::{self, PATHS, PLAIN, Shape};

/// The tables of distributions in `docs/evidence/population.md`.
pub fn distribution_tables() -> String {
    let mut out = String::from("| drawn | range | spread | and |\n|---|---|---|---|\n");
    for quantity in quantity::ALL {
        let shape = match quantity.shape() {
            Shape::Uniform => "uniform",
            Shape::LogUniform => "log-uniform",
        };
        let (name, range, note) = (quantity.name, quantity.shown_range(), quantity.note);
        out += &format!("| {name} | {range} | {shape} | {note} |\n");
    }
    let sum: u32 = PATHS.iter().sum();
    out += "\n| number of paths | draws |\n|---|---|\n";
    for (count, share) in (1..).zip(PATHS) {
        out += &format!("| {count} | {share} in {sum} |\n");
    }
    let percent = |share: f64| 100.0 * share;
    out += "\n| feature | share of draws |\n|---|---|\n";
    out += &format!("| none at all: a plain draw | {:.1} % |\n", percent(PLAIN));
    for feature in Feature::ALL {
        let share = percent((1.0 - PLAIN) * feature.share());
        out += &format!("| {feature} | {share:.1} % |\n");
    }
    out += "\n| application | share of plain draws | of others | of all |\n|---|---|---|---|\n";
    let weight = |one: Application| f64::from(one.weight());
    let others: f64 = Application::ALL.into_iter().map(weight).sum();
    let saturated = Application::ALL.iter().filter(|one| one.is_saturated()).count() as f64;
    for one in Application::ALL {
        let plain = if one.is_saturated() { 1.0 / saturated } else { 0.0 };
        let other = weight(one) / others;
        let all = PLAIN * plain + (1.0 - PLAIN) * other;
        let [plain, other, all] = [plain, other, all].map(percent);
        out += &format!("| {one} | {plain:.1} % | {other:.1} % | {all:.1} % |\n");
    }
    out
}
