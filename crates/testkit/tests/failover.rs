//! Paths fail and come back in the middle of a transfer: nothing is lost, duplicated or reordered
//! within a stream.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::{names, policies};
use polypath_policies::{PolicyKind, PolicySpec, all};
use polypath_proto::config::{
    AssocConfig, NrSack, PathPairing, PfConfig, RecoveryConfig, Rescheduling,
};
use polypath_proto::time::Duration;
use polypath_testkit::interact::{
    EndSetup, Ending, LinkSetup, Op, Policies, Report, Script, Setup, run_script,
};
use polypath_testkit::world::{HostId, Oversize};

const CLIENT: HostId = HostId::CLIENT;
const SERVER: HostId = HostId::SERVER;

/// All of loss recovery, with paths given up as soon as they are silent.
fn failover() -> RecoveryConfig {
    RecoveryConfig { rescheduling: Rescheduling::Both, ..RecoveryConfig::MODERN }
}

/// Three dissimilar paths between two ends of these settings.
fn world(policies: &Policies, change: impl Fn(&mut AssocConfig)) -> Setup {
    let mut assoc = AssocConfig {
        // Small buffers stretch the transfer over many round trips, so that a cut meets it.
        send_buffer: 48 << 10,
        receive_buffer: 32 << 10,
        heartbeat_interval: Some(Duration::from_secs(5)),
        // Timeouts of all paths add up while everything is cut.
        assoc_max_retrans: 30,
        policies: policies.factory.clone(),
        ..AssocConfig::default()
    };
    change(&mut assoc);
    let link = |delay| LinkSetup {
        delay,
        jitter: 0,
        loss: 0.01,
        duplicate: 0.01,
        corrupt: 0.0,
        mtu: u32::MAX,
        oversize: Oversize::Vanish,
    };
    let end = EndSetup { assoc, policies: policies.clone(), cookie_life: Duration::from_secs(60) };
    Setup {
        seed: 7,
        links: [5, 20, 40].map(link).to_vec(),
        pairing: PathPairing::Index,
        both_connect: false,
        hasty: false,
        guest: false,
        ends: [end.clone(), end],
    }
}

/// Messages of several streams and sizes, both ways.
fn messages() -> Vec<Op> {
    let send = |host, count, bytes, stream, unordered| {
        let reliability = polypath_proto::Reliability::Full;
        Op::Send { host, count, bytes, stream, unordered, reliability, part: 0 }
    };
    vec![
        send(CLIENT, 25, 1400, 0, false),
        send(CLIENT, 20, 3000, 1, false),
        send(CLIENT, 15, 200, 2, true),
        send(CLIENT, 15, 5000, 3, false),
        send(SERVER, 10, 2000, 0, false),
    ]
}

fn set_up(link: usize, up: bool) -> [Op; 2] {
    [CLIENT, SERVER].map(|from| Op::Up { link, from, up })
}

/// All that was sent arrives, and the association ends gracefully.
fn survives(what: &str, setup: Setup, ops: Vec<Op>) -> Report {
    let script = Script { seed: 0, setup, ops };
    match run_script(&script) {
        Ok(report) => {
            let Report { ending, sent, delivered, log, .. } = &report;
            assert_eq!((ending, sent), (&Ending::Graceful, delivered), "{what}\n{log}");
            assert_eq!(*sent, 85, "{what}");
            report
        }
        Err((trouble, log)) => panic!("{what}: {trouble}\n{log}"),
    }
}

/// A path is cut in the middle of the transfer and comes back seconds later.
fn cut_and_restore(link: usize) -> Vec<Op> {
    let mut ops = messages();
    ops.push(Op::Advance(75));
    ops.extend(set_up(link, false));
    ops.push(Op::Advance(4000));
    ops.extend(set_up(link, true));
    ops
}

fn every_combination() -> Vec<PolicySpec> {
    let mut specs = Vec::new();
    for path_scheduler in names(PolicyKind::PathScheduler) {
        for stream_scheduler in names(PolicyKind::StreamScheduler) {
            for retransmission in names(PolicyKind::Retransmission) {
                for buffer in names(PolicyKind::Buffer) {
                    for congestion in names(PolicyKind::Congestion) {
                        specs.push(PolicySpec {
                            path_scheduler: path_scheduler.to_owned(),
                            stream_scheduler: stream_scheduler.to_owned(),
                            retransmission: retransmission.to_owned(),
                            buffer: buffer.to_owned(),
                            congestion: congestion.to_owned(),
                        });
                    }
                }
            }
        }
    }
    specs
}

/// Runs `test` for all specifications, on two threads.
fn for_each(specs: &[PolicySpec], test: impl Fn(usize, &Policies) + Sync) {
    std::thread::scope(|scope| {
        for half in 0..2 {
            let test = &test;
            scope.spawn(move || {
                for (i, spec) in specs.iter().enumerate().filter(|(i, _)| i % 2 == half) {
                    test(i, &policies(spec));
                }
            });
        }
    });
}

