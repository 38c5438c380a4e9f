//! Stream reconfiguration (RFC 6525): what a hostile peer may ask for.

use polypath_proto::StreamDirection;
use polypath_proto::config::AssocConfig;
use polypath_proto::trace::{TraceEvent, TraceRecord};
use polypath_testkit::pair::craft::{chunk, to_server};
use polypath_testkit::pair::reconfig::*;
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind;
use polypath_wire::param::{
    AddStreams, IncomingReset, OutgoingReset, ReconfigResponse, ReconfigResult,
};
use polypath_wire::*;

/// Hands the server a RE-CONFIG as if the client had sent it; gives the results it answers with.
fn ask(pair: &mut Pair, params: &[Parameter<'_>]) -> Vec<u32> {
    let tag = pair.last_with(kind::COOKIE_ECHO).tag();
    let list: ParamsBuf = params.iter().copied().collect();
    let packet = to_server(tag, &[&chunk(ReconfigChunk { params: list.as_params() })]);
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, at_server(), &packet);
    let mut results = Vec::new();
    for packet in pair.sent_since(before).iter().filter(|p| p.way == Way::ToClient) {
        let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
        for raw in view.chunks() {
            if let Ok(Chunk::Reconfig(r)) = raw.unwrap().decode() {
                for param in r.params.iter() {
                    if let Ok(Parameter::ReconfigResponse(r)) = param.unwrap().decode() {
                        results.push(r.result.0);
                    }
                }
            }
        }
    }
    results
}

/// The client's next request sequence number, as the server expects it: it has sent none.
fn first_request(pair: &Pair) -> u32 {
    let init = pair.log.iter().find(|p| p.first_kind() == kind::INIT).unwrap();
    let view = PacketView::parse(&init.data, ChecksumCheck::Verify).unwrap();
    let raw = view.chunks().next().unwrap().unwrap();
    let Ok(Chunk::Init(init)) = raw.decode() else { panic!("INIT expected") };
    init.fixed.initial_tsn.0
}

/// The server's next one.
fn server_request(pair: &Pair) -> u32 {
    let ack = pair.log.iter().find(|p| p.first_kind() == kind::INIT_ACK).unwrap();
    let view = PacketView::parse(&ack.data, ChecksumCheck::Verify).unwrap();
    let raw = view.chunks().next().unwrap().unwrap();
    let Ok(Chunk::InitAck(ack)) = raw.decode() else { panic!("INIT ACK expected") };
    ack.fixed.initial_tsn.0
}

fn outgoing(request: u32, last_tsn: Tsn, streams: &ItemsBuf<StreamId, 2>) -> Parameter<'_> {
    let streams = streams.as_items();
    Parameter::OutgoingReset(OutgoingReset { request, response: 0, last_tsn, streams })
}

#[test]
fn a_flood_of_requests_gets_one_answer_each_and_costs_nothing_that_stays() {
    let mut pair = pair(config(), config());
    let first = first_request(&pair);
    let none = [].into_iter().collect::<ItemsBuf<StreamId, 2>>();
    let last = Tsn(first.wrapping_sub(1));
    let mut denied = 0;
    for i in 0..10_000u32 {
        let results = ask(&mut pair, &[outgoing(first.wrapping_add(i), last, &none)]);
        assert_eq!(results.len(), 1);
        denied += u32::from(results[0] == ReconfigResult::DENIED.0);
        pair.log.truncate(100);
        pair.flying.clear();
    }
    // The harness takes events at once, so none were denied for want of room.
    assert_eq!(denied, 0);
    // The same number again: the same answer, and nothing happens.
    let seen = told_resets(&pair.server).len();
    let repeated = ask(&mut pair, &[outgoing(first.wrapping_add(9_999), last, &none)]);
    assert_eq!((repeated, told_resets(&pair.server).len()), (vec![1], seen));
    // Numbers from elsewhere.
    for wrong in [first, first.wrapping_add(10_001), first ^ (1 << 31)] {
        assert_eq!(ask(&mut pair, &[outgoing(wrong, last, &none)]), [5]);
    }
}

#[test]
fn nonsense_is_called_so() {
    let mut pair = pair(config(), config());
    let first = first_request(&pair);
    let last = Tsn(first.wrapping_sub(1));
    let wrong: ItemsBuf<StreamId, 2> = [StreamId(5_000)].into_iter().collect();
    assert_eq!(ask(&mut pair, &[outgoing(first, last, &wrong)]), [3]);
    let reset = IncomingReset { request: first.wrapping_add(1), streams: wrong.as_items() };
    assert_eq!(ask(&mut pair, &[Parameter::IncomingReset(reset)]), [3]);
    let add = |i, count| AddStreams { request: first.wrapping_add(i), count };
    assert_eq!(ask(&mut pair, &[Parameter::AddOutgoingStreams(add(2, u16::MAX))]), [2]);
    assert_eq!(ask(&mut pair, &[Parameter::AddOutgoingStreams(add(3, 2_039))]), [2]);
    assert_eq!(ask(&mut pair, &[Parameter::AddOutgoingStreams(add(4, 0))]), [0]);
    assert_eq!(server(&mut pair).streams(), (10, 10));
    // More TSNs than can be under way.
    let none = [].into_iter().collect::<ItemsBuf<StreamId, 2>>();
    let far = Tsn(last.0.wrapping_add(1 << 30));
    assert_eq!(ask(&mut pair, &[outgoing(first.wrapping_add(5), far, &none)]), [2]);
}

