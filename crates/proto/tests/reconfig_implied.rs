//! Streams that both sides ask for at once (RFC 6525 sections 5.2.5 and 5.2.6): the peer's request looks like the answer to ours.

mod common;

use common::reconfig::*;
use common::*;
use polypath_proto::{ReconfigId, ReconfigOutcome, StreamDirection};
use polypath_wire::{ChecksumCheck, Chunk, PacketView};

fn add(pair: &mut Pair, of_server: bool, outgoing: u16, incoming: u16) -> ReconfigId {
    let now = pair.now;
    let assoc = if of_server { server(pair) } else { client(pair) };
    assoc.add_streams(now, outgoing, incoming).unwrap()
}

/// The client's wish for `count` of the server's streams is lost, while the server adds as many of its own accord.
fn ask_in_vain(pair: &mut Pair, count: u16) -> ReconfigId {
    pair.lose_first(1, |p| p.way == Way::ToServer && is_reconfig(p));
    let id = add(pair, false, 0, count);
    add(pair, true, count, 0);
    pair.run(ms(100));
    id
}

fn adds_streams(packet: &Packet) -> bool {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
    view.chunks().any(|raw| match raw.unwrap().decode() {
        Ok(Chunk::Reconfig(r)) => r.params.iter().any(|p| p.unwrap().kind == 17),
        _ => false,
    })
}

fn performed(pair: &Pair, id: ReconfigId) {
    assert_eq!(outcome(&pair.client, id), Some(ReconfigOutcome::Performed), "{id:?}");
}

#[test]
fn a_lost_request_that_seemed_answered_is_made_again() {
    let mut pair = pair(config(), config());
    let wish = ask_in_vain(&mut pair, 1);
    performed(&pair, wish);
    assert_eq!(client(&mut pair).streams(), (10, 11), "the server's own");
    send(&mut pair, 0, 1, 100);
    let reset = reset(&mut pair, StreamDirection::Both, &[0]);
    send(&mut pair, 0, 2, 100);
    pair.run(ms(500));
    performed(&pair, reset);
    assert_eq!(client(&mut pair).streams(), (10, 12));
    assert_eq!(server(&mut pair).streams(), (12, 10));
    assert_eq!(pair.server.received.len(), 2);
    // And nothing is out of step for good.
    let more = add(&mut pair, false, 1, 1);
    pair.run(ms(500));
    performed(&pair, more);
    // Lost, called bad, made again, once more; then the last. Nobody waited for a timer.
    let adds_out_in = [vec![18], vec![13, 14], vec![18], vec![13, 14], vec![17, 18]];
    let asked = params(&pair, Way::ToServer).into_iter().filter(|p| p[0] != 16);
    assert_eq!(asked.collect::<Vec<_>>(), adds_out_in);
}

#[test]
fn several_lost_requests_that_seemed_answered_are_made_again_in_order() {
    let mut pair = pair(config(), config());
    for count in 1..=3 {
        let wish = ask_in_vain(&mut pair, count);
        performed(&pair, wish);
    }
    assert_eq!(client(&mut pair).streams(), (10, 16), "the server's own");
    let reset = reset(&mut pair, StreamDirection::Outgoing, &[]);
    pair.run(ms(1_000));
    performed(&pair, reset);
    assert_eq!(client(&mut pair).streams(), (10, 22));
    assert_eq!(server(&mut pair).streams(), (22, 10));
}

#[test]
fn a_peer_that_answers_with_nothing_but_its_streams_is_asked_once() {
    let mut pair = pair(config(), config());
    pair.lose(|p| {
        let answer = p.way == Way::ToClient && is_reconfig(p) && !adds_streams(p);
        if answer { Fate::Lose } else { Fate::Deliver }
    });
    for count in 1..=2 {
        let wish = add(&mut pair, false, 0, count);
        pair.run(ms(200));
        performed(&pair, wish);
    }
    pair.deliver_all();
    let reset = reset(&mut pair, StreamDirection::Outgoing, &[]);
    pair.run(ms(5_000));
    performed(&pair, reset);
    assert_eq!(client(&mut pair).streams(), (10, 13));
    let asked = params(&pair, Way::ToServer).into_iter().filter(|p| p[0] != 16);
    assert_eq!(asked.collect::<Vec<_>>(), [[18], [18], [13]]);
}
