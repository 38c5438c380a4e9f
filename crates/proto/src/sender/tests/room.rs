//! What a send buffer and the peer's window keep free for streams of low delay, and what they hold.

use bytes::Bytes;

use super::Rig;
use crate::config::AssocConfig;
use crate::ids::{StreamId, Tsn};
use crate::needs::{Service, StreamNeeds};
use crate::policy::FirstCome;
use crate::sender::SendOptions;
use crate::view::ChunkMeta;

const LIMIT: u64 = 160_000;
const BULK: StreamId = StreamId(0);
const URGENT: StreamId = StreamId(1);

fn rig() -> Rig {
    Rig::with(1, Tsn(1), AssocConfig { send_buffer: LIMIT, ..AssocConfig::default() })
}

fn enqueue(rig: &mut Rig, stream: StreamId, bytes: usize) -> bool {
    let (data, options) = (Bytes::from(vec![0; bytes]), SendOptions::default());
    rig.tx.enqueue(rig.now, stream, data, options, &mut FirstCome).is_ok()
}

fn low_delay() -> StreamNeeds {
    StreamNeeds { service: Service::LowDelay, ..StreamNeeds::default() }
}

#[test]
fn a_sixteenth_of_both_buffers_is_kept_for_streams_of_low_delay() {
    let mut rig = rig();
    rig.tx.set_peer_window(16_000);
    let bulk = ChunkMeta::whole(BULK, 15_500);
    let urgent = ChunkMeta { needs: low_delay(), ..ChunkMeta::whole(URGENT, 15_500) };
    assert_eq!((rig.tx.room_on(BULK), rig.tx.room_on(URGENT)), (LIMIT, LIMIT), "none is there");
    assert!(rig.tx.window_admits(&bulk));
    rig.tx.queue.set_needs(URGENT, low_delay());
    assert_eq!(rig.tx.queue.needs(URGENT), low_delay());
    assert_eq!((rig.tx.room_on(BULK), rig.tx.room_on(URGENT)), (LIMIT * 15 / 16, LIMIT));
    assert!(enqueue(&mut rig, BULK, LIMIT as usize * 15 / 16) && !enqueue(&mut rig, BULK, 1));
    assert!(enqueue(&mut rig, URGENT, 1000));
    rig.send(&[]);
    rig.tx.outstanding.window_mut().advertise(15_999);
    assert!(rig.tx.window_admits(&urgent) && !rig.tx.window_admits(&bulk));
    rig.tx.queue.set_needs(URGENT, StreamNeeds::default());
    assert!(!rig.tx.queue.has_urgent_streams() && rig.tx.window_admits(&bulk));
}

#[test]
fn what_waits_is_told_of_needs_too() {
    let mut rig = rig();
    assert!(enqueue(&mut rig, URGENT, 1000));
    rig.tx.queue.set_needs(URGENT, low_delay());
    assert_eq!(rig.tx.queue.heads().heads[0].needs, low_delay());
    assert_eq!(rig.tx.queue.peek(URGENT, 500).unwrap().needs, low_delay());
}

#[test]
fn a_buffer_is_half_full_by_its_payload_or_by_its_bookkeeping() {
    let mut payload = rig();
    assert!(enqueue(&mut payload, BULK, LIMIT as usize / 2 - 1) && !payload.tx.is_half_full());
    assert!(enqueue(&mut payload, BULK, 1) && payload.tx.is_half_full());
    assert!(payload.tx.weight() < 1.01, "it is nearly all payload");
    let mut bookkeeping = rig();
    let half = bookkeeping.tx.memory_limit() / 2;
    while bookkeeping.tx.memory() < half {
        assert!(!bookkeeping.tx.is_half_full());
        assert!(enqueue(&mut bookkeeping, BULK, 1));
    }
    assert!(bookkeeping.tx.is_half_full() && bookkeeping.tx.weight() > 50.0);
}

#[test]
fn a_buffer_is_cramped_where_memory_runs_out_before_payloads_room_does() {
    let mut rig = rig();
    assert!(enqueue(&mut rig, BULK, LIMIT as usize) && !enqueue(&mut rig, BULK, 1));
    assert!(!rig.tx.is_cramped(), "it is full of payload");
    let mut rig = self::rig();
    while enqueue(&mut rig, BULK, 1) {}
    assert!(rig.tx.is_cramped());
}

#[test]
fn sacks_from_before_a_reset_of_tsns_are_known_for_what_they_are() {
    let mut rig = rig();
    let first = rig.tx.outstanding.next_tsn() as u32;
    assert!(!rig.tx.is_before_jump(Tsn(first.wrapping_sub(1))), "there was none");
    let next = first.wrapping_add(1 << 31);
    rig.tx.restart_tsns(Tsn(next));
    assert!(rig.tx.is_before_jump(Tsn(first.wrapping_sub(1))));
    assert!(rig.tx.is_before_jump(Tsn(first.wrapping_sub(1 << 17))));
    assert!(!rig.tx.is_before_jump(Tsn(first)) && !rig.tx.is_before_jump(Tsn(next)));
    // Not for ever.
    let more = rig.tx.outstanding.next_tsn() + (1 << 20);
    rig.tx.outstanding.restart_at(more);
    assert!(rig.tx.is_before_jump(Tsn(first.wrapping_sub(1))));
    rig.tx.outstanding.restart_at(more + 1);
    assert!(!rig.tx.is_before_jump(Tsn(first.wrapping_sub(1))));
}
