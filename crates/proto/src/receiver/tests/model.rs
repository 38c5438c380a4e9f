//! The receiver against a plain model: sets of chunks and queues of messages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::*;
use crate::ids::Ssn;
use crate::rng::Rng;

const FRAGMENT: usize = 100;

/// One chunk that the honest sender sends.
#[derive(Clone, Debug)]
struct Sent {
    message: usize,
    chunk: DataChunk<'static>,
    payload: Vec<u8>,
}

impl Sent {
    fn chunk(&self) -> DataChunk<'_> {
        DataChunk { payload: &self.payload, ..self.chunk }
    }
}

/// A message, as the sender knows it.
#[derive(Clone, Debug)]
struct Plan {
    stream: u16,
    unordered: bool,
    data: Vec<u8>,
    /// Its chunks.
    chunks: core::ops::Range<usize>,
}

type Shape = (u16, bool, usize);

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    proptest::collection::vec((0u16..4, prop::bool::weighted(0.3), 1usize..450), 1..60)
}

fn initial_tsn() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), (0u32..100).prop_map(|n| u32::MAX - n)]
}

fn kinds() -> impl Strategy<Value = NrSack> {
    prop_oneof![Just(NrSack::Off), Just(NrSack::Delivered), Just(NrSack::Received)]
}

/// Numbers and fragments the messages as RFC 9260 section 6.9 says.
fn transmit(shapes: &[Shape], initial: u32) -> (Vec<Plan>, Vec<Sent>) {
    let (mut plans, mut sent) = (Vec::new(), Vec::<Sent>::new());
    let mut next_ssn = BTreeMap::<u16, u16>::new();
    for (message, (stream, unordered, len)) in shapes.iter().copied().enumerate() {
        let data: Vec<u8> = (0..len).map(|i| (message * 7 + i) as u8).collect();
        let ssn = next_ssn.entry(stream).or_default();
        let first = sent.len();
        let pieces = data.chunks(FRAGMENT);
        let count = pieces.len();
        for (i, piece) in pieces.enumerate() {
            let flags = DataFlags {
                unordered,
                beginning: i == 0,
                ending: i + 1 == count,
                immediate: false,
            };
            let chunk = DataChunk {
                tsn: Tsn(initial).add(sent.len() as u32),
                stream: StreamId(stream),
                ssn: Ssn(if unordered { i as u16 } else { *ssn }),
                ppid: message as u32,
                flags,
                payload: &[],
            };
            sent.push(Sent { message, chunk, payload: piece.to_vec() });
        }
        *ssn += u16::from(!unordered);
        plans.push(Plan { stream, unordered, data, chunks: first..sent.len() });
    }
    (plans, sent)
}

/// What a receiver with an endless buffer has and does.
struct Model {
    plans: Vec<Plan>,
    sizes: Vec<usize>,
    received: BTreeSet<usize>,
    delivered: BTreeSet<usize>,
    readable: VecDeque<usize>,
    unread: usize,
    duplicates: Vec<usize>,
}

impl Model {
    /// Chunks received before the first gap.
    fn cumulative(&self) -> usize {
        (0..).take_while(|chunk| self.received.contains(chunk)).count()
    }

    fn receive(&mut self, sent: &[Sent], chunk: usize) -> DataVerdict {
        if !self.received.insert(chunk) {
            self.duplicates.push(chunk);
            return DataVerdict::Duplicate;
        }
        self.unread += self.sizes[chunk];
        let message = sent[chunk].message;
        if self.deliverable(message) {
            self.deliver(message);
        }
        DataVerdict::New
    }

    fn deliverable(&self, message: usize) -> bool {
        let plan = &self.plans[message];
        let complete = plan.chunks.clone().all(|chunk| self.received.contains(&chunk));
        let precedes = |other: &Plan| other.stream == plan.stream && !other.unordered;
        let mut predecessors = (0..message).filter(|other| precedes(&self.plans[*other]));
        complete && (plan.unordered || predecessors.all(|other| self.delivered.contains(&other)))
    }

