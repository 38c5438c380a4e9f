//! Scenarios whose messages may be given up, and whose paths carry packets of different sizes.

use polypath_run::{Recording, run};
use polypath_scenario::Source;
use polypath_sim::RunResult;
use polypath_sim::results::{FlowResult, Outcome};

fn result(text: &str) -> RunResult {
    let source = Source::new("given-up", text).unwrap_or_else(|error| panic!("{error}"));
    let scenario = source.parse_scenario().unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 1, Recording::default(), &mut |_| ()).unwrap()
}

/// A path that loses 5 %, with this flow on it; half a minute.
fn lossy(flow: &str) -> FlowResult {
    let text = format!(
        "[path.A]\nrate = '1Mbit/s'\ndelay = '20ms'\nqueue = '20packets'\nloss = '5%'\n\
         [stack]\nprofile = 'fast'\nextensions = ['pr-sctp']\nsend-buffer = '128KiB'\n\
         [[flow]]\n{flow}\n[time]\nmeasure = '30s'"
    );
    let flow = result(&text).flows.remove(0);
    assert!(flow.integrity.holds(), "{:?}", flow.integrity);
    flow
}

#[test]
fn a_lifetime_bounds_delays_and_what_was_given_up_is_counted() {
    // Twice what the path carries.
    let rate = "app = 'cbr'\nrate = '2Mbit/s'\nmessage = '1000B'";
    let full = lossy(rate);
    assert_eq!(full.abandoned, None);
    let timed = lossy(&format!("{rate}\nreliability = {{ lifetime = '150ms' }}"));
    let longest = |flow: &FlowResult| flow.total.delay.unwrap().max as f64 / 1e6;
    // A message may be sent as its lifetime ends, wait in the queue and cross the path.
    assert!(longest(&timed) < 600.0 && longest(&full) > longest(&timed), "{}", longest(&timed));
    let given_up = timed.abandoned.unwrap();
    assert_eq!(given_up.messages, given_up.lifetime);
    assert!(given_up.unsent > 1_000 && given_up.messages > given_up.unsent, "{given_up:?}");
    let known = timed.total.messages + given_up.messages + timed.integrity.outstanding;
    let accepted = timed.counters.messages_accepted;
    // What was given up may have arrived.
    assert!((accepted..accepted + 100).contains(&known), "{known} of {accepted}");
}

#[test]
fn retransmissions_and_priorities_are_rules_of_their_own() {
    let slow = "app = 'cbr'\nrate = '200kbit/s'\nmessage = '500B'";
    let once = lossy(&format!("{slow}\nreliability = {{ retransmissions = 0 }}"));
    let given_up = once.abandoned.unwrap();
    assert!((30..150).contains(&given_up.retransmissions), "5 % of 1500: {given_up:?}");
    assert_eq!((given_up.messages, given_up.unsent), (given_up.retransmissions, 0));
    assert_eq!(once.counters.retransmissions_fast + once.counters.retransmissions_timeout, 0);
    let rest = once.total.messages + given_up.messages + once.integrity.outstanding;
    assert_eq!(rest, once.counters.messages_accepted);

    // What is beside goes first: it finds room where the saturated stream fills the buffer.
    let beside = "beside = [{ message = '2kB', every = '50ms' }]";
    let ranked = lossy(&format!("app = 'saturated'\nreliability = {{ priority = 1 }}\n{beside}"));
    let given_up = ranked.abandoned.unwrap();
    assert!(given_up.priority > 0 && given_up.messages == given_up.priority, "{given_up:?}");
    assert!(ranked.streams[1].messages > 500, "{:?}", ranked.streams[1]);
}

#[test]
fn only_a_stream_beside_may_give_up() {
    let beside = "beside = [{ message = '1kB', every = '20ms', unordered = true, reliability = { lifetime = '100ms' } }]";
    let flow = lossy(&format!("app = 'saturated'\n{beside}"));
    assert!(flow.abandoned.unwrap().lifetime > 0);
    assert!(flow.streams[0].messages > 1_000);
}

#[test]
fn a_file_of_which_parts_may_be_given_up_finishes() {
    let rule = "reliability = { retransmissions = 0 }";
    let flow = lossy(&format!("app = 'file'\nsize = '500kB'\n{rule}"));
    assert_eq!(flow.outcome, Outcome::Finished);
    let given_up = flow.abandoned.unwrap().messages;
    assert!(given_up > 0 && flow.integrity.outstanding == 0, "{given_up}");
    assert!(flow.total.messages + given_up >= flow.counters.messages_accepted);
}

