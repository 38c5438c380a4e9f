//! Every kind of test on synthetic results: holds, does not hold, unclear.

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::experiment::{Axis, Test};

/// One grid with axes `kind` (a, b, c) and `n` (1, 2, 3, 4); the metric `y` has a table of samples,
/// `flat` is 5 +- 0, `once` the 5 of a single run.
struct Table {
    grid: GridTable,
    y: Vec<Vec<f64>>,
}

impl Table {
    /// `mean` of kind and n, with five seeds that spread by `noise`.
    fn new(noise: f64, mean: impl Fn(usize, usize) -> f64) -> Self {
        let labels = |list: &[&str]| list.iter().map(|&label| label.to_owned()).collect();
        let axes = vec![
            Axis { name: "kind".into(), labels: labels(&["a", "b", "c"]) },
            Axis { name: "n".into(), labels: labels(&["1", "2", "3", "4"]) },
        ];
        let (mut points, mut y) = (Vec::new(), Vec::new());
        for (k, kind) in axes[0].labels.iter().enumerate() {
            for (n, label) in axes[1].labels.iter().enumerate() {
                points.push(vec![kind.clone(), label.clone()]);
                // The seeds of different kinds move differently, or differences would have no
                // error.
                let value = |seed: usize| {
                    let step = (seed * seed * (k + 1) + seed * (n + 1)) % 5;
                    mean(k, n) + noise * (step as f64 - 2.0)
                };
                y.push((0..5).map(value).collect());
            }
        }
        Self { grid: GridTable { name: "main".into(), axes, points }, y }
    }
}

impl Results for Table {
    fn grid(&self, name: &str) -> Option<&GridTable> {
        (name == "main").then_some(&self.grid)
    }

    fn grid_names(&self) -> Vec<&str> {
        vec!["main"]
    }

    fn sample(&self, _: &GridTable, point: usize, metric: &str) -> Sample {
        match metric {
            "y" => Sample::Values(self.y[point].clone()),
            "flat" => Sample::Values(vec![5.0; 5]),
            "zero" => Sample::Values(vec![0.0; 5]),
            "once" => Sample::Values(vec![5.0]),
            "nan" => Sample::Values(vec![5.0, 5.0, f64::NAN, 5.0, 5.0]),
            "gone" => Sample::Missing(2, 5),
            _ => Sample::Unknown,
        }
    }
}

fn test(text: &str) -> Test {
    #[derive(Deserialize)]
    struct File {
        test: Test,
    }
    toml::from_str::<File>(&format!("test = {text}")).unwrap().test
}

fn verdict(table: &Table, text: &str) -> Verdict {
    evaluate_test(&Evaluator::new(table), &test(text)).unwrap().verdict
}

/// Kind a: 10, 20, 30, 40; b: the same; c: 40, 20, 15, 12.
fn means(kind: usize, n: usize) -> f64 {
    match kind {
        2 => [40.0, 20.0, 15.0, 12.0][n],
        _ => 10.0 * (n + 1) as f64,
    }
}

const HOLDS: [&str; 23] = [
    "{ of = { metric = 'y', where = { kind = 'a', n = 2 } }, between = [18, 22] }",
    "{ of = { metric = 'y', where = { kind = 'a', n = 2 } }, at-least = 18, at-most = 22 }",
    "{ of = { metric = 'y', where = { kind = 'a', n = 2 } }, above = { metric = 'y', where = { kind = 'c', n = 4 } } }",
    "{ of = { product = [2, 0.01, '10Mbit/s', 0.25] }, between = [50000, 50000] }",
    "{ greater = { metric = 'y', where = { kind = 'c', n = 1 } }, than = { metric = 'y', where = { kind = 'a', n = 1 } }, factor = 3 }",
    "{ greater = { metric = 'flat', where = { kind = 'a', n = 1 } }, than = { metric = 'flat', where = { kind = 'b', n = 1 } }, tolerance = '1%' }",
    "{ equal = [{ metric = 'y', where = { kind = 'a', n = 4 } }, { metric = 'y', where = { kind = 'c', n = 1 } }], within = '5%' }",
    "{ equal = [{ metric = 'zero', where = { kind = 'a', n = 4 } }, { metric = 'zero', where = { kind = 'c', n = 1 } }], within = '5%' }",
    "{ not-different = [{ metric = 'y', where = { kind = 'a', n = 4 } }, { metric = 'y', where = { kind = 'c', n = 1 } }] }",
    "{ order = [{ metric = 'y', where = { kind = 'a', n = 4 } }, { metric = 'y', where = { kind = 'a', n = 3 } }, { metric = 'y', where = { kind = 'a', n = 1 } }] }",
    "{ increasing = { metric = 'y', where = { kind = 'a' } }, over = 'n' }",
    "{ decreasing = { metric = 'y', where = { kind = 'c' } }, over = 'n' }",
    "{ increasing = { metric = 'y', where = { kind = 'a' } }, over = 'n', overall = true }",
    "{ constant = { metric = 'flat', where = { kind = 'c' } }, over = 'n', within = '1%' }",
    "{ constant = { metric = 'zero', where = { kind = 'c' } }, over = 'n', within = '1%' }",
    "{ linear = { metric = 'y', where = { kind = 'a' } }, over = 'n', r2 = 0.9, slope = [9, 11] }",
    "{ knee = { metric = 'y', where = { kind = 'c' } }, over = 'n', at = 2, factor = 3 }",
    "{ of = { ratio = [{ metric = 'y' }, { metric = 'y', where = { kind = 'a' } }] }, between = [0.2, 5], for-each = { kind = '*', n = '*' } }",
    "{ of = { mean = { metric = 'y', where = { kind = 'a' } }, over = 'n' }, between = [23, 27] }",
    "{ of = { metric = 'y' }, above = 35, for-each = { kind = '*', n = '*' }, holds-at = 3 }",
    "{ any-of = [{ of = 1, above = 2 }, { of = 3, above = 2 }] }",
    "{ not = { of = 1, above = 2 } }",
    "{ of = { max = { metric = 'y', where = { kind = 'a' } }, over = { n = { to = 3 } } }, below = 35 }",
];

