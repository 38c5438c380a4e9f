//! Reassembly of I-DATA against a plain model: sets of chunks and lists of messages.

use std::collections::{BTreeMap, BTreeSet};

use polypath_wire::IDataChunk;
use proptest::prelude::*;

use super::interleaving::interleaving;
use super::*;
use crate::rng::Rng;

const FRAGMENT: usize = 100;

/// A message as its sender knows it.
#[derive(Clone, Debug)]
struct Plan {
    stream: u16,
    unordered: bool,
    mid: u32,
    data: Vec<u8>,
}

/// A chunk: fragment `fsn` of `count` of a message.
#[derive(Clone, Copy, Debug)]
struct Sent {
    message: usize,
    fsn: usize,
    count: usize,
}

type Shape = (u16, bool, usize);

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    proptest::collection::vec((0u16..4, prop::bool::weighted(0.3), 1usize..450), 1..50)
}

fn near_wrap() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), (0u32..20).prop_map(|n| u32::MAX - n)]
}

fn plans(shapes: &[Shape], first_mid: u32) -> Vec<Plan> {
    let mut next = BTreeMap::new();
    let plan = |(message, (stream, unordered, len)): (usize, &Shape)| {
        let next = next.entry((*stream, *unordered)).or_insert(first_mid);
        let mid = *next;
        *next = next.wrapping_add(1);
        let data = (0..*len).map(|i| (message * 7 + i) as u8).collect();
        Plan { stream: *stream, unordered: *unordered, mid, data }
    };
    shapes.iter().enumerate().map(plan).collect()
}

/// The chunks in the order of their TSNs: at each step some stream goes on.
fn interleave(plans: &[Plan], rng: &mut Rng) -> Vec<Sent> {
    let mut streams = BTreeMap::<u16, Vec<Sent>>::new();
    for (message, plan) in plans.iter().enumerate().rev() {
        let count = plan.data.len().div_ceil(FRAGMENT);
        let fragments = (0..count).rev().map(|fsn| Sent { message, fsn, count });
        streams.entry(plan.stream).or_default().extend(fragments);
    }
    let mut sent = Vec::new();
    while !streams.is_empty() {
        let at = rng.below(streams.len());
        let stream = *streams.keys().nth(at).unwrap();
        sent.extend(streams.get_mut(&stream).unwrap().pop());
        streams.retain(|_, chunks| !chunks.is_empty());
    }
    sent
}

fn encode<'a>(plans: &'a [Plan], sent: Sent, tsn: Tsn) -> IDataChunk<'a> {
    let plan = &plans[sent.message];
    let beginning = sent.fsn == 0;
    let flags = DataFlags {
        unordered: plan.unordered,
        beginning,
        ending: sent.fsn + 1 == sent.count,
        immediate: false,
    };
    IDataChunk {
        tsn,
        stream: StreamId(plan.stream),
        mid: Mid(plan.mid),
        ppid_or_fsn: if beginning { sent.message as u32 } else { sent.fsn as u32 },
        flags,
        payload: plan.data.chunks(FRAGMENT).nth(sent.fsn).unwrap(),
    }
}

/// The messages that a receiver of these chunks has delivered: complete ones, ordered ones behind
/// their predecessors.
fn deliverable(plans: &[Plan], sent: &[Sent], received: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut missing: BTreeSet<usize> = BTreeSet::new();
    let chunks = sent.iter().enumerate().filter(|(i, _)| !received.contains(i));
    missing.extend(chunks.map(|(_, chunk)| chunk.message));
    let held_up = |message: &usize| {
        let plan = &plans[*message];
        let before =
            |other: &usize| plans[*other].stream == plan.stream && !plans[*other].unordered;
        !plan.unordered && (0..*message).filter(before).any(|other| missing.contains(&other))
    };
    (0..plans.len()).filter(|m| !missing.contains(m) && !held_up(m)).collect()
}

/// Puts parts together as an application does.
#[derive(Default)]
struct Reader {
    open: BTreeMap<(u16, bool), Vec<u8>>,
    ppids: BTreeMap<(u16, bool), u32>,
    done: Vec<usize>,
}

impl Reader {
    fn read(&mut self, found: Message, plans: &[Plan]) {
        let key = (found.stream.0, found.unordered);
        if found.part.is_whole() {
            return self.check(found.ppid, &found.data, key, plans);
        }
        assert_eq!(found.part.first, !self.open.contains_key(&key));
        assert_eq!(*self.ppids.entry(key).or_insert(found.ppid), found.ppid);
        self.open.entry(key).or_default().extend(&found.data);
        if found.part.last {
            let data = self.open.remove(&key).unwrap();
            let ppid = self.ppids.remove(&key).unwrap();
            self.check(ppid, &data, key, plans);
        }
    }

    fn check(&mut self, ppid: u32, data: &[u8], key: (u16, bool), plans: &[Plan]) {
        let plan = &plans[ppid as usize];
        assert_eq!((data, key), (&*plan.data, (plan.stream, plan.unordered)));
        let same = |m: &&usize| plans[**m].stream == plan.stream && !plans[**m].unordered;
        let before = self.done.iter().filter(same);
        assert!(plan.unordered || before.max() < Some(&(ppid as usize)), "out of order");
        assert!(!self.done.contains(&(ppid as usize)), "delivered twice");
        self.done.push(ppid as usize);
    }
}