    /// Delivers a message and the successors that waited for it.
    fn deliver(&mut self, message: usize) {
        self.delivered.insert(message);
        self.readable.push_back(message);
        let stream = self.plans[message].stream;
        if self.plans[message].unordered {
            return;
        }
        for next in message + 1..self.plans.len() {
            let plan = &self.plans[next];
            if plan.stream == stream && !plan.unordered && self.deliverable(next) {
                self.delivered.insert(next);
                self.readable.push_back(next);
            }
        }
    }

    fn read(&mut self, want: RecvFrom) -> Option<usize> {
        let fits = |message: &usize| match want {
            RecvFrom::Any => true,
            RecvFrom::Stream(id) => self.plans[*message].stream == id.0,
        };
        let message = self.readable.remove(self.readable.iter().position(fits)?)?;
        self.unread -= self.plans[message].data.len();
        Some(message)
    }

    /// Offsets of the chunks above the cumulative TSN: renegable and not.
    fn above(&self, sent: &[Sent], nr: NrSack) -> (BTreeSet<u16>, BTreeSet<u16>) {
        let cumulative = self.cumulative();
        let firm = |chunk: &usize| match nr {
            NrSack::Off => false,
            NrSack::Delivered => self.delivered.contains(&sent[*chunk].message),
            NrSack::Received => true,
        };
        let (firm, soft): (Vec<_>, Vec<_>) =
            self.received.range(cumulative..).partition(|c| firm(c));
        let offsets = |chunks: Vec<&usize>| {
            chunks.into_iter().map(|chunk| (chunk - cumulative + 1) as u16).collect()
        };
        (offsets(soft), offsets(firm))
    }
}

fn offsets(blocks: &[(u16, u16)]) -> BTreeSet<u16> {
    for (before, after) in blocks.iter().zip(blocks.iter().skip(1)) {
        assert!(before.1 + 1 < after.0, "blocks touch: {blocks:?}");
    }
    blocks.iter().flat_map(|(start, end)| *start..=*end).collect()
}

fn check_message(found: &Message, plan: &Plan, sent: &[Sent], message: usize) {
    assert_eq!(found.data, plan.data);
    assert_eq!((found.ppid, found.unordered), (message as u32, plan.unordered));
    assert_eq!(found.stream, StreamId(plan.stream));
    assert_eq!(found.tsn, sent[plan.chunks.start].chunk.tsn);
}

fn check_sack(rx: &mut Receiver, model: &mut Model, sent: &[Sent], nr: NrSack, initial: u32) {
    let s = sack(rx);
    let (soft, firm) = model.above(sent, nr);
    assert_eq!(s.nr, nr != NrSack::Off);
    assert_eq!(Tsn(s.cumulative), Tsn(initial).add(model.cumulative() as u32).prev());
    assert_eq!((offsets(&s.renegable), offsets(&s.non_renegable)), (soft, firm));
    let duplicates: Vec<u32> =
        model.duplicates.drain(..).map(|c| sent[c].chunk.tsn.0).take(128).collect();
    assert_eq!(s.duplicates, duplicates);
}

fn random_want(rng: &mut Rng) -> RecvFrom {
    match rng.below(3) {
        0 => RecvFrom::Stream(StreamId(rng.below(4) as u16)),
        _ => RecvFrom::Any,
    }
}

