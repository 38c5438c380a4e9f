//! No path is lost in silence: why one carries nothing, in a line.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use polypath_net::{LocalAddress, PathAdmin, PathInfo, PathState};

/// With less than this to send, bytes, it tells nothing that a path was left out.
const WORTH_SHARING: u64 = 256 << 10;

/// Why `path`, one of `all`, carries nothing, or may soon; `None` if all is well. `sends`: data
/// goes from this end.
pub fn explain_path(path: &PathInfo, all: &[PathInfo], sends: bool) -> Option<String> {
    let (stats, contact) = (&path.stats, &path.contact);
    let unanswered = match contact.unanswered {
        1 => "1 packet".to_owned(),
        count => format!("{count} packets"),
    };
    let why = contact.refusal.as_ref().map_or(String::new(), |why| format!(" ({why})"));
    let Some(silent_for) = contact.silent_for else {
        return Some(match &contact.refusal {
            _ if stats.state == PathState::Removed => "its address went away".to_owned(),
            Some(why) => format!("nothing could be sent: {why}"),
            None if contact.unanswered == 0 => "no answer yet".to_owned(),
            None => "nothing ever came back (NAT or firewall?)".to_owned(),
        });
    };
    let heard = format!("last heard of {} ago", format_ago(silent_for));
    match stats.state {
        PathState::Removed => Some(format!("its address went away, {heard}")),
        PathState::Inactive => {
            Some(format!("given up after {unanswered} unanswered, {heard}{why}"))
        }
        PathState::PotentiallyFailed => {
            Some(format!("in doubt after {unanswered} unanswered, {heard}{why}"))
        }
        PathState::Unconfirmed if contact.unanswered > 0 => {
            Some("packets came from there, but no heartbeat was answered".to_owned())
        }
        PathState::Unconfirmed => Some("not proven yet".to_owned()),
        PathState::Active if contact.silent => Some(format!("fell silent, {heard}{why}")),
        PathState::Active => explain_unused(path, all, sends).map(str::to_owned),
    }
}

/// Why a path carries no data because the user said so.
pub const fn explain_admin(admin: PathAdmin) -> Option<&'static str> {
    match admin {
        PathAdmin::Disabled => Some("switched off"),
        PathAdmin::Backup => Some("kept for when the others fail"),
        PathAdmin::Active => None,
    }
}

/// Why a path that works carries no data.
fn explain_unused(path: &PathInfo, all: &[PathInfo], sends: bool) -> Option<&'static str> {
    let carried = |path: &PathInfo| match sends {
        true => path.stats.payload_bytes,
        false => path.stats.payload_received,
    };
    let total: u64 = all.iter().map(carried).sum();
    match path.admin {
        _ if carried(path) > 0 || total == 0 => None,
        PathAdmin::Disabled | PathAdmin::Backup => explain_admin(path.admin),
        _ if total < WORTH_SHARING => Some("usable, but there was little to send"),
        PathAdmin::Active if sends => {
            Some("usable, but the scheduler sent nothing (it would slow the others)")
        }
        PathAdmin::Active => Some("usable, but the other end sent nothing on it"),
    }
}

/// A path as it is called in front of people: the device where one was named.
pub fn name_path(device: Option<&str>, local: SocketAddr, remote: SocketAddr) -> String {
    let from = device.map_or_else(|| local.ip().to_string(), str::to_owned);
    format!("path {from} -> {}", remote.ip())
}

/// A line for each path of which there is a [`explain_path`].
pub fn explain_paths(all: &[PathInfo], sends: bool) -> Vec<String> {
    let line = |path: &PathInfo| {
        let name = name_path(path.device.as_deref(), path.stats.local, path.stats.remote);
        Some(format!("{name}: {}", explain_path(path, all, sends)?))
    };
    all.iter().filter_map(line).collect()
}

