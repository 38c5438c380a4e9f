//! Names that policies had before: they go on to work for one release.

use crate::kind::PolicyKind;

/// A kind, the name before, and the name now.
const RENAMED: [(PolicyKind, &str, &str); 5] = [
    (PolicyKind::PathScheduler, "out", "cmt-out"),
    (PolicyKind::PathScheduler, "out-split", "cmt-out-split"),
    (PolicyKind::StreamScheduler, "needs", "requirements"),
    (PolicyKind::Retransmission, "soonest", "earliest-delivery"),
    (PolicyKind::Congestion, "cmt", "rfc9260"),
];

/// The text of a policy by its present name, if `text` (`name` or `name?key=value&...`) names one
/// that was called otherwise before. What reads settings can tell users by that.
///
/// ```
/// use polypath_policies::{PolicyKind, present_text};
///
/// let present = present_text(PolicyKind::PathScheduler, "out?burst=2");
/// assert_eq!(present.as_deref(), Some("cmt-out?burst=2"));
/// assert_eq!(present_text(PolicyKind::PathScheduler, "rr"), None);
/// ```
#[must_use]
pub fn present_text(kind: PolicyKind, text: &str) -> Option<String> {
    let (name, options) = text.split_at(text.find('?').unwrap_or(text.len()));
    Some(present_name(kind, name)?.to_owned() + options)
}

/// The present name of the policy that was called `name` before.
pub(crate) fn present_name(kind: PolicyKind, name: &str) -> Option<&'static str> {
    let renamed = RENAMED.iter().find(|(of, before, _)| *of == kind && *before == name);
    renamed.map(|(_, _, now)| *now)
}
