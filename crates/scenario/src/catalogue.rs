//! What there is to choose from: the policies.

use polypath_policies::{PolicyEntry, PolicyKind};
use serde::Serialize;

/// A policy, for JSON.
#[derive(Debug, Serialize)]
pub struct PolicyInfo {
    /// The scenario field that takes it.
    pub field: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Where it was defined.
    pub source: &'static str,
    /// What can be set after the `?`.
    pub options: Vec<OptionInfo>,
}

/// An option of a policy, for JSON.
#[derive(Debug, Serialize)]
pub struct OptionInfo {
    /// Its key.
    pub name: &'static str,
    /// Its value where the text gives none.
    pub default: &'static str,
    /// What is allowed.
    pub values: &'static str,
    /// What it decides.
    pub summary: &'static str,
}

/// All policies.
pub fn policies() -> Vec<PolicyInfo> {
    polypath_policies::all().iter().map(info).collect()
}

fn info(entry: &PolicyEntry) -> PolicyInfo {
    let option = |option: &polypath_policies::OptionEntry| OptionInfo {
        name: option.name,
        default: option.default,
        values: option.values,
        summary: option.summary,
    };
    PolicyInfo {
        field: field(entry.kind),
        name: entry.name,
        summary: entry.summary,
        source: entry.source,
        options: entry.options.iter().map(option).collect(),
    }
}

fn field(kind: PolicyKind) -> &'static str {
    match kind {
        PolicyKind::PathScheduler => "path-scheduler",
        PolicyKind::StreamScheduler => "stream-scheduler",
        PolicyKind::Retransmission => "retransmission",
        PolicyKind::Buffer => "buffer",
        PolicyKind::Congestion => "congestion",
    }
}

/// All policies as text, by the scenario field that takes them.
pub fn policies_text() -> String {
    let mut text = String::from(
        "Written as NAME or NAME?OPTION=VALUE&OPTION=VALUE in these fields of [stack]:\n",
    );
    let mut field = "";
    for policy in policies() {
        if policy.field != field {
            field = policy.field;
            text.push_str(&format!("\n{field}\n"));
        }
        text.push_str(&format!("  {:<10} {} ({})\n", policy.name, policy.summary, policy.source));
        for option in &policy.options {
            let OptionInfo { name, default, values, summary } = option;
            let default = if default.is_empty() { "none" } else { default };
            text.push_str(&format!("    {name}={values} (default {default}): {summary}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_listed_once_under_its_field() {
        let text = policies_text();
        for policy in polypath_policies::all() {
            assert!(text.contains(&format!("\n  {:<10} ", policy.name)), "{}", policy.name);
        }
        for name in ["path-scheduler", "stream-scheduler", "retransmission", "buffer"] {
            assert_eq!(text.matches(&format!("\n{name}\n")).count(), 1, "{name}");
        }
    }
}
