//! Delivery-rate samples against a slow reference: it keeps every transmission and every
//! acknowledgement, and computes each sample from the whole history as the draft defines it.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;

use super::{Rig, SIZE};
use crate::config::CmtConfig;
use crate::ids::PathId;
use crate::time::{Duration, Time};

const PATHS: u8 = 2;

#[derive(Clone, Debug)]
enum Op {
    /// So many chunks in one instant on a path.
    Send(u8, u8),
    /// These chunks arrive, and a SACK of all that arrived comes on a path; `false`: it is lost.
    Sack(u8, Vec<Index>, bool),
    Timeout(u8),
    /// What waits to be sent again on the account of one path goes out on another.
    Resend(u8, u8),
}

fn op() -> impl Strategy<Value = Op> {
    let path = || 0..PATHS;
    let picks = prop::collection::vec(any::<Index>(), 0..5);
    prop_oneof![
        5 => (path(), 1u8..4).prop_map(|(p, n)| Op::Send(p, n)),
        5 => (path(), picks, prop::bool::weighted(0.8)).prop_map(|(p, i, ok)| Op::Sack(p, i, ok)),
        1 => path().prop_map(Op::Timeout),
        3 => (path(), path()).prop_map(|(a, b)| Op::Resend(a, b)),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Transmission {
    chunk: u64,
    path: u8,
    sent: Time,
    was_idle: bool,
}

#[derive(Debug, Default)]
struct Reference {
    sent: Vec<Transmission>,
    /// (when, path, send time of its latest transmission) of each chunk credited to a path.
    credits: Vec<(Time, u8, Time)>,
    arrived: BTreeSet<u64>,
    acked: BTreeSet<u64>,
    chunks: u64,
}

impl Reference {
    fn of(&self, chunk: u64) -> impl Iterator<Item = &Transmission> {
        self.sent.iter().filter(move |t| t.chunk == chunk)
    }

    fn cum(&self) -> u64 {
        (1..).find(|n| !self.arrived.contains(n)).map_or(0, |n| n - 1)
    }

    /// (delivered, when last, send time of the newest) on `path` before `at`; what went out on the
    /// idle path begins anew.
    fn state_at(&self, path: u8, at: Time) -> (u64, Time, Time) {
        let before = self.credits.iter().filter(|c| c.1 == path && c.0 < at);
        let restarts = self.sent.iter().filter(|t| t.path == path && t.was_idle && t.sent <= at);
        let restart = restarts.map(|t| t.sent).max().unwrap_or_default();
        let latest = before.clone().map(|c| c.0).max().unwrap_or_default().max(restart);
        let newest = before.clone().map(|c| c.2).max().unwrap_or_default().max(restart);
        (SIZE * before.count() as u64, latest, newest)
    }

    /// The sample of `path` by what was credited at `now`: (delivered, prior, interval, RTT, new).
    fn sample(&self, path: u8, now: Time) -> Option<(u64, u64, Duration, Duration, u64)> {
        let new = self.credits.iter().filter(|c| c.1 == path && c.0 == now);
        let sent = new.clone().map(|c| c.2).max()?;
        let (prior, delivered_time, first) = self.state_at(path, sent);
        let total = SIZE * self.credits.iter().filter(|c| c.1 == path).count() as u64;
        let interval = now.since(delivered_time).max(sent.since(first));
        Some((total - prior, prior, interval, now.since(sent), SIZE * new.count() as u64))
    }

    fn note_acked(&mut self, now: Time) {
        for chunk in self.arrived.difference(&self.acked) {
            let last = self.of(*chunk).last().copied();
            let Some(last) = last else { continue };
            if self.of(*chunk).all(|t| t.path == last.path) {
                self.credits.push((now, last.path, last.sent));
            }
        }
        self.acked = self.arrived.clone();
    }
}

fn send(rig: &mut Rig, reference: &mut Reference, p: u8, count: u8) {
    for _ in 0..count {
        let was_idle = rig.outstanding(p) == 0;
        rig.send(&[p]);
        reference.chunks += 1;
        let chunk = reference.chunks;
        reference.sent.push(Transmission { chunk, path: p, sent: rig.now, was_idle });
    }
}

fn report(rig: &mut Rig, reference: &mut Reference, p: u8) -> Result<(), TestCaseError> {
    let cum = reference.cum();
    let gaps: Vec<_> = reference.arrived.range(cum + 1..).map(|&n| (n, n)).collect();
    let outcome = rig.sack(p, cum, &gaps);
    reference.note_acked(rig.now);
    for (path, own) in outcome.by_path() {
        let of_engine =
            own.rate.map(|s| (s.delivered, s.prior_delivered, s.interval, s.rtt, s.newly_acked));
        prop_assert_eq!(of_engine, reference.sample(path.0, rig.now), "{:?}", path);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn samples_agree_with_the_whole_history(ops in prop::collection::vec(op(), 0..80)) {
        let (mut rig, mut reference) = (Rig::new(u16::from(PATHS), CmtConfig::default()), Reference::default());
        for op in ops {
            rig.wait(3);
            match op {
                Op::Send(p, count) => send(&mut rig, &mut reference, p, count),
                Op::Sack(p, picks, comes) => {
                    let missing: Vec<u64> = (1..=reference.chunks)
                        .filter(|n| !reference.arrived.contains(n)).collect();
                    if !missing.is_empty() {
                        reference.arrived.extend(picks.iter().map(|i| *i.get(&missing)));
                    }
                    if comes {
                        report(&mut rig, &mut reference, p)?;
                    }
                }
                Op::Timeout(p) => {
                    rig.wait(1000);
                    rig.timeout(p);
                }
                Op::Resend(from, to) => {
                    if rig.tx.marked_head(PathId(from)).is_some() {
                        let was_idle = rig.outstanding(to) == 0;
                        let chunk = rig.resend(from, to);
                        reference.sent.push(Transmission { chunk, path: to, sent: rig.now, was_idle });
                    }
                }
            }
        }
    }
}

#[test]
fn what_a_copy_given_up_may_have_delivered_is_credited_to_nobody() {
    let mut rig = Rig::new(2, CmtConfig::default());
    rig.send(&[0]);
    rig.wait(10);
    assert_eq!(rig.copy(0, 1), Some(1));
    rig.wait(5000);
    rig.tx.outstanding.lose_copy(rig.tsn(1), PathId(1), &mut rig.paths);
    assert_eq!(losses(&mut rig), [vec![], vec![SIZE]]);
    rig.sack(0, 1, &[]);
    assert!(rig.paths.views.iter().all(|v| v.delivered == 0));
    assert_eq!(rig.paths.views[1].lost, SIZE);
}

/// What each path is to tell of its losses: bytes, transmission by transmission.
fn losses(rig: &mut Rig) -> [Vec<u64>; 2] {
    [0, 1].map(|p| {
        let path = rig.paths.get_mut(PathId(p)).unwrap();
        path.delivery_rate.take_lost().iter().map(|lost| lost.bytes).collect()
    })
}

#[test]
fn a_chunk_that_lives_on_in_its_copy_is_lost_where_it_was_sent_first() {
    let mut rig = Rig::new(2, CmtConfig::default());
    rig.send(&[0]);
    rig.wait(10);
    assert_eq!(rig.copy(0, 1), Some(1));
    rig.wait(1000);
    rig.timeout(0);
    assert_eq!(losses(&mut rig), [vec![SIZE], vec![]]);
}

#[test]
fn a_timeout_tells_of_each_transmission() {
    let mut rig = Rig::new(2, CmtConfig::default());
    rig.send(&[0, 0]);
    rig.wait(10);
    rig.send(&[0, 1]);
    rig.wait(1000);
    rig.timeout(0);
    assert_eq!(losses(&mut rig), [vec![2 * SIZE, SIZE], vec![]]);
}
