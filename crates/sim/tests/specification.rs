//! Mistakes in a specification are named.

use crate::common::{link, saturated, world};
use polypath_sim::WorldSpec;
use polypath_sim::spec::{Action, ActionSpec, AppSpec, MessageSpec, ReaderSpec};

/// What the check says about a world of two paths with one mistake.
fn complaint(mistake: impl FnOnce(&mut WorldSpec)) -> String {
    let mut spec = world(&[link(10, 10), link(10, 10)], saturated(), 100_000);
    assert_eq!(spec.check(), Ok(()));
    mistake(&mut spec);
    spec.check().unwrap_err().to_string()
}

#[test]
fn names_are_unique_and_known() {
    let twice = complaint(|spec| spec.topology.links[1].name = "A.forward".into());
    assert_eq!(twice, "link: A.forward appears twice (allowed: once)");
    let unknown = complaint(|spec| spec.topology.routes[0].links = vec!["C".into()]);
    assert_eq!(
        unknown,
        "route A: C does not exist (allowed: A.forward, A.reverse, B.forward, B.reverse)"
    );
    let action = ActionSpec { at: 0, action: Action::CutPath("C".into()) };
    let unknown = complaint(|spec| spec.actions.push(action));
    assert_eq!(unknown, "action.path: C does not exist (allowed: A, B)");
    let port = complaint(|spec| {
        let mut flow = spec.flows[0].clone();
        flow.name = "second".into();
        spec.flows.push(flow);
    });
    assert_eq!(port, "port: 5000 appears twice (allowed: once)");
}

#[test]
fn paths_need_routes_both_ways() {
    let removed = complaint(|spec| drop(spec.topology.routes.remove(1)));
    assert_eq!(
        removed,
        "flow flow: no route from 10.0.0.2 to 10.0.0.1 (allowed: paths with routes both ways)"
    );
    let none = complaint(|spec| spec.flows[0].paths.clear());
    assert_eq!(none, "flow flow: paths: none (allowed: at least one)");
}

#[test]
fn numbers_are_in_range() {
    let messages = MessageSpec { bytes: 0, ..MessageSpec::default() };
    let app = AppSpec::ConstantRate { messages, rate: 1 };
    let bytes = complaint(|spec| spec.flows[0].app = app);
    assert_eq!(bytes, "flow flow: app: 0 (allowed: messages of at least 1 byte)");
    let messages = MessageSpec { streams: 11, ..MessageSpec::default() };
    let app = AppSpec::ConstantRate { messages, rate: 1 };
    let streams = complaint(|spec| spec.flows[0].app = app);
    let allowed = "(allowed: 1 to the association's outbound streams)";
    assert_eq!(streams, format!("flow flow: app: 11 {allowed}"));
    let reader = ReaderSpec { rate: None, pauses: vec![(5, 5)] };
    let pause = complaint(|spec| spec.flows[0].reader = reader);
    assert!(pause.contains("5 to 5 ns"), "{pause}");
    let rate = complaint(|spec| spec.topology.links[0].config.rate = Some(0));
    assert!(rate.starts_with("link A.forward: rate: 0 bit/s"), "{rate}");
    assert!(complaint(|spec| spec.time.measure = 0).starts_with("time.measure: 0"));
}
