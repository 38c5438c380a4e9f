//! A page as it grows, and the few signs that all of its parts use.

use std::fmt::Write as _;

use polypath_experiments::evaluate::Verdict;
use polypath_experiments::reproduce::Deviation;

use crate::chapter::describe_agreement;

/// The page as it grows.
#[derive(Default)]
pub(super) struct Page {
    pub(super) text: String,
}

impl Page {
    pub(super) fn push_line(&mut self, text: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{text}");
    }
}

/// How many points of the original simulator agree; empty without such data.
pub(super) fn agreement_of(deviations: &[Deviation]) -> String {
    describe_agreement(deviations).unwrap_or_default()
}

/// A verdict as a sign, a word and a colour.
pub(super) fn verdict_badge(verdict: Verdict) -> String {
    let sign = match verdict {
        Verdict::Holds => "✓",
        Verdict::DoesNotHold => "✗",
        Verdict::Unclear => "?",
    };
    format!("<span class=\"{}\">{sign} {verdict}</span>", verdict_class(verdict))
}

pub(super) const fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "does-not-hold",
        Verdict::Unclear => "unclear",
    }
}

/// A measured text.
pub(super) fn format_measured(text: &str) -> String {
    escape_html(text).replace("+-", "±")
}

pub(super) fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
