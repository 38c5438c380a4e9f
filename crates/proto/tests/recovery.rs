//! Loss recovery beyond RFC 9260, end to end in virtual time: a path of 12 Mbit/s (a packet per
//! millisecond), 20 ms there and back; RTO.Min 1 s.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::SendOptions;
use polypath_proto::config::{AssocConfig, RateReduction, RecoveryConfig, Rescheduling};
use polypath_proto::ids::{PathId, StreamId};
use polypath_proto::stats::{AssocStats, RecoveryStats};
use polypath_proto::time::{Duration, Time};
use polypath_testkit::pair::*;
use polypath_wire::{ChecksumCheck, Chunk, PacketView};

const PATH: PathId = PathId(0);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// An association over one path whose client recovers as told, with a window of some 30 packets and
/// a measured round trip.
fn connected(recovery: RecoveryConfig) -> Pair {
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &[]), endpoint(SERVER_PORT, &[]));
    let config = AssocConfig { recovery, max_burst: None, ..AssocConfig::default() };
    let path = tuple("10.1.0.1", "10.2.0.1");
    pair.client.endpoint.connect(pair.now, &[path], SERVER_PORT, Arc::new(config)).unwrap();
    pair.run_for(ms(200));
    judge(&mut pair, |_, _, _| Verdict::Deliver);
    for _ in 0..3 {
        send(&mut pair, 50);
        pair.run_for(ms(500));
    }
    assert_eq!((stats(&pair).timeouts, stats(&pair).retransmissions_fast), (0, 0));
    pair
}

/// Hands in messages of one packet each.
fn send(pair: &mut Pair, messages: usize) {
    let now = pair.now;
    for _ in 0..messages {
        let data = Bytes::from_static(&[7; 1440]);
        client(pair).send(now, StreamId(0), data, SendOptions::default()).unwrap();
    }
}

fn stats(pair: &Pair) -> AssocStats {
    pair.client.endpoint.association(pair.client.handle()).unwrap().stats()
}

fn recovered(pair: &Pair) -> RecoveryStats {
    pair.client.endpoint.association(pair.client.handle()).unwrap().recovery_stats(PATH)
}

fn cwnd(pair: &Pair) -> u64 {
    stats(pair).paths[0].cwnd
}

/// TSNs of the packet's DATA chunks.
pub(crate) fn tsns(packet: &Packet) -> Vec<u32> {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).expect("valid packet");
    let chunks = view.chunks().map(|raw| raw.expect("valid").decode().expect("valid"));
    let tsn =
        |chunk: Chunk<'_>| if let Chunk::Data(data) = chunk { Some(data.tsn.0) } else { None };
    chunks.filter_map(tsn).collect()
}

/// Decides about the packets with DATA, one of which passes the bottleneck per millisecond. The
/// first from now on is number 1; `send` is 1 for a first transmission.
fn judge(pair: &mut Pair, fate: impl FnMut(&Packet, u32, u32) -> Verdict + 'static) {
    bottleneck(pair, Time::ZERO, fate);
}

/// The bottleneck stands still for a while, and its queue with it.
fn stall(pair: &mut Pair, stall: Duration) {
    bottleneck(pair, pair.now + stall, |_, _, _| Verdict::Deliver);
}

fn bottleneck(
    pair: &mut Pair,
    moves: Time,
    mut fate: impl FnMut(&Packet, u32, u32) -> Verdict + 'static,
) {
    let (mut first, mut sends, mut free) = (None, BTreeMap::new(), moves);
    pair.lose_packets(move |packet| {
        let Some(&tsn) = tsns(packet).first() else { return Verdict::Deliver };
        let number = tsn.wrapping_sub(*first.get_or_insert(tsn)) + 1;
        let send = sends.entry(tsn).or_insert(0);
        *send += 1;
        free = packet.at.max(free + ms(1));
        let queued = free.since(packet.at);
        match fate(packet, number, *send) {
            Verdict::Deliver => Verdict::Delay(queued),
            Verdict::Delay(more) => Verdict::Delay(queued + more),
            Verdict::Lose => Verdict::Lose,
        }
    });
}