/// A line for each address of ours and of `hosts` (`HOST[:PORT],...`) that the user named, and that
/// became none of the `paths` (our address, the peer's).
pub fn left_out(local: &[LocalAddress], hosts: &str, paths: &[(IpAddr, IpAddr)]) -> Vec<String> {
    if paths.is_empty() {
        return Vec::new();
    }
    let ours = ours_left_out(local, hosts, paths).into_iter();
    let all = ours.chain(theirs_left_out(local, hosts, paths));
    all.map(|(name, why)| format!("path {name}: none, {why}")).collect()
}

/// What the paths of addresses of ours would have been called that have none, and why they do not.
pub(crate) fn ours_left_out(
    local: &[LocalAddress],
    hosts: &str,
    paths: &[(IpAddr, IpAddr)],
) -> Vec<(String, &'static str)> {
    let has_family = |ipv4: bool| paths.iter().any(|(_, to)| to.is_ipv4() == ipv4);
    let ours = local.iter().filter(|l| paths.iter().all(|(from, _)| *from != l.address));
    let lines = ours.map(|l| {
        let from = l.device.clone().unwrap_or_else(|| l.address.to_string());
        let why = match has_family(l.address.is_ipv4()) {
            true => "it has no counterpart there",
            false => other_family(l.address),
        };
        (format!("{from} -> {hosts}"), why)
    });
    lines.collect()
}

/// The same of addresses of `hosts`.
pub(crate) fn theirs_left_out(
    local: &[LocalAddress],
    hosts: &str,
    paths: &[(IpAddr, IpAddr)],
) -> Vec<(String, &'static str)> {
    let named = hosts.split(',').filter_map(|text| {
        let text = text.trim();
        let address = text.parse::<SocketAddr>().map(|at| at.ip());
        address.ok().or_else(|| text.trim_matches(['[', ']']).parse().ok())
    });
    let theirs = named.filter(|named: &IpAddr| paths.iter().all(|(_, to)| to != named));
    let lines = theirs.map(|to| {
        let here = local.iter().any(|l| l.address.is_ipv4() == to.is_ipv4());
        let why = match (here, to.is_ipv4()) {
            (true, _) => "it has no counterpart here",
            (false, true) => "no IPv4 address is used here",
            (false, false) => "no IPv6 address is used here",
        };
        (format!("to {to}"), why)
    });
    lines.collect()
}

const fn other_family(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => "the other end has no IPv4 address",
        IpAddr::V6(_) => "the other end has no IPv6 address",
    }
}

/// A time that has passed, as exact as anybody wants it.
fn format_ago(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds @ ..10.0 => format!("{seconds:.1} s"),
        seconds => format!("{seconds:.0} s"),
    }
}

#[cfg(test)]
mod tests {
    use polypath_net::{Contact, FourTuple, PathId, PathStats};

    use super::*;

    fn path(n: u8, state: PathState, bytes: u64, contact: Contact) -> PathInfo {
        let at = |host: u8| SocketAddr::from(([10, 0, n, host], 9899));
        let tuple = FourTuple { local: at(1), remote: at(2) };
        let mut stats = PathStats::new(PathId(n), tuple);
        (stats.payload_bytes, stats.payload_received, stats.state) = (bytes, bytes, state);
        let mut info = PathInfo::new(stats);
        (info.primary, info.contact) = (n == 0, contact);
        info
    }

    fn heard(milliseconds: u64, unanswered: u32) -> Contact {
        let mut contact = Contact::default();
        contact.silent_for = Some(Duration::from_millis(milliseconds));
        contact.unanswered = unanswered;
        contact
    }

    /// What is said of `path` beside one that carried `bytes`.
    fn told(path: PathInfo, bytes: u64) -> String {
        let all = [super::tests::path(0, PathState::Active, bytes, heard(10, 0)), path];
        explain_paths(&all, true).join("\n")
    }

    #[test]
    fn what_works_is_not_worth_a_line() {
        assert_eq!(told(path(1, PathState::Active, 1, heard(50, 0)), 1 << 20), "");
        // A receiver sends nothing on any path.
        assert_eq!(told(path(1, PathState::Active, 0, heard(50, 0)), 0), "");
    }

