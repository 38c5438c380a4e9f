//! The result of a run as tables.

use polypath_run::limit::BoundUtilisation;
use polypath_sim::RunResult;
use polypath_sim::results::{
    Abandoned, Counters, CrossResult, Delivered, FlowResult, LinkResult, Outcome, PathResult,
};

use crate::columns::{new_table, render_table};
use crate::format::{NONE, format_bytes, format_count, format_rate, format_share, format_time};
use crate::limit_table;

/// The whole result, and what it reached of its limits.
pub fn format_result(result: &RunResult, limits: &BoundUtilisation) -> String {
    let mut text = format!(
        "seed {}, measured {} of {}, {} packets\n",
        result.seed,
        format_time(result.measured as f64),
        format_time(result.end as f64),
        result.packets,
    );
    for one in &result.flows {
        text.push('\n');
        text.push_str(&format_flow(one));
    }
    text.push('\n');
    text.push_str(&limit_table::format_utilisation(limits));
    text.push_str("\nLinks\n");
    text.push_str(&format_links(&result.links));
    if !result.cross.is_empty() {
        text.push_str("\nCross traffic\n");
        text.push_str(&format_cross_traffic(&result.cross, result.measured));
    }
    text
}

/// Flows that did not do what they should, in one line; `None` when all did.
pub fn describe_failures(result: &RunResult) -> Option<String> {
    let bad = |flow: &&FlowResult| {
        matches!(
            flow.outcome,
            Outcome::NotEstablished | Outcome::Failed(_) | Outcome::PolicyFailed(_)
        ) || !flow.integrity.holds()
    };
    let text = |flow: &FlowResult| format!("flow {}: {}", flow.name, describe_outcome(flow));
    let failures: Vec<_> = result.flows.iter().filter(bad).map(text).collect();
    (!failures.is_empty()).then(|| failures.join("; "))
}

/// One flow: its outcome, its total and streams, its paths.
pub fn format_flow(flow: &FlowResult) -> String {
    let mut text = format!("Flow {}: {}\n", flow.name, describe_outcome(flow));
    text.push_str(&format_deliveries(flow));
    text.push('\n');
    text.push_str(&format_paths(&flow.paths));
    text.push('\n');
    text.push_str(&describe_transfer(flow));
    text
}

fn describe_outcome(flow: &FlowResult) -> String {
    let outcome = match &flow.outcome {
        Outcome::NotEstablished => "never set up".to_owned(),
        Outcome::Open => "open at the end".to_owned(),
        Outcome::Finished => "finished".to_owned(),
        Outcome::Failed(reason) => format!("failed: {reason}"),
        Outcome::PolicyFailed(why) => format!("the path scheduler failed: {why}"),
    };
    let integrity = &flow.integrity;
    if integrity.holds() {
        return outcome;
    }
    format!(
        "{outcome}; {} messages duplicated, {} out of order, {} corrupted",
        integrity.duplicated, integrity.misordered, integrity.corrupted
    )
}

fn format_deliveries(flow: &FlowResult) -> String {
    let mut table = new_table(&["", "goodput", "messages", "delay mean", "p50", "p95", "max"]);
    table.add_row(delivered_cells("total", &flow.total));
    if flow.streams.len() > 1 {
        for (id, stream) in flow.streams.iter().enumerate() {
            table.add_row(delivered_cells(&format!("stream {id}"), stream));
        }
    }
    if let Some(responses) = &flow.responses {
        table.add_row(delivered_cells("responses", responses));
    }
    render_table(&table)
}

fn delivered_cells(name: &str, what: &Delivered) -> Vec<String> {
    let delay = |pick: fn(&polypath_sim::results::DelaySummary) -> f64| {
        what.delay.as_ref().map_or(NONE.to_owned(), |delay| format_time(pick(delay)))
    };
    vec![
        name.to_owned(),
        format_rate(what.goodput),
        format_count(what.messages),
        delay(|delay| delay.mean),
        delay(|delay| delay.p50 as f64),
        delay(|delay| delay.p95 as f64),
        delay(|delay| delay.max as f64),
    ]
}

