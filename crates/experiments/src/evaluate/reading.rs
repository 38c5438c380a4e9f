//! Which of our quantities a paper's figure is of.

use super::quantity::{Bindings, GRID};
use crate::experiment::{Claim, MAIN, Quantity, Reading, Selection, Test};

/// The quantity of ours that a paper's figure is of: as the reading says, or the one that the
/// claim's test compares with a bound.
pub fn measured_quantity<'a>(claim: &'a Claim, reading: &'a Reading) -> Option<&'a Quantity> {
    match reading {
        Reading::Printed { of: Some(own), .. } => Some(own),
        Reading::Printed { what: None, .. } => bounded_quantity(&claim.test),
        Reading::Printed { .. } | Reading::Absent(_) => None,
    }
}

fn bounded_quantity(test: &Test) -> Option<&Quantity> {
    match test {
        Test::Bounds { of, .. } => Some(of),
        Test::ForEach { test, .. } => bounded_quantity(test),
        _ => None,
    }
}

/// Whether a quantity, with the axes that it leaves open, holds another one at these bindings.
pub fn covers_quantity(wide: &Quantity, one: &Quantity, bound: &Bindings) -> bool {
    let all = |wide: &[Quantity], one: &[Quantity]| {
        wide.len() == one.len()
            && wide.iter().zip(one).all(|(wide, one)| covers_quantity(wide, one, bound))
    };
    match (wide, one) {
        (Quantity::Constant(wide), Quantity::Constant(one)) => wide == one,
        (Quantity::Metric { metric, at }, Quantity::Metric { metric: other, at: place }) => {
            metric == other && covers_place(at, place, bound)
        }
        (Quantity::Ratio(wide), Quantity::Ratio(one))
        | (Quantity::Difference(wide), Quantity::Difference(one)) => {
            all(wide.as_ref(), one.as_ref())
        }
        (Quantity::Fold(fold, wide), Quantity::Fold(other, one)) => fold == other && all(wide, one),
        (Quantity::FoldOver(fold, wide, over), Quantity::FoldOver(other, one, axes)) => {
            fold == other && over == axes && covers_quantity(wide, one, bound)
        }
        _ => false,
    }
}

fn covers_place(wide: &Selection, one: &Selection, bound: &Bindings) -> bool {
    let grid = |at: &Selection, bound: Option<&String>| -> String {
        at.grid.clone().or(bound.cloned()).unwrap_or_else(|| MAIN.to_owned())
    };
    let label = |axis: &String| one.fixed.get(axis).or_else(|| bound.get(axis));
    grid(wide, None) == grid(one, bound.get(GRID))
        && wide.fixed.iter().all(|(axis, wanted)| label(axis).is_none_or(|label| label == wanted))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    fn quantity(text: &str) -> Quantity {
        #[derive(Deserialize)]
        struct File {
            of: Quantity,
        }
        toml::from_str::<File>(&format!("of = {text}")).unwrap().of
    }

    #[test]
    fn a_point_is_covered_where_metric_grid_and_labels_agree() {
        let drawn = quantity("{ metric = 'goodput' }");
        let at = |label: &str| Bindings::from([("buffer".to_owned(), label.to_owned())]);
        let wide = quantity("{ metric = 'goodput', where = { buffer = '64KiB' } }");
        assert!(covers_quantity(&wide, &drawn, &at("64KiB")));
        assert!(!covers_quantity(&wide, &drawn, &at("96KiB")));
        assert!(covers_quantity(&drawn, &drawn, &at("96KiB")), "an open axis takes every value");
        let mut elsewhere = at("64KiB");
        elsewhere.insert(GRID.to_owned(), "other".to_owned());
        assert!(!covers_quantity(&wide, &drawn, &elsewhere));
        assert!(!covers_quantity(&quantity("{ metric = 'delay.mean' }"), &drawn, &at("64KiB")));
        let ratio = quantity("{ ratio = [{ metric = 'goodput' }, 2] }");
        assert!(covers_quantity(&ratio, &ratio, &at("64KiB")));
        assert!(!covers_quantity(&ratio, &drawn, &at("64KiB")));
    }
}