proptest! {
    /// Messages in random order, with repetitions: everything agrees with the model after every
    /// step.
    #[test]
    fn an_ample_receiver_agrees_with_the_model(
        shapes in shapes(),
        initial in initial_tsn(),
        nr in kinds(),
        charge in 0u32..300,
        seed: u64,
    ) {
        let (plans, sent) = transmit(&shapes, initial);
        let settings = ReceiverSettings { nr_sack: nr, chunk_charge: charge, ..settings() };
        let mut rx = Receiver::new(settings, Tsn(initial));
        let sizes = sent.iter().map(|s| s.payload.len()).collect();
        let mut model = Model {
            plans,
            sizes,
            received: BTreeSet::new(),
            delivered: BTreeSet::new(),
            readable: VecDeque::new(),
            unread: 0,
            duplicates: Vec::new(),
        };
        let mut rng = Rng::from_u64(seed);
        let mut read_chunks = 0;
        while model.received.len() < sent.len() || !model.readable.is_empty() {
            let window = (model.cumulative() + 30).min(sent.len());
            let low = model.cumulative().saturating_sub(3);
            let chunk = low + rng.below(window - low);
            let verdict = receive(&mut rx, sent[chunk].chunk());
            prop_assert_eq!(verdict, model.receive(&sent, chunk));
            if rng.below(3) == 0 {
                let want = random_want(&mut rng);
                let expected = model.read(want);
                let found = rx.recv(want);
                prop_assert_eq!(found.is_some(), expected.is_some());
                if let (Some(found), Some(message)) = (found, expected) {
                    check_message(&found, &model.plans[message], &sent, message);
                    read_chunks += model.plans[message].chunks.len();
                }
            }
            if rng.below(4) == 0 {
                check_sack(&mut rx, &mut model, &sent, nr, initial);
            }
            let held_chunks = (model.received.len() - read_chunks) as u32;
            prop_assert_eq!(rx.readable(), model.readable.len());
            prop_assert_eq!(rx.held() as usize, model.unread);
            prop_assert_eq!(rx.a_rwnd(), (1 << 20) - rx.held() - held_chunks * charge);
            let above: usize =
                model.received.range(model.cumulative()..).map(|chunk| model.sizes[*chunk]).sum();
            prop_assert_eq!(rx.out_of_order() as usize, above);
        }
        prop_assert_eq!((rx.held(), rx.has_gaps()), (0, false));
    }

    /// A sender that ignores the window, against a small buffer: the receiver refuses and reneges,
    /// and yet every message arrives once, in order; what was non-renegable once stays.
    #[test]
    fn a_cramped_receiver_loses_nothing(
        shapes in shapes(),
        initial in initial_tsn(),
        nr in kinds(),
        buffer in 600u32..3_000,
        seed: u64,
    ) {
        let (plans, sent) = transmit(&shapes, initial);
        let settings = ReceiverSettings { nr_sack: nr, buffer, ..settings() };
        let mut rx = Receiver::new(settings, Tsn(initial));
        let mut rng = Rng::from_u64(seed);
        let mut firm = BTreeSet::<usize>::new();
        let mut seen = BTreeSet::new();
        let mut last_of_stream = BTreeMap::<u16, usize>::new();
        let mut steps = 0;
        while seen.len() < plans.len() {
            steps += 1;
            prop_assert!(steps < 100_000, "no progress");
            let cumulative = rx.cumulative_tsn().next().distance(Tsn(initial)) as usize;
            if cumulative < sent.len() {
                let lowest = cumulative + rng.below(2) * rng.below(25);
                let chunk = lowest.min(sent.len() - 1);
                if !firm.contains(&chunk) {
                    let verdict = receive(&mut rx, sent[chunk].chunk());
                    let broken = matches!(verdict, DataVerdict::Violation(_) | DataVerdict::TooLarge(..));
                prop_assert!(!broken, "{:?}", verdict);
                    prop_assert!(verdict != DataVerdict::NoRoom || rx.sack_due(Time::ZERO));
                }
            }
            if nr != NrSack::Received {
                prop_assert!(rx.held() < buffer + FRAGMENT as u32);
            }
            let s = sack(&mut rx);
            let cumulative = Tsn(s.cumulative).next().distance(Tsn(initial)) as usize;
            let here = |set: &BTreeSet<u16>| -> BTreeSet<usize> {
                set.iter().map(|offset| cumulative + *offset as usize - 1).collect()
            };
            let (soft, now_firm) = (here(&offsets(&s.renegable)), here(&offsets(&s.non_renegable)));
            prop_assert!(soft.is_disjoint(&now_firm));
            prop_assert!(firm.iter().all(|c| *c < cumulative || now_firm.contains(c)));
            firm = now_firm;
            if rng.below(3) == 0 && let Some(found) = rx.recv(random_want(&mut rng)) {
                let message = found.ppid as usize;
                check_message(&found, &plans[message], &sent, message);
                prop_assert!(seen.insert(message), "delivered twice");
                if !found.unordered {
                    let last = last_of_stream.insert(found.stream.0, message);
                    prop_assert!(last.is_none_or(|last| last < message), "out of order");
                }
            }
        }
        prop_assert_eq!(rx.recv(RecvFrom::Any), None);
    }
}
