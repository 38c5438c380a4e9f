//! Streams that both sides ask for at once (RFC 6525 sections 5.2.5 and 5.2.6): the peer's request
//! looks like the answer to ours.

use polypath_proto::config::{AssocConfig, ReconfigConfig};
use polypath_proto::{ReconfigId, ReconfigOutcome, StreamDirection};
use polypath_testkit::pair::reconfig::*;
use polypath_testkit::pair::*;
use polypath_wire::{ChecksumCheck, Chunk, PacketView};

fn add(pair: &mut Pair, of_server: bool, outgoing: u16, incoming: u16) -> ReconfigId {
    let now = pair.now;
    let assoc = if of_server { server(pair) } else { client(pair) };
    assoc.add_streams(now, outgoing, incoming).unwrap()
}

/// The client wishes for `count` of the server's streams, which adds as many of its own accord. The
/// wish is lost `times` times.
fn ask_in_vain(pair: &mut Pair, count: u16, times: usize) -> ReconfigId {
    pair.lose_first(times, |p| p.way == Way::ToServer && has_param(p, 18));
    let id = add(pair, false, 0, count);
    add(pair, true, count, 0);
    pair.run_for(ms(100));
    assert_eq!(request_outcome(&pair.client, id), None, "it may be the answer, or not");
    id
}

fn has_param(packet: &Packet, kind: u16) -> bool {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
    view.chunks().any(|raw| match raw.unwrap().decode() {
        Ok(Chunk::Reconfig(r)) => r.params.iter().any(|p| p.unwrap().kind == kind),
        _ => false,
    })
}

/// What the client asked for.
fn asked(pair: &Pair) -> Vec<Vec<u16>> {
    params(pair, Way::ToServer).into_iter().filter(|p| p[0] != 16).collect()
}

/// A server that has no more than `most` streams of its own.
fn limited(most: u16) -> Pair {
    let limits = ReconfigConfig { max_outbound_streams: most, ..ReconfigConfig::default() };
    pair(config(), AssocConfig { reconfiguration: limits, ..config() })
}

fn performed(pair: &Pair, id: ReconfigId) {
    assert_eq!(request_outcome(&pair.client, id), Some(ReconfigOutcome::Performed), "{id:?}");
}

#[test]
fn a_lost_request_that_seemed_answered_is_made_again() {
    let mut pair = pair(config(), config());
    for (count, total) in [(1, 12), (2, 16)] {
        let wish = ask_in_vain(&mut pair, count, 1);
        assert_eq!(client(&mut pair).streams(), (10, total - count), "the server's own");
        pair.run_for(ms(2_500));
        performed(&pair, wish);
        assert_eq!(client(&mut pair).streams(), (10, total));
    }
    assert_eq!(asked(&pair), [[18], [18], [18], [18]]);
    let reset = reset_streams(&mut pair, StreamDirection::Outgoing, &[]);
    pair.run_for(ms(200));
    performed(&pair, reset);
}

#[test]
fn a_request_that_seemed_answered_is_not_told_as_performed_when_it_was_denied() {
    let mut pair = limited(11);
    let wish = ask_in_vain(&mut pair, 1, 1);
    pair.run_for(ms(2_500));
    assert_eq!(request_outcome(&pair.client, wish), Some(ReconfigOutcome::Denied));
    assert_eq!(client(&mut pair).streams(), (10, 11));
}

#[test]
fn the_answer_to_a_request_for_both_directions_counts_not_what_crosses_it() {
    let mut pair = limited(11);
    let both = add(&mut pair, false, 1, 1);
    add(&mut pair, true, 1, 0);
    pair.run_for(ms(2_500));
    assert_eq!(request_outcome(&pair.client, both), Some(ReconfigOutcome::Denied));
    assert_eq!(client(&mut pair).streams(), (11, 11));
}

#[test]
fn lost_requests_that_were_believed_in_the_end_are_made_again_when_that_shows() {
    let mut pair = pair(config(), config());
    let wish = ask_in_vain(&mut pair, 1, 3);
    pair.run_for(ms(8_000));
    performed(&pair, wish);
    assert_eq!(client(&mut pair).streams(), (10, 11), "the server's own");
    send(&mut pair, 0, 1, 100);
    let reset = reset_streams(&mut pair, StreamDirection::Both, &[0]);
    send(&mut pair, 0, 2, 100);
    pair.run_for(ms(500));
    performed(&pair, reset);
    assert_eq!(client(&mut pair).streams(), (10, 12));
    assert_eq!(server(&mut pair).streams(), (12, 10));
    assert_eq!(pair.server.received.len(), 2);
    // And nothing is out of step for good.
    let more = add(&mut pair, false, 1, 1);
    pair.run_for(ms(500));
    performed(&pair, more);
    // Lost thrice, called bad, made again, once more; then the last. Nobody waited for a timer.
    let adds_out_in =
        [vec![18], vec![18], vec![18], vec![13, 14], vec![18], vec![13, 14], vec![17, 18]];
    assert_eq!(asked(&pair), adds_out_in);
}

#[test]
fn several_lost_requests_that_were_believed_are_made_again_in_order() {
    let mut pair = pair(config(), config());
    for count in 1..=3 {
        let wish = ask_in_vain(&mut pair, count, 3);
        pair.run_for(ms(60_000));
        performed(&pair, wish);
    }
    assert_eq!(client(&mut pair).streams(), (10, 16), "the server's own");
    let reset = reset_streams(&mut pair, StreamDirection::Outgoing, &[]);
    pair.run_for(ms(1_000));
    performed(&pair, reset);
    assert_eq!(client(&mut pair).streams(), (10, 22));
    assert_eq!(server(&mut pair).streams(), (22, 10));
}

#[test]
fn a_peer_that_answers_with_nothing_but_its_streams_is_believed_after_two_more_requests() {
    let mut pair = pair(config(), config());
    for count in 1..=2 {
        // Asked once, it says no word but that it adds streams.
        let mut asked = false;
        pair.lose_packets(move |p| {
            let answer = p.way == Way::ToClient && is_reconfig(p) && has_param(p, 16);
            let again = p.way == Way::ToServer && is_reconfig(p) && has_param(p, 18);
            let lost = answer || again && core::mem::replace(&mut asked, true);
            if lost { Verdict::Lose } else { Verdict::Deliver }
        });
        let wish = add(&mut pair, false, 0, count);
        let all = (10, 10 + count * (count + 1) / 2);
        for _ in 0..200 {
            if client(&mut pair).streams() == all {
                break;
            }
            pair.run_for(ms(100));
        }
        assert_eq!(client(&mut pair).streams(), all);
        assert_eq!(request_outcome(&pair.client, wish), None);
        pair.run_for(ms(60_000));
        performed(&pair, wish);
    }
    assert_eq!(pair.client.closed(), None);
    pair.deliver_all();
    let reset = reset_streams(&mut pair, StreamDirection::Outgoing, &[]);
    pair.run_for(ms(5_000));
    performed(&pair, reset);
    assert_eq!(client(&mut pair).streams(), (10, 13));
    let asked = asked(&pair);
    assert_eq!(asked.last(), Some(&vec![13]));
    assert!((6..=10).contains(&(asked.len() - 1)), "{asked:?}");
}