const FAILS: [&str; 16] = [
    "{ of = { metric = 'y', where = { kind = 'a', n = 2 } }, between = [30, 32] }",
    "{ of = { product = [2, 0.01, '10Mbit/s', 0.25] }, above = 50000 }",
    "{ greater = { metric = 'y', where = { kind = 'a', n = 1 } }, than = { metric = 'y', where = { kind = 'c', n = 1 } } }",
    "{ greater = { metric = 'flat', where = { kind = 'a', n = 1 } }, than = { metric = 'flat', where = { kind = 'b', n = 1 } } }",
    "{ of = { metric = 'zero', where = { kind = 'a', n = 1 } }, above = 0 }",
    "{ equal = [{ metric = 'y', where = { kind = 'a', n = 4 } }, { metric = 'zero', where = { kind = 'a', n = 1 } }], within = '5%' }",
    "{ equal = [{ metric = 'y', where = { kind = 'a', n = 4 } }, { metric = 'y', where = { kind = 'a', n = 1 } }], within = '5%' }",
    "{ not-different = [{ metric = 'y', where = { kind = 'a', n = 4 } }, { metric = 'y', where = { kind = 'a', n = 1 } }] }",
    "{ increasing = { metric = 'y', where = { kind = 'c' } }, over = 'n' }",
    "{ decreasing = { metric = 'y', where = { kind = 'a' } }, over = 'n' }",
    "{ constant = { metric = 'y', where = { kind = 'a' } }, over = 'n', within = '10%' }",
    "{ linear = { metric = 'y', where = { kind = 'a' } }, over = 'n', slope = [20, 30] }",
    "{ knee = { metric = 'y', where = { kind = 'a' } }, over = 'n', at = 2, factor = 3 }",
    "{ of = { metric = 'y' }, above = 35, for-each = { kind = '*', n = '*' }, holds-at = 4 }",
    "{ all-of = [{ of = 1, above = 2 }, { of = 3, above = 2 }] }",
    "{ not = { of = 3, above = 2 } }",
];

