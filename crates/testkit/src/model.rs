//! What applications may expect: each message exactly once, unchanged, in order within its stream;
//! or a report that it failed. Nothing that was not sent, nothing from an association that is gone.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use polypath_proto::ids::StreamId;
use polypath_proto::rng::Rng;
use polypath_proto::{Message, MessageId};

/// One side of one association in one of its lives: a restart begins a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Side(pub u32);

/// The promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// A message that nobody sent.
    #[error("message {number} was delivered but never sent")]
    NeverSent {
        /// Its payload protocol identifier, which numbers messages here.
        number: u32,
    },
    /// A message of an association that the receiver has nothing to do with.
    #[error("message {number} of {from:?} was delivered to {to:?}, which listens to {bound:?}")]
    Foreign {
        /// Which.
        number: u32,
        /// Its sender.
        from: Side,
        /// Who got it.
        to: Side,
        /// Whose messages it got so far.
        bound: Side,
    },
    /// Twice.
    #[error("message {number} was delivered twice")]
    Twice {
        /// Which.
        number: u32,
    },
    /// Other bytes, another stream or flag.
    #[error("message {number} changed: {what}")]
    Changed {
        /// Which.
        number: u32,
        /// In which respect.
        what: String,
    },
    /// Not in its turn.
    #[error(
        "stream {stream}: ordered message {number} is the {place}. one, awaited is the {awaited}."
    )]
    OutOfOrder {
        /// Which.
        number: u32,
        /// Its stream.
        stream: u16,
        /// Its place in the stream.
        place: u32,
        /// The place whose turn it was.
        awaited: u32,
    },
    /// A failure report about a message that was never sent, or a second one.
    #[error("{side:?}: failure of message {id} reported, which was not sent or failed already")]
    FalseFailure {
        /// Who reported.
        side: Side,
        /// The number that `send` gave.
        id: u64,
    },
    /// Gone without a word.
    #[error("{side:?}: {count} messages neither delivered nor reported, message {first} first")]
    Lost {
        /// The sender.
        side: Side,
        /// How many.
        count: usize,
        /// The first of them.
        first: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    Delivered,
    Failed,
    /// Given up, as its sender allowed, and said so.
    Abandoned,
    /// The peer's application is gone: nobody can say.
    Excused,
}

impl Fate {
    /// The sender was told already.
    fn is_told(self) -> bool {
        matches!(self, Self::Failed | Self::Abandoned)
    }
}

#[derive(Clone, Debug)]
struct Sent {
    from: Side,
    stream: StreamId,
    unordered: bool,
    len: usize,
    /// It is delivered whatever it takes.
    reliable: bool,
    /// Place among the ordered messages of its stream.
    place: u32,
    fate: Fate,
}

/// What a receiver got so far.
#[derive(Clone, Debug, Default)]
struct Inbox {
    from: Option<Side>,
    got: BTreeSet<u32>,
    turn: BTreeMap<StreamId, u32>,
}

#[derive(Clone, Debug, Default)]
struct Outbox {
    /// The numbers of each stream's ordered messages, by their places.
    places: BTreeMap<StreamId, Vec<u32>>,
    by_id: BTreeMap<MessageId, u32>,
    open: BTreeSet<u32>,
}

/// Every message, from both ends.
#[derive(Clone, Debug)]
pub struct Ledger {
    noise: Bytes,
    sent: Vec<Sent>,
    inboxes: BTreeMap<Side, Inbox>,
    outboxes: BTreeMap<Side, Outbox>,
    delivered: u64,
}

/// A message can begin at so many places of the noise.
const STARTS: usize = 4096;

impl Ledger {
    /// A ledger for messages of at most `longest` bytes.
    pub fn new(longest: usize) -> Self {
        let mut rng = Rng::from_u64(0x7061_746b);
        let noise: Vec<u8> = core::iter::repeat_with(|| rng.bytes32())
            .take((longest + STARTS) / 32 + 1)
            .flatten()
            .collect();
        Self {
            noise: noise.into(),
            sent: Vec::new(),
            inboxes: BTreeMap::new(),
            outboxes: BTreeMap::new(),
            delivered: 0,
        }
    }

    /// The number and payload of the next message.
    pub fn draft_message(&self, len: usize) -> (u32, Bytes) {
        let number = self.sent.len() as u32;
        (number, self.make_payload(number, len))
    }

    /// `send` accepted the message that was drafted last.
    pub fn note_accepted(
        &mut self,
        from: Side,
        id: MessageId,
        stream: StreamId,
        unordered: bool,
        len: usize,
    ) {
        self.accepted_until(from, id, stream, unordered, len, true);
    }