/// How long it takes until `messages` more have arrived.
fn time_for(pair: &mut Pair, messages: usize) -> Duration {
    let (began, wanted) = (pair.now, pair.server.received.len() + messages);
    while pair.server.received.len() < wanted {
        pair.run_for(ms(1));
        assert!(
            pair.now.since(began) < ms(60_000),
            "{} missing",
            wanted - pair.server.received.len()
        );
    }
    pair.now.since(began)
}

#[test]
fn a_lost_tail_is_recovered_in_two_round_trips() {
    let run = |recovery| {
        let mut pair = connected(recovery);
        judge(
            &mut pair,
            |_, n, send| if n == 10 && send == 1 { Verdict::Lose } else { Verdict::Deliver },
        );
        send(&mut pair, 10);
        let took = time_for(&mut pair, 10);
        (pair, took)
    };
    let (pair, took) = run(RecoveryConfig::OFF);
    assert!(took > ms(1000) && stats(&pair).timeouts == 1, "{took:?}");
    let (mut pair, took) = run(RecoveryConfig::MODERN);
    // SACKs after 20 ms, PTO of 40 ms, 10 ms to the peer.
    assert!(took <= ms(100), "{took:?}");
    assert_eq!((stats(&pair).timeouts, recovered(&pair).tail_probes), (0, 1));
    // The probe repaired the loss, which congestion control learns once more data is acknowledged.
    let before = cwnd(&pair);
    assert_eq!(recovered(&pair).tail_losses, 0);
    send(&mut pair, 4);
    pair.run_for(ms(500));
    assert_eq!(recovered(&pair).tail_losses, 1);
    assert_eq!(cwnd(&pair), before / 2);
}

#[test]
fn a_lost_flight_is_recovered_without_a_timeout() {
    let mut pair = connected(RecoveryConfig::MODERN);
    judge(&mut pair, |_, _, send| if send == 1 { Verdict::Lose } else { Verdict::Deliver });
    send(&mut pair, 10);
    let took = time_for(&mut pair, 10);
    // The probe tells of the other nine, which go out in the slow start of PRR.
    assert!(took <= ms(250), "{took:?}");
    assert_eq!((stats(&pair).timeouts, recovered(&pair).rack_losses), (0, 9));
}

#[test]
fn a_probe_is_new_data_where_there_is_any() {
    let mut pair = connected(RecoveryConfig::MODERN);
    let flight = u32::try_from(cwnd(&pair) / 1456 + 1).unwrap();
    // A whole window is lost while more data waits for room in it.
    judge(
        &mut pair,
        move |_, n, send| {
            if n <= flight && send == 1 { Verdict::Lose } else { Verdict::Deliver }
        },
    );
    let before = pair.log.len();
    send(&mut pair, 100);
    time_for(&mut pair, 100);
    let sent: Vec<u32> = pair.sent_since(before).iter().flat_map(tsns).collect();
    // PTO later the next chunk goes out, and its SACK makes all of the window lost at once.
    let probe = flight as usize;
    assert_eq!(sent[probe].wrapping_sub(sent[0]), flight, "the first beyond the window");
    assert_eq!(sent[probe + 1], sent[0]);
    assert_eq!((stats(&pair).timeouts, recovered(&pair).tail_probes), (0, 1));
    assert_eq!(recovered(&pair).rack_losses, u64::from(flight));
}

#[test]
fn a_probe_that_nothing_needed_cuts_no_window() {
    let mut pair = connected(RecoveryConfig::MODERN);
    let before = cwnd(&pair);
    // A flight that is late by more than PTO and arrives after all.
    stall(&mut pair, ms(120));
    send(&mut pair, 10);
    time_for(&mut pair, 10);
    send(&mut pair, 10);
    pair.run_for(ms(500));
    assert_eq!((recovered(&pair).tail_probes, recovered(&pair).tail_losses), (1, 0));
    assert_eq!(stats(&pair).timeouts, 0);
    assert!(cwnd(&pair) >= before, "{} of {before}", cwnd(&pair));
}

