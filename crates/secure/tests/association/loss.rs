//! Every packet of set-up and of rekeying lost, doubled and delayed, singly and in pairs: it
//! completes, and nothing of the application ever goes in plain.

use std::cell::RefCell;
use std::rc::Rc;

use polypath_proto::time::Duration;
use polypath_testkit::pair::{Packet, Pair, Verdict};

use crate::common::*;

/// Packets of a set-up without accidents, and some.
const PACKETS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accident {
    Lost,
    Late,
    VeryLate,
}

const ACCIDENTS: [Accident; 3] = [Accident::Lost, Accident::Late, Accident::VeryLate];

impl Accident {
    fn verdict(self) -> Verdict {
        match self {
            Self::Lost => Verdict::Lose,
            Self::Late => Verdict::Delay(Duration::from_millis(15)),
            Self::VeryLate => Verdict::Delay(Duration::from_millis(2500)),
        }
    }
}

fn set_up_with(accidents: &[(usize, Accident)]) {
    let mut pair = connecting(&protected());
    let now = pair.now;
    pair.client.send(now, b"at last");
    let at: Vec<_> = accidents.to_vec();
    pair.lose_packets(numbered(move |n, _| {
        at.iter().find(|(which, _)| *which == n).map_or(Verdict::Deliver, |(_, a)| a.verdict())
    }));
    pair.run_for(SECOND.saturating_mul(30));
    assert_eq!(pair.server.texts(), [b"at last"], "{accidents:?}");
    assert_protected(&pair);
    assert_carries(&mut pair);
}

#[test]
fn each_packet_of_set_up_has_an_accident() {
    for (n, accident) in (0..PACKETS).flat_map(|n| ACCIDENTS.map(|a| (n, a))) {
        set_up_with(&[(n, accident)]);
    }
}

#[test]
fn each_two_packets_of_set_up_have_accidents() {
    for first in 0..PACKETS {
        for second in first + 1..PACKETS {
            for (a, b) in ACCIDENTS.into_iter().flat_map(|a| ACCIDENTS.map(|b| (a, b))) {
                set_up_with(&[(first, a), (second, b)]);
            }
        }
    }
}

/// Delivers each packet once more.
fn double(pair: &mut Pair) {
    let kept: Rc<RefCell<Vec<Packet>>> = Rc::default();
    let keep = kept.clone();
    pair.lose_packets(move |packet| {
        keep.borrow_mut().push(packet.clone());
        Verdict::Deliver
    });
    for _ in 0..300 {
        pair.run_for(Duration::from_millis(5));
        for packet in kept.borrow_mut().drain(..) {
            pair.flying.push(packet);
        }
    }
    pair.deliver_all();
}

#[test]
fn each_packet_comes_twice() {
    let mut pair = connecting(&protected());
    let now = pair.now;
    pair.client.send(now, b"once");
    double(&mut pair);
    assert_eq!(pair.server.texts(), [b"once"]);
    assert_protected(&pair);
    let replayed = pair.server.association().protection_stats().unwrap().0.replayed;
    assert!(replayed > 0);
    assert_well(&mut pair);
}

/// Packets that leave while keys are replaced once, counted from the first that the call below
/// causes.
const REKEYING: usize = 20;

fn rekey_with(accidents: &[(usize, Accident)]) {
    let mut pair = connected(&rekeying(8));
    let at: Vec<_> = accidents.to_vec();
    pair.lose_packets(numbered(move |n, _| {
        at.iter().find(|(which, _)| *which == n).map_or(Verdict::Deliver, |(_, a)| a.verdict())
    }));
    for _ in 0..12 {
        let now = pair.now;
        pair.client.send(now, b"fills the number");
        pair.run_for(Duration::from_millis(25));
    }
    pair.run_for(SECOND.saturating_mul(20));
    assert_eq!(pair.server.received.len(), 12, "{accidents:?}");
    let rekeys = pair.client.association().protection_stats().unwrap().0.rekeys;
    assert!(rekeys > 0, "{accidents:?}");
    assert_carries(&mut pair);
    for end in [&pair.client, &pair.server] {
        assert_eq!(end.closed(), None);
        assert_eq!(end.association().protection_stats().unwrap().0.forged, 0, "{accidents:?}");
    }
}

#[test]
fn each_packet_of_a_rekeying_has_an_accident_and_each_two() {
    for (n, accident) in (0..REKEYING).flat_map(|n| ACCIDENTS.map(|a| (n, a))) {
        rekey_with(&[(n, accident)]);
    }
    for first in 0..REKEYING {
        for second in first + 1..REKEYING {
            rekey_with(&[(first, Accident::Lost), (second, Accident::Lost)]);
            rekey_with(&[(first, Accident::Lost), (second, Accident::VeryLate)]);
            rekey_with(&[(first, Accident::Late), (second, Accident::Lost)]);
        }
    }
}
