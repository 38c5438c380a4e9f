//! Tests to findings.

use polypath_run::metrics::{Unit, format_digits, format_pair};

use super::decide::{Decision, decide_above, decide_not_different, decide_within};
use super::quantity::{Bindings, Evaluator, NoValue, describe_quantity, quantity_unit};
use super::verdict::{Comparison, Finding, Verdict};
use crate::experiment::{HoldsAt, Pick, Quantity, Test, parse_amount};
use crate::stats::{Estimate, Interval, fit_line};

/// What a test finds in the results.
///
/// # Errors
/// Only mistakes of the experiment file; missing figures make the finding unclear.
pub fn evaluate_test(evaluator: &Evaluator<'_>, test: &Test) -> Result<Finding, NoValue> {
    Judge { evaluator }.judge_test(test, &Bindings::new())
}

/// A finding without figures.
pub fn undecided_finding(why: &str) -> Finding {
    let comparison = Comparison {
        at: String::new(),
        measured: String::new(),
        bound: String::new(),
        effect: None,
        verdict: Verdict::Unclear,
        reason: Some(why.to_owned()),
    };
    Finding { verdict: Verdict::Unclear, comparisons: vec![comparison] }
}

type Judged = Result<Finding, NoValue>;

struct Judge<'a> {
    evaluator: &'a Evaluator<'a>,
}

