//! Verdicts against a slow reference: the exact permutation test of paired samples.
//!
//! Under the null hypothesis of no difference each seed's difference may as well have the other
//! sign, so that the share of all 2^n signings with a sum as great as the measured one is the
//! probability of the measurement (Fisher 1935, section 21).

use polypath_experiments::evaluate::{
    Evaluator, Finding, GridTable, Results, Sample, Verdict, evaluate_test,
};
use polypath_experiments::experiment::{Axis, Test};
use proptest::prelude::*;
use serde::Deserialize;

/// Two samples under the labels `first` and `second`.
struct Pair {
    grid: GridTable,
    samples: [Vec<f64>; 2],
}

impl Pair {
    fn new(first: Vec<f64>, second: Vec<f64>) -> Self {
        let labels: Vec<String> = ["first", "second"].map(str::to_owned).to_vec();
        let points = labels.iter().map(|label| vec![label.clone()]).collect();
        let axes = vec![Axis { name: "side".to_owned(), labels }];
        Self { grid: GridTable { name: "main".into(), axes, points }, samples: [first, second] }
    }

    fn judge(&self, test: &str) -> Finding {
        #[derive(Deserialize)]
        struct File {
            test: Test,
        }
        let file: File = toml::from_str(&format!("test = {test}")).unwrap();
        evaluate_test(&Evaluator::new(self), &file.test).unwrap()
    }
}

impl Results for Pair {
    fn grid(&self, name: &str) -> Option<&GridTable> {
        (name == "main").then_some(&self.grid)
    }

    fn grid_names(&self) -> Vec<&str> {
        vec!["main"]
    }

    fn sample(&self, _: &GridTable, point: usize, _: &str) -> Sample {
        Sample::Values(self.samples[point].clone())
    }
}

const GREATER: &str = "{ greater = { metric = 'y', where = { side = 'first' } }, than = { metric = 'y', where = { side = 'second' } } }";
const EQUAL: &str = "{ equal = [{ metric = 'y', where = { side = 'first' } }, { metric = 'y', where = { side = 'second' } }], within = '5%' }";
const NOT_DIFFERENT: &str = "{ not-different = [{ metric = 'y', where = { side = 'first' } }, { metric = 'y', where = { side = 'second' } }] }";
const RISES: &str = "{ increasing = { metric = 'y' }, over = 'side' }";
const CONSTANT: &str = "{ constant = { metric = 'y' }, over = 'side', within = '5%' }";
const ABOVE: &str = "{ of = { metric = 'y', where = { side = 'first' } }, above = 0 }";
const TESTS: [&str; 6] = [GREATER, EQUAL, NOT_DIFFERENT, RISES, CONSTANT, ABOVE];

/// The share of signings whose sum is at least that of the differences, and at most.
fn permutation_test(differences: &[f64]) -> [f64; 2] {
    let sum = |signs: u32| -> f64 {
        let signed = differences.iter().enumerate();
        signed.map(|(n, d)| if signs >> n & 1 == 0 { *d } else { -d }).sum()
    };
    let (measured, all) = (sum(0), 1_u32 << differences.len());
    let noise = 1e-9 * differences.iter().map(|d| d.abs()).sum::<f64>();
    let count = |side: &dyn Fn(f64) -> bool| (0..all).filter(|signs| side(sum(*signs))).count();
    let upper = count(&|one| one >= measured - noise);
    let lower = count(&|one| one <= measured + noise);
    [upper, lower].map(|count| count as f64 / f64::from(all))
}

