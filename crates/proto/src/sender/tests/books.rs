//! The books of what is in flight against a naive recount of the chunks: after every step of random
//! sequences of sends, SACKs (some of which withdraw what earlier ones reported), losses, timeouts,
//! copies, abandoned messages and removed paths.

use std::collections::BTreeSet;

use bytes::Bytes;
use polypath_wire::PacketWriter;
use proptest::prelude::*;

use super::Rig;
use crate::config::{CmtConfig, RecoveryConfig};
use crate::ids::{PathId, StreamId};
use crate::policy::FirstCome;
use crate::sender::outstanding::{ChunkState, TxChunk};
use crate::sender::{NewChunk, Reliability, SendOptions};
use crate::time::{Duration, Time};

const PATHS: u8 = 3;

#[derive(Clone, Debug)]
enum Op {
    /// A message goes out on a path; it may be abandoned after so many milliseconds.
    Send(u8, Option<u64>),
    /// These of the chunks in flight (by index) are reported on a path; `true`: as non-renegable.
    Sack(u8, Vec<prop::sample::Index>, bool),
    /// What was gap-acked and not cum-acked is reported no more.
    Renege(u8),
    Timeout(u8),
    Resend(u8, u8),
    Copy(u8, u8),
    Timers(u8, u64),
    Expire(u64),
    /// A chunk in flight never left.
    TakeBack(u8, prop::sample::Index),
    RemovePath(u8, u8),
}

fn op() -> impl Strategy<Value = Op> {
    let path = || 0..PATHS;
    let picks = || prop::collection::vec(any::<prop::sample::Index>(), 0..4);
    prop_oneof![
        6 => (path(), prop::option::weighted(0.3, 1u64..50)).prop_map(|(p, ms)| Op::Send(p, ms)),
        5 => (path(), picks(), any::<bool>()).prop_map(|(p, got, nr)| Op::Sack(p, got, nr)),
        1 => path().prop_map(Op::Renege),
        1 => path().prop_map(Op::Timeout),
        3 => (path(), path()).prop_map(|(a, b)| Op::Resend(a, b)),
        2 => (path(), path()).prop_map(|(a, b)| Op::Copy(a, b)),
        1 => (path(), 1u64..100).prop_map(|(p, ms)| Op::Timers(p, ms)),
        1 => (1u64..60).prop_map(Op::Expire),
        1 => (path(), any::<prop::sample::Index>()).prop_map(|(p, i)| Op::TakeBack(p, i)),
        1 => (path(), path()).prop_map(|(a, b)| Op::RemovePath(a, b)),
    ]
}

/// The peer: what it got and what it reports of that.
struct Peer {
    sent: u64,
    got: BTreeSet<u64>,
    /// Reported as non-renegable.
    nr: BTreeSet<u64>,
    cum: u64,
}

impl Peer {
    fn report(&mut self, rig: &mut Rig, p: u8) {
        while self.got.contains(&(self.cum + 1)) || self.is_skipped(rig, self.cum + 1) {
            self.cum += 1;
        }
        let gaps: BTreeSet<u64> = self.got.difference(&self.nr).copied().collect();
        let gaps = ranges(&gaps, self.cum);
        rig.nr_sack(p, self.cum, &gaps, &ranges(&self.nr, self.cum), 1);
    }

    /// The sender said that the peer need not wait for it.
    fn is_skipped(&self, rig: &Rig, n: u64) -> bool {
        let tsn = rig.tsn(n);
        n <= self.sent && rig.tx.forward.has_skipped(tsn)
    }
}

fn ranges(got: &BTreeSet<u64>, cum: u64) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for &n in got.range(cum + 1..) {
        match out.last_mut() {
            Some(last) if last.1 + 1 == n => last.1 = n,
            _ => out.push((n, n)),
        }
    }
    out
}

fn send(rig: &mut Rig, p: u8, lifetime: Option<u64>) {
    let reliability =
        lifetime.map_or(Reliability::Full, |ms| Reliability::Timed(Duration::from_millis(ms)));
    let options = SendOptions { reliability, ..SendOptions::default() };
    let (stream, data) = (StreamId(0), Bytes::from_static(&[0; 1000]));
    rig.tx.enqueue(rig.now, stream, data, options, &mut FirstCome).unwrap();
    let mut buf = Vec::new();
    let mut writer = PacketWriter::new(&mut buf, 1480, 1, 2, 3);
    let new = NewChunk { path: PathId(p), stream, bytes: 1000, immediate: false };
    rig.tx.send_new(rig.now, new, &mut writer, &mut rig.paths, &mut FirstCome).unwrap();
}

/// Abandons what has expired, and tells the peer.
fn expire(rig: &mut Rig) {
    rig.tx.abandon_expired_messages(rig.now, &mut rig.paths, &mut FirstCome);
    if rig.tx.forward.is_due() {
        let mut buf = Vec::new();
        let mut writer = PacketWriter::new(&mut buf, 1480, 1, 2, 3);
        rig.tx.write_forward_tsn(rig.now, PathId(0), &mut writer, &mut rig.paths);
    }
}

