//! The tests of claims: structured comparisons, not code.

use core::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use super::amount::Amount;
use super::quantity::Quantity;
use super::select::{Over, Pick};

/// What must be so for a claim to hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// A quantity against bounds.
    Bounds {
        /// The quantity.
        of: Quantity,
        /// Its least value, and whether that itself is too small.
        low: Option<(Quantity, bool)>,
        /// Its greatest value, and whether that itself is too great.
        high: Option<(Quantity, bool)>,
    },
    /// Greatest first: each above `factor` times the next, or not below by more than `tolerance`.
    Order {
        /// At least two.
        list: Vec<Quantity>,
        /// 1 without.
        factor: f64,
        /// As a share of the smaller; above 0 equality is enough.
        tolerance: f64,
    },
    /// Every pair differs by at most this share.
    Equal(Vec<Quantity>, f64),
    /// The interval of the difference holds zero.
    NotDifferent(Box<[Quantity; 2]>),
    /// Rises, or falls, from each value of an axis to the next.
    Monotone {
        /// What.
        of: Quantity,
        /// The axis and its values.
        over: (String, Pick),
        /// Up or down.
        rising: bool,
        /// How far a step may go the other way, as a share.
        tolerance: f64,
        /// Compare only the ends.
        overall: bool,
    },
    /// Greatest less least, as a share of the mean, at most this.
    Constant(Quantity, (String, Pick), f64),
    /// Least squares.
    Linear {
        /// What.
        of: Quantity,
        /// The axis and its values.
        over: (String, Pick),
        /// The least coefficient of determination.
        r2: Option<f64>,
        /// Bounds of the slope, in base units.
        slope: Option<[f64; 2]>,
    },
    /// The step before a value of the axis is `factor` times the step after it.
    Knee {
        /// What.
        of: Quantity,
        /// The axis and its values.
        over: (String, Pick),
        /// The value in the middle.
        at: String,
        /// How many times.
        factor: f64,
    },
    /// All hold.
    All(Vec<Self>),
    /// One holds.
    Any(Vec<Self>),
    /// It does not hold.
    Not(Box<Self>),
    /// Holds at so many points.
    ForEach {
        /// The points.
        over: Over,
        /// What.
        test: Box<Self>,
        /// At how many of them.
        holds_at: HoldsAt,
    },
}

/// At how many points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HoldsAt {
    /// At all.
    All,
    /// At this number or more.
    Count(u64),
    /// At this share or more.
    Share(f64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raw {
    of: Option<Quantity>,
    between: Option<[Quantity; 2]>,
    at_least: Option<Quantity>,
    at_most: Option<Quantity>,
    above: Option<Quantity>,
    below: Option<Quantity>,
    greater: Option<Quantity>,
    than: Option<Quantity>,
    factor: Option<Amount>,
    tolerance: Option<Amount>,
    equal: Option<Vec<Quantity>>,
    within: Option<Amount>,
    not_different: Option<[Quantity; 2]>,
    order: Option<Vec<Quantity>>,
    increasing: Option<Quantity>,
    decreasing: Option<Quantity>,
    overall: Option<bool>,
    constant: Option<Quantity>,
    linear: Option<Quantity>,
    r2: Option<f64>,
    slope: Option<[Amount; 2]>,
    knee: Option<Quantity>,
    at: Option<super::select::Label>,
    over: Option<Over>,
    all_of: Option<Vec<Test>>,
    any_of: Option<Vec<Test>>,
    not: Option<Box<Test>>,
    for_each: Option<Over>,
    holds_at: Option<HoldsAt>,
}

impl<'de> Deserialize<'de> for Test {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Raw::deserialize(deserializer)?.take_test().map_err(D::Error::custom)
    }
}

const KINDS: &str = "of, greater, equal, not-different, order, increasing, decreasing, constant, \
                     linear, knee, all-of, any-of, not";

impl Raw {
    fn take_test(mut self) -> Result<Test, String> {
        let (for_each, holds_at) = (self.for_each.take(), self.holds_at.take());
        let test = self.take_plain_test()?;
        self.refuse_leftovers()?;
        match (for_each, holds_at) {
            (None, None) => Ok(test),
            (None, Some(_)) => Err("holds-at without for-each (allowed: beside it)".into()),
            (Some(over), holds_at) => Ok(Test::ForEach {
                over,
                test: Box::new(test),
                holds_at: holds_at.unwrap_or(HoldsAt::All),
            }),
        }
    }

