//! What strangers say in plain again and again, or in the one place where it would be taken.

use polypath_proto::protection::KEY_MANAGEMENT_PPID;
use polypath_proto::time::Duration;
use polypath_testkit::packet::PacketBuilder;
use polypath_testkit::pair::{CLIENT_PORT, SERVER_PORT, Way};
use polypath_wire::chunk::kind;
use polypath_wire::{DataChunk, DataFlags, Ssn, StreamId, Tsn};

use crate::common::*;

#[test]
fn hints_without_end_cost_a_probe_each_two_rtos() {
    let mut pair = quiet();
    let tag = pair.log.iter().rev().find(|p| p.way == Way::ToServer).unwrap().tag();
    let abort = PacketBuilder::new(CLIENT_PORT, SERVER_PORT, tag).push_raw(kind::ABORT, 0, &[]);
    let (abort, tuple, since) = (abort.build(), first_tuple(&pair, Way::ToServer), pair.log.len());
    for _ in 0..500 {
        pair.inject_packet(Way::ToServer, tuple, &abort);
        pair.run_for(Duration::from_millis(10));
    }
    let view = pair.server.association().view(pair.now);
    let rto = view.paths.iter().map(|path| path.rto).min().unwrap();
    let probes = 1 + Duration::from_secs(5).as_nanos() / rto.saturating_mul(2).as_nanos();
    let sent = pair.sent_since(since).iter().filter(|p| p.way == Way::ToClient).count();
    let allowed = view.paths.len() * usize::try_from(probes).unwrap();
    assert!((1..=allowed).contains(&sent), "{sent} packets, {allowed} allowed");
    assert_well(&mut pair);
}

#[test]
fn the_applications_data_in_plain_takes_no_place_although_it_is_next() {
    let mut pair = connecting(&protected());
    pair.run_for(Duration::from_millis(45));
    let echo = pair.log.iter().find(|p| p.first_kind() == kind::COOKIE_ECHO).unwrap().clone();
    let at = echo.data.windows(4).position(|w| w == KEY_MANAGEMENT_PPID.to_be_bytes()).unwrap();
    let first = u32::from_be_bytes(echo.data[at - 8..at - 4].try_into().unwrap());
    let slipped_in = DataChunk {
        tsn: Tsn(first.wrapping_add(1)),
        stream: StreamId(0),
        ssn: Ssn(1),
        ppid: 0,
        flags: DataFlags { beginning: true, ending: true, ..DataFlags::default() },
        payload: b"slipped in",
    };
    let packet = PacketBuilder::new(CLIENT_PORT, SERVER_PORT, echo.tag()).push_chunk(&slipped_in);
    let packet = packet.build();
    for _ in 0..3 {
        pair.inject_packet(Way::ToServer, echo.tuple, &packet);
        pair.run_for(Duration::from_millis(5));
    }
    pair.run_for(SECOND);
    assert_protected(&pair);
    assert_well(&mut pair);
}
