//! What was found of a path, in a line each, with what to do.

use std::time::Duration;

use super::mtu::WIDEST;
use super::report::{
    About, Dependence, Directly, Ecn, Finding, Lifetime, Mark, Marks, Mtu, Nat, Passage,
    PathReport, State,
};

/// What commands send unless they are told otherwise, bytes.
const USUAL: u32 = 1500;

/// Lines about a path. `heartbeat`: how often commands send one on a path that is idle.
pub fn advise(report: &PathReport, port: u16, heartbeat: Option<Duration>) -> Vec<Finding> {
    let mut lines = vec![advise_state(report, port)];
    lines.extend(report.directly.map(advise_directly));
    lines.extend(report.mtu.map(advise_mtu));
    lines.extend(report.nat.map(advise_nat));
    let lifetime = report.nat.and_then(|nat| nat.lifetime);
    lines.extend(lifetime.map(|lifetime| advise_lifetime(lifetime, heartbeat)));
    lines.extend(report.no_mirror.as_deref().map(advise_no_mirror));
    lines.extend(report.ecn.map(advise_ecn));
    let finding = |line: Line| Finding {
        mark: line.mark,
        about: line.about,
        path: Some(report.path.clone()),
        what: line.what,
        remedy: line.remedy,
    };
    lines.into_iter().map(finding).collect()
}

/// A [`Finding`] yet without its path.
struct Line {
    mark: Mark,
    about: About,
    what: String,
    remedy: Option<String>,
}

fn ok(about: About, what: impl Into<String>) -> Line {
    Line { mark: Mark::Ok, about, what: what.into(), remedy: None }
}

fn warn(about: About, what: impl Into<String>, remedy: impl Into<String>) -> Line {
    Line { mark: Mark::Warn, remedy: Some(remedy.into()), ..ok(about, what) }
}

fn advise_state(report: &PathReport, port: u16) -> Line {
    let why = report.why.as_deref().unwrap_or("no reason is known");
    let fail = |about, what: String, remedy: String| Line {
        mark: Mark::Fail,
        remedy: Some(remedy),
        ..ok(about, what)
    };
    match report.state {
        State::Carries => {
            let rtt =
                report.rtt_ms.map_or(String::new(), |rtt| format!(", round trip {rtt:.1} ms"));
            ok(About::Udp, format!("UDP gets through{rtt}"))
        }
        State::NoPath => fail(
            About::Route,
            format!("no path: {why}"),
            "name addresses of one family at both ends, as many here as there, or say --mesh"
                .into(),
        ),
        State::NoRoute => fail(
            About::Route,
            format!("no route: {why}"),
            "see `ip route get ADDRESS` and `ip address`, or leave this path out".into(),
        ),
        State::NoAnswer => fail(
            About::Udp,
            format!("UDP gets no answer: {why}"),
            format!(
                "let UDP to the server's port through firewalls on the way, or start `polypath \
                 serve` there (SCTP port {port})"
            ),
        ),
        State::Refused => fail(
            About::Udp,
            format!("UDP is refused: {why}"),
            format!(
                "start `polypath serve` there (SCTP port {port}), or let UDP through the firewall \
                 that says so"
            ),
        ),
        State::NotServed => fail(
            About::Udp,
            format!("UDP gets through, and nothing for us is there: {why}"),
            format!("start `polypath serve` there, or say --port if its SCTP port is not {port}"),
        ),
        State::Keys => fail(
            About::Identity,
            "UDP gets through, and the two ends agree on no keys".to_owned(),
            "see the line about identity".into(),
        ),
        State::Local => fail(
            About::Route,
            why.to_owned(),
            "run as root, or name addresses (--local) in place of devices".into(),
        ),
    }
}

fn advise_directly(found: Directly) -> Line {
    match found {
        Directly::Answered => warn(
            About::Ip,
            "SCTP directly over IP gets an answer there",
            "programs may use that (polypath-net, Encapsulation::Raw); the commands speak UDP",
        ),
        Directly::Reached => warn(
            About::Ip,
            "IP protocol 132 reaches the host, which does not speak it",
            "the host is up: look for a firewall that blocks UDP",
        ),
        Directly::NoAnswer => warn(
            About::Ip,
            "IP protocol 132 gets no answer either",
            "the host may be down, or the address wrong: try ping",
        ),
    }
}

