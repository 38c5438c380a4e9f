//! What ns-2.35 does otherwise, as far as it takes a whole association to see it: each switch off
//! and on.

use polypath_proto::SendOptions;
use polypath_proto::config::{AssocConfig, BurstRule, Ns2Faults};
use polypath_testkit::pair::*;

use crate::data_rules::{AMDCS_PAYLOAD, SECOND, Solo, no_burst_limit, sent};

fn with(config: AssocConfig, set: impl FnOnce(&mut Ns2Faults)) -> AssocConfig {
    let mut config = config;
    set(&mut config.reproduction.ns2);
    config
}

/// New chunks that go out when T3-rtx expires on the only path that carried data; all that it lost
/// goes to another one, as far as its window takes it.
fn new_chunks_after_timeout(set: impl FnOnce(&mut Ns2Faults)) -> usize {
    let mut pair = Pair::new();
    pair.connect_with(with(no_burst_limit(), set));
    pair.run_for(SECOND);
    // The first transfer opens the window, the second fills it, and is lost.
    for lossy in [false, true] {
        if lossy {
            pair.lose_packets(|_| Verdict::Lose);
        }
        let now = pair.now;
        for _ in 0..80 {
            pair.client.send(now, &[7; AMDCS_PAYLOAD]);
        }
        pair.exchange_packets();
        pair.run_for(SECOND / 2);
    }
    let highest = sent(&pair.log).iter().map(|chunk| chunk.tsn).max().unwrap();
    let before = pair.log.len();
    pair.run_for(SECOND * 8 / 10);
    let after = sent(pair.sent_since(before));
    assert!(after.iter().any(|chunk| chunk.tsn <= highest), "T3-rtx expired");
    after.iter().filter(|chunk| chunk.tsn > highest).count()
}

#[test]
fn timeouts_send_no_new_data() {
    assert!(new_chunks_after_timeout(|_| ()) > 0);
    assert_eq!(new_chunks_after_timeout(|ns2| ns2.timeouts_send_no_new_data = true), 0);
}

#[test]
fn what_waits_to_be_retransmitted_fills_the_window_of_its_path() {
    assert_eq!(new_chunks_after_timeout(|ns2| ns2.marked_stay_outstanding = true), 0);
}

/// A transfer whose 20 packets in flight are acknowledged at once, long after a fast retransmission
/// was.
fn burst_after_recovery(set: impl FnOnce(&mut Ns2Faults)) -> usize {
    let mut config = AssocConfig { max_burst: Some(4), ..AssocConfig::default() };
    config.reproduction.max_burst_rule = BurstRule::AfterFastRetransmit;
    config.reproduction.fast_retransmit_after = 1;
    let mut solo = Solo::new(with(config, set));
    solo.send(200, AMDCS_PAYLOAD, SendOptions::default());
    let mut cum = 0;
    while cum < 20 {
        cum += 1;
        solo.sack(cum, 1 << 20, &[]);
    }
    let again = solo.sack(cum, 1 << 20, &[(2, 2)]);
    assert_eq!(solo.number(&again[0]), cum + 1);
    solo.sack(cum + 2, 1 << 20, &[]);
    // The next ones tell of nothing that was sent twice; the last acknowledges a whole window.
    for further in 3..=40 {
        solo.sack(cum + further, 1 << 20, &[]);
    }
    solo.sack(cum + 48, 1 << 20, &[]).len()
}

#[test]
fn the_limit_of_bursts_stays_after_a_fast_retransmission() {
    assert!(burst_after_recovery(|_| ()) > 4);
    assert_eq!(burst_after_recovery(|ns2| ns2.burst_limit_stays = true), 4);
}

/// By how much a window grows while the loss that cut it is not repaired yet.
fn growth_in_recovery(set: impl FnOnce(&mut Ns2Faults)) -> u64 {
    let mut config = no_burst_limit();
    config.reproduction.fast_retransmit_after = 1;
    let mut solo = Solo::new(with(config, set));
    solo.send(200, AMDCS_PAYLOAD, SendOptions::default());
    for cum in 1..=20 {
        solo.sack(cum, 1 << 20, &[]);
    }
    // Chunks 21 and 23 are lost. The second SACK cum-acks the first of them, sent again.
    solo.sack(20, 1 << 20, &[(2, 2), (4, 4)]);
    let window = |solo: &mut Solo| {
        let now = solo.pair.now;
        solo.assoc().view(now).paths[0].cwnd
    };
    let before = window(&mut solo);
    solo.sack(22, 1 << 20, &[(2, 2)]);
    window(&mut solo) - before
}

#[test]
fn windows_grow_in_fast_recovery() {
    assert_eq!(growth_in_recovery(|_| ()), 0);
    assert_eq!(growth_in_recovery(|ns2| ns2.grows_in_recovery = true), 1468);
}