    /// The same for a message that may be given up, unless it is `reliable` after all.
    pub fn accepted_until(
        &mut self,
        from: Side,
        id: MessageId,
        stream: StreamId,
        unordered: bool,
        len: usize,
        reliable: bool,
    ) {
        let number = self.sent.len() as u32;
        let out = self.outboxes.entry(from).or_default();
        let order = out.places.entry(stream).or_default();
        let place = order.len() as u32;
        if !unordered {
            order.push(number);
        }
        out.by_id.insert(id, number);
        out.open.insert(number);
        self.sent.push(Sent { from, stream, unordered, len, reliable, place, fate: Fate::Open });
    }

    /// `to` received a message.
    ///
    /// # Errors
    /// The promise that this breaks.
    pub fn note_delivered(&mut self, to: Side, message: &Message) -> Result<(), Breach> {
        let number = message.ppid;
        let Some(sent) = self.sent.get(number as usize).cloned() else {
            return Err(Breach::NeverSent { number });
        };
        let inbox = self.inboxes.entry(to).or_default();
        let bound = *inbox.from.get_or_insert(sent.from);
        if bound != sent.from {
            return Err(Breach::Foreign { number, from: sent.from, to, bound });
        }
        if !inbox.got.insert(number) {
            return Err(Breach::Twice { number });
        }
        if !sent.unordered {
            let turn = inbox.turn.entry(sent.stream).or_default();
            let (awaited, place) = (*turn, sent.place);
            let order = self.outboxes.get(&sent.from).and_then(|out| out.places.get(&sent.stream));
            let skipped = order.and_then(|all| all.get(awaited as usize..place as usize));
            // One that failed did so before anything was sent: its stream was not there yet.
            let missable = |s: &Sent| !s.reliable || s.fate == Fate::Failed;
            let may_miss = |n: &u32| self.sent.get(*n as usize).is_some_and(missable);
            if !skipped.is_some_and(|skipped| skipped.iter().all(may_miss)) {
                let stream = sent.stream.0;
                return Err(Breach::OutOfOrder { number, stream, place, awaited });
            }
            *turn = place + 1;
        }
        self.check_content(number, &sent, message)?;
        self.settle_message(number, Fate::Delivered);
        self.delivered += 1;
        Ok(())
    }

    /// `from` was told that a message failed.
    ///
    /// # Errors
    /// When there was no such message, or it failed already.
    pub fn note_failed(&mut self, from: Side, id: MessageId) -> Result<(), Breach> {
        let number = self.outboxes.get(&from).and_then(|out| out.by_id.get(&id)).copied();
        let known = number.and_then(|n| self.sent.get(n as usize)).filter(|s| !s.fate.is_told());
        let (Some(number), Some(sent)) = (number, known) else {
            return Err(Breach::FalseFailure { side: from, id: id.0 });
        };
        // "Not provably delivered": the acknowledgement may have been lost.
        if sent.fate != Fate::Delivered {
            self.settle_message(number, Fate::Failed);
        }
        Ok(())
    }

    /// `from` was told that a message was given up.
    ///
    /// # Errors
    /// When there was no such message, it failed already, or nobody allowed that.
    pub fn note_abandoned(&mut self, from: Side, id: MessageId) -> Result<(), Breach> {
        let number = self.outboxes.get(&from).and_then(|out| out.by_id.get(&id)).copied();
        let sent = number.and_then(|n| self.sent.get(n as usize));
        let allowed = sent.filter(|s| !s.reliable && !s.fate.is_told());
        let (Some(number), Some(sent)) = (number, allowed) else {
            return Err(Breach::FalseFailure { side: from, id: id.0 });
        };
        if sent.fate != Fate::Delivered {
            self.settle_message(number, Fate::Abandoned);
        }
        Ok(())
    }

    /// The peer's application is gone, with what it did not read: what is open stays unknown.
    pub fn excuse_open(&mut self, from: Side) {
        let open = self.outboxes.get(&from).map(|out| out.open.clone()).unwrap_or_default();
        for number in open {
            self.settle_message(number, Fate::Excused);
        }
    }

    /// Messages of `from` that were neither delivered nor reported so far.
    pub fn open_messages(&self, from: Side) -> usize {
        self.outboxes.get(&from).map_or(0, |out| out.open.len())
    }

