//! Chunks that no honest sender would send.

use proptest::prelude::*;

use super::*;
use crate::ids::Ssn;

const LARGEST: usize = 300;

#[derive(Clone, Debug)]
enum Op {
    Data { tsn: u32, stream: u16, ssn: u16, flags: u8, len: usize },
    Recv(RecvFrom),
    Sack(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let tsn = prop_oneof![8 => 0u32..60, 1 => any::<u32>(), 1 => 65_000u32..66_000];
    let ssn = prop_oneof![4 => 0u16..8, 1 => any::<u16>()];
    let chunk = (tsn, 0u16..6, ssn, 0u8..16, prop_oneof![0usize..4, 100..=LARGEST]);
    let want = prop_oneof![
        Just(RecvFrom::Any),
        (0u16..6).prop_map(|stream| RecvFrom::Stream(StreamId(stream))),
    ];
    prop_oneof![
        12 => chunk.prop_map(|(tsn, stream, ssn, flags, len)| {
            Op::Data { tsn, stream, ssn, flags, len }
        }),
        2 => want.prop_map(Op::Recv),
        1 => (0usize..200).prop_map(Op::Sack),
    ]
}

fn kinds() -> impl Strategy<Value = NrSack> {
    prop_oneof![Just(NrSack::Off), Just(NrSack::Delivered), Just(NrSack::Received)]
}

proptest! {
    /// Even if the engine went on after violations.
    #[test]
    fn no_chunks_panic_or_outgrow_the_bound(
        nr_sack in kinds(),
        buffer in 0u32..4_000,
        initial: u32,
        ops in proptest::collection::vec(op(), 0..400),
    ) {
        let settings =
            ReceiverSettings { buffer, nr_sack, inbound_streams: 5, max_message: 2_000, ..settings() };
        let mut rx = Receiver::new(settings, Tsn(initial));
        for op in ops {
            match op {
                Op::Data { tsn, stream, ssn, flags, len } => {
                    let chunk = DataChunk {
                        tsn: Tsn(initial).add(tsn),
                        stream: StreamId(stream),
                        ssn: Ssn(ssn),
                        ppid: 0,
                        flags: DataFlags::from_bits(flags),
                        payload: &[0; LARGEST][..len],
                    };
                    receive(&mut rx, chunk);
                }
                Op::Recv(want) => _ = rx.recv(want),
                Op::Sack(limit) => _ = sack_within(&mut rx, 12 + limit),
            }
            let bound = u64::from(2 * buffer) + (64 << 10) + LARGEST as u64;
            prop_assert!(rx.buffer.held().weight <= bound);
        }
    }
}

#[test]
fn tiny_fragments_and_tiny_messages_hit_the_memory_bound() {
    for flags in ["", "BEU"] {
        let buffer = 1 << 16;
        let mut rx = Receiver::new(ReceiverSettings { buffer, ..settings() }, Tsn(1));
        let verdicts =
            (1..60_000u32).map(|i| receive(&mut rx, flagged(data(2 * i, 0, b"x"), flags)));
        let accepted = verdicts.filter(|verdict| *verdict == DataVerdict::New).count();
        let bound = u64::from(2 * buffer + (64 << 10));
        assert_eq!(accepted as u64, bound.div_ceil(crate::receiver::buffer::BOOKKEEPING));
        assert_eq!(rx.a_rwnd(), 0);
    }
}

#[test]
fn an_endless_message_ends_in_a_violation() {
    let mut rx = Receiver::new(ReceiverSettings { buffer: 1 << 16, ..settings() }, Tsn(1));
    receive(&mut rx, flagged(data(1, 0, &[0; 100]), "B"));
    let mut verdicts = (2..).map(|tsn| receive(&mut rx, flagged(data(tsn, 0, &[0; 100]), "")));
    let end = verdicts.position(|verdict| verdict != DataVerdict::New);
    assert!(end.is_some_and(|chunks| chunks < 700), "{end:?}");
}

#[test]
fn many_duplicates_stay_within_one_sack() {
    let mut rx = Receiver::new(settings(), Tsn(1));
    (0..5_000).for_each(|_| _ = receive(&mut rx, data(0, 0, b"x")));
    assert!(sack(&mut rx).duplicates.len() <= 360);
    assert_eq!(rx.stats().duplicates, 5_000);
}
