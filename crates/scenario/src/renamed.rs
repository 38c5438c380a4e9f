//! Words that scenario and experiment files had before. They go on to work for one release, and
//! whoever uses one is told the word of today.

use polypath_policies::{PolicyKind, present_text};
use toml::{Table, Value};

/// Settings of the stack: before, and now.
const FIELDS: [(&str, &str); 2] =
    [("sack-filled-gap", "sack-when-gap-fills"), ("dac-timer-count", "dac-count-in-timer-sack")];

/// Metrics: before, and now.
const METRICS: [(&str, &str); 2] =
    [("spurious", "duplicate-chunks"), ("suspicions", "path-silences")];

/// Settings that name a policy.
const POLICIES: [(&str, PolicyKind); 4] = [
    ("path-scheduler", PolicyKind::PathScheduler),
    ("stream-scheduler", PolicyKind::StreamScheduler),
    ("retransmission", PolicyKind::Retransmission),
    ("congestion", PolicyKind::Congestion),
];

/// Puts the words of today in place of those of before, wherever they stand in `table`. Gives a
/// line for each word that was replaced.
pub(crate) fn modernize_words(table: &mut Table) -> Vec<String> {
    let mut hints = Vec::new();
    modernize_table(table, &mut hints);
    hints.sort();
    hints.dedup();
    hints
}

fn modernize_table(table: &mut Table, hints: &mut Vec<String>) {
    let keys: Vec<String> = table.keys().cloned().collect();
    for key in keys {
        let present = replace_last_part(&key, &FIELDS, hints).unwrap_or_else(|| key.clone());
        if present != key && !table.contains_key(&present) {
            let value = table.remove(&key);
            value.into_iter().for_each(|value| drop(table.insert(present.clone(), value)));
        }
        if let Some(value) = table.get_mut(&present) {
            modernize_value(&present, value, hints);
        }
    }
}

fn modernize_value(key: &str, value: &mut Value, hints: &mut Vec<String>) {
    match value {
        Value::Table(table) => modernize_table(table, hints),
        Value::Array(list) => list.iter_mut().for_each(|value| modernize_value(key, value, hints)),
        Value::String(text) => {
            if let Some(present) = present_word(key, text, hints) {
                *text = present;
            }
        }
        _ => {}
    }
}

/// What a text says in words of today, if the field `key` names settings, metrics or a policy.
fn present_word(key: &str, text: &str, hints: &mut Vec<String>) -> Option<String> {
    let last = key.rsplit('.').next().unwrap_or(key);
    match last {
        "set" | "field" => return replace_last_part(text, &FIELDS, hints),
        "metric" | "metrics" => return replace_last_part(text, &METRICS, hints),
        _ => {}
    }
    let (_, kind) = POLICIES.iter().find(|(field, _)| *field == last)?;
    let present = present_text(*kind, text)?;
    hints.push(format!("{last} {text:?} is called {present:?} now"));
    Some(present)
}

/// `text` with its last part, behind a dot, as `words` has it.
fn replace_last_part(
    text: &str,
    words: &[(&str, &str)],
    hints: &mut Vec<String>,
) -> Option<String> {
    let last = text.rsplit('.').next().unwrap_or(text);
    let (before, now) = words.iter().find(|(before, _)| *before == last)?;
    hints.push(format!("{before} is called {now} now"));
    Some(text.strip_suffix(before)?.to_owned() + now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modern(text: &str) -> (Table, Vec<String>) {
        let mut table = text.parse().expect("valid");
        let hints = modernize_words(&mut table);
        (table, hints)
    }

    #[test]
    fn words_of_before_are_read_and_those_of_today_are_told() {
        let (table, hints) = modern(
            r#"
            stack = { sack-filled-gap = false, path-scheduler = "out?burst=2", congestion = "cmt" }
            flow = [{ stack = { sender = { dac-timer-count = true } } }]
            sweep = { set = ["stack.sack-filled-gap"], "stack.retransmission" = "soonest" }
            claim = { of = { metric = "spurious" } }
            "#,
        );
        let (expected, _) = modern(
            r#"
            [stack]
            sack-when-gap-fills = false
            path-scheduler = "cmt-out?burst=2"
            congestion = "rfc9260"
            [[flow]]
            stack = { sender = { dac-count-in-timer-sack = true } }
            [sweep]
            set = ["stack.sack-when-gap-fills"]
            "stack.retransmission" = "earliest-delivery"
            [claim]
            of = { metric = "duplicate-chunks" }
            "#,
        );
        assert_eq!(table, expected);
        assert_eq!(hints.len(), 6, "{hints:?}");
        assert!(hints.contains(&"sack-filled-gap is called sack-when-gap-fills now".to_owned()));
        let hint = r#"path-scheduler "out?burst=2" is called "cmt-out?burst=2" now"#;
        assert!(hints.contains(&hint.to_owned()));
    }

    #[test]
    fn words_of_today_are_left_alone() {
        let text = r#"stack = { path-scheduler = "rr", sack-when-gap-fills = true }"#;
        assert_eq!(modern(text), (text.parse().expect("valid"), Vec::new()));
    }
}