/// With a part of the reason.
const UNCLEAR: [(&str, &str); 15] = [
    ("{ of = { metric = 'y', where = { kind = 'a', n = 2 } }, at-least = 20 }", STRADDLES),
    (
        "{ greater = { metric = 'y', where = { kind = 'a', n = 4 } }, than = { metric = 'y', where = { kind = 'c', n = 1 } } }",
        STRADDLES,
    ),
    (
        "{ equal = [{ metric = 'y', where = { kind = 'a', n = 1 } }, { metric = 'flat', where = { kind = 'a', n = 1 } }], within = '98%' }",
        STRADDLES,
    ),
    ("{ of = { metric = 'gone', where = { kind = 'a', n = 2 } }, at-least = 0 }", "no value"),
    (
        "{ of = { ratio = [{ metric = 'y', where = { kind = 'a', n = 2 } }, { metric = 'zero', where = { kind = 'a', n = 2 } }] }, above = 0 }",
        "divides by zero",
    ),
    (
        "{ all-of = [{ of = 3, above = 2 }, { of = { metric = 'gone', where = { kind = 'a', n = 2 } }, above = 0 }] }",
        "no value",
    ),
    (
        "{ any-of = [{ of = 1, above = 2 }, { of = { metric = 'gone', where = { kind = 'a', n = 2 } }, above = 0 }] }",
        "no value",
    ),
    (
        "{ not = { of = { metric = 'gone', where = { kind = 'a', n = 2 } }, above = 0 } }",
        "no value",
    ),
    (
        "{ greater = { metric = 'zero', where = { kind = 'a', n = 1 } }, than = { metric = 'zero', where = { kind = 'b', n = 1 } } }",
        "both samples are 0 without spread",
    ),
    (
        "{ increasing = { metric = 'zero', where = { kind = 'a' } }, over = 'n' }",
        "both samples are 0 without spread",
    ),
    (
        "{ knee = { metric = 'flat', where = { kind = 'c' } }, over = 'n', at = 2, factor = 3 }",
        "no step on either side",
    ),
    (
        "{ not-different = [{ metric = 'once', where = { kind = 'a', n = 1 } }, { metric = 'once', where = { kind = 'b', n = 1 } }] }",
        "one run has no interval",
    ),
    (
        "{ of = { metric = 'once', where = { kind = 'a', n = 1 } }, above = 1 }",
        "one run has no interval",
    ),
    (
        "{ of = { metric = 'nan', where = { kind = 'a', n = 1 } }, above = 1 }",
        "nan is not a finite number in 1 of 5 runs",
    ),
    (
        "{ increasing = { metric = 'y', where = { kind = 'a' } }, over = { n = [1] } }",
        "nothing to compare",
    ),
];
const STRADDLES: &str = "the interval straddles the bound";

#[test]
fn each_kind_of_test_holds_fails_and_is_unclear() {
    let table = Table::new(0.1, means);
    for text in HOLDS {
        assert_eq!(verdict(&table, text), Verdict::Holds, "{text}");
    }
    for text in FAILS {
        assert_eq!(verdict(&table, text), Verdict::DoesNotHold, "{text}");
    }
    for (text, reason) in UNCLEAR {
        let finding = evaluate_test(&Evaluator::new(&table), &test(text)).unwrap();
        assert_eq!(finding.verdict, Verdict::Unclear, "{text}");
        let told = finding.most_telling().unwrap().describe_outcome();
        assert!(told.contains(reason), "{text}: {told}");
    }
}

#[test]
fn an_undecided_part_decides_only_where_it_matters() {
    let table = Table::new(0.1, means);
    let gone = "{ of = { metric = 'gone', where = { kind = 'a', n = 2 } }, above = 0 }";
    let all = format!("{{ all-of = [{{ of = 1, above = 2 }}, {gone}] }}");
    assert_eq!(verdict(&table, &all), Verdict::DoesNotHold);
    let any = format!("{{ any-of = [{{ of = 3, above = 2 }}, {gone}] }}");
    assert_eq!(verdict(&table, &any), Verdict::Holds);
}

#[test]
fn mistakes_are_told_from_missing_figures() {
    let table = Table::new(0.1, means);
    for (text, part) in [
        ("{ of = { metric = 'x', where = { kind = 'a', n = 1 } }, above = 0 }", "no metric \"x\""),
        (
            "{ of = { metric = 'y', where = { kind = 'a' } }, above = 0 }",
            "axis \"n\" of the main grid is open",
        ),
        (
            "{ of = { metric = 'y', where = { kind = 'd', n = 1 } }, above = 0 }",
            "has no kind \"d\"",
        ),
        ("{ of = { metric = 'y', where = { size = '1' } }, above = 0 }", "has no axis \"size\""),
        ("{ of = { metric = 'y', where = { grid = 'other' } }, above = 0 }", "no grid \"other\""),
        ("{ increasing = { metric = 'y' }, over = 'size' }", "no grid has an axis \"size\""),
        (
            "{ linear = { metric = 'y', where = { n = 1 } }, over = 'kind', r2 = 1 }",
            "\"a\" is no number",
        ),
    ] {
        let error = evaluate_test(&Evaluator::new(&table), &test(text)).unwrap_err();
        assert!(error.text().contains(part), "{text}: {}", error.text());
    }
}

proptest! {
    /// More noise never turns one clear verdict into the other as long as the means stay.
    #[test]
    fn noise_only_blurs(bound in 5.0..45.0f64, noise in 0.0..20.0f64) {
        let text = format!("{{ of = {{ metric = 'y', where = {{ kind = 'a', n = 2 }} }}, at-least = {bound} }}");
        let clear = verdict(&Table::new(0.0, means), &text);
        let noisy = verdict(&Table::new(noise, means), &text);
        prop_assert!(noisy == clear || noisy == Verdict::Unclear);
    }
}