impl Judge<'_> {
    fn judge_test(&self, test: &Test, bound: &Bindings) -> Judged {
        match self.decide_test(test, bound) {
            Err(NoValue::Missing(why)) => {
                let mut finding = undecided_finding(&why);
                finding.comparisons.iter_mut().for_each(|one| one.at = describe_place(bound));
                Ok(finding)
            }
            decided => decided,
        }
    }

    fn decide_test(&self, test: &Test, bound: &Bindings) -> Judged {
        match test {
            Test::Bounds { of, low, high } => {
                self.judge_bounds(of, low.as_ref(), high.as_ref(), bound)
            }
            Test::Order { list, factor, tolerance } => {
                self.judge_order(list, *factor, *tolerance, bound)
            }
            Test::Equal(list, within) => self.judge_equal(list, *within, bound),
            Test::NotDifferent(two) => self.not_different(two, bound),
            Test::Monotone { of, over, rising, tolerance, overall } => {
                self.judge_monotone(of, over, *rising, *tolerance, *overall, bound)
            }
            Test::Constant(of, over, within) => self.judge_constant(of, over, *within, bound),
            Test::Linear { of, over, r2, slope } => self.judge_linear(of, over, *r2, *slope, bound),
            Test::Knee { of, over, at, factor } => self.judge_knee(of, over, at, *factor, bound),
            Test::All(tests) => self.judge_all(tests, bound, tests.len()),
            Test::Any(tests) => self.judge_all(tests, bound, 1),
            Test::Not(test) => {
                let finding = self.judge_test(test, bound)?;
                Ok(Finding { verdict: finding.verdict.not(), ..finding })
            }
            Test::ForEach { over, test, holds_at } => {
                let places = self.evaluator.walk_axes(over, bound)?;
                let findings = places.iter().map(|bound| self.judge_test(test, bound));
                let findings = findings.collect::<Result<Vec<_>, _>>()?;
                let needed = match holds_at {
                    HoldsAt::All => findings.len(),
                    HoldsAt::Count(count) => usize::try_from(*count).unwrap_or(usize::MAX),
                    HoldsAt::Share(share) => (share * findings.len() as f64).ceil() as usize,
                };
                Ok(combine_findings(findings, needed))
            }
        }
    }

    fn judge_all(&self, tests: &[Test], bound: &Bindings, needed: usize) -> Judged {
        let findings = tests.iter().map(|test| self.judge_test(test, bound));
        Ok(combine_findings(findings.collect::<Result<Vec<_>, _>>()?, needed))
    }

    fn judge_bounds(
        &self,
        of: &Quantity,
        low: Option<&(Quantity, bool)>,
        high: Option<&(Quantity, bool)>,
        bound: &Bindings,
    ) -> Judged {
        let value = self.evaluator.estimate_quantity(of, bound)?;
        let unit = quantity_unit(of);
        let mut decision = Decision::plain(Verdict::Holds);
        let mut wanted = Vec::new();
        let mut effect = None;
        for (limit, sign, word) in [(low, 1.0, "at least"), (high, -1.0, "at most")] {
            let Some((limit, strict)) = limit else { continue };
            let limit = self.evaluator.estimate_quantity(limit, bound)?;
            let (first, second) = if sign > 0.0 { (&value, &limit) } else { (&limit, &value) };
            let one = decide_above(first, 1.0, second, *strict);
            if decision.verdict == Verdict::Holds {
                effect = relative_difference(&value, &limit);
            }
            decision = decision.and(one);
            let word = match (*strict, sign > 0.0) {
                (true, true) => "above",
                (true, false) => "below",
                (false, _) => word,
            };
            wanted.push(format!("{word} {}", format_interval(unit, limit.interval())));
        }
        let measured =
            format!("{} = {}", describe_quantity(of), format_interval(unit, value.interval()));
        Ok(single_finding(bound, measured, wanted.join(", "), effect, decision))
    }

    fn judge_order(&self, list: &[Quantity], factor: f64, slack: f64, bound: &Bindings) -> Judged {
        let mut findings = Vec::new();
        for pair in list.windows(2) {
            let [greater, smaller] = pair else { continue };
            findings.push(self.judge_greater(
                greater,
                smaller,
                factor * (1.0 - slack),
                slack > 0.0,
                bound,
            )?);
        }
        let needed = findings.len();
        Ok(combine_findings(findings, needed))
    }

    fn judge_greater(
        &self,
        greater: &Quantity,
        smaller: &Quantity,
        factor: f64,
        or_equal: bool,
        bound: &Bindings,
    ) -> Judged {
        let a = self.evaluator.estimate_quantity(greater, bound)?;
        let b = self.evaluator.estimate_quantity(smaller, bound)?;
        let decision = decide_above(&a, factor, &b, !or_equal);
        let measured = describe_pair((greater, &a), (smaller, &b));
        let wanted = match (factor, or_equal) {
            (1.0, _) => "first greater".to_owned(),
            (factor, true) => {
                format!("first at least {} of the second", Unit::Share.format_value(factor))
            }
            (factor, false) => format!("first above {} times the second", format_digits(factor)),
        };
        Ok(single_finding(bound, measured, wanted, relative_difference(&a, &b), decision))
    }

    fn judge_equal(&self, list: &[Quantity], within: f64, bound: &Bindings) -> Judged {
        let mut findings = Vec::new();
        for (n, first) in list.iter().enumerate() {
            for second in list.iter().skip(n + 1) {
                let a = self.evaluator.estimate_quantity(first, bound)?;
                let b = self.evaluator.estimate_quantity(second, bound)?;
                let decision = decide_within(&a, &b, within);
                let wanted = format!("at most {} apart", Unit::Share.format_value(within));
                let measured = describe_pair((first, &a), (second, &b));
                findings.push(single_finding(
                    bound,
                    measured,
                    wanted,
                    relative_difference(&a, &b),
                    decision,
                ));
            }
        }
        let needed = findings.len();
        Ok(combine_findings(findings, needed))
    }

    fn not_different(&self, two: &[Quantity; 2], bound: &Bindings) -> Judged {
        let a = self.evaluator.estimate_quantity(&two[0], bound)?;
        let b = self.evaluator.estimate_quantity(&two[1], bound)?;
        let difference = a.minus(1.0, &b).interval();
        let decision = decide_not_different(&a, &b);
        let measured = format!(
            "{}, difference {}",
            describe_pair((&two[0], &a), (&two[1], &b)),
            format_interval(quantity_unit(&two[0]), difference)
        );
        let wanted = "interval of the difference holds zero".to_owned();
        Ok(single_finding(bound, measured, wanted, relative_difference(&a, &b), decision))
    }

    /// The values of a quantity along an axis.
    fn values_along(
        &self,
        of: &Quantity,
        over: &(String, Pick),
        bound: &Bindings,
    ) -> Result<Vec<(String, Estimate)>, NoValue> {
        let (axis, pick) = over;
        let labels = self.evaluator.axis_labels(axis, pick, None)?;
        let value = |label: String| {
            let mut bound = bound.clone();
            bound.insert(axis.clone(), label.clone());
            Ok((label, self.evaluator.estimate_quantity(of, &bound)?))
        };
        labels.into_iter().map(value).collect()
    }

    fn judge_monotone(
        &self,
        of: &Quantity,
        over: &(String, Pick),
        rising: bool,
        tolerance: f64,
        overall: bool,
        bound: &Bindings,
    ) -> Judged {
        let mut values = self.values_along(of, over, bound)?;
        if overall && values.len() > 2 {
            values.drain(1..values.len() - 1);
        }
        let mut findings = Vec::new();
        for pair in values.windows(2) {
            let [(from, before), (to, after)] = pair else { continue };
            let (greater, smaller) = if rising { (after, before) } else { (before, after) };
            let decision = decide_above(greater, 1.0 - tolerance, smaller, tolerance == 0.0);
            let unit = quantity_unit(of);
            let measured = format!(
                "{} from {} ({from}) to {} ({to})",
                describe_quantity(of),
                format_interval(unit, before.interval()),
                format_interval(unit, after.interval())
            );
            let wanted = match (rising, tolerance) {
                (true, 0.0) => "rises".to_owned(),
                (false, 0.0) => "falls".to_owned(),
                (true, t) => format!("rises (tolerance {})", Unit::Share.format_value(t)),
                (false, t) => format!("falls (tolerance {})", Unit::Share.format_value(t)),
            };
            findings.push(single_finding(
                bound,
                measured,
                wanted,
                relative_difference(after, before),
                decision,
            ));
        }
        let needed = findings.len();
        Ok(combine_findings(findings, needed))
    }

    fn judge_constant(
        &self,
        of: &Quantity,
        over: &(String, Pick),
        within: f64,
        bound: &Bindings,
    ) -> Judged {
        let values = self.values_along(of, over, bound)?;
        let by = |a: &&(String, Estimate), b: &&(String, Estimate)| a.1.value.total_cmp(&b.1.value);
        let (Some(least), Some(most)) = (values.iter().min_by(by), values.iter().max_by(by)) else {
            return Err(NoValue::Mistake("no values along the axis".to_owned()));
        };
        let all: Vec<Estimate> = values.iter().map(|(_, value)| value.clone()).collect();
        let (range, mean) = (most.1.minus(1.0, &least.1), Estimate::mean(&all));
        // All zero in every run: no spread, though it is no share of anything.
        let nothing = mean.value == 0.0 && range.interval().half == 0.0;
        let spread = if nothing { range } else { range.over(&mean) };
        let decision = decide_above(&Estimate::constant(within), 1.0, &spread, false);
        let unit = quantity_unit(of);
        let measured = format!(
            "{} from {} ({}) to {} ({})",
            describe_quantity(of),
            format_interval(unit, least.1.interval()),
            least.0,
            format_interval(unit, most.1.interval()),
            most.0
        );
        let wanted = format!("spread at most {}", Unit::Share.format_value(within));
        let effect = Some(format_interval(Unit::Share, spread.interval()));
        Ok(single_finding(bound, measured, wanted, effect, decision))
    }

    fn judge_linear(
        &self,
        of: &Quantity,
        over: &(String, Pick),
        r2: Option<f64>,
        slope: Option<[f64; 2]>,
        bound: &Bindings,
    ) -> Judged {
        let values = self.values_along(of, over, bound)?;
        let x = |label: &String| {
            parse_amount(label)
                .ok_or_else(|| NoValue::Mistake(format!("{label:?} is no number to fit over")))
        };
        let xs = values.iter().map(|(label, _)| x(label)).collect::<Result<Vec<_>, _>>()?;
        let ys: Vec<Estimate> = values.into_iter().map(|(_, value)| value).collect();
        let fit = fit_line(&xs, &ys)
            .ok_or_else(|| NoValue::Mistake("a fit needs three points or more".to_owned()))?;
        let mut findings = Vec::new();
        if let Some(least) = r2 {
            let decision = decide_above(&fit.r2, 1.0, &Estimate::constant(least), false);
            let measured = format!(
                "R2 of {} = {}",
                describe_quantity(of),
                format_interval(Unit::Plain, fit.r2.interval())
            );
            let wanted = format!("at least {}", format_digits(least));
            findings.push(single_finding(bound, measured, wanted, None, decision));
        }
        if let Some([low, high]) = slope {
            let above = decide_above(&fit.slope, 1.0, &Estimate::constant(low), false);
            let below = decide_above(&Estimate::constant(high), 1.0, &fit.slope, false);
            let slope = format_interval(Unit::Plain, fit.slope.interval());
            let measured =
                format!("slope of {} = {slope} per unit of {}", describe_quantity(of), over.0);
            let wanted = format!("{} to {}", format_digits(low), format_digits(high));
            findings.push(single_finding(bound, measured, wanted, None, above.and(below)));
        }
        let needed = findings.len();
        Ok(combine_findings(findings, needed))
    }

    fn judge_knee(
        &self,
        of: &Quantity,
        over: &(String, Pick),
        at: &str,
        factor: f64,
        bound: &Bindings,
    ) -> Judged {
        let values = self.values_along(of, over, bound)?;
        let middle = values.iter().position(|(label, _)| label == at);
        let around = middle.and_then(|n| values.get(n.checked_sub(1)?..=n + 1));
        let Some([(_, before), (_, here), (_, after)]) = around else {
            let text = format!("{at:?} is no value between others of axis {:?}", over.0);
            return Err(NoValue::Mistake(text));
        };
        let [first, second] =
            [absolute_value(&before.minus(1.0, here)), absolute_value(&here.minus(1.0, after))];
        let nothing = first.value == 0.0 && second.value == 0.0;
        let decision = match decide_above(&first, factor, &second, false) {
            Decision { verdict: Verdict::Holds, .. } if nothing => {
                Decision::because(Verdict::Unclear, "no step on either side")
            }
            decided => decided,
        };
        let unit = quantity_unit(of);
        let measured = format!(
            "{} moves by {} up to {at} and by {} after it",
            describe_quantity(of),
            format_interval(unit, first.interval()),
            format_interval(unit, second.interval())
        );
        let effect = (second.value > 0.0)
            .then(|| format!("{} times", format_digits(first.value / second.value)));
        Ok(single_finding(
            bound,
            measured,
            format!("{} times as much before", format_digits(factor)),
            effect,
            decision,
        ))
    }
}

