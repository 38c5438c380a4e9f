//! A run is a pure function of specification and seed, and its parts draw their randomness apart.

use std::collections::BTreeMap;

use crate::common::{MS, SEC, file, link, lossy, observe, run, saturated, seconds, world};
use polypath_link::DropReason;
use polypath_proto::trace::TraceRecord;
use polypath_sim::observer::{Observer, SentPacket, TraceSource};
use polypath_sim::results::Outcome;
use polypath_sim::spec::{Action, ActionSpec, FlowSpec, WorldSpec};
use polypath_sim::{Pcap, World};

fn two_lossy_paths() -> WorldSpec {
    let links = [lossy(10, 10, 0.02), lossy(5, 40, 0.05)];
    let mut spec = world(&links, saturated(), 100_000);
    spec.time = seconds(1, 5);
    spec.sample_every = Some(100 * MS);
    spec
}

fn capture(spec: &WorldSpec, seed: u64) -> Vec<u8> {
    let mut pcap = Pcap::new(Vec::new()).unwrap();
    observe(spec, seed, &mut pcap);
    pcap.finish().unwrap()
}

#[test]
fn the_same_seed_gives_the_same_run_to_the_bit() {
    let spec = two_lossy_paths();
    assert_eq!(run(&spec, 7), run(&spec, 7));
    let file = capture(&spec, 7);
    assert!(file.len() > 1_000_000);
    assert!(file == capture(&spec, 7), "captures differ");
}

#[test]
fn another_seed_loses_other_packets() {
    let spec = two_lossy_paths();
    let (one, other) = (run(&spec, 1), run(&spec, 2));
    assert_ne!(one.links, other.links);
    assert!(capture(&spec, 1) != capture(&spec, 2));
}

#[test]
fn observing_changes_nothing() {
    let mut spec = two_lossy_paths();
    spec.flows[0].trace = true;
    let mut traces = Traces(0);
    assert_eq!(observe(&spec, 3, &mut traces), run(&spec, 3));
    assert!(traces.0 > 1000, "{} records", traces.0);
}

#[test]
fn a_flow_elsewhere_shifts_no_draws() {
    let spec = two_lossy_paths();
    let alone = run(&spec, 5);
    let mut more = spec.clone();
    let other = world(&[lossy(1, 5, 0.1)], saturated(), 50_000);
    let rename = |address: std::net::IpAddr| match address {
        std::net::IpAddr::V4(v4) => {
            let [_, b, c, d] = v4.octets();
            std::net::IpAddr::from([11, b, c, d])
        }
        v6 => v6,
    };
    for mut host in other.topology.hosts {
        host.name.push('2');
        host.addresses.iter_mut().for_each(|address| *address = rename(*address));
        more.topology.hosts.push(host);
    }
    for mut link in other.topology.links {
        link.name.insert(0, 'X');
        more.topology.links.insert(0, link);
    }
    for mut route in other.topology.routes {
        (route.from, route.to) = (rename(route.from), rename(route.to));
        route.links.iter_mut().for_each(|link| link.insert(0, 'X'));
        more.topology.routes.insert(0, route);
    }
    for flow in other.flows {
        let paths = flow.paths.iter().map(|&(a, b)| (rename(a), rename(b))).collect();
        more.flows.insert(0, FlowSpec { name: "other".into(), paths, ..flow });
    }
    let both = run(&more, 5);
    assert_eq!(both.flows[1], alone.flows[0]);
    assert!(both.flows[0].total.messages > 0);
}

#[test]
fn every_packet_has_one_fate() {
    let mut spec = world(&[lossy(10, 10, 0.02), link(1, 40)], file(3_000_000), 200_000);
    spec.time = seconds(0, 100);
    let at = |seconds: u64, action| ActionSpec { at: seconds * SEC, action };
    spec.actions = vec![
        at(1, Action::CutPath("A".into())),
        at(3, Action::RestorePath("A".into())),
        at(4, Action::CutLink("B.reverse".into())),
        at(5, Action::RestoreLink("B.reverse".into())),
    ];
    let mut fates = Fates::default();
    let result = observe(&spec, 1, &mut fates);
    let flow = &result.flows[0];
    assert_eq!(flow.outcome, Outcome::Finished);
    assert!(flow.integrity.holds() && flow.integrity.outstanding == 0);
    let lost: u64 = result.links.iter().map(|l| l.lost + l.overflowed + l.lost_down).sum();
    assert_eq!(fates.dropped.values().sum::<u64>(), lost);
    assert_eq!(fates.sent, result.packets - result.unroutable);
    assert!(fates.sent - fates.delivered - lost <= 5, "a few are under way at the end");
    assert!(fates.dropped[&DropReason::Down] > 0 && fates.dropped[&DropReason::Loss] > 0);
    assert!(fates.progress.is_sorted() && fates.progress.last() == Some(&1.0));
}

#[test]
fn a_world_can_be_stepped_and_touched() {
    let mut spec = world(&[link(10, 10), link(10, 30)], saturated(), 100_000);
    spec.time = seconds(0, 10);
    let mut world = World::new(&spec, 1, None).unwrap();
    world.run_until(2 * SEC);
    assert_eq!((world.now(), world.progress()), (2 * SEC, 0.2));
    assert!(world.set_up("B", false) && !world.set_up("nowhere", false));
    let before = world.result().links[2].delivered;
    world.run_until(4 * SEC);
    assert_eq!(world.result().links[2].delivered, before, "the path is cut");
    assert!(world.set_up("B.forward", true) && world.set_up("B.reverse", true));
    while world.step() {}
    world.run_until(u64::MAX);
    assert!(world.is_finished() && world.now() == 10 * SEC);
    assert!(world.result().links[2].delivered > before, "the path is back");
    assert!(world.result().flows[0].integrity.holds());
}

#[derive(Debug, Default)]
struct Fates {
    sent: u64,
    delivered: u64,
    dropped: BTreeMap<DropReason, u64>,
    progress: Vec<f64>,
}

impl Observer for Fates {
    fn packet_sent(&mut self, packet: &SentPacket<'_>) {
        assert_eq!(packet.id, self.sent);
        self.sent += 1;
    }

    fn packet_delivered(&mut self, _at: u64, _id: u64) {
        self.delivered += 1;
    }

    fn packet_dropped(&mut self, _at: u64, _id: u64, _link: &str, reason: DropReason) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    fn progress(&mut self, fraction: f64) {
        self.progress.push(fraction);
    }
}

struct Traces(u64);

impl Observer for Traces {
    fn trace(&mut self, source: TraceSource<'_>, _record: &TraceRecord) {
        assert_eq!(source.flow, "flow");
        self.0 += 1;
    }
}