/// Differences of all kinds: none, whole numbers with ties, noise about a shift, outliers.
fn differences() -> impl Strategy<Value = Vec<f64>> {
    let one = |shift: f64| {
        prop_oneof![
            1 => Just(0.0),
            2 => (-3..=3_i32).prop_map(f64::from),
            4 => (-1.0..1.0_f64).prop_map(move |noise| shift + noise),
            1 => -50.0..50.0_f64,
        ]
    };
    (-3.0..3.0_f64, 6..=10_usize)
        .prop_flat_map(move |(shift, n)| prop::collection::vec(one(shift), n))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A Student t beyond its 97.5 % quantile means a sum of u = sqrt(n t2 / (n - 1 + t2)) standard
    /// deviations of the signings; for 6 to 10 seeds u > 1.84, and such a sum has a probability of
    /// at most 3.18 (1 - Phi(u)) < 0.11 among them (Bentkus and Dzindzalieta 2015).
    #[test]
    fn what_is_decided_is_improbable_among_all_signings(
        differences in differences(),
        base in prop::collection::vec(5.0..100.0_f64, 10),
    ) {
        let second: Vec<f64> = base.iter().take(differences.len()).copied().collect();
        let first = second.iter().zip(&differences).map(|(b, d)| b + d).collect();
        let [upper, lower] = permutation_test(&differences);
        let finding = Pair::new(first, second).judge(GREATER);
        match finding.verdict {
            Verdict::Holds => prop_assert!(upper < 0.11, "{upper} {finding:?}"),
            // Equal in every run is no chance, either.
            Verdict::DoesNotHold if differences.iter().all(|d| *d == 0.0) => {}
            Verdict::DoesNotHold => prop_assert!(lower < 0.11, "{lower} {finding:?}"),
            Verdict::Unclear => prop_assert!(finding.comparisons[0].reason.is_some()),
        }
    }

    /// Where all of ten differences have one sign, which two of 1,024 signings have, and none is
    /// more than five times another, the verdict has their direction.
    #[test]
    fn what_is_clear_among_all_signings_is_decided_alike(
        sizes in prop::collection::vec(1.0..5.0_f64, 10),
        base in prop::collection::vec(5.0..100.0_f64, 10),
        up in any::<bool>(),
    ) {
        let sign = if up { 1.0 } else { -1.0 };
        let differences: Vec<f64> = sizes.iter().map(|size| sign * size).collect();
        let [upper, lower] = permutation_test(&differences);
        prop_assert_eq!(if up { upper } else { lower }, 1.0 / 1024.0);
        let first: Vec<f64> = base.iter().zip(&differences).map(|(b, d)| b + d).collect();
        let pair = Pair::new(first, base);
        let expected = if up { Verdict::Holds } else { Verdict::DoesNotHold };
        prop_assert_eq!(pair.judge(GREATER).verdict, expected);
        prop_assert_eq!(pair.judge(RISES).verdict, expected.not());
        prop_assert_eq!(pair.judge(NOT_DIFFERENT).verdict, Verdict::DoesNotHold);
    }

    /// Whatever the samples hold: no panic, and what is unclear says why.
    #[test]
    fn what_is_unclear_says_why(
        first in prop::collection::vec(odd_number(), 0..5),
        second in prop::collection::vec(odd_number(), 0..5),
    ) {
        let pair = Pair::new(first.clone(), second.clone());
        let whole = |sample: &[f64]| sample.len() > 1 && sample.iter().all(|x| x.is_finite());
        let spread = |sample: &[f64]| sample.iter().any(|x| *x != sample[0]);
        for test in TESTS {
            let finding = pair.judge(test);
            let needed = if test == ABOVE { vec![&first] } else { vec![&first, &second] };
            let told = finding.most_telling().and_then(|one| one.reason.clone());
            if finding.verdict == Verdict::Unclear {
                prop_assert!(told.is_some_and(|why| !why.is_empty()), "{test}: {finding:?}");
            }
            if !needed.iter().all(|sample| whole(sample)) {
                prop_assert_eq!(finding.verdict, Verdict::Unclear, "{}: {:?}", test, finding);
            } else if !needed.iter().any(|sample| spread(sample)) {
                let nothing = needed.iter().all(|sample| sample[0] == 0.0);
                let strict = [GREATER, RISES].contains(&test);
                let open = strict && nothing;
                prop_assert_eq!(finding.verdict == Verdict::Unclear, open, "{}: {:?}", test, finding);
            }
        }
    }
}

fn odd_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => Just(0.0),
        6 => Just(3.0),
        2 => 0.0..10.0_f64,
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::NEG_INFINITY),
    ]
}

#[test]
fn the_reference_agrees_with_counting_by_hand() {
    // Of four signings of 1 and 2 only 1 + 2 is as great as 3, and all are at most that.
    assert_eq!(permutation_test(&[1.0, 2.0]), [0.25, 1.0]);
    // 1 - 2: itself, 1 + 2 and 2 - 1 are as great.
    assert_eq!(permutation_test(&[1.0, -2.0]), [0.75, 0.5]);
}

#[test]
fn samples_that_do_not_spread_are_decided_by_the_figures_themselves() {
    let verdict = |first: f64, second: f64, test: &str| {
        Pair::new(vec![first; 4], vec![second; 4]).judge(test).verdict
    };
    assert_eq!(verdict(3.0, 2.0, GREATER), Verdict::Holds);
    assert_eq!(verdict(2.0, 3.0, GREATER), Verdict::DoesNotHold);
    assert_eq!(verdict(2.0, 2.0, GREATER), Verdict::DoesNotHold);
    assert_eq!(verdict(0.0, 0.0, GREATER), Verdict::Unclear);
    assert_eq!(verdict(0.0, 0.0, EQUAL), Verdict::Holds);
    assert_eq!(verdict(0.0, 0.0, NOT_DIFFERENT), Verdict::Holds);
    assert_eq!(verdict(0.0, 0.0, CONSTANT), Verdict::Holds);
    // There was none, and "some" is what the bound asks for.
    assert_eq!(verdict(0.0, 1.0, ABOVE), Verdict::DoesNotHold);
    // A sum of a seventh of 0.7 and one of 0.1 differ by a rounding error.
    let sevenths = Pair::new(vec![0.1; 7], vec![0.7 / 7.0 + 1e-17; 7]);
    assert_eq!(sevenths.judge(GREATER).verdict, Verdict::DoesNotHold);
}
