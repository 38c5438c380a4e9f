//! S4's numbers worked by hand. Payload of a packet: 1452 bytes; receive buffer: 65536.

use super::*;
use crate::test_views::{chunk, paths, send, view};
use polypath_proto::time::Time;

const PACKET: u32 = 1452;

/// One send attempt; `room` packets per path.
fn attempt(out: &mut CmtOut, p: &mut [PathView], mut room: Vec<u32>) -> Vec<u8> {
    let mut sent = Vec::new();
    out.begin_attempt(&view(p), Trigger::Sack);
    loop {
        for (path, left) in p.iter_mut().zip(&room) {
            path.sendable = path.usable && *left > 0;
        }
        let PathPick::Use(id) = out.pick_path(&view(p), &chunk(0, PACKET)) else { return sent };
        room[id.index()] -= 1;
        sent.push(id.0);
        send(p, out, id, PACKET);
    }
}

fn pqus(out: &CmtOut) -> Vec<f64> {
    out.trace_values().into_iter().map(|(_, value)| value).collect()
}

fn ranked(out: &mut CmtOut, p: &[PathView]) -> Vec<u8> {
    out.begin_walk(&view(p));
    out.order.iter().map(|p| p.0).collect()
}

/// Three paths with the given (outstanding, RoundData) of their last burst.
fn seen(config: CmtOutConfig, records: [(u64, u64); 3]) -> (CmtOut, Vec<PathView>) {
    let mut out = CmtOut::new(config);
    let mut p = paths(3);
    for (path, (o, r)) in p.iter_mut().zip(records) {
        (path.outstanding, path.outstanding_payload) = (o, o);
        out.records.push(Record::new(Pqu::new(o, r)));
    }
    (out, p)
}

#[test]
fn three_rounds_by_hand() {
    let mut out = CmtOut::new(CmtOutConfig::default());
    let mut p = paths(3);
    // All PQU 1, all in PQU_L with OBR 0: list order. Four packets, two, none.
    assert_eq!(attempt(&mut out, &mut p, vec![9, 2, 0]), [0, 0, 0, 0, 1, 1]);
    assert_eq!(pqus(&out), [0.5, 0.5, 1.0]);
    // PQU_L = {0, 1} with OBR 5808/65536 and 2904/65536, PQU_H = {2}.
    assert_eq!(ranked(&mut out, &p), [2, 1, 0]);
    assert_eq!(attempt(&mut out, &mut p, vec![0, 1, 1]), [2, 1]);
    // Path 1: 4356 / (4356 + 1452); path 2: 1452 / (1452 + 1452).
    assert_eq!(pqus(&out), [0.5, 0.75, 0.5]);
    assert_eq!(ranked(&mut out, &p), [1, 2, 0]);
}

#[test]
fn initial_decides_where_a_new_path_goes() {
    let rank = |initial| {
        let config = CmtOutConfig { initial, ..CmtOutConfig::default() };
        let (mut out, mut p) = seen(config, [(6000, 2000), (3000, 2000), (0, 1)]);
        out.records.pop();
        p[2].outstanding_payload = 1;
        ranked(&mut out, &p)
    };
    // PQU 0.75 and 0.6; the new path has 1, 0.5 or 0.
    assert_eq!(rank(Pqu::ONE), [0, 2, 1]);
    assert_eq!(rank(Pqu::HALF), [0, 1, 2]);
    assert_eq!(rank(Pqu::ZERO), [0, 1, 2]);
}

#[test]
fn sample_before_leaves_out_the_burst() {
    let config = CmtOutConfig { sample: SampleTime::Before, ..CmtOutConfig::default() };
    let mut out = CmtOut::new(config);
    let mut p = paths(2);
    assert_eq!(attempt(&mut out, &mut p, vec![3, 0]), [0, 0, 0]);
    assert_eq!(pqus(&out), [0.0, 1.0]);
    assert_eq!(attempt(&mut out, &mut p, vec![1, 0]), [0]);
    // 3 packets outstanding, 1 sent.
    assert_eq!(pqus(&out), [0.75, 1.0]);
}

#[test]
fn burst_and_repeat() {
    let mut out = CmtOut::new(CmtOutConfig { burst: 2, ..CmtOutConfig::default() });
    assert_eq!(attempt(&mut out, &mut paths(2), vec![5, 3]), [0, 0, 1, 1]);
    let mut out = CmtOut::new(CmtOutConfig { burst: 2, repeat: true, ..CmtOutConfig::default() });
    // After the first walk both have PQU 1/2 and OBR 2904; after the second 2/3 and 5808 against
    // 3/4 and 4356.
    assert_eq!(attempt(&mut out, &mut paths(2), vec![5, 3]), [0, 0, 1, 1, 0, 0, 1, 0]);
}

#[test]
fn granularity() {
    let run = |granularity| {
        let config = CmtOutConfig { granularity, ..CmtOutConfig::default() };
        let (mut out, mut p) = seen(config, [(1452, 1452), (2904, 2904), (14520, 14520)]);
        let order = ranked(&mut out, &p);
        assert_eq!(order, [0, 1, 2], "all in PQU_L, by outstanding");
        attempt(&mut out, &mut p, vec![4, 2, 1])
    };
    assert_eq!(run(Granularity::Burst), [0, 0, 0, 0, 1, 1, 2]);
    // After path 0's burst its PQU is 7260/13068 > 1/2; the others keep 1/2 and their order.
    assert_eq!(run(Granularity::Rerank), [0, 0, 0, 0, 1, 1, 2]);
    // Path 0 after one packet: 2904/(2904+1452) = 2/3: alone in PQU_H until it is full.
    assert_eq!(run(Granularity::Packet), [0, 0, 0, 0, 1, 1, 2]);
}