    /// The test without its `for-each`; takes the fields that it understands.
    fn take_plain_test(&mut self) -> Result<Test, String> {
        if let Some(of) = self.of.take() {
            return self.take_bounds(of);
        }
        if let Some(greater) = self.greater.take() {
            let than = self.than.take().ok_or("greater without than (allowed: both)")?;
            return Ok(self.order_of(vec![greater, than]));
        }
        if let Some(list) = self.order.take() {
            return some_of(list, 2).map(|list| self.order_of(list));
        }
        if let Some(list) = self.equal.take() {
            return Ok(Test::Equal(some_of(list, 2)?, self.take_within()?));
        }
        if let Some(two) = self.not_different.take() {
            return Ok(Test::NotDifferent(Box::new(two)));
        }
        if let Some(test) = self.over_an_axis()? {
            return Ok(test);
        }
        if let Some(tests) = self.all_of.take() {
            return Ok(Test::All(some_of(tests, 1)?));
        }
        if let Some(tests) = self.any_of.take() {
            return Ok(Test::Any(some_of(tests, 1)?));
        }
        if let Some(test) = self.not.take() {
            return Ok(Test::Not(test));
        }
        Err(format!("no test (allowed: one of {KINDS})"))
    }

    fn take_bounds(&mut self, of: Quantity) -> Result<Test, String> {
        let (mut low, mut high) = (None, None);
        if let Some([from, to]) = self.between.take() {
            (low, high) = (Some((from, false)), Some((to, false)));
        }
        low = low.or(self.at_least.take().map(|bound| (bound, false)));
        low = low.or(self.above.take().map(|bound| (bound, true)));
        high = high.or(self.at_most.take().map(|bound| (bound, false)));
        high = high.or(self.below.take().map(|bound| (bound, true)));
        if low.is_none() && high.is_none() {
            return Err(
                "of without a bound (allowed: between, at-least, at-most, above, below)".to_owned()
            );
        }
        Ok(Test::Bounds { of, low, high })
    }

    fn order_of(&mut self, list: Vec<Quantity>) -> Test {
        let factor = self.factor.take().map_or(1.0, |Amount(factor)| factor);
        let tolerance = self.tolerance.take().map_or(0.0, |Amount(share)| share);
        Test::Order { list, factor, tolerance }
    }

    fn over_an_axis(&mut self) -> Result<Option<Test>, String> {
        let rising = self.increasing.is_some();
        if let Some(of) = self.increasing.take().or_else(|| self.decreasing.take()) {
            let tolerance = self.tolerance.take().map_or(0.0, |Amount(share)| share);
            let overall = self.overall.take().unwrap_or(false);
            return Ok(Some(Test::Monotone {
                of,
                over: self.take_axis()?,
                rising,
                tolerance,
                overall,
            }));
        }
        if let Some(of) = self.constant.take() {
            return Ok(Some(Test::Constant(of, self.take_axis()?, self.take_within()?)));
        }
        if let Some(of) = self.linear.take() {
            let slope = self.slope.take().map(|slope| slope.map(|Amount(bound)| bound));
            let r2 = self.r2.take();
            if r2.is_none() && slope.is_none() {
                return Err("linear without a bound (allowed: r2, slope)".to_owned());
            }
            return Ok(Some(Test::Linear { of, over: self.take_axis()?, r2, slope }));
        }
        if let Some(of) = self.knee.take() {
            let at = self.at.take().ok_or("knee without at (allowed: a value of the axis)")?.0;
            let Amount(factor) =
                self.factor.take().ok_or("knee without factor (allowed: a number)")?;
            return Ok(Some(Test::Knee { of, over: self.take_axis()?, at, factor }));
        }
        Ok(None)
    }

    fn take_within(&mut self) -> Result<f64, String> {
        let within = self.within.take().map(|Amount(share)| share);
        within.ok_or_else(|| "within is missing (allowed: a share, such as 5%)".to_owned())
    }

    fn take_axis(&mut self) -> Result<(String, Pick), String> {
        let Over(axes) = self.over.take().ok_or("over is missing (allowed: an axis)")?;
        let count = axes.len();
        let one = axes.into_iter().next().filter(|_| count == 1);
        one.ok_or_else(|| format!("over names {count} axes (allowed: one)"))
    }

