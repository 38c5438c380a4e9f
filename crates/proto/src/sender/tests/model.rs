//! Random sequences of sends, SACKs, losses and timeouts against plain sets: counters must always
//! add up.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Rig, SIZE};
use crate::PathId;
use crate::config::{CmtConfig, RecoveryConfig};
use crate::time::Duration;

#[derive(Clone, Debug)]
enum Op {
    Send(u8),
    /// The receiver gets these of the chunks in flight (by index), and a SACK comes back on this
    /// path.
    Sack(u8, Vec<prop::sample::Index>, bool),
    Timeout(u8),
    Resend(u8, u8),
    /// The lowest chunk in flight on the first path alone goes out on the second, too.
    Copy(u8, u8),
    /// The timers of modern recovery are served after so many milliseconds, and a probe goes out.
    Timers(u8, u64),
}

fn op() -> impl Strategy<Value = Op> {
    let path = || 0u8..3;
    prop_oneof![
        4 => path().prop_map(Op::Send),
        4 => (path(), prop::collection::vec(any::<prop::sample::Index>(), 0..4), any::<bool>())
            .prop_map(|(p, got, nr)| Op::Sack(p, got, nr)),
        1 => path().prop_map(Op::Timeout),
        2 => (path(), path()).prop_map(|(a, b)| Op::Resend(a, b)),
        2 => (path(), path()).prop_map(|(a, b)| Op::Copy(a, b)),
        1 => (path(), 1u64..100).prop_map(|(p, ms)| Op::Timers(p, ms)),
    ]
}

/// Ranges of consecutive numbers above `cum`.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn counters_add_up(ops in prop::collection::vec(op(), 0..120), modern: bool) {
        let mut rig = Rig::new(3, CmtConfig::default());
        if modern {
            rig = Rig::recovering(3, RecoveryConfig::MODERN);
            rig.paths.views.iter_mut().for_each(|v| v.srtt = Some(Duration::from_millis(20)));
        }
        let (mut sent, mut got) = (0u64, BTreeSet::new());
        for op in ops {
            match op {
                Op::Send(p) => {
                    rig.send(&[p]);
                    sent += 1;
                }
                Op::Sack(p, picks, nr) => {
                    let missing: Vec<u64> = (1..=sent).filter(|n| !got.contains(n)).collect();
                    let picks = picks.iter().filter(|_| !missing.is_empty());
                    got.extend(picks.map(|i| *i.get(&missing)));
                    let cum = (1..).take_while(|n| got.contains(n)).count() as u64;
                    let gaps = ranges(&got, cum);
                    if nr {
                        rig.nr_sack(p, cum, &[], &gaps, 1);
                    } else {
                        rig.sack(p, cum, &gaps);
                    }
                }
                Op::Timeout(p) => {
                    rig.wait(1000);
                    rig.tx.on_timeout(rig.now, PathId(p), &mut rig.paths, &rig.config);
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
            }
            rig.wait(1);
            check(&rig, sent, &got)?;
        }
        rig.sack(0, sent, &[]);
        prop_assert!(rig.tx.is_drained());
        prop_assert_eq!(rig.tx.buffer_view().used, 0);
    }
}

/// What is neither received nor marked is in flight; the paths' shares are the whole; the window
/// agrees.
fn check(rig: &Rig, sent: u64, got: &BTreeSet<u64>) -> Result<(), TestCaseError> {
    let marked: usize = (0..3).map(|p| rig.tx.outstanding.marked_count(PathId(p))).sum();
    let outstanding: u64 =
        rig.paths.views.iter().map(|v| v.outstanding - v.duplicate_bytes_in_flight).sum();
    let copied: u64 = rig.paths.views.iter().map(|v| v.duplicate_bytes_in_flight).sum();
    prop_assert_eq!(copied, copies_in_flight(rig) * SIZE);
    let known = got.iter().filter(|n| is_acked(rig, rig.tsn(**n))).count() as u64;
    prop_assert_eq!(outstanding, (sent - known - marked as u64) * SIZE);
    let payload: u64 = rig.paths.views.iter().map(|v| v.outstanding_payload).sum();
    prop_assert_eq!(payload, rig.tx.bytes_in_flight());
    let queued: u64 = rig.paths.views.iter().map(|v| v.queued).sum();
    prop_assert_eq!(queued, rig.tx.buffer_view().used);
    Ok(())
}

fn copies_in_flight(rig: &Rig) -> u64 {
    rig.tx.outstanding.iter().map(|(_, c)| c.copies.len() as u64).sum()
}

/// Whether a TSN that was sent is acknowledged in any way.
fn is_acked(rig: &Rig, tsn: u64) -> bool {
    tsn < rig.tx.outstanding.base() || rig.tx.outstanding.gap_acked().contains(tsn)
}