#[test]
fn a_cut_path_costs_nothing_whatever_the_policies() {
    let (hit, missed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for_each(&every_combination(), |i, policies| {
        // Which path fails, and the switches, rotate through the combinations.
        let setup = world(policies, |assoc| {
            assoc.potentially_failed = (i % 2 == 0).then(PfConfig::default);
            assoc.recovery = [RecoveryConfig::OFF, failover()][(i / 3) % 2];
            assoc.cmt.nr_sack = [NrSack::Off, NrSack::Delivered, NrSack::Received][i % 3];
        });
        let link = (i / 2) % 3;
        let what = format!("{policies:?}, path {link}");
        let report = survives(&what, setup, cut_and_restore(link));
        if link == 0 {
            // A scheduler may just then have nothing on the first path (DAPS waits for its plan).
            let counter = if report.cut > 0 { &hit } else { &missed };
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (hit, missed) = (hit.into_inner(), missed.into_inner());
    assert!(hit > 20 * missed, "the cut met {hit} transfers and missed {missed}");
}

#[test]
fn a_cut_path_costs_nothing_whatever_the_options() {
    let mut specs = Vec::new();
    for entry in all().iter().filter(|entry| entry.needs.is_empty()) {
        for option in entry.options {
            for choice in option.choices() {
                let text = format!("{}?{}={choice}", entry.name, option.name);
                let mut spec = PolicySpec::default();
                *match entry.kind {
                    PolicyKind::PathScheduler => &mut spec.path_scheduler,
                    PolicyKind::StreamScheduler => &mut spec.stream_scheduler,
                    PolicyKind::Retransmission => &mut spec.retransmission,
                    PolicyKind::Buffer => &mut spec.buffer,
                    PolicyKind::Congestion => &mut spec.congestion,
                } = text;
                specs.push(spec);
            }
        }
    }
    assert!(specs.len() > 10, "options were found: {}", specs.len());
    for_each(&specs, |_, policies| {
        for link in 0..3 {
            let setup = world(policies, |_| {});
            survives(&format!("{policies:?}, path {link}"), setup, cut_and_restore(link));
        }
    });
}

/// A few unlike sets for the cases that do not depend on the policies much.
fn samples() -> Vec<PolicySpec> {
    every_combination().into_iter().step_by(37).collect()
}

#[test]
fn with_and_without_potentially_failed_paths() {
    for_each(&samples(), |_, policies| {
        let probe = Some(Duration::from_secs(1));
        for (max_retrans, return_mtus, probe) in [(0, 2, None), (2, 4, None), (0, 10, probe)] {
            let single_path_ack_proves_path = max_retrans > 0;
            let pf = PfConfig { max_retrans, return_mtus, probe, single_path_ack_proves_path };
            for recovery in [RecoveryConfig::OFF, failover()] {
                let setup = world(policies, |assoc| {
                    (assoc.potentially_failed, assoc.recovery) = (Some(pf), recovery);
                });
                survives(&format!("{policies:?}, {pf:?}"), setup, cut_and_restore(0));
            }
        }
        survives(&format!("{policies:?}"), world(policies, |_| {}), cut_and_restore(0));
    });
}

#[test]
fn the_first_path_is_dead_during_the_handshake() {
    for_each(&samples(), |_, policies| {
        let mut ops = set_up(0, false).to_vec();
        ops.extend(messages());
        ops.push(Op::Advance(10_000));
        ops.extend(set_up(0, true));
        survives(&format!("{policies:?}"), world(policies, |_| {}), ops);
    });
}

#[test]
fn the_first_path_dies_between_init_and_cookie() {
    for_each(&samples(), |_, policies| {
        // 5 ms to the server, 5 ms back: the INIT ACK is under way.
        let mut ops = messages();
        ops.push(Op::Advance(8));
        ops.extend(set_up(0, false));
        ops.push(Op::Advance(20_000));
        ops.extend(set_up(0, true));
        survives(&format!("{policies:?}"), world(policies, |_| {}), ops);
    });
}

#[test]
fn all_paths_are_down_for_a_while() {
    for_each(&samples(), |_, policies| {
        let mut ops = messages();
        ops.push(Op::Advance(75));
        ops.extend((0..3).flat_map(|link| set_up(link, false)));
        ops.push(Op::Advance(9000));
        ops.extend((0..3).flat_map(|link| set_up(link, true)));
        survives(&format!("{policies:?}"), world(policies, |_| {}), ops);
    });
}

#[test]
fn one_direction_of_a_path_is_cut() {
    for_each(&samples(), |_, policies| {
        for from in [CLIENT, SERVER] {
            for link in 0..3 {
                let mut ops = messages();
                ops.push(Op::Advance(75));
                ops.push(Op::Up { link, from, up: false });
                ops.push(Op::Advance(15_000));
                ops.push(Op::Up { link, from, up: true });
                let what = format!("{policies:?}, path {link}, {from:?}");
                survives(&what, world(policies, |_| {}), ops);
            }
        }
    });
}

#[test]
fn paths_fail_one_after_the_other() {
    for_each(&samples(), |_, policies| {
        let mut ops = messages();
        for round in 0..6 {
            ops.push(Op::Advance(60));
            ops.extend(set_up(round % 3, false));
            ops.push(Op::Advance(700));
            ops.extend(set_up(round % 3, true));
        }
        survives(&format!("{policies:?}"), world(policies, |_| {}), ops);
    });
}
