//! Limits and shares for the terminal.

use polypath_run::limit::{BoundUtilisation, FlowUtilisation, Share};

use crate::columns::{print, table};
use crate::format::{NONE, bytes, rate};

/// What a run reached of its limits, as tables.
pub(crate) fn shares(shares: &BoundUtilisation) -> String {
    let several = shares.flows.len() > 1;
    let mut text: String = shares.flows.iter().map(|flow| one(flow, several)).collect();
    if let Some(joint) = shares.joint {
        text.push_str(&format!(
            "all saturated flows together: {} of {} at most\n",
            percent(joint),
            rate(joint.limit)
        ));
    }
    text
}

fn one(flow: &FlowUtilisation, several: bool) -> String {
    let of = |name: &str| if several { format!(" of {name}") } else { String::new() };
    match flow {
        FlowUtilisation::Unlimited { flow, no_limit } => {
            format!("Limit{}: none, {no_limit}\n", of(flow))
        }
        FlowUtilisation::Limited { flow, sack_route, buffer, free, ordered, best_path, best } => {
            let mut rows = table(&[&format!("limit{}", of(flow)), "computed", "reached"]);
            let best = format!("best path alone ({best})");
            let all =
                [("any order", free), ("one ordered stream", ordered), (best.as_str(), best_path)];
            for (name, share) in all {
                rows.add_row(vec![name.to_owned(), rate(share.limit), percent(*share)]);
            }
            let buffer = bytes(*buffer);
            let words = sack_route.words();
            format!("{}buffer {buffer} in whole messages, SACKs {words}\n", print(&rows))
        }
    }
}

fn percent(share: Share) -> String {
    share.share.map_or(NONE.to_owned(), |share| format!("{:.1} %", 100.0 * share))
}