    #[test]
    fn a_path_that_never_answered() {
        let mut never = Contact::default();
        never.unanswered = 3;
        for state in [PathState::Unconfirmed, PathState::Active, PathState::Inactive] {
            let line = told(path(1, state, 0, never.clone()), 1);
            let whole = "path 10.0.1.1 -> 10.0.1.2: nothing ever came back (NAT or firewall?)";
            assert_eq!(line, whole);
        }
        let mut named = path(1, PathState::Unconfirmed, 0, never.clone());
        named.device = Some("wwan0".into());
        assert!(told(named, 1).starts_with("path wwan0 -> 10.0.1.2: nothing"));
        let mut refused = never;
        refused.refusal = Some("network is unreachable".to_owned());
        let line = told(path(1, PathState::Unconfirmed, 0, refused), 1);
        assert!(line.ends_with("nothing could be sent: network is unreachable"), "{line}");
        let soon = told(path(1, PathState::Unconfirmed, 0, Contact::default()), 1);
        assert!(soon.ends_with("no answer yet"), "{soon}");
    }

    #[test]
    fn a_path_that_was_lost() {
        let line = told(path(1, PathState::Inactive, 9, heard(12_300, 6)), 1);
        let end = "given up after 6 packets unanswered, last heard of 12 s ago";
        assert!(line.ends_with(end), "{line}");
        let line = told(path(1, PathState::PotentiallyFailed, 9, heard(1_260, 1)), 1);
        assert!(line.ends_with("in doubt after 1 packet unanswered, last heard of 1.3 s ago"));
        let mut suspect = heard(300, 0);
        suspect.silent = true;
        let line = told(path(1, PathState::Active, 9, suspect), 1);
        assert!(line.ends_with("fell silent, last heard of 0.3 s ago"), "{line}");
        let line = told(path(1, PathState::Removed, 9, heard(300, 0)), 1);
        assert!(line.contains("its address went away"), "{line}");
    }

    #[test]
    fn a_path_that_was_left_out() {
        let idle = path(1, PathState::Active, 0, heard(50, 0));
        let line = told(idle.clone(), 1 << 20);
        assert!(line.ends_with("the scheduler sent nothing (it would slow the others)"), "{line}");
        assert!(told(idle.clone(), 1000).ends_with("there was little to send"));
        let mut backup = idle.clone();
        backup.admin = PathAdmin::Backup;
        assert!(told(backup, 1 << 20).ends_with("kept for when the others fail"));
        let busy = path(0, PathState::Active, 1 << 20, heard(1, 0));
        let received = explain_paths(&[busy, idle], false).join("\n");
        assert!(received.ends_with("usable, but the other end sent nothing on it"), "{received}");
    }

    #[test]
    fn an_address_without_a_path() {
        let local = |address: &str, device: &str| match (address.parse().unwrap(), device) {
            (address, "") => LocalAddress::from(address),
            (address, device) => LocalAddress::on_device(address, device),
        };
        let all = [("10.0.1.1", "10.0.1.2")].map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap()));
        let given = [local("10.0.1.1", "eth0"), local("fd00::1", "wwan0"), local("10.0.9.1", "")];
        let lines = left_out(&given, "10.0.1.2:9899", &all);
        let told = [
            "path wwan0 -> 10.0.1.2:9899: none, the other end has no IPv6 address",
            "path 10.0.9.1 -> 10.0.1.2:9899: none, it has no counterpart there",
        ];
        assert_eq!(lines, told);
        let lines = left_out(&given[..1], "10.0.1.2,[fd00::2]:7,fd00::3,10.0.1.9,name", &all);
        let told = [
            "path to fd00::2: none, no IPv6 address is used here",
            "path to fd00::3: none, no IPv6 address is used here",
            "path to 10.0.1.9: none, it has no counterpart here",
        ];
        assert_eq!(lines, told);
        assert!(left_out(&given[..1], "10.0.1.2", &all).is_empty());
        // Nothing is known of paths: the test did not begin.
        assert!(left_out(&given, "10.0.1.2", &[]).is_empty());
    }
}