fn perform(rig: &mut Rig, peer: &mut Peer, op: Op) {
    match op {
        Op::Send(p, lifetime) => {
            send(rig, p, lifetime);
            peer.sent += 1;
        }
        Op::Sack(p, picks, nr) => {
            let missing: Vec<u64> =
                (peer.cum + 1..=peer.sent).filter(|n| !peer.got.contains(n)).collect();
            for pick in picks.iter().filter(|_| !missing.is_empty()) {
                peer.got.insert(*pick.get(&missing));
                if nr {
                    peer.nr.insert(*pick.get(&missing));
                }
            }
            peer.report(rig, p);
        }
        Op::Renege(p) => {
            let (cum, nr) = (peer.cum, peer.nr.clone());
            peer.got.retain(|n| *n <= cum || nr.contains(n));
            peer.report(rig, p);
        }
        Op::Timeout(p) => {
            rig.wait(1000);
            rig.timeout(p);
        }
        Op::Resend(from, to) => {
            if rig.tx.marked_head(PathId(from)).is_some() {
                rig.resend(from, to);
            }
        }
        Op::Copy(from, to) => {
            rig.copy(from, to);
        }
        Op::Timers(p, ms) => {
            rig.wait(ms);
            rig.serve_timers(p);
        }
        Op::Expire(ms) => {
            rig.wait(ms);
            expire(rig);
        }
        Op::TakeBack(p, i) => {
            if peer.sent > 0 {
                let tsn = rig.tsn(1 + i.index(peer.sent as usize) as u64);
                rig.tx.take_back(tsn, PathId(p), true, &mut rig.paths);
            }
        }
        Op::RemovePath(p, heir) => {
            if p != heir {
                rig.tx.remove_path(PathId(p), PathId(heir), &mut rig.paths);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn the_books_agree_with_a_recount(ops in prop::collection::vec(op(), 0..120), modern: bool) {
        let mut rig = if modern {
            Rig::recovering(u16::from(PATHS), RecoveryConfig::MODERN)
        } else {
            Rig::new(u16::from(PATHS), CmtConfig::default())
        };
        rig.paths.views.iter_mut().for_each(|v| v.srtt = Some(Duration::from_millis(20)));
        rig.tx.agree_on_abandoning(true);
        let mut peer = Peer { sent: 0, got: BTreeSet::new(), nr: BTreeSet::new(), cum: 0 };
        for op in ops {
            perform(&mut rig, &mut peer, op);
            rig.wait(1);
            recount(&rig)?;
        }
    }
}

/// What all chunks say, summed up anew, is what the books say.
fn recount(rig: &Rig) -> Result<(), TestCaseError> {
    let chunks: Vec<(u64, &TxChunk)> = rig.tx.outstanding.iter().collect();
    let bytes = |wanted: &dyn Fn(&TxChunk) -> bool| -> u64 {
        chunks.iter().filter(|(_, c)| wanted(c)).map(|(_, c)| u64::from(c.bytes)).sum()
    };
    prop_assert_eq!(rig.tx.bytes_in_flight(), bytes(&TxChunk::is_in_flight), "window");
    prop_assert_eq!(rig.tx.buffer_view().used, bytes(&TxChunk::holds_buffer), "send buffer");
    for view in &rig.paths.views {
        let here = |c: &TxChunk| c.path == view.id;
        let in_flight: u64 =
            chunks.iter().filter(|(_, c)| here(c) && c.is_in_flight()).map(|(_, c)| c.size()).sum();
        let copies = chunks.iter().flat_map(|(_, c)| c.copies.iter().map(|copy| (copy, c.size())));
        let copied: u64 = copies.filter(|(copy, _)| copy.path == view.id).map(|(_, s)| s).sum();
        let payload = bytes(&|c| here(c) && c.is_in_flight());
        prop_assert_eq!(view.outstanding, in_flight + copied, "outstanding of {:?}", view.id);
        prop_assert_eq!(view.outstanding_payload, payload, "payload of {:?}", view.id);
        prop_assert_eq!(view.duplicate_bytes_in_flight, copied, "copies on {:?}", view.id);
        let queued = bytes(&|c| here(c) && c.holds_buffer());
        prop_assert_eq!(view.queued, queued, "queued of {:?}", view.id);
        let marked: Vec<u64> =
            chunks.iter().filter(|(_, c)| here(c) && c.is_marked()).map(|(tsn, _)| *tsn).collect();
        prop_assert_eq!(rig.tx.outstanding.marked_count(view.id), marked.len(), "marked");
        prop_assert_eq!(rig.tx.outstanding.lowest_marked(view.id), marked.first().copied());
        let t3 = rig.paths.get(view.id).map(|path| path.t3);
        prop_assert!(view.outstanding == 0 || t3 != Some(Time::MAX), "T3 of {:?}", view.id);
    }
    for (tsn, chunk) in &chunks {
        let acked = matches!(chunk.state(), ChunkState::GapAcked | ChunkState::NrAcked);
        prop_assert_eq!(rig.tx.outstanding.gap_acked().contains(*tsn), acked, "gap-acked");
        prop_assert!(chunk.is_in_flight() || chunk.copies.is_empty(), "copies of {}", tsn);
    }
    Ok(())
}
