//! A page as it grows, and the few signs that all of its parts use.

use std::fmt::Write as _;

use polypath_experiments::evaluate::Verdict;
use polypath_experiments::reproduce::Deviation;

use super::style::CSS;
use crate::chapter::describe_agreement;

/// The page as it grows.
#[derive(Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    /// The head of a page and its heading.
    pub(super) fn with_title(title: &str) -> Self {
        let mut page = Self::default();
        let title = escape_html(title);
        page.push_line("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
        page.push_line("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        page.push_line("<meta name=\"color-scheme\" content=\"light dark\">");
        page.push_line(&format!("<title>{title}</title><style>\n{CSS}</style></head><body>"));
        page.push_line(&format!("<h1>{title}</h1>"));
        page
    }

    /// The whole page; `script` may be empty. Tables that are wider than the screen scroll.
    pub(super) fn finish(self, script: &str) -> String {
        let scroll = "<div class=\"scroll\"><table";
        let mut text = self.text.replace("<table", scroll).replace("</table>", "</table></div>");
        if !script.is_empty() {
            text.push_str(&format!("<script>\n{script}</script>\n"));
        }
        text.push_str("</body></html>\n");
        text
    }

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