#[test]
fn a_packet_that_lowers_the_pqu_hands_over_the_head() {
    let run = |granularity| {
        let config = CmtOutConfig { granularity, ..CmtOutConfig::default() };
        // PQU 0.9, 0.8, 0.75: H = {0, 1}. Path 0 sends from O = 1452: 2904/4356 = 2/3 is the new
        // minimum.
        let (mut out, mut p) = seen(config, [(9, 1), (8, 2), (5808, 1936)]);
        (p[0].outstanding_payload, p[1].outstanding_payload) = (1452, 29_040);
        attempt(&mut out, &mut p, vec![2, 2, 1])
    };
    assert_eq!(run(Granularity::Burst), [0, 0, 1, 1, 2]);
    // Path 1 (H) sends until full at 31944/34848; then path 2 (H by now), then path 0.
    assert_eq!(run(Granularity::Packet), [0, 1, 1, 2, 0]);
}

#[test]
fn rerank_moves_those_that_wait() {
    let run = |granularity| {
        let config = CmtOutConfig { granularity, ..CmtOutConfig::default() };
        // PQU 0.95, 0.6, 0.7: ranking 0, 2 (H), then 1. Path 0's burst gives 1/2, the new minimum:
        // 1 and 2 are both H.
        let (mut out, mut p) = seen(config, [(95, 5), (6000, 4000), (7000, 3000)]);
        p[0].outstanding_payload = 0;
        attempt(&mut out, &mut p, vec![1, 1, 1])
    };
    assert_eq!(run(Granularity::Burst), [0, 2, 1]);
    assert_eq!(run(Granularity::Rerank), [0, 1, 2]);
}

#[test]
fn high_order_and_ties() {
    let rank = |high, ties| {
        let config = CmtOutConfig { high, ties, ..CmtOutConfig::default() };
        let (mut out, mut p) = seen(config, [(0, 1), (9, 1), (8, 1)]);
        for (path, at) in p.iter_mut().zip([20, 30, 10]) {
            path.last_data = Time::from_millis(at);
        }
        ranked(&mut out, &p)
    };
    // Path 0 is PQU_L without outstanding data: DSV 0, like PQU_H = {1, 2}.
    assert_eq!(rank(HighOrder::List, TieOrder::HighFirst), [1, 2, 0]);
    assert_eq!(rank(HighOrder::Oldest, TieOrder::HighFirst), [2, 1, 0]);
    assert_eq!(rank(HighOrder::List, TieOrder::List), [0, 1, 2]);
    assert_eq!(rank(HighOrder::Oldest, TieOrder::List), [2, 0, 1]);
}

#[test]
fn all_equal_is_low_or_high() {
    let rank = |all_equal| {
        let config = CmtOutConfig { all_equal, ..CmtOutConfig::default() };
        let (mut out, p) = seen(config, [(300, 300), (100, 100), (200, 200)]);
        ranked(&mut out, &p)
    };
    assert_eq!(rank(AllEqual::Low), [1, 2, 0]);
    assert_eq!(rank(AllEqual::High), [0, 1, 2]);
}

#[test]
fn equality_by_fraction_or_nearly() {
    let rank = |equality| {
        let config = CmtOutConfig { equality, ..CmtOutConfig::default() };
        // 1/2 and a little more than 1/2.
        let (mut out, mut p) =
            seen(config, [(10_000_000_001, 10_000_000_000), (1, 1), (9_000, 1_000)]);
        (p[0].outstanding_payload, p[1].outstanding_payload) = (100, 200);
        ranked(&mut out, &p)
    };
    assert_eq!(rank(Equality::Exact), [0, 2, 1], "path 1 alone is minimal");
    assert_eq!(rank(Equality::Relative), [2, 0, 1]);
}

#[test]
fn idle_paths_keep_or_forget() {
    let rank = |idle| {
        let config = CmtOutConfig { idle, ..CmtOutConfig::default() };
        let (mut out, mut p) = seen(config, [(900, 900), (4_000, 1_000), (800, 800)]);
        (p[2].outstanding, p[2].outstanding_payload) = (0, 0);
        p[2].rto = polypath_proto::time::Duration::from_millis(900);
        p[1].last_data = Time::from_secs(1);
        ranked(&mut out, &p);
        pqus(&out)
    };
    assert_eq!(rank(IdlePaths::Keep), [0.5, 0.8, 0.5]);
    assert_eq!(rank(IdlePaths::Reset), [0.5, 0.8, 1.0]);
}

#[test]
fn unusable_paths_take_no_part_in_the_minimum() {
    let (mut out, mut p) = seen(CmtOutConfig::default(), [(1, 9), (300, 100), (500, 500)]);
    (p[0].usable, p[0].sendable) = (false, false);
    assert_eq!(ranked(&mut out, &p), [1, 2], "0.1 of path 0 does not count: path 2 is minimal");
}

#[test]
fn a_path_added_again_starts_anew() {
    let (mut out, p) = seen(CmtOutConfig::default(), [(1, 1), (1, 1), (1, 1)]);
    out.on_path_change(&view(&p), PathId(1), PathChange::Added);
    assert_eq!(pqus(&out), [0.5, 1.0, 0.5]);
}
