//! Two estimates to a verdict, with the reason where an interval does not decide.

use super::verdict::Verdict;
use crate::stats::Estimate;

/// A verdict, and why it is unclear or how it was reached without an interval.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decision {
    pub(super) verdict: Verdict,
    pub(super) reason: Option<String>,
}

impl Decision {
    /// By an interval, or by figures without any doubt.
    pub(super) const fn plain(verdict: Verdict) -> Self {
        Self { verdict, reason: None }
    }

    pub(super) fn because(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: Some(reason.into()) }
    }

    /// Both; the reason is that of the side that decides.
    pub(super) fn and(self, other: Self) -> Self {
        let verdict = self.verdict.and(other.verdict);
        if self.verdict == verdict { self } else { other }
    }
}

/// Whether the first is at or above (`strict`: above) `factor` times the second.
///
/// Where the runs do not spread the figures themselves decide. Nothing against nothing decides no
/// strict order: what is 0 in every run on both sides did not happen, so neither side has more.
pub(super) fn decide_above(
    first: &Estimate,
    factor: f64,
    second: &Estimate,
    strict: bool,
) -> Decision {
    let difference = first.minus(factor, second);
    if let Some(why) = without_interval(&difference) {
        return Decision::because(Verdict::Unclear, why);
    }
    let scale = first.value.abs().max((factor * second.value).abs());
    let room = difference.interval_at(scale);
    if room.half > 0.0 {
        return decide_by_ends(room.low(), room.high());
    }
    if room.mean != 0.0 {
        let holds = room.mean > 0.0;
        return Decision::plain(if holds { Verdict::Holds } else { Verdict::DoesNotHold });
    }
    match (strict, is_nothing(first) && is_nothing(second)) {
        (false, _) => Decision::plain(Verdict::Holds),
        (true, true) => Decision::because(Verdict::Unclear, "both samples are 0 without spread"),
        (true, false) => Decision::because(Verdict::DoesNotHold, "equal in every run"),
    }
}

/// Whether the interval of the difference holds zero.
pub(super) fn decide_not_different(first: &Estimate, second: &Estimate) -> Decision {
    let difference = first.minus(1.0, second);
    if let Some(why) = without_interval(&difference) {
        return Decision::because(Verdict::Unclear, why);
    }
    let room = difference.interval_at(first.value.abs().max(second.value.abs()));
    let zero = room.low() <= 0.0 && room.high() >= 0.0;
    Decision::plain(if zero { Verdict::Holds } else { Verdict::DoesNotHold })
}

/// Whether two differ by at most this share of the second.
pub(super) fn decide_within(first: &Estimate, second: &Estimate, share: f64) -> Decision {
    if second.value != 0.0 {
        let ratio = first.over(second);
        let low = decide_above(&ratio, 1.0, &Estimate::constant(1.0 - share), false);
        return low.and(decide_above(&Estimate::constant(1.0 + share), 1.0, &ratio, false));
    }
    // No share of zero: two zeros are equal, and what surely is no zero is not.
    let difference = first.minus(1.0, second);
    if let Some(why) = without_interval(&difference) {
        return Decision::because(Verdict::Unclear, why);
    }
    let apart = difference.interval_at(first.value.abs());
    match (apart.low(), apart.high()) {
        (0.0, 0.0) => Decision::plain(Verdict::Holds),
        (low, high) if low > 0.0 || high < 0.0 => {
            Decision::because(Verdict::DoesNotHold, "the second is 0, the first is not")
        }
        _ => Decision::because(Verdict::Unclear, "no share of a second that is 0"),
    }
}

/// Why an estimate has no interval: it is no number, or too few runs stand behind it.
fn without_interval(of: &Estimate) -> Option<&'static str> {
    match of.runs() {
        Some(0) => Some("no runs"),
        _ if !of.value.is_finite() => Some("not a finite number"),
        Some(1) => Some("one run has no interval"),
        _ if of.interval().half.is_nan() => Some("not a finite number"),
        _ => None,
    }
}

/// Measured, and 0 in every run.
fn is_nothing(of: &Estimate) -> bool {
    of.runs().is_some() && of.value == 0.0 && of.interval().half == 0.0
}

fn decide_by_ends(low: f64, high: f64) -> Decision {
    if low > 0.0 {
        Decision::plain(Verdict::Holds)
    } else if high < 0.0 {
        Decision::plain(Verdict::DoesNotHold)
    } else {
        Decision::because(Verdict::Unclear, "the interval straddles the bound")
    }
}
