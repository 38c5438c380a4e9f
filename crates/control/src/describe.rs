//! An association as it is shown to those who ask.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use polypath_net::{
    Event, Limit, Observed, PathAdmin, PathId, PathInfo, PathState, Snapshot, State, StreamWait,
    WaitsFor,
};

use crate::message::{
    AssociationStatus, Buffers, EventLine, LimitShare, PathStatus, Sections, StreamStatus, Totals,
    Use,
};
use crate::words;

/// Paths without an answer that are remembered, at most.
const MOST_UNANSWERED: usize = 1000;

/// An association with what `sections` asks for; `None` while it has no path.
pub(crate) fn describe(seen: &Snapshot, sections: Sections) -> Option<AssociationStatus> {
    let primary = seen.paths.iter().find(|path| path.primary).or_else(|| seen.paths.first())?;
    let names = words::name_paths(&seen.paths);
    let wants = |section| sections == Sections::Status || sections == section;
    Some(AssociationStatus {
        association: seen.number,
        state: state_words(seen.state).to_owned(),
        peer: primary.stats.remote,
        encrypted: seen.protected,
        totals: totals(seen),
        buffers: buffers(seen),
        limited_by: words::limit_of_association(&seen.limits.current, &names),
        limited_for: seen.limits.current_for.as_secs_f64(),
        paths: wants(Sections::Paths).then(|| paths(seen, &names)),
        streams: wants(Sections::Streams)
            .then(|| seen.waits.iter().map(|wait| stream(seen, wait, &names)).collect()),
        limits: wants(Sections::Limits).then(|| limits(seen.limits.ranking(), &names)),
    })
}

fn totals(seen: &Snapshot) -> Totals {
    let stats = &seen.stats;
    Totals {
        sent_bytes: stats.data_bytes_sent,
        delivered_bytes: stats.bytes_delivered,
        sent_messages: stats.messages_sent,
        delivered_messages: stats.messages_delivered,
        retransmissions: stats.retransmissions_fast + stats.retransmissions_timeout,
        copies: stats.copies,
        duplicates: stats.duplicates_received,
    }
}

fn buffers(seen: &Snapshot) -> Buffers {
    let (receive_size, send_size) = seen.buffer_sizes;
    let (receive_used, receive_out_of_order) = seen.received;
    Buffers {
        send_size: (send_size != u64::MAX).then_some(send_size),
        send_used: seen.send_queue.used,
        unsent: seen.send_queue.streams.iter().map(|stream| stream.unsent_bytes).sum(),
        receive_size,
        receive_used,
        receive_out_of_order,
    }
}

fn paths(seen: &Snapshot, names: &[String]) -> Vec<PathStatus> {
    let one = |(path, name): (&PathInfo, &String)| PathStatus {
        path: path.stats.path.0,
        name: name.clone(),
        device: path.device.clone(),
        local: path.stats.local,
        remote: path.stats.remote,
        state: path_state(path),
        admin: path.admin.into(),
        primary: path.primary,
        limited_by: limit_of_path(path, seen, names),
        trouble: words::is_in_trouble(path),
        sent_bytes: path.stats.payload_bytes,
        received_bytes: path.stats.payload_received,
        sent_packets: path.stats.packets_sent,
        received_packets: path.stats.packets_received,
        sent_chunks: path.stats.data_chunks,
        lost_chunks: path.lost_chunks,
        timeouts: path.stats.timeouts,
        rtt: path.stats.srtt.map(|rtt| rtt.as_secs_f64()),
        min_rtt: path.min_rtt.map(|rtt| rtt.as_secs_f64()),
        rto: path.stats.rto.as_secs_f64(),
        cwnd: path.stats.cwnd,
        in_flight: path.stats.outstanding,
        mtu: path.mtu.mtu,
        heard_ago: path.contact.silent_for.map(|time| time.as_secs_f64()),
    };
    seen.paths.iter().zip(names).map(one).collect()
}

fn limit_of_path(path: &PathInfo, seen: &Snapshot, names: &[String]) -> String {
    words::limit_of_path(path, &seen.paths, names, &seen.limits)
}

fn path_state(path: &PathInfo) -> String {
    match path.stats.state {
        PathState::Active if path.contact.silent => "silent".to_owned(),
        state => state.to_string(),
    }
}

fn stream(seen: &Snapshot, wait: &StreamWait, names: &[String]) -> StreamStatus {
    let queue = seen.send_queue.stream(wait.stream);
    let (on, path) = match wait.on {
        WaitsFor::Acknowledgement(path) => ("acknowledgement", Some(path)),
        WaitsFor::Retransmission(path) => ("retransmission", Some(path)),
        _ => ("sending", None),
    };
    StreamStatus {
        stream: wait.stream.0,
        waits: wait.since.as_secs_f64(),
        on: on.to_owned(),
        path: path.and_then(|path| name_of(path, names)),
        unsent: queue.unsent_bytes,
        unsent_for: wait.unsent.map(|time| time.as_secs_f64()),
        unacknowledged: queue.unacked_bytes,
    }
}