fn narrow(stack: &str) -> RunResult {
    result(&format!(
        "[path.A]\nrate = '10Mbit/s'\ndelay = '10ms'\nmtu = '1500B'\n\
         [path.B]\nrate = '10Mbit/s'\ndelay = '10ms'\nforward.mtu = '1400B'\n\
         [stack]\nprofile = 'fast'\n{stack}\n\
         [[flow]]\napp = 'saturated'\nmessage = '50kB'\n[time]\nsettle = '20s'\nmeasure = '20s'"
    ))
}

#[test]
fn discovery_finds_what_each_path_carries() {
    let found = narrow("path-mtu-discovery = true");
    let flow = &found.flows[0];
    assert!(flow.integrity.holds());
    assert_eq!(flow.paths.iter().map(|p| p.mtu).collect::<Vec<_>>(), [Some(1500), Some(1400)]);
    assert!(flow.total.goodput > 17.5e6, "{}", flow.total.goodput);
    // Probes, no data.
    let swallowed: u64 = found.links.iter().map(|link| link.too_large).sum();
    assert!(swallowed < 40, "{swallowed}");
}

#[test]
fn without_discovery_a_narrow_path_swallows_all_data() {
    let lost = narrow("path-mtu-discovery = false");
    let flow = &lost.flows[0];
    assert!(flow.paths.iter().all(|path| path.mtu.is_none()));
    assert!(flow.total.goodput < 10.5e6, "{}", flow.total.goodput);
    let swallowed = lost.links.iter().find(|link| link.name == "B.forward").unwrap();
    assert!(swallowed.too_large > 0);
}

#[test]
fn a_base_that_a_path_does_not_carry_is_helped_by_fragments() {
    // Below the base of 1200 bytes: packets of 576, and IP may take apart what is larger.
    let text = "[path.A]\nrate = '10Mbit/s'\ndelay = '10ms'\nmtu = '700B'\n\
                [stack]\nprofile = 'fast'\npath-mtu-discovery = true\npath-mtu-max = '2kB'\n\
                [[flow]]\napp = 'file'\nsize = '1MB'\n[time]\nmeasure = '300s'";
    let flow = result(text).flows.remove(0);
    assert_eq!(flow.outcome, Outcome::Finished, "{:?}", flow.times);
}

#[test]
fn mistakes_are_named() {
    let answer = |stack: &str, flow: &str| {
        let text = format!(
            "[path.A]\nrate = '1Mbit/s'\n[stack]\n{stack}\n[[flow]]\napp = 'saturated'\n{flow}\n\
             [time]\nmeasure = '1s'"
        );
        let scenario = Source::new("x.toml", &text).and_then(|source| source.parse_scenario());
        scenario.map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
    };
    let on = "extensions = ['pr-sctp']";
    for (stack, flow, expected) in [
        (on, "reliability = { lifetime = '1s' }", "accepted"),
        (
            on,
            "reliability = { lifetime = '1s', priority = 1 }",
            "flow[0].reliability: 2 rules (allowed: one of lifetime, retransmissions, priority)",
        ),
        (on, "reliability = {}", "0 rules (allowed: one of lifetime, retransmissions, priority)"),
        (
            "",
            "reliability = { priority = 1 }",
            "the sender may not give messages up (allowed: with stack.extensions = [\"pr-sctp\"])",
        ),
        (
            on,
            "reliability = { lifetime = '0s' }",
            "flow[0].reliability.lifetime = \"0s\": no time at all",
        ),
        (on, "reliability = { ttl = '1s' }", "unknown field"),
        (
            on,
            "beside = [{ message = '1B', every = '1s', reliability = {} }]",
            "flow[0].beside[0].reliability: 0 rules",
        ),
        (
            "path-mtu-discovery = true\npath-mtu-base = '100B'",
            "",
            "stack.path-mtu-base = \"100B\": out of range",
        ),
        (
            "path-mtu-discovery = true\npath-mtu-max = '1000B'",
            "",
            "stack.path-mtu-max = \"1000B\": below path-mtu-base (allowed: from 1200B)",
        ),
    ] {
        let said = answer(stack, flow);
        assert!(said.contains(expected), "{said}\n{expected}");
        assert_eq!(said.lines().count(), 1);
    }
    let request = "reliability = { priority = 1 }";
    let text = format!(
        "[path.A]\nmtu = '100B'\n[[flow]]\napp = 'request'\nresponse = '1kB'\n{request}\n\
         [time]\nmeasure = '1s'"
    );
    let said =
        Source::new("x.toml", &text).and_then(|s| s.parse_scenario()).unwrap_err().to_string();
    assert!(
        said.contains("path.A.mtu = \"100B\": ") && said.contains("allowed: 576B to 65535B"),
        "{said}"
    );
}