fn advise_mtu(found: Mtu) -> Line {
    let Mtu { passes, device, complete } = found;
    let remedy = format!("say --mtu auto, or --mtu {passes}, at both ends");
    match device {
        Some(device) if passes < device.min(WIDEST) && (complete || passes < USUAL) => {
            let what = format!("packets of {passes} bytes pass, and the device's {device} do not");
            warn(About::Mtu, what, remedy)
        }
        None if passes < USUAL => {
            warn(About::Mtu, format!("packets of {passes} bytes pass, and {USUAL} do not"), remedy)
        }
        _ => ok(About::Mtu, format!("packets of {passes} bytes pass")),
    }
}

fn advise_nat(nat: Nat) -> Line {
    let seen = nat.seen;
    let what = match (nat.translated, nat.mapping) {
        (false, _) => format!("no NAT: the server sees {seen}"),
        (true, None) => format!("NAT: the server sees {seen}"),
        (true, Some(mapping)) => {
            format!("NAT: the server sees {seen}; {} mapping", describe(mapping))
        }
    };
    let filtering = nat.filtering.map(|filtering| match filtering {
        Dependence::EndpointIndependent => "; packets of strangers come in".to_owned(),
        filtering => format!("; {} filtering", describe(filtering)),
    });
    let unclear = [nat.mapping, nat.filtering].contains(&Some(Dependence::NotPortDependent));
    let remedy = unclear.then(|| {
        "name a second address of the server in --to, which it has to listen at, to tell which"
            .to_owned()
    });
    Line { remedy, ..ok(About::Nat, what + &filtering.unwrap_or_default()) }
}

const fn describe(kind: Dependence) -> &'static str {
    match kind {
        Dependence::EndpointIndependent => "endpoint-independent",
        Dependence::AddressDependent => "address-dependent",
        Dependence::AddressAndPortDependent => "address-and-port-dependent",
        Dependence::NotPortDependent => "endpoint-independent or address-dependent",
    }
}

fn advise_lifetime(found: Lifetime, heartbeat: Option<Duration>) -> Line {
    let Lifetime { open_s, closed_s } = found;
    let what = match (open_s, closed_s) {
        (Some(open), None) => {
            format!("the way in stays open for {open:.1} s of silence, or longer")
        }
        (Some(open), Some(closed)) => {
            format!("the way in closes after {open:.1} to {closed:.1} s of silence")
        }
        (None, Some(closed)) => format!("the way in closes within {closed:.1} s of silence"),
        (None, None) => "how long the way in stays open is not known".to_owned(),
    };
    // RFC 9260 section 8.3: HB.interval, the RTO, and half of it either way.
    let longest = heartbeat.map(|interval| interval.as_secs_f64() * 1.5 + 1.0);
    match (closed_s, longest) {
        (Some(closed), Some(longest)) if longest >= closed => warn(
            About::Nat,
            what,
            "heartbeats are too rare for that: say --set heartbeat=TIME with a third of it",
        ),
        (_, Some(_)) => ok(About::Nat, format!("{what}, and heartbeats keep it so")),
        (_, None) => ok(About::Nat, what),
    }
}

fn advise_no_mirror(why: &str) -> Line {
    warn(
        About::Nat,
        format!("the kind of NAT, and ECN, could not be asked: {why}"),
        "run `polypath serve` there without --no-mirror, and let UDP in to its free ports",
    )
}

