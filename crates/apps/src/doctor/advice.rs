//! What was found of a path, in a line each, with what to do.

use std::net::IpAddr;
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
    // Who refuses UDP is there: that he answers nothing else says no more.
    let is_there = report.state == State::Refused;
    let directly = report.directly.filter(|found| !is_there || *found != Directly::NoAnswer);
    lines.extend(directly.map(advise_directly));
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
            report.remedy.clone().unwrap_or_else(|| {
                "that is this host's own word: name other addresses (--local) or devices (--paths)"
                    .to_owned()
            }),
        ),
        State::NotOurs => fail(
            About::Route,
            why.to_owned(),
            "see `ip address` for the addresses and devices of this host".into(),
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
    let Some(passes) = passes else {
        let what = "how large packets may be is not known: no probe was answered";
        return warn(About::Mtu, what, "ask again; if it stays so, say a small --mtu at both ends");
    };
    let remedy = format!("say --mtu auto, or --mtu {passes}, at both ends");
    // SCTP packets, and so probes, are multiples of 4.
    let wanted = device.unwrap_or(USUAL).min(WIDEST) & !3;
    if complete && passes < wanted {
        let wider = device.map_or(format!("{USUAL}"), |device| format!("the device's {device}"));
        let what = format!("packets of {passes} bytes pass, and {wider} do not");
        return warn(About::Mtu, what, remedy);
    }
    if passes < wanted.min(USUAL) {
        let what = format!("packets of {passes} bytes pass; larger ones were not tried in time");
        return warn(About::Mtu, what, remedy);
    }
    ok(About::Mtu, format!("packets of {passes} bytes pass"))
}

fn advise_nat(nat: Nat) -> Line {
    let seen = nat.seen;
    let what = match (nat.translated, nat.mapping) {
        (false, _) => format!("no NAT: the server sees {seen}"),
        (true, None) => format!("NAT: the server sees {seen}"),
        (true, Some(mapping)) => {
            let limit = if nat.port_kept { " while no other host has that port" } else { "" };
            format!("NAT: the server sees {seen}; {} mapping{limit}", describe(mapping))
        }
    };
    let filtering = nat.filtering.map(|filtering| match filtering {
        Dependence::EndpointIndependent => "; packets of strangers come in".to_owned(),
        filtering => format!("; {} filtering", describe(filtering)),
    });
    let what = what + &filtering.unwrap_or_default();
    if let Some(other) = nat.other_address {
        return advise_pooling(&what, other, nat);
    }
    let unclear = [nat.mapping, nat.filtering].contains(&Some(Dependence::NotPortDependent));
    let remedy = unclear.then_some(if nat.second_address {
        "let UDP in to free ports of the server's second address, to tell which"
    } else {
        "name a second address of the server in --to, which it has to listen at, to tell which"
    });
    Line { remedy: remedy.map(str::to_owned), ..ok(About::Nat, what) }
}

