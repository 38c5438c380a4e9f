//! What comes out of a test.

use core::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Holds,
    /// It does not.
    DoesNotHold,
    /// The interval straddles the bound, or there is none; the comparison says why.
    Unclear,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Unclear => "unclear",
        })
    }
}

impl Verdict {
    /// Both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::DoesNotHold, _) | (_, Self::DoesNotHold) => Self::DoesNotHold,
            (Self::Unclear, _) | (_, Self::Unclear) => Self::Unclear,
            _ => Self::Holds,
        }
    }

    /// The opposite.
    #[must_use]
    pub const fn not(self) -> Self {
        match self {
            Self::Holds => Self::DoesNotHold,
            Self::DoesNotHold => Self::Holds,
            Self::Unclear => Self::Unclear,
        }
    }

    /// At least `needed` of these.
    pub(super) fn at_least(verdicts: &[Self], needed: usize) -> Self {
        let count = |verdict| verdicts.iter().filter(|one| **one == verdict).count();
        let (holds, unclear) = (count(Self::Holds), count(Self::Unclear));
        if holds >= needed {
            Self::Holds
        } else if holds + unclear >= needed {
            Self::Unclear
        } else {
            Self::DoesNotHold
        }
    }
}

/// One comparison of figures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The point, such as `buffer 64KiB`; empty when the test names it itself.
    pub at: String,
    /// What was compared, with its interval.
    pub measured: String,
    /// What was asked for.
    pub bound: String,
    /// How far apart, as a share.
    pub effect: Option<String>,
    /// What follows.
    pub verdict: Verdict,
    /// Why it is unclear, or how it was decided without an interval.
    pub reason: Option<String>,
}

impl Comparison {
    /// What was measured, with the reason of the verdict if there is one.
    pub fn describe_outcome(&self) -> String {
        match &self.reason {
            None => self.measured.clone(),
            Some(reason) if self.measured.is_empty() => reason.clone(),
            Some(reason) => format!("{}: {reason}", self.measured),
        }
    }
}

/// What a test found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// What follows from all comparisons.
    pub verdict: Verdict,
    /// In the order of the test.
    pub comparisons: Vec<Comparison>,
}

impl Finding {
    /// The comparison that says most: the first that decides against, or the first.
    pub fn most_telling(&self) -> Option<&Comparison> {
        let deciding = self.comparisons.iter().find(|one| one.verdict == self.verdict);
        deciding.or(self.comparisons.first())
    }
}