fn absolute_value(value: &Estimate) -> Estimate {
    let sign = if value.value < 0.0 { -1.0 } else { 1.0 };
    Estimate::derived_from(value.value.abs(), [(sign, value)])
}

fn combine_findings(findings: Vec<Finding>, needed: usize) -> Finding {
    if findings.is_empty() {
        return undecided_finding("nothing to compare");
    }
    let verdicts: Vec<Verdict> = findings.iter().map(|finding| finding.verdict).collect();
    Finding {
        verdict: Verdict::at_least(&verdicts, needed),
        comparisons: findings.into_iter().flat_map(|finding| finding.comparisons).collect(),
    }
}

fn single_finding(
    bound: &Bindings,
    measured: String,
    wanted: String,
    effect: Option<String>,
    Decision { verdict, reason }: Decision,
) -> Finding {
    let at = describe_place(bound);
    let comparison = Comparison { at, measured, bound: wanted, effect, verdict, reason };
    Finding { verdict, comparisons: vec![comparison] }
}

fn describe_place(bound: &Bindings) -> String {
    let parts: Vec<String> = bound.iter().map(|(axis, label)| format!("{axis} {label}")).collect();
    parts.join(", ")
}

fn describe_pair(first: (&Quantity, &Estimate), second: (&Quantity, &Estimate)) -> String {
    let one = |(quantity, value): (&Quantity, &Estimate)| {
        format!(
            "{} = {}",
            describe_quantity(quantity),
            format_interval(quantity_unit(quantity), value.interval())
        )
    };
    format!("{} against {}", one(first), one(second))
}

/// By how much the first differs from the second.
fn relative_difference(first: &Estimate, second: &Estimate) -> Option<String> {
    let ratio = first.over(second);
    let Interval { mean, half } = ratio.interval();
    let share = |value: f64| format_digits(100.0 * value);
    let both = |half: f64| format_pair(100.0 * (mean - 1.0), 100.0 * half);
    (mean.is_finite() && second.value != 0.0).then(|| {
        let sign = if mean >= 1.0 { "+" } else { "" };
        match half {
            0.0 => format!("{sign}{} %", share(mean - 1.0)),
            h if h.is_finite() => format!("{sign}{} %", both(h)),
            _ => format!("{sign}{} % (one run)", share(mean - 1.0)),
        }
    })
}

/// A value and its interval with their unit.
pub(crate) fn format_interval(unit: Unit, value: Interval) -> String {
    let (factor, name) = unit.scale_for(value.mean);
    let text = match value.half {
        0.0 => format_digits(value.mean * factor),
        h if h.is_finite() => format_pair(value.mean * factor, h * factor),
        _ => format!("{} (one run)", format_digits(value.mean * factor)),
    };
    if name.is_empty() { text } else { format!("{text} {name}") }
}
