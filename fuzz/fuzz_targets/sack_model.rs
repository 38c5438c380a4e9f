//! SACKs of any kind against a simple model: a set of TSNs that are out, and what of them was acknowledged.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use polypath_proto::State;
use polypath_proto::config::{AssocConfig, InitialCwnd, NrSack};
use polypath_testkit::scripted_peer::{ScriptedPeer, abort_cause, data_tsns};
use polypath_wire::chunk::kind;
use polypath_wire::{GapBlock, NrSackRepr, Parameter, SackRepr};

/// Bytes of a message, each of one chunk.
const SIZE: usize = 40;
/// Messages.
const COUNT: u64 = 60;

#[derive(Arbitrary, Debug)]
struct Sack {
    /// How far the cum-ack moves.
    ahead: i8,
    a_rwnd: u16,
    gaps: Vec<(u8, u8)>,
    nr: Vec<(u8, u8)>,
    flags: u8,
}

fuzz_target!(|sacks: Vec<Sack>| {
    let mut config =
        AssocConfig { heartbeat_interval: None, max_burst: None, ..AssocConfig::default() };
    config.congestion.initial_cwnd = InitialCwnd::Mtus(100);
    config.cmt.nr_sack = NrSack::Delivered;
    let params = [Parameter::SupportedExtensions(&[kind::NR_SACK])].into_iter().collect();
    let mut p = ScriptedPeer::connect_with(config, 1, params);
    let mut sent = 0;
    for _ in 0..COUNT {
        sent += data_tsns(&p.make_it_send(SIZE)).len() as u64;
    }
    assert_eq!(sent, COUNT, "all of them are out");
    // Counted from the first TSN: all below are acknowledged, and those above are non-renegable.
    let (first, mut cum, mut kept) = (p.victim_tsn.prev(), 0_u64, [false; COUNT as usize + 1]);
    for sack in sacks.iter().take(40) {
        let named = cum.wrapping_add_signed(sack.ahead.into());
        let blocks = |list: &[(u8, u8)]| -> Vec<GapBlock> {
            let block =
                |&(start, end): &(u8, u8)| GapBlock { start: start.into(), end: end.into() };
            list.iter().map(block).collect()
        };
        let (gaps, nr) = (blocks(&sack.gaps), blocks(&sack.nr));
        let cumulative_tsn = first.add(named as u32);
        let answers = if nr.is_empty() {
            let (gap_blocks, duplicates) = (&gaps[..], &[][..]);
            p.send_chunk(&SackRepr {
                flags: sack.flags,
                cumulative_tsn,
                a_rwnd: sack.a_rwnd.into(),
                gap_blocks,
                duplicates,
            })
        } else {
            p.send_chunk(&NrSackRepr {
                flags: sack.flags,
                cumulative_tsn,
                a_rwnd: sack.a_rwnd.into(),
                gap_blocks: &gaps,
                nr_gap_blocks: &nr,
                duplicates: &[],
            })
        };
        // The model.
        let stale = (named as i64) < cum as i64;
        let unsent = |b: &GapBlock| b.start <= b.end && named + u64::from(b.end) > COUNT;
        let lie = !stale && (named > COUNT || gaps.iter().chain(&nr).any(unsent));
        assert_eq!(abort_cause(&answers) == Some(13), lie, "{sack:?} at {cum}");
        if lie {
            assert_eq!(p.assoc().state(), State::Closed);
            return;
        }
        if !stale {
            cum = named;
            // Those that cannot be true are passed over.
            for block in nr.iter().filter(|b| b.is_well_formed()) {
                for offset in block.start..=block.end {
                    kept[(cum + u64::from(offset)) as usize] = true;
                }
            }
        }
        let left = (cum + 1..=COUNT).filter(|tsn| !kept[*tsn as usize]).count();
        let now = p.now;
        let used = p.assoc().view(now).send_buffer.used;
        assert_eq!(
            used,
            (left * SIZE) as u64,
            "{sack:?}: what may be forgotten is forgotten, and nothing else"
        );
    }
});