#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    let run = |recovery| {
        let mut pair = connected(recovery);
        judge(
            &mut pair,
            |_, n, send| if n == 5 && send <= 3 { Verdict::Lose } else { Verdict::Deliver },
        );
        send(&mut pair, 200);
        let took = time_for(&mut pair, 200);
        (pair, took)
    };
    let (pair, took) = run(RecoveryConfig::OFF);
    assert!(took > ms(1000) && stats(&pair).timeouts >= 1, "{took:?}");
    for recovery in [RecoveryConfig::MODERN, RecoveryConfig { rack: true, ..RecoveryConfig::OFF }] {
        let (pair, took) = run(recovery);
        assert!(took <= ms(400), "{took:?}");
        assert_eq!((stats(&pair).timeouts, recovered(&pair).lost_again), (0, 2));
    }
}

#[test]
fn reordering_within_a_quarter_of_the_round_trip_is_no_loss() {
    let mut pair = connected(RecoveryConfig::MODERN);
    // Two packets overtake number 8.
    judge(&mut pair, |_, n, _| if n == 8 { Verdict::Delay(ms(4)) } else { Verdict::Deliver });
    send(&mut pair, 10);
    time_for(&mut pair, 10);
    pair.run_for(ms(500));
    assert_eq!((stats(&pair).retransmissions_fast, stats(&pair).timeouts), (0, 0));
}

#[test]
fn persistent_reordering_is_learnt() {
    // Every tenth packet is late by less than half a round trip: more than the window has at first.
    let run =
        |recovery| {
            let mut pair = connected(recovery);
            let late = |_: &Packet, n: u32, send: u32| n % 10 == 3 && send == 1;
            judge(&mut pair, move |p, n, send| {
                if late(p, n, send) { Verdict::Delay(ms(9)) } else { Verdict::Deliver }
            });
            let mut after = [0; 4];
            for count in &mut after {
                send(&mut pair, 300);
                time_for(&mut pair, 300);
                pair.run_for(ms(300));
                *count = stats(&pair).retransmissions_fast - recovered(&pair).tail_probes;
            }
            after
        };
    let counts = run(RecoveryConfig::OFF);
    assert!(counts[3] - counts[0] > 20, "{counts:?}");
    let counts = run(RecoveryConfig::MODERN);
    assert!(counts[0] > 0 && counts[0] <= 15, "{counts:?}");
    assert!(counts[3] - counts[0] <= 2, "{counts:?}");
}

#[test]
fn a_delay_spike_does_not_collapse_the_window() {
    let run = |recovery| {
        let mut pair = connected(recovery);
        let before = cwnd(&pair);
        stall(&mut pair, ms(1300));
        send(&mut pair, 100);
        pair.run_for(ms(1340));
        assert_eq!(stats(&pair).timeouts, 1);
        let after = cwnd(&pair);
        pair.run_for(ms(3000));
        assert_eq!(pair.server.received.len(), 250);
        (pair, before, after)
    };
    let (_, before, after) = run(RecoveryConfig::OFF);
    assert!(after < before / 2, "{after} of {before}");
    for recovery in [RecoveryConfig::MODERN, RecoveryConfig { f_rto: true, ..RecoveryConfig::OFF }]
    {
        let (pair, before, after) = run(recovery);
        assert!(after >= before, "{after} of {before}");
        assert_eq!(recovered(&pair).spurious_timeouts, 1);
        // Those that the window of one packet lets out before the first SACK, and no others.
        let again = stats(&pair).retransmissions_timeout;
        assert!(again <= 3, "{again}");
    }
}

#[test]
fn a_genuine_timeout_is_not_undone() {
    let mut pair = connected(RecoveryConfig { f_rto: true, ..RecoveryConfig::OFF });
    let dark = pair.now + ms(500);
    pair.lose_packets(
        move |packet| if packet.at < dark { Verdict::Lose } else { Verdict::Deliver },
    );
    let before = cwnd(&pair);
    send(&mut pair, 100);
    pair.run_for(ms(1010));
    assert!(cwnd(&pair) < before / 2);
    pair.run_for(ms(20_000));
    assert_eq!((pair.server.received.len(), recovered(&pair).spurious_timeouts), (250, 0));
}