fn limits(ranking: Vec<(Limit, Duration)>, names: &[String]) -> Vec<LimitShare> {
    let mut shares: Vec<LimitShare> = Vec::new();
    for (limit, time) in ranking {
        let share = LimitShare {
            limit: words::limit_key(&limit).to_owned(),
            path: match limit {
                Limit::Congestion(path) | Limit::Scheduler(path) => name_of(path, names),
                _ => None,
            },
            seconds: time.as_secs_f64(),
        };
        // A path that came again is called like the one that was removed.
        let is_same =
            |known: &&mut LimitShare| (&known.limit, &known.path) == (&share.limit, &share.path);
        match shares.iter_mut().find(is_same) {
            Some(known) => known.seconds += share.seconds,
            None => shares.push(share),
        }
    }
    shares.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    shares
}

fn name_of(path: PathId, names: &[String]) -> Option<String> {
    names.get(path.index()).cloned()
}

/// An event; `seen` is the association a moment later, if it is still there.
pub(crate) fn describe_event(observed: &Observed, seen: Option<&Snapshot>) -> EventLine {
    let names = seen.map(|seen| words::name_paths(&seen.paths)).unwrap_or_default();
    let path = path_of(&observed.event);
    let name = path.and_then(|path| name_of(path, &names));
    let mut text = observed.event.to_string();
    if let (Some(path), Some(name)) = (path, &name) {
        text = text.replacen(&path.to_string(), name, 1);
    }
    let info = path.zip(seen).and_then(|(path, seen)| seen.paths.get(path.index()));
    let why = match (&observed.event, seen, info) {
        (Event::Limited(limit), _, _) => {
            text = format!("limited by: {}", words::limit_of_association(limit, &names));
            None
        }
        (_, Some(seen), Some(info)) if words::is_in_trouble(info) => {
            let why = limit_of_path(info, seen, &names);
            // Once is enough.
            Some(why.strip_prefix("fell silent, ").map_or(why.clone(), str::to_owned))
        }
        _ => None,
    };
    EventLine {
        time: now(),
        association: observed.association,
        path: name,
        text,
        why,
        missed: observed.missed,
    }
}

/// Paths of `seen` that began to leave data without an answer since `before`, or answer again: no
/// event of the association tells so before its timer expires, where no other path is left.
pub(crate) fn tell_unanswered(seen: &Snapshot, before: &mut BTreeSet<(u64, u8)>) -> Vec<EventLine> {
    let names = words::name_paths(&seen.paths);
    let mut told = Vec::new();
    for (path, name) in seen.paths.iter().zip(&names) {
        let key = (seen.number, path.stats.path.0);
        let is_well = words::is_known_good(path);
        let late = is_well && words::unanswered(path).is_some();
        let text = match (late, before.contains(&key)) {
            (true, false) if before.len() < MOST_UNANSWERED => "does not answer",
            // What else became of it is an event of its own.
            (false, true) if is_well => "answers again",
            (false, true) => {
                before.remove(&key);
                continue;
            }
            _ => continue,
        };
        if late {
            before.insert(key)
        } else {
            before.remove(&key)
        };
        told.push(EventLine {
            time: now(),
            association: seen.number,
            path: Some(name.clone()),
            text: format!("{name} {text}"),
            why: late.then(|| limit_of_path(path, seen, &names)),
            missed: 0,
        });
    }
    told
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

const fn path_of(event: &Event) -> Option<PathId> {
    match event {
        Event::PathAdded(path)
        | Event::PathRemoved(path)
        | Event::PathState { path, .. }
        | Event::PathSilent { path, .. }
        | Event::PacketsTooBig { path, .. }
        | Event::PathMtu { path, .. }
        | Event::PrimaryChanged(path) => Some(*path),
        _ => None,
    }
}

const fn state_words(state: State) -> &'static str {
    match state {
        State::CookieWait => "cookie-wait",
        State::CookieEchoed => "cookie-echoed",
        State::Established => "established",
        State::ShutdownPending => "shutdown-pending",
        State::ShutdownSent => "shutdown-sent",
        State::ShutdownReceived => "shutdown-received",
        State::ShutdownAckSent => "shutdown-ack-sent",
        _ => "closed",
    }
}

impl From<PathAdmin> for Use {
    fn from(admin: PathAdmin) -> Self {
        match admin {
            PathAdmin::Active => Self::On,
            PathAdmin::Backup => Self::Backup,
            PathAdmin::Disabled => Self::Off,
        }
    }
}

impl From<Use> for PathAdmin {
    fn from(admin: Use) -> Self {
        match admin {
            Use::On => Self::Active,
            Use::Backup => Self::Backup,
            Use::Off => Self::Disabled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_came_again_has_one_share_with_the_one_that_was_removed() {
        let seconds = Duration::from_secs;
        let ranking = vec![
            (Limit::Congestion(PathId(1)), seconds(5)),
            (Limit::Application, seconds(4)),
            (Limit::Congestion(PathId(0)), seconds(3)),
            (Limit::Congestion(PathId(2)), seconds(3)),
        ];
        let names = ["wwan0", "eth0", "wwan0"].map(str::to_owned);
        let told = limits(ranking, &names);
        let told: Vec<_> = told.iter().map(|s| (s.path.as_deref(), s.seconds)).collect();
        assert_eq!(told, [(Some("wwan0"), 6.0), (Some("eth0"), 5.0), (None, 4.0)]);
    }
}