proptest! {
    /// TSNs given to the chunks in any order, chunks arriving in any order and again: after every
    /// step the messages that the model has are delivered, and nothing else.
    #[test]
    fn an_ample_receiver_agrees_with_the_model(
        shapes in shapes(),
        initial in near_wrap(),
        first_mid in near_wrap(),
        seed: u64,
    ) {
        let mut rng = Rng::from_u64(seed);
        let plans = plans(&shapes, first_mid);
        let mut sent = interleave(&plans, &mut rng);
        for i in (1..sent.len()).rev() {
            sent.swap(i, rng.below(i + 1));
        }
        let settings = ReceiverSettings { first_mid: Mid(first_mid), ..interleaving() };
        let mut rx = Receiver::new(settings, Tsn(initial));
        let (mut received, mut reader) = (BTreeSet::new(), Reader::default());
        while received.len() < sent.len() {
            let chunk = rng.below(sent.len());
            let encoded = encode(&plans, sent[chunk], Tsn(initial).add(chunk as u32));
            let new = received.insert(chunk);
            let verdict = rx.data(Time::ZERO, PathId(0), &encoded);
            prop_assert_eq!(verdict, if new { DataVerdict::New } else { DataVerdict::Duplicate });
            core::iter::from_fn(|| rx.recv(RecvFrom::Any)).for_each(|m| reader.read(m, &plans));
            let done: BTreeSet<usize> = reader.done.iter().copied().collect();
            prop_assert_eq!(&done, &deliverable(&plans, &sent, &received));
            let held = received.iter().filter(|c| !done.contains(&sent[**c].message));
            let payload = |c: &usize| encode(&plans, sent[*c], Tsn(0)).payload.len();
            prop_assert_eq!(rx.held() as usize, held.map(payload).sum::<usize>());
        }
        prop_assert_eq!((rx.held(), rx.a_rwnd(), rx.has_gaps()), (0, 1 << 20, false));
    }

    /// A sender that ignores the window, against a small buffer with partial delivery: the receiver
    /// refuses and reneges, and yet every message arrives once, in order.
    #[test]
    fn a_cramped_receiver_loses_nothing(
        shapes in shapes(),
        initial in near_wrap(),
        nr in prop_oneof![Just(NrSack::Off), Just(NrSack::Delivered), Just(NrSack::Received)],
        buffer in 600u32..3_000,
        point in 1u32..2_000,
        seed: u64,
    ) {
        let mut rng = Rng::from_u64(seed);
        let plans = plans(&shapes, 0);
        let sent = interleave(&plans, &mut rng);
        let settings = ReceiverSettings {
            nr_sack: nr,
            buffer,
            partial_delivery: Some(point),
            ..interleaving()
        };
        let mut rx = Receiver::new(settings, Tsn(initial));
        let mut reader = Reader::default();
        let mut firm = BTreeSet::<usize>::new();
        let mut steps = 0;
        while reader.done.len() < plans.len() {
            steps += 1;
            prop_assert!(steps < 100_000, "no progress");
            let cumulative = rx.cumulative_tsn().next().distance(Tsn(initial)) as usize;
            if cumulative < sent.len() {
                let mut chunk = (cumulative + rng.below(2) * rng.below(25)).min(sent.len() - 1);
                // What was acknowledged for good is not sent again.
                while firm.contains(&chunk) {
                    chunk -= 1;
                }
                let encoded = encode(&plans, sent[chunk], Tsn(initial).add(chunk as u32));
                let verdict = rx.data(Time::ZERO, PathId(0), &encoded);
                let broken = matches!(verdict, DataVerdict::Violation(_) | DataVerdict::TooLarge(..));
                prop_assert!(!broken, "{:?}", verdict);
            }
            if nr != NrSack::Received {
                prop_assert!(rx.held() < buffer + FRAGMENT as u32);
            }
            let s = sack(&mut rx);
            let cumulative = Tsn(s.cumulative).next().distance(Tsn(initial)) as usize;
            let here = |blocks: &[(u16, u16)]| -> BTreeSet<usize> {
                let offsets = blocks.iter().flat_map(|(start, end)| *start..=*end);
                offsets.map(|offset| cumulative + usize::from(offset) - 1).collect()
            };
            let now_firm = here(&s.non_renegable);
            prop_assert!(here(&s.renegable).is_disjoint(&now_firm));
            prop_assert!(firm.iter().all(|c| *c < cumulative || now_firm.contains(c)));
            firm = now_firm;
            if rng.below(3) == 0 && let Some(found) = rx.recv(RecvFrom::Any) {
                reader.read(found, &plans);
            }
        }
        prop_assert_eq!((rx.recv(RecvFrom::Any), rx.held(), reader.open.len()), (None, 0, 0));
    }

    /// Even if the engine went on after violations: no panic, and the bound on memory holds.
    #[test]
    fn no_chunks_panic_or_outgrow_the_bound(
        buffer in 0u32..4_000,
        point in proptest::option::of(0u32..3_000),
        chunks in proptest::collection::vec(
            (0u32..60, 0u16..3, prop_oneof![0u32..4, any::<u32>()], 0u32..5, 0u8..16, 0usize..300),
            0..400,
        ),
    ) {
        let settings = ReceiverSettings {
            buffer,
            partial_delivery: point,
            max_message: 2_000,
            inbound_streams: 2,
            ..interleaving()
        };
        let mut rx = Receiver::new(settings, Tsn(0));
        for (tsn, stream, mid, fsn, flags, len) in chunks {
            let chunk = IDataChunk {
                tsn: Tsn(tsn),
                stream: StreamId(stream),
                mid: Mid(mid),
                ppid_or_fsn: fsn,
                flags: DataFlags::from_bits(flags),
                payload: &[0; 300][..len],
            };
            rx.data(Time::ZERO, PathId(0), &chunk);
            prop_assert!(rx.held() < buffer.max(1) + 300);
            match flags {
                0 => rx.skip_to_mid(Time::ZERO, StreamId(stream), fsn == 1, Mid(mid)),
                1..3 => _ = rx.recv(RecvFrom::Any),
                _ => {}
            }
        }
    }
}