    /// Whatever was not taken belongs to another kind of test.
    fn refuse_leftovers(&self) -> Result<(), String> {
        let given = [
            ("of", self.of.is_some()),
            ("between", self.between.is_some()),
            ("at-least", self.at_least.is_some()),
            ("at-most", self.at_most.is_some()),
            ("above", self.above.is_some()),
            ("below", self.below.is_some()),
            ("greater", self.greater.is_some()),
            ("than", self.than.is_some()),
            ("factor", self.factor.is_some()),
            ("tolerance", self.tolerance.is_some()),
            ("equal", self.equal.is_some()),
            ("within", self.within.is_some()),
            ("not-different", self.not_different.is_some()),
            ("order", self.order.is_some()),
            ("increasing", self.increasing.is_some()),
            ("decreasing", self.decreasing.is_some()),
            ("overall", self.overall.is_some()),
            ("constant", self.constant.is_some()),
            ("linear", self.linear.is_some()),
            ("r2", self.r2.is_some()),
            ("slope", self.slope.is_some()),
            ("knee", self.knee.is_some()),
            ("at", self.at.is_some()),
            ("over", self.over.is_some()),
            ("all-of", self.all_of.is_some()),
            ("any-of", self.any_of.is_some()),
            ("not", self.not.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((field, _)) => Err(format!("{field} does not belong to this test")),
        }
    }
}

fn some_of<T>(list: Vec<T>, least: usize) -> Result<Vec<T>, String> {
    let count = list.len();
    if count >= least {
        Ok(list)
    } else {
        Err(format!("a list of {count} (allowed: {least} or more)"))
    }
}

impl<'de> Deserialize<'de> for HoldsAt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HoldsAtVisitor;
        impl Visitor<'_> for HoldsAtVisitor {
            type Value = HoldsAt;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of points from 1, or a share such as 95%")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<HoldsAt, E> {
                let count = u64::try_from(number).ok().filter(|count| *count > 0);
                count
                    .map(HoldsAt::Count)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Signed(number), &self))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<HoldsAt, E> {
                let share = super::amount::parse_amount(text).filter(|_| text.ends_with('%'));
                let unknown = || E::invalid_value(serde::de::Unexpected::Str(text), &self);
                share.map(HoldsAt::Share).ok_or_else(unknown)
            }
        }
        deserializer.deserialize_any(HoldsAtVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Test, String> {
        #[derive(Deserialize)]
        struct File {
            test: Test,
        }
        let file: Result<File, _> = toml::from_str(&format!("test = {text}"));
        file.map(|file| file.test).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn every_kind_is_read() {
        for text in [
            "{ of = 1, between = [0, 2] }",
            "{ of = 1, at-least = '95%', below = 3 }",
            "{ greater = 2, than = 1, factor = 1.1 }",
            "{ order = [3, 2, 1], tolerance = '2%' }",
            "{ equal = [1, 1.01], within = '2%' }",
            "{ not-different = [1, 1] }",
            "{ increasing = { metric = 'goodput' }, over = 'buffer' }",
            "{ decreasing = { metric = 'goodput' }, over = { b = { to = '1' } }, overall = true }",
            "{ constant = { metric = 'goodput' }, over = 'buffer', within = '2%' }",
            "{ linear = { metric = 'goodput' }, over = 'buffer', r2 = 0.98 }",
            "{ knee = { metric = 'goodput' }, over = 'b', at = '64KiB', factor = 3 }",
            "{ all-of = [{ of = 1, at-least = 1 }], for-each = { b = '*' }, holds-at = '95%' }",
            "{ not = { any-of = [{ of = 1, at-least = 1 }] } }",
        ] {
            assert!(read(text).is_ok(), "{text}: {:?}", read(text));
        }
    }

    #[test]
    fn mistakes_are_named_in_one_line() {
        for (text, part) in [
            ("{}", "no test"),
            ("{ of = 1 }", "of without a bound"),
            ("{ greater = 1 }", "greater without than"),
            ("{ equal = [1, 1] }", "within is missing"),
            ("{ equal = [1], within = '1%' }", "a list of 1 (allowed: 2 or more)"),
            ("{ of = 1, at-least = 1, r2 = 0.9 }", "r2 does not belong to this test"),
            ("{ increasing = 1, over = ['a', 'b'] }", "over names 2 axes"),
            ("{ of = 1, at-least = 1, holds-at = 1 }", "holds-at without for-each"),
            ("{ of = 1, at-lest = 1 }", "unknown field `at-lest`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