fn advise_ecn(found: Ecn) -> Line {
    let faults: Vec<_> = [("there", found.there), ("back", found.back)]
        .into_iter()
        .flat_map(|(way, Marks { ect0, ce })| [(way, "ECT(0)", ect0), (way, "CE", ce)])
        .filter_map(|(way, field, passage)| {
            let fate = match passage {
                Passage::Kept => return None,
                Passage::Cleared => "is cleared",
                Passage::Changed => "is changed",
                Passage::Lost => "is dropped",
            };
            Some(format!("{field} {fate} on the way {way}"))
        })
        .collect();
    if faults.is_empty() {
        return ok(About::Ecn, "ECN passes both ways");
    }
    warn(
        About::Ecn,
        format!("ECN: {}", faults.join(", ")),
        "SCTP goes on without ECN; tell who runs the router or tunnel that rewrites it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(state: State) -> PathReport {
        PathReport::new("eth0 -> 192.0.2.5".into(), state, Some("why".into()))
    }

    fn only(report: &PathReport) -> Finding {
        let mut found = advise(report, 9899, Some(Duration::from_millis(250)));
        found.pop().unwrap()
    }

    const STATES: [State; 8] = [
        State::Carries,
        State::NoPath,
        State::NoRoute,
        State::NoAnswer,
        State::Refused,
        State::NotServed,
        State::Keys,
        State::Local,
    ];

    #[test]
    fn whatever_carries_nothing_comes_with_a_remedy() {
        for state in STATES {
            let found = only(&report(state));
            assert_eq!(found.mark == Mark::Fail, state != State::Carries, "{found:?}");
            assert_eq!(found.remedy.is_some(), state != State::Carries, "{found:?}");
            assert_eq!(found.path.as_deref(), Some("eth0 -> 192.0.2.5"));
        }
    }

    #[test]
    fn warnings_come_with_a_remedy_and_nothing_is_empty() {
        let marks = |ect0, ce| Marks { ect0, ce };
        let kept = marks(Passage::Kept, Passage::Kept);
        let seen = "198.51.100.7:5000".parse().unwrap();
        for mapping in
            [None, Some(Dependence::AddressDependent), Some(Dependence::NotPortDependent)]
        {
            for (closed_s, passes) in [(Some(0.5), 1280), (None, 1500)] {
                let lifetime = Some(Lifetime { open_s: Some(0.25), closed_s });
                let nat = Nat { seen, translated: true, mapping, filtering: mapping, lifetime };
                let mtu = Mtu { passes, device: Some(1500), complete: true };
                let back = marks(Passage::Cleared, Passage::Lost);
                let found = PathReport {
                    mtu: Some(mtu),
                    nat: Some(nat),
                    ecn: Some(Ecn { there: kept, back }),
                    no_mirror: Some("why".into()),
                    directly: Some(Directly::Reached),
                    ..report(State::Carries)
                };
                let lines = advise(&found, 9899, Some(Duration::from_millis(250)));
                assert_eq!(lines.len(), 7);
                for line in lines {
                    assert!(line.mark == Mark::Ok || line.remedy.is_some(), "{line:?}");
                    assert!(line.remedy.as_deref() != Some("") && !line.what.is_empty());
                }
            }
        }
    }

    #[test]
    fn what_is_too_wide_is_told_with_its_size() {
        let with = |passes, device, complete| PathReport {
            mtu: Some(Mtu { passes, device, complete }),
            ..report(State::Carries)
        };
        let narrow = only(&with(1280, Some(1500), true));
        assert!(narrow.mark == Mark::Warn && narrow.remedy.unwrap().contains("--mtu 1280"));
        assert_eq!(only(&with(1280, None, false)).mark, Mark::Warn);
        assert_eq!(only(&with(1500, Some(1500), true)).mark, Mark::Ok);
        assert_eq!(only(&with(1500, Some(9000), false)).mark, Mark::Ok, "not yet tried");
    }

    #[test]
    fn heartbeats_are_compared_with_what_closes() {
        let with = |closed_s| {
            let lifetime = Some(Lifetime { open_s: None, closed_s });
            let seen = "198.51.100.7:5000".parse().unwrap();
            let nat = Nat { seen, translated: true, mapping: None, filtering: None, lifetime };
            PathReport { nat: Some(nat), ..report(State::Carries) }
        };
        assert_eq!(only(&with(Some(1.0))).mark, Mark::Warn);
        assert_eq!(only(&with(Some(30.0))).mark, Mark::Ok);
        assert_eq!(only(&with(None)).mark, Mark::Ok);
        let rare = advise(&with(Some(30.0)), 9899, Some(Duration::from_secs(30)));
        assert_eq!(rare.last().unwrap().mark, Mark::Warn);
    }
}