/// An association keeps its address for as long as its mapping lasts, and no longer.
fn advise_pooling(what: &str, other: IpAddr, nat: Nat) -> Line {
    let unasked =
        if nat.filtering.is_none() { "; whose packets come in could not be asked" } else { "" };
    warn(
        About::Nat,
        format!(
            "{what}; sockets get different addresses outside, also {other} (pooling arbitrary)\
             {unasked}"
        ),
        "keep mappings alive, for a new one may have another address: see --long for how long they \
         last, and say --set heartbeat=TIME with a third of it",
    )
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
        (_, Some(_)) => ok(About::Nat, format!("{what}, and heartbeats keep it open")),
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
                Passage::Kept | Passage::Marked => return None,
                Passage::Cleared => "is cleared",
                Passage::Changed => "is changed",
                Passage::Lost => "is dropped",
            };
            Some(format!("{field} {fate} on the way {way}"))
        })
        .collect();
    if faults.is_empty() {
        let is_marked = |marks: Marks| marks.ect0 == Passage::Marked;
        let marking = match (is_marked(found.there), is_marked(found.back)) {
            (false, false) => "",
            (true, false) => "; a router on the way there signals congestion (CE), as it should",
            (false, true) => "; a router on the way back signals congestion (CE), as it should",
            (true, true) => "; routers signal congestion (CE) both ways, as they should",
        };
        return ok(About::Ecn, format!("ECN passes both ways{marking}"));
    }
    warn(
        About::Ecn,
        format!("ECN: {}", faults.join(", ")),
        "Polypath sends without ECN and loses nothing; for other programs, tell who runs the \
         router or tunnel that does that",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(state: State) -> PathReport {
        PathReport::new("eth0 -> 192.0.2.5".into(), state, Some("why".into()))
    }

    fn nat() -> Nat {
        Nat {
            seen: "198.51.100.7:5000".parse().unwrap(),
            translated: true,
            port_kept: false,
            mapping: None,
            filtering: None,
            second_address: false,
            other_address: None,
            lifetime: None,
        }
    }

    fn with_mtu(found: Mtu) -> PathReport {
        PathReport { mtu: Some(found), ..report(State::Carries) }
    }

    fn only(report: &PathReport) -> Finding {
        let mut found = advise(report, 9899, Some(Duration::from_millis(250)));
        found.pop().unwrap()
    }

    const STATES: [State; 9] = [
        State::Carries,
        State::NoPath,
        State::NoRoute,
        State::NoAnswer,
        State::Refused,
        State::NotServed,
        State::Keys,
        State::Local,
        State::NotOurs,
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
    fn a_host_that_refuses_is_not_said_to_be_down() {
        let with = |state| PathReport { directly: Some(Directly::NoAnswer), ..report(state) };
        for (state, count) in [(State::Refused, 1), (State::NoAnswer, 2)] {
            assert_eq!(advise(&with(state), 9899, None).len(), count, "{state:?}");
        }
    }

    #[test]
    fn warnings_come_with_a_remedy_and_nothing_is_empty() {
        let marks = |ect0, ce| Marks { ect0, ce };
        let kept = marks(Passage::Kept, Passage::Kept);
        for mapping in
            [None, Some(Dependence::AddressDependent), Some(Dependence::NotPortDependent)]
        {
            for (closed_s, passes) in [(Some(0.5), 1280), (None, 1500)] {
                let lifetime = Some(Lifetime { open_s: Some(0.25), closed_s });
                let nat = Nat { mapping, filtering: mapping, lifetime, ..nat() };
                let mtu = Mtu { passes: Some(passes), device: Some(1500), complete: true };
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
        let with = |passes, device, complete| with_mtu(Mtu { passes, device, complete });
        let narrow = only(&with(Some(1280), Some(1500), true));
        assert!(narrow.mark == Mark::Warn && narrow.remedy.unwrap().contains("--mtu 1280"));
        assert!(narrow.what.contains("1500 do not"), "{}", narrow.what);
        assert_eq!(only(&with(Some(1500), Some(1500), true)).mark, Mark::Ok);
        assert_eq!(only(&with(Some(1500), Some(9000), false)).mark, Mark::Ok, "not yet tried");
    }

    #[test]
    fn what_was_not_tried_is_not_said_to_fail() {
        for (passes, device) in [(Some(1280), Some(1500)), (Some(1280), None), (None, Some(1500))] {
            let found = only(&with_mtu(Mtu { passes, device, complete: false }));
            assert_eq!(found.mark, Mark::Warn, "{found:?}");
            assert!(!found.what.contains("do not"), "{found:?}");
        }
    }

    /// SCTP packets are multiples of 4, devices' sizes are not.
    #[test]
    fn a_device_is_compared_by_what_packets_it_can_be_filled_with() {
        for (passes, device) in [(1448, 1450), (9000, 9001), (9216, 65_536)] {
            let found = Mtu { passes: Some(passes), device: Some(device), complete: true };
            assert_eq!(only(&with_mtu(found)).mark, Mark::Ok, "{found:?}");
        }
    }

    #[test]
    fn a_second_address_is_asked_for_where_there_was_none() {
        let with = |second_address| {
            let mapping = Some(Dependence::NotPortDependent);
            let nat = Nat { mapping, second_address, ..nat() };
            only(&PathReport { nat: Some(nat), ..report(State::Carries) }).remedy.unwrap()
        };
        assert!(with(false).contains("in --to"), "{}", with(false));
        assert!(!with(true).contains("in --to"), "{}", with(true));
    }

    #[test]
    fn what_holds_while_a_port_is_free_is_said_so() {
        let with = |port_kept| {
            let nat = Nat { mapping: Some(Dependence::EndpointIndependent), port_kept, ..nat() };
            only(&PathReport { nat: Some(nat), ..report(State::Carries) }).what
        };
        assert!(
            with(true).ends_with("mapping while no other host has that port"),
            "{}",
            with(true)
        );
        assert!(with(false).ends_with("mapping"), "{}", with(false));
    }

    #[test]
    fn addresses_that_differ_from_socket_to_socket_are_told() {
        let nat = Nat { other_address: Some([198, 51, 100, 9].into()), ..nat() };
        let found = only(&PathReport { nat: Some(nat), ..report(State::Carries) });
        assert!(found.what.contains("198.51.100.9 (pooling arbitrary)"), "{found:?}");
        assert!(found.mark == Mark::Warn && found.remedy.is_some(), "{found:?}");
    }

    /// RFC 3168: a router that marks does what ECN is for.
    #[test]
    fn a_router_that_marks_is_well() {
        let kept = Marks { ect0: Passage::Kept, ce: Passage::Kept };
        let with = |there, back| {
            only(&PathReport { ecn: Some(Ecn { there, back }), ..report(State::Carries) })
        };
        let found = with(Marks { ect0: Passage::Marked, ..kept }, kept);
        assert!(found.mark == Mark::Ok && found.what.contains("way there"), "{found:?}");
        let found = with(kept, Marks { ect0: Passage::Marked, ce: Passage::Lost });
        assert!(found.mark == Mark::Warn && !found.what.contains("ECT(0)"), "{found:?}");
    }

    #[test]
    fn heartbeats_are_compared_with_what_closes() {
        let with = |closed_s| {
            let lifetime = Some(Lifetime { open_s: None, closed_s });
            PathReport { nat: Some(Nat { lifetime, ..nat() }), ..report(State::Carries) }
        };
        assert_eq!(only(&with(Some(1.0))).mark, Mark::Warn);
        assert_eq!(only(&with(Some(30.0))).mark, Mark::Ok);
        assert_eq!(only(&with(None)).mark, Mark::Ok);
        let rare = advise(&with(Some(30.0)), 9899, Some(Duration::from_secs(30)));
        assert_eq!(rare.last().unwrap().mark, Mark::Warn);
    }
}
