//! Scenarios with boxes that translate addresses, simulated.

use polypath_run::world_spec;
use polypath_scenario::{Scenario, Source};
use polypath_sim::{RunResult, SpecError, run};

const ONE: &str = "\
[endpoints]
encapsulation = 'udp'
[path.a]
rate = '10Mbit/s'
delay = '10ms'
nat = 'home'
[nat.home]
[[flow]]
app = 'saturated'
[time]
measure = '5s'
";

fn scenario(text: &str) -> Scenario {
    let source = Source::new("nat.toml", text).unwrap();
    source.parse_scenario().unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(text: &str) -> RunResult {
    run(&world_spec(&scenario(text), false).unwrap(), 1, None).unwrap()
}

#[test]
fn a_transfer_through_a_box_of_any_kind_is_that_without_one() {
    let plain = simulate(&ONE.replace("nat = 'home'\n[nat.home]\n", ""));
    assert!(plain.nats.is_empty());
    let kinds = ["endpoint-independent", "address-dependent", "address-and-port-dependent"];
    for (mapping, filtering) in kinds.iter().flat_map(|m| kinds.iter().map(move |f| (m, f))) {
        let nat = format!("[nat.home]\nmapping = '{mapping}'\nfiltering = '{filtering}'\n");
        let through = simulate(&ONE.replace("[nat.home]\n", &nat));
        assert_eq!(through.flows[0].total, plain.flows[0].total, "{mapping} {filtering}");
        let nat = &through.nats[0];
        assert_eq!((nat.name.as_str(), nat.unmapped, nat.filtered), ("home", 0, 0));
        assert!(nat.outbound > nat.inbound && nat.inbound > 1000, "{nat:?}");
    }
}

#[test]
fn a_box_that_forgets_lets_the_transfer_go_on_where_ports_are_preserved() {
    let change = "[[at]]\ntime = '1s'\ntarget = 'home'\naction = 'forget'\n[[flow]]";
    let through = simulate(&ONE.replace("[[flow]]", change));
    let plain = simulate(ONE);
    let [forgets, plain] = [through, plain].map(|result| result.flows[0].total.bytes as f64);
    assert!(forgets > 0.95 * plain, "{forgets} of {plain}");
}

#[test]
fn an_answer_after_the_timeout_does_not_get_in() {
    // A message every 8 s; its acknowledgement waits for 200 ms.
    let slow = "app = 'cbr'\nrate = '1kbit/s'\nmessage = '1000B'";
    let text = ONE.replace("app = 'saturated'", slow).replace("'5s'", "'30s'");
    let unmapped = |timeout: &str| {
        let nat = format!("[nat.home]\ntimeout = '{timeout}'\n");
        simulate(&text.replace("[nat.home]\n", &nat)).nats[0].unmapped
    };
    assert_eq!((unmapped("5min"), unmapped("100ms") > 0), (0, true));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let ports = ONE.replace("[nat.home]\n", "[nat.home]\nports = 'random'\n");
    assert_eq!(simulate(&ports), simulate(&ports));
}

#[test]
fn boxes_get_addresses_that_nobody_else_has() {
    let text = "[endpoints]\nencapsulation = 'udp'\nserver-addresses = 'one'\n\
        [path.a]\nnat = 'x'\n[path.b]\nnat = 'y'\n[path.c]\nnat = 'x'\n\
        [nat.x]\n[nat.y]\nexternal = '198.51.100.1'\n\
        [[at]]\ntime = '2s'\ntarget = 'x'\naction = 'readdress'\n\
        [[at]]\ntime = '1s'\ntarget = 'x'\naction = 'rebind'\n\
        [[flow]]\napp = 'saturated'\n[time]\nmeasure = '1s'\n";
    let spec = world_spec(&scenario(text), false).unwrap();
    spec.check().unwrap();
    let [x, y] = &spec.topology.nats[..] else { panic!("{:?}", spec.topology.nats) };
    assert_eq!((x.inside.len(), x.config.external[0].to_string()), (2, "198.51.100.2".into()));
    assert_eq!(y.config.external[0].to_string(), "198.51.100.1");
    let text = format!("{:?}", x.config.schedule);
    assert_eq!(text, "[(1000000000, Rebind), (2000000000, Readdress(198.51.100.3))]");
    let taken = text_with_external("10.0.1.1");
    assert!(matches!(taken, SpecError::Range { .. }), "{taken}");
}

/// Why no box can have this address.
fn text_with_external(external: &str) -> SpecError {
    let nat = format!("[nat.home]\nexternal = '{external}'\n");
    let spec = world_spec(&scenario(&ONE.replace("[nat.home]\n", &nat)), false).unwrap();
    spec.check().unwrap_err()
}

#[test]
fn the_example_runs() {
    let text = include_str!("../../../scenarios/examples/two-nats.toml");
    let scenario = Source::new("two-nats.toml", text).unwrap().parse_scenario().unwrap();
    let result = run(&world_spec(&scenario, false).unwrap(), 1, None).unwrap();
    assert_eq!(result.nats.len(), 2);
    // More than the faster path alone carries.
    assert!(result.flows[0].total.goodput > 50e6, "{}", result.flows[0].total.goodput);
}