#[test]
fn what_a_peer_wants_and_then_refuses_is_denied() {
    let none = [].into_iter().collect::<ItemsBuf<StreamId, 2>>();
    // The server asks at once, or has a request of its own in flight before.
    for busy in [false, true] {
        let mut pair = pair(config(), config());
        let (asked, own) = (first_request(&pair), server_request(&pair));
        let now = pair.now;
        server(&mut pair).send(now, StreamId(0), "x".into(), Default::default()).unwrap();
        pair.run_for(ms(300));
        pair.lose_packets(|_| Verdict::Lose);
        if busy {
            server(&mut pair).add_streams(now, 1, 0).unwrap();
        }
        let reset = IncomingReset { request: asked, streams: none.as_items() };
        let wish = [Parameter::IncomingReset(reset)];
        let refuse = |request| {
            let result = ReconfigResult::BAD_SEQUENCE_NUMBER;
            Parameter::ReconfigResponse(ReconfigResponse {
                response: request,
                result,
                next_tsns: None,
            })
        };
        assert_eq!(ask(&mut pair, &wish), if busy { vec![6] } else { vec![] });
        if busy {
            assert!(ask(&mut pair, &[refuse(own)]).is_empty());
        }
        let refused = own.wrapping_add(u32::from(busy));
        assert_eq!(ask(&mut pair, &[refuse(refused)]), [2], "busy: {busy}");
        // The wish again: the same answer again.
        assert_eq!(ask(&mut pair, &wish), [2], "busy: {busy}");
        assert_eq!(told_resets(&pair.server), []);
    }
}

#[test]
fn what_waits_for_a_reset_is_bounded_by_the_receive_buffer() {
    let small = AssocConfig { receive_buffer: 20_000, ..config() };
    let mut pair = pair(config(), small);
    let first = first_request(&pair);
    let tag = pair.last_with(kind::COOKIE_ECHO).tag();
    let all = [].into_iter().collect::<ItemsBuf<StreamId, 2>>();
    // TSN `first` never comes.
    assert_eq!(ask(&mut pair, &[outgoing(first, Tsn(first), &all)]), [6]);
    assert_eq!(ask(&mut pair, &[outgoing(first.wrapping_add(1), Tsn(first), &all)]), [4]);
    let data = |i: u32, payload: &'static [u8]| {
        let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
        let (stream, ssn) = (StreamId(1), Ssn(i.saturating_sub(1) as u16));
        let tsn = Tsn(first.wrapping_add(i));
        to_server(tag, &[&chunk(DataChunk { tsn, stream, ssn, ppid: 0, flags, payload })])
    };
    for i in 1..1_000 {
        pair.inject_packet(Way::ToServer, at_server(), &data(i, &[7; 1_000]));
    }
    let held = server(&mut pair).receive_buffer().0;
    assert!((19_000..=21_000).contains(&held), "{held}");
    assert_eq!(pair.server.received.len(), 0);
    // It comes after all: room is made for it, the reset is done, what was kept is delivered from
    // number 0 on.
    pair.inject_packet(Way::ToServer, at_server(), &data(0, &[1; 1_000]));
    assert_eq!(told_resets(&pair.server), [(StreamDirection::Incoming, vec![])]);
    let got: Vec<u8> = pair.server.received.iter().map(|m| m.data[0]).collect();
    assert!(got.len() >= 18 && got[1..].iter().all(|b| *b == 7), "{got:?}");
}

#[test]
fn what_waited_for_a_reset_is_traced_as_deliverable_when_that_is_done() {
    let mut pair = pair(config(), AssocConfig { trace: true, ..config() });
    pair.server.reads = false;
    let first = first_request(&pair);
    let tag = pair.last_with(kind::COOKIE_ECHO).tag();
    let all = [].into_iter().collect::<ItemsBuf<StreamId, 2>>();
    assert_eq!(ask(&mut pair, &[outgoing(first, Tsn(first), &all)]), [6]);
    // The second has number 0 of the stream as it is after the reset.
    for tsn in [first.wrapping_add(1), first] {
        let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
        let (tsn, stream, ssn) = (Tsn(tsn), StreamId(1), Ssn(0));
        let data = DataChunk { tsn, stream, ssn, ppid: 0, flags, payload: &[7; 100] };
        pair.inject_packet(Way::ToServer, at_server(), &to_server(tag, &[&chunk(data)]));
    }
    let records = pair.server.association_mut().take_trace();
    let deliverable =
        |record: &&TraceRecord| matches!(record.event, TraceEvent::Deliverable { .. });
    assert_eq!(records.iter().filter(deliverable).count(), 2);
}

#[test]
fn an_application_that_does_not_listen_is_not_buried_in_events() {
    let mut pair = pair(config(), config());
    let first = first_request(&pair);
    let tag = pair.last_with(kind::COOKIE_ECHO).tag();
    let (h, now) = (pair.server.handle(), pair.now);
    let all = [].into_iter().collect::<ItemsBuf<StreamId, 2>>();
    for i in 0..500u32 {
        let last = Tsn(first.wrapping_sub(1));
        let list: ParamsBuf = [outgoing(first.wrapping_add(i), last, &all)].into_iter().collect();
        let packet = to_server(tag, &[&chunk(ReconfigChunk { params: list.as_params() })]);
        pair.server.endpoint.handle_datagram(now, at_server(), &packet);
        let mut out = Vec::new();
        while pair.server.endpoint.poll_transmit(now, &mut out).is_some() {
            out.clear();
        }
    }
    pair.exchange_packets();
    assert_eq!(told_resets(&pair.server).len(), 64);
    assert!(pair.server.endpoint.association(h).is_some());
}
