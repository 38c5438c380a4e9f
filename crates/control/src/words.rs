//! What limits a path, in words.

use std::time::Duration;

use polypath_apps::paths::explain_path;
use polypath_net::{
    Limit, LimitStats, PathAdmin, PathId, PathInfo, PathState, StreamWait, WaitsFor,
};

/// SACKs may be delayed by 200 ms; some more is for the processes at both ends.
const LATEST_SACK: Duration = Duration::from_millis(250);

/// How paths are called in front of people: by device or by our address, and by the peer's address,
/// too, where that is not enough to tell them apart.
pub fn name_paths(paths: &[PathInfo]) -> Vec<String> {
    let short =
        |path: &PathInfo| path.device.clone().unwrap_or_else(|| path.stats.local.ip().to_string());
    let shorts: Vec<String> = paths.iter().map(short).collect();
    let alone = |name: &String| shorts.iter().filter(|other| *other == name).count() == 1;
    let name = |(path, short): (&PathInfo, &String)| match alone(short) {
        true => short.clone(),
        false => format!("{short} to {}", path.stats.remote.ip()),
    };
    paths.iter().zip(&shorts).map(name).collect()
}

/// Whether data goes from this end, or comes to it.
pub fn sends(paths: &[PathInfo]) -> bool {
    let sum = |bytes: fn(&PathInfo) -> u64| paths.iter().map(bytes).sum::<u64>();
    sum(|path| path.stats.payload_bytes) >= sum(|path| path.stats.payload_received)
}

/// A path that does not carry what it could.
pub fn is_in_trouble(path: &PathInfo, waits: &[StreamWait]) -> bool {
    path.stats.state != PathState::Active
        || path.contact.silent
        || unanswered(path, waits).is_some()
}

/// For how long nothing came back on a path, although data in flight there should have been
/// acknowledged: for longer than three round trips and the delay of a SACK (RFC 9260 section 6.2).
pub fn unanswered(path: &PathInfo, waits: &[StreamWait]) -> Option<Duration> {
    let late = LATEST_SACK + 3 * path.stats.srtt?;
    let is_late = |wait: &StreamWait| {
        wait.on == WaitsFor::Acknowledgement(path.stats.path) && wait.since > late
    };
    path.contact.silent_for.filter(|silent| *silent > late && waits.iter().any(is_late))
}

/// What keeps `path`, one of `all`, from sending more, or why it carries nothing.
pub fn limit_of_path(
    path: &PathInfo,
    all: &[PathInfo],
    names: &[String],
    (limits, waits): (&LimitStats, &[StreamWait]),
) -> String {
    let is_well = path.stats.state == PathState::Active && !path.contact.silent;
    if !is_well && let Some(why) = explain_path(path, all, sends(all)) {
        return why;
    }
    if let Some(time) = unanswered(path, waits) {
        let why = path.contact.refusal.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        return format!("no answer for {:.1} s{why}", time.as_secs_f64());
    }
    match path.admin {
        PathAdmin::Disabled => return "switched off".to_owned(),
        PathAdmin::Backup if path.stats.outstanding == 0 => {
            return "kept for when the others fail".to_owned();
        }
        _ => {}
    }
    if path.stats.outstanding >= path.stats.cwnd && path.stats.outstanding > 0 {
        return "its congestion window is full".to_owned();
    }
    limit_of_association(&limits.current, names)
}

/// What limits an association.
pub fn limit_of_association(limit: &Limit, names: &[String]) -> String {
    let name = |path: &PathId| names.get(path.index()).cloned().unwrap_or_else(|| path.to_string());
    match limit {
        Limit::Application => "nothing to send".to_owned(),
        Limit::SendBuffer => "the send buffer: it is full of what is not acknowledged".to_owned(),
        Limit::PeerWindow => {
            "the peer's receive window: its buffer is small, or its program reads slowly".to_owned()
        }
        Limit::Congestion(_) => "the congestion windows".to_owned(),
        Limit::Rules => "Max.Burst, or its share of a buffer".to_owned(),
        Limit::Scheduler(path) => format!("the scheduler waits for {}", name(path)),
        Limit::Pacing => "pacing".to_owned(),
        Limit::NoPath => "no path works".to_owned(),
        other => other.to_string(),
    }
}

/// The word for a limit in figures.
pub fn limit_key(limit: &Limit) -> &'static str {
    match limit {
        Limit::Application => "application",
        Limit::SendBuffer => "send_buffer",
        Limit::PeerWindow => "peer_window",
        Limit::Congestion(_) => "congestion",
        Limit::Rules => "rules",
        Limit::Scheduler(_) => "scheduler",
        Limit::Pacing => "pacing",
        Limit::NoPath => "no_path",
        _ => "other",
    }
}