    /// Checks that nothing of `from` is open.
    ///
    /// # Errors
    /// What was lost.
    pub fn check_closed(&self, from: Side) -> Result<(), Breach> {
        let open = self.outboxes.get(&from).map(|out| &out.open);
        match open.and_then(|open| open.first().map(|first| (*first, open.len()))) {
            Some((first, count)) => Err(Breach::Lost { side: from, count, first }),
            None => Ok(()),
        }
    }

    /// Messages accepted and messages delivered so far, by anyone.
    pub const fn counts(&self) -> (u64, u64) {
        (self.sent.len() as u64, self.delivered)
    }

    /// A message in one line, for people.
    pub fn describe_message(&self, number: u32) -> String {
        self.sent.get(number as usize).map_or_else(String::new, |s| format!("{number}: {s:?}"))
    }

    fn settle_message(&mut self, number: u32, fate: Fate) {
        let Some(sent) = self.sent.get_mut(number as usize) else { return };
        sent.fate = fate;
        if let Some(out) = self.outboxes.get_mut(&sent.from) {
            out.open.remove(&number);
        }
    }

    fn check_content(&self, number: u32, sent: &Sent, message: &Message) -> Result<(), Breach> {
        let changed = |what: String| Err(Breach::Changed { number, what });
        if message.stream != sent.stream || message.unordered != sent.unordered {
            return changed(format!("stream {} of {:?}", message.stream, sent));
        }
        if message.data.len() != sent.len {
            return changed(format!("{} bytes instead of {}", message.data.len(), sent.len));
        }
        if message.data != self.make_payload(number, sent.len) {
            return changed("its payload".to_owned());
        }
        Ok(())
    }

    fn make_payload(&self, number: u32, len: usize) -> Bytes {
        // Knuth's multiplicative hash spreads consecutive numbers.
        let start = (number.wrapping_mul(2_654_435_761) >> 20) as usize % STARTS;
        self.noise.slice(start..start + len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(ledger: &Ledger, number: u32, stream: u16, len: usize) -> Message {
        let mut message = Message::new(StreamId(stream), ledger.make_payload(number, len));
        message.ppid = number;
        message
    }

    fn two_sent() -> Ledger {
        let mut ledger = Ledger::new(1000);
        for id in 0..2 {
            ledger.note_accepted(Side(0), MessageId(id), StreamId(3), false, 100);
        }
        ledger
    }

    #[test]
    fn what_is_sent_in_order_is_fine_once() {
        let mut ledger = two_sent();
        assert_eq!(ledger.open_messages(Side(0)), 2);
        for n in 0..2 {
            let m = message(&ledger, n, 3, 100);
            assert_eq!(ledger.note_delivered(Side(1), &m), Ok(()));
        }
        assert_eq!(ledger.check_closed(Side(0)), Ok(()));
        let again = message(&ledger, 1, 3, 100);
        assert_eq!(ledger.note_delivered(Side(1), &again), Err(Breach::Twice { number: 1 }));
    }

    #[test]
    fn breaches_are_told() {
        let mut ledger = two_sent();
        let m = message(&ledger, 1, 3, 100);
        assert!(matches!(ledger.note_delivered(Side(1), &m), Err(Breach::OutOfOrder { .. })));
        let mut ledger = two_sent();
        let short = message(&ledger, 0, 3, 99);
        assert!(matches!(ledger.note_delivered(Side(1), &short), Err(Breach::Changed { .. })));
        let mut ledger = two_sent();
        let unknown = message(&ledger, 7, 3, 100);
        assert_eq!(ledger.note_delivered(Side(1), &unknown), Err(Breach::NeverSent { number: 7 }));
        assert_eq!(ledger.note_failed(Side(0), MessageId(1)), Ok(()));
        assert!(ledger.note_failed(Side(0), MessageId(1)).is_err());
        assert!(ledger.note_failed(Side(0), MessageId(9)).is_err());
        assert_eq!(
            ledger.check_closed(Side(0)),
            Err(Breach::Lost { side: Side(0), count: 1, first: 0 })
        );
        ledger.excuse_open(Side(0));
        assert_eq!(ledger.check_closed(Side(0)), Ok(()));
    }

    #[test]
    fn a_receiver_listens_to_one_sender() {
        let mut ledger = two_sent();
        ledger.note_accepted(Side(5), MessageId(0), StreamId(3), false, 10);
        let (own, foreign) = (message(&ledger, 0, 3, 100), message(&ledger, 2, 3, 10));
        assert_eq!(ledger.note_delivered(Side(1), &own), Ok(()));
        assert!(matches!(ledger.note_delivered(Side(1), &foreign), Err(Breach::Foreign { .. })));
    }
}
