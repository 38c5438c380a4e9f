//! Limits and shares for the terminal.

use polypath_run::limit::{BoundUtilisation, FlowUtilisation, Share};

use crate::columns::{new_table, render_table};
use crate::format::{NONE, format_bytes, format_rate};

/// What a run reached of its limits, as tables.
pub(crate) fn format_utilisation(shares: &BoundUtilisation) -> String {
    let several = shares.flows.len() > 1;
    let mut text: String = shares.flows.iter().map(|flow| format_flow(flow, several)).collect();
    if let Some(joint) = shares.joint {
        text.push_str(&format!(
            "all saturated flows together: {} of {} at most\n",
            format_percent(joint),
            format_rate(joint.limit)
        ));
    }
    text
}

fn format_flow(flow: &FlowUtilisation, several: bool) -> String {
    let of = |name: &str| if several { format!(" of {name}") } else { String::new() };
    match flow {
        FlowUtilisation::Unlimited { flow, no_limit } => {
            format!("Limit{}: none, {no_limit}\n", of(flow))
        }
        FlowUtilisation::Limited { flow, sack_route, buffer, free, ordered, best_path, best } => {
            let mut rows = new_table(&[&format!("limit{}", of(flow)), "computed", "reached"]);
            let best = format!("best path alone ({best})");
            let all =
                [("any order", free), ("one ordered stream", ordered), (best.as_str(), best_path)];
            for (name, share) in all {
                rows.add_row(vec![
                    name.to_owned(),
                    format_rate(share.limit),
                    format_percent(*share),
                ]);
            }
            let buffer = format_bytes(*buffer);
            let words = sack_route.words();
            format!("{}buffer {buffer} in whole messages, SACKs {words}\n", render_table(&rows))
        }
    }
}

fn format_percent(share: Share) -> String {
    share.share.map_or(NONE.to_owned(), |share| format!("{:.1} %", 100.0 * share))
}