/// What each path of a flow carried.
pub fn format_paths(paths: &[PathResult]) -> String {
    let all: u64 = paths.iter().map(|path| path.payload_bytes).sum();
    let mut head =
        vec!["path", "sent", "share", "fast rtx", "T3 rtx", "timeouts", "RTT", "cwnd", "state"];
    let found = paths.iter().any(|path| path.mtu.is_some());
    head.extend(found.then_some("MTU found"));
    let mut table = new_table(&head);
    for path in paths {
        let mut row = vec![
            path.name.clone(),
            format_rate(path.payload_rate),
            format_share(path.payload_bytes as f64, all as f64),
            format_count(path.retransmissions_fast),
            format_count(path.retransmissions_timeout),
            format_count(path.timeouts),
            path.srtt.map_or(NONE.to_owned(), |srtt| format_time(srtt as f64)),
            format_bytes(path.cwnd as f64),
            shorten_state(&path.state).to_owned(),
        ];
        row.extend(found.then(|| path.mtu.map_or(NONE.to_owned(), |mtu| format_count(mtu.into()))));
        table.add_row(row);
    }
    render_table(&table)
}

/// The state in a word that fits a column.
fn shorten_state(state: &str) -> &str {
    match state {
        "Active" => "active",
        "PotentiallyFailed" => "pf",
        "Inactive" => "inactive",
        "Unconfirmed" => "unverified",
        other => other,
    }
}

/// The flow's counters in words, those that are zero left out.
fn describe_transfer(flow: &FlowResult) -> String {
    let Counters {
        retransmissions_fast,
        retransmissions_timeout,
        timeouts,
        fast_recoveries,
        copies,
        path_silences,
        duplicate_chunks,
        sacks_sent,
        ..
    } = flow.counters;
    let retransmitted = retransmissions_fast + retransmissions_timeout;
    let mut text = format!(
        "retransmitted {} (fast {}, timeout {}), timeouts {}, fast recoveries {}\n\
         duplicate chunks {}, SACKs {}\n",
        format_count(retransmitted),
        format_count(retransmissions_fast),
        format_count(retransmissions_timeout),
        format_count(timeouts),
        format_count(fast_recoveries),
        format_count(duplicate_chunks),
        format_count(sacks_sent),
    );
    if copies > 0 {
        text.push_str(&format!(
            "sent on a second path {}, paths suspected {} times\n",
            format_count(copies),
            format_count(path_silences)
        ));
    }
    if let Some(given_up) = flow.abandoned {
        text.push_str(&describe_abandoned(&given_up));
    }
    if let Some(transfer) = flow.times.from_connect()
        && flow.outcome == Outcome::Finished
    {
        let data =
            flow.times.from_first_arrival().map_or(NONE.to_owned(), |t| format_time(t as f64));
        text.push_str(&format!(
            "transfer {} from the start of the association, {data} from the first data\n",
            format_time(transfer as f64)
        ));
    }
    if flow.blocked_by_peer_window > 0 {
        text.push_str(&format!(
            "blocked by the receiver's window {} in {} times, the longest {}\n",
            format_time(flow.blocked_by_peer_window as f64),
            flow.blocked_count,
            format_time(flow.blocked_longest as f64),
        ));
    }
    text
}

fn describe_abandoned(given_up: &Abandoned) -> String {
    format!(
        "given up {} (lifetime {}, retransmissions {}, priority {}), {} of them before anything was sent\n",
        format_count(given_up.messages),
        format_count(given_up.lifetime),
        format_count(given_up.retransmissions),
        format_count(given_up.priority),
        format_count(given_up.unsent),
    )
}

fn format_links(links: &[LinkResult]) -> String {
    let too_large = links.iter().any(|link| link.too_large > 0);
    let mut head = vec!["link", "packets", "delivered", "lost", "queue full", "down", "max queue"];
    head.extend(too_large.then_some("too large"));
    let mut table = new_table(&head);
    for link in links {
        let mut row = vec![
            link.name.clone(),
            format_count(link.offered),
            format_count(link.delivered),
            format_count(link.lost),
            format_count(link.overflowed),
            format_count(link.lost_down),
            format_count(link.max_queue_packets),
        ];
        row.extend(too_large.then(|| format_count(link.too_large)));
        table.add_row(row);
    }
    render_table(&table)
}

fn format_cross_traffic(sources: &[CrossResult], measured: u64) -> String {
    let mut table = new_table(&["source", "packets", "arrived", "sent", "carried"]);
    let seconds = measured.max(1) as f64 / 1e9;
    for source in sources {
        table.add_row(vec![
            source.name.clone(),
            format_count(source.sent),
            format_count(source.delivered),
            format_rate(source.sent_bytes as f64 * 8.0 / seconds),
            format_rate(source.delivered_bytes as f64 * 8.0 / seconds),
        ]);
    }
    render_table(&table)
}
