//! SSNs have 16 bits: after 2^16 messages of a stream, or twice as many, the next one has the
//! number of the first, which is also the number that a reset gives (RFC 6525). Old and new
//! messages are told apart all the same.

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, ExtensionConfig};
use polypath_proto::{Event, ReconfigOutcome, SendError, SendOptions, StreamDirection};
use polypath_testkit::pair::craft::{chunk, to_server};
use polypath_testkit::pair::reconfig::*;
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind;
use polypath_wire::{DataChunk, DataFlags, ForwardTsnRepr, SkippedStream, Ssn, StreamId, Tsn};

/// Messages `range` on stream 0, of which some wait for room in the send buffer.
fn send_numbered(pair: &mut Pair, of_server: bool, range: core::ops::Range<u32>) {
    for n in range {
        loop {
            let now = pair.now;
            let assoc = if of_server { server(pair) } else { client(pair) };
            let options = SendOptions { ppid: n, ..SendOptions::default() };
            match assoc.send(now, StreamId(0), Bytes::from_static(b"x"), options) {
                Ok(_) => break,
                Err(SendError::WouldBlock) => pair.run_for(ms(100)),
                Err(other) => panic!("{other}"),
            }
        }
        if n % 1_024 == 0 {
            pair.run_for(ms(50));
            pair.log.drain(2..);
        }
    }
}

fn in_order(host: &End, count: u32) {
    let got: Vec<u32> = host.received.iter().map(|m| m.ppid).collect();
    assert_eq!(got.len(), count as usize);
    assert!(got.iter().copied().eq(0..count), "{:?}", &got[got.len().saturating_sub(20)..]);
}

fn has_data(packet: &Packet) -> bool {
    packet.kinds().contains(&kind::DATA)
}

#[test]
fn a_stream_is_reset_while_the_last_of_65536_old_messages_are_under_way() {
    for count in [1 << 16, 2 << 16] {
        let mut pair = pair(config(), config());
        send_numbered(&mut pair, false, 0..count - 3);
        pair.run_for(ms(2_000));
        // Lost once: the reset waits for them at the receiver.
        pair.lose_first(3, has_data);
        for n in count - 3..count {
            send_numbered(&mut pair, false, n..n + 1);
            pair.exchange_packets();
        }
        let id = reset_streams(&mut pair, StreamDirection::Outgoing, &[0]);
        send_numbered(&mut pair, false, count..count + 3);
        pair.run_for(ms(200));
        assert_eq!(request_outcome(&pair.client, id), None, "in progress");
        pair.run_for(ms(20_000));
        assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
        in_order(&pair.server, count + 3);
        let again = reset_streams(&mut pair, StreamDirection::Outgoing, &[0]);
        send_numbered(&mut pair, false, count + 3..count + 6);
        pair.run_for(ms(5_000));
        assert_eq!(request_outcome(&pair.client, again), Some(ReconfigOutcome::Performed));
        in_order(&pair.server, count + 6);
    }
}

#[test]
fn the_peer_resets_its_stream_while_the_last_of_65536_old_messages_are_under_way() {
    let count = 1 << 16;
    let mut pair = pair(config(), config());
    send_numbered(&mut pair, true, 0..count - 2);
    pair.run_for(ms(2_000));
    pair.lose_first(2, has_data);
    for n in count - 2..count {
        send_numbered(&mut pair, true, n..n + 1);
        pair.exchange_packets();
    }
    let id = reset_streams(&mut pair, StreamDirection::Incoming, &[0]);
    pair.run_for(ms(15));
    send_numbered(&mut pair, true, count..count + 3);
    pair.run_for(ms(20_000));
    assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed));
    in_order(&pair.client, count + 3);
}

/// The peer is asked to reset everything while its last old messages are under way; all that it
/// answers comes late, and new messages overtake it with the number that an old one would have had.
#[test]
fn the_association_is_reset_while_the_last_of_65536_old_messages_are_under_way() {
    for late in [60, 3_500, 9_000] {
        let count = 1 << 16;
        let mut pair = pair(config(), config());
        send_numbered(&mut pair, true, 0..count - 2);
        pair.run_for(ms(2_000));
        let mut lost = 0;
        pair.lose_packets(move |p| {
            if p.way == Way::ToClient && is_reconfig(p) {
                return Verdict::Delay(ms(late));
            }
            let hit = p.way == Way::ToClient && has_data(p) && lost < 2;
            lost += usize::from(hit);
            if hit { Verdict::Lose } else { Verdict::Deliver }
        });
        for n in count - 2..count {
            send_numbered(&mut pair, true, n..n + 1);
            pair.exchange_packets();
        }
        let now = pair.now;
        let id = client(&mut pair).reset_association(now).unwrap();
        pair.run_for(ms(15));
        send_numbered(&mut pair, true, count..count + 3);
        pair.run_for(ms(60_000));
        assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed), "{late}");
        in_order(&pair.client, count + 3);
        assert!(
            pair.client.events.iter().any(|(_, e)| matches!(e, Event::AssociationReset { .. }))
        );
        send_numbered(&mut pair, true, count + 3..count + 6);
        pair.run_for(ms(5_000));
        in_order(&pair.client, count + 6);
    }
}

/// A FORWARD-TSN can skip more than half of all SSNs: as many as can be in flight.
#[test]
fn a_stream_goes_on_whatever_number_of_its_messages_is_given_up_at_once() {
    let extensions = ExtensionConfig { partial_reliability: true, ..RECONFIG };
    for given_up in [1, 32_767, 32_768, 40_000, 65_000_u32] {
        let both = AssocConfig { extensions, ..config() };
        let mut pair = pair(both.clone(), both);
        let tag = pair.last_with(kind::COOKIE_ECHO).tag();
        let init = pair.log.iter().find(|p| p.first_kind() == kind::INIT).unwrap();
        let first = u32::from_be_bytes(init.data[28..32].try_into().unwrap());
        let inject = |pair: &mut Pair, n: u32| {
            let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
            let (tsn, ssn) = (Tsn(first.wrapping_add(n)), Ssn(n as u16));
            let stream = StreamId(0);
            let data = DataChunk { tsn, stream, ssn, ppid: n, flags, payload: b"x" };
            pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&chunk(data)]));
        };
        pair.lose_packets(|_| Verdict::Lose);
        // What comes before and behind them has arrived.
        inject(&mut pair, 0);
        inject(&mut pair, given_up + 1);
        let skipped = [SkippedStream { stream: StreamId(0), ssn: Ssn(given_up as u16) }];
        let new_cumulative_tsn = Tsn(first.wrapping_add(given_up));
        let forward = ForwardTsnRepr { new_cumulative_tsn, skipped: &skipped };
        for _ in 0..2 {
            pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&chunk(forward)]));
        }
        inject(&mut pair, given_up + 2);
        let got: Vec<u32> = pair.server.received.iter().map(|m| m.ppid).collect();
        assert_eq!(got, [0, given_up + 1, given_up + 2], "{given_up}");
        assert_eq!(pair.server.closed(), None);
    }
}
