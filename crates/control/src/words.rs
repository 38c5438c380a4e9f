//! What limits a path, in words.

use std::time::Duration;

use polypath_apps::paths::{explain_admin, explain_path};
use polypath_net::{Limit, LimitStats, PathAdmin, PathId, PathInfo, PathState};

/// SACKs may be delayed by 200 ms; some more is for the processes at both ends.
const LATEST_SACK: Duration = Duration::from_millis(250);

/// How a path is called in front of people: by its device, or else by our address.
pub fn name_path(path: &PathInfo) -> String {
    path.device.clone().unwrap_or_else(|| path.stats.local.ip().to_string())
}

/// Likewise, with the peer's address where that is not enough to tell the paths that are there
/// apart.
pub fn name_paths(paths: &[PathInfo]) -> Vec<String> {
    let is_there = |path: &&PathInfo| path.stats.state != PathState::Removed;
    let there: Vec<String> = paths.iter().filter(is_there).map(name_path).collect();
    let name = |path: &PathInfo| {
        let short = name_path(path);
        match there.iter().filter(|other| **other == short).count() {
            0 | 1 => short,
            _ => format!("{short} to {}", path.stats.remote.ip()),
        }
    };
    paths.iter().map(name).collect()
}

/// Whether data goes from this end, or comes to it.
fn sends(paths: &[PathInfo]) -> bool {
    let sum = |bytes: fn(&PathInfo) -> u64| paths.iter().map(bytes).sum::<u64>();
    sum(|path| path.stats.payload_bytes) >= sum(|path| path.stats.payload_received)
}

/// A path that does not carry what it could.
pub fn is_in_trouble(path: &PathInfo) -> bool {
    !is_known_good(path) || unanswered(path).is_some()
}

/// Nothing that the association itself has noticed is wrong with it.
pub(crate) fn is_known_good(path: &PathInfo) -> bool {
    path.stats.state == PathState::Active && !path.contact.silent
}

/// For how long nothing came back on a path, although data in flight there should have been
/// acknowledged: for longer than three round trips and the delay of a SACK (RFC 9260 section 6.2).
pub fn unanswered(path: &PathInfo) -> Option<Duration> {
    let late = LATEST_SACK + 3 * path.stats.srtt?;
    let silent = path.contact.silent_for.filter(|silent| *silent > late);
    silent.filter(|_| path.unacknowledged_for.is_some_and(|wait| wait > late))
}

/// What keeps `path`, one of `all`, from sending more, or why it carries nothing.
pub fn limit_of_path(
    path: &PathInfo,
    all: &[PathInfo],
    names: &[String],
    limits: &LimitStats,
) -> String {
    if !is_known_good(path)
        && let Some(why) = explain_path(path, all, sends(all))
    {
        return why;
    }
    if let Some(time) = unanswered(path) {
        let why = path.contact.refusal.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        return format!("no answer for {:.1} s{why}", time.as_secs_f64());
    }
    let in_flight = path.stats.outstanding;
    if let Some(why) = explain_admin(path.admin)
        && (path.admin == PathAdmin::Disabled || in_flight == 0)
    {
        return why.to_owned();
    }
    if in_flight >= path.stats.cwnd && in_flight > 0 {
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

#[cfg(test)]
mod tests {
    use polypath_net::{FourTuple, PathStats};

    use super::*;

    /// A path of device `device` to host `host`.
    fn path(number: u8, device: &str, host: u8) -> PathInfo {
        let at = |last: u8| std::net::SocketAddr::from(([192, 0, 2, last], 9899));
        let tuple = FourTuple { local: at(1), remote: at(host) };
        let mut path = PathInfo::new(PathStats::new(PathId(number), tuple));
        path.device = Some(device.to_owned());
        (path.stats.state, path.stats.srtt) = (PathState::Active, Some(Duration::from_millis(40)));
        path.contact.silent_for = Some(Duration::from_secs(1));
        path
    }

    #[test]
    fn paths_are_told_apart_from_those_that_are_there_alone() {
        let mut gone = path(0, "wwan0", 9);
        gone.stats.state = PathState::Removed;
        assert_eq!(name_paths(&[gone.clone(), path(1, "wwan0", 9)]), ["wwan0", "wwan0"]);
        let two = [path(0, "wwan0", 8), path(1, "wwan0", 9), path(2, "eth0", 9)];
        assert_eq!(name_paths(&two), ["wwan0 to 192.0.2.8", "wwan0 to 192.0.2.9", "eth0"]);
    }

    #[test]
    fn silence_is_no_trouble_until_an_acknowledgement_is_late() {
        let mut idle = path(0, "eth0", 9);
        assert_eq!(unanswered(&idle), None, "nothing in flight");
        idle.unacknowledged_for = Some(Duration::from_millis(100));
        assert_eq!(unanswered(&idle), None, "sent after a pause");
        idle.unacknowledged_for = Some(Duration::from_millis(900));
        assert_eq!(unanswered(&idle), Some(Duration::from_secs(1)));
        let all = [idle];
        let limits = LimitStats::default();
        let told = limit_of_path(&all[0], &all, &name_paths(&all), &limits);
        assert_eq!(told, "no answer for 1.0 s");
        assert!(is_in_trouble(&all[0]));
    }
}