/// The longest silence of the sender between the loss of packet 100 and the end of the transfer's
/// first half.
fn silence(rate_reduction: RateReduction) -> Duration {
    let mut pair = connected(RecoveryConfig { rate_reduction, rack: true, ..RecoveryConfig::OFF });
    judge(
        &mut pair,
        |_, n, send| if n == 100 && send == 1 { Verdict::Lose } else { Verdict::Deliver },
    );
    let before = pair.log.len();
    send(&mut pair, 300);
    time_for(&mut pair, 300);
    assert_eq!(stats(&pair).timeouts, 0);
    let data = pair.sent_since(before).iter().filter(|p| !tsns(p).is_empty());
    let times: Vec<Time> = data.map(|p| p.at).collect();
    let gaps = times[100..250].windows(2).map(|pair| pair[1].since(pair[0]));
    gaps.max().unwrap()
}

#[test]
fn the_rate_is_reduced_in_proportion_instead_of_by_silence() {
    let off = silence(RateReduction::Off);
    for bound in [RateReduction::Conservative, RateReduction::SlowStart] {
        let with = silence(bound);
        assert!(2 * with < off, "{with:?} with {bound:?}, {off:?} without");
    }
}

#[test]
fn everything_arrives_whatever_is_lost_with_any_switches() {
    let reductions = [RateReduction::Off, RateReduction::Conservative, RateReduction::SlowStart];
    for switches in 0..48u32 {
        let recovery = RecoveryConfig {
            rack: switches & 1 != 0,
            tail_probe: switches & 2 != 0,
            f_rto: switches & 4 != 0,
            rate_reduction: reductions[(switches / 8 % 3) as usize],
            rescheduling: [Rescheduling::Off, Rescheduling::Silent][(switches / 24) as usize],
        };
        let mut pair = connected(recovery);
        let mut noise = 12_345 + switches;
        pair.lose_packets(move |_| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match noise >> 28 {
                0 | 1 => Verdict::Lose,
                2 => Verdict::Delay(Duration::from_micros(u64::from(noise >> 16 & 0xffff))),
                _ => Verdict::Deliver,
            }
        });
        send(&mut pair, 300);
        pair.run_for(ms(600_000));
        assert_eq!(pair.server.received.len(), 450, "{recovery:?}");
    }
}

#[test]
fn an_end_that_only_receives_notices_that_its_sacks_do_not_arrive() {
    // No heartbeats, and SACKs take the primary path, which is dead in that direction: only
    // duplicates tell.
    let mut server = endpoint(SERVER_PORT, &server_addresses());
    let mut assoc = AssocConfig { heartbeat_interval: None, ..AssocConfig::default() };
    assoc.sack.path = polypath_proto::config::SackPath::Primary;
    server.assoc = assoc.clone().into();
    let mut pair = Pair::with(endpoint(CLIENT_PORT, &client_addresses()), server);
    pair.connect_with(assoc);
    pair.run_for(Duration::from_secs(5));
    let primary = pair.server.handle();
    let primary = pair.server.endpoint.association(primary).unwrap().view(pair.now).primary;
    assert_eq!(primary, polypath_proto::PathId(0));
    pair.lose_packets(|p| {
        let dead = p.way == Way::ToClient && p.tuple.local.ip() == ip("10.0.0.1");
        if dead { Verdict::Lose } else { Verdict::Deliver }
    });
    let (now, h) = (pair.now, pair.client.handle());
    let client = pair.client.endpoint.association_mut(h).unwrap();
    assert!(client.set_primary(now, polypath_proto::PathId(1)));
    pair.client.send(now, b"is anybody there?");
    pair.run_for(Duration::from_secs(10));
    let h = pair.client.handle();
    let queue = pair.client.endpoint.association(h).unwrap().sender_queue_info();
    assert_eq!((pair.server.texts().len(), queue.used), (1, 0), "{queue:?}");
}
