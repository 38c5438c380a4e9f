//! What was sent in one direction of a flow, and whether it arrives as it was sent.
//!
//! Messages carry their number in the payload protocol identifier, which SCTP hands through
//! untouched (RFC 9260 section 3.3.1). So payloads need no header of ours: a file crosses as it is,
//! and messages of one byte are measured like all others.

use std::collections::VecDeque;

use bytes::Bytes;
use polypath_link::Nanos;
use polypath_proto::{Message, MessageId, rng::Rng};

use crate::meter::DeliveryMeter;
use crate::results::{Integrity, MessageRecord};

/// Marks our payload protocol identifiers. No registered one lies near, so no dissector mistakes
/// the payload.
const PPID_MARK: u32 = 0x5000_0000;
/// The bits of the identifier that number messages; more than ever are under way at once.
const NUMBER_BITS: u32 = 28;
const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;

/// Period of the pattern: prime, so that messages of any usual size begin at ever different places
/// of it.
const PATTERN_PERIOD: usize = 8191;

/// Messages behind one that was given up, after which it is not expected any more.
const GIVEN_UP_KEPT: usize = 1 << 16;

/// Bytes of a message of another than the usual size, at most.
pub(crate) const LONGEST_SIDE_MESSAGE: usize = 1 << 16;

/// Checks one direction of a flow: every message arrives once, unchanged and in its order.
#[derive(Debug)]
pub(crate) struct DeliveryChecker {
    content: Content,
    /// Number of the first message in `pending`; all before it are delivered.
    base: u64,
    pending: VecDeque<Pending>,
    /// Messages that may be given up: what their identifiers are ahead of their numbers.
    ids_ahead: Option<u64>,
    /// Messages given up and not delivered.
    given_up: u64,
    /// Places of streams that deliveries passed over: no more than were given up.
    passed_over: u64,
    streams: Vec<StreamRecord>,
    /// Message bytes delivered, whole run.
    delivered: u64,
    integrity: Integrity,
    /// The received file, where its bytes were given.
    file: Option<Vec<u8>>,
    /// Those that were delivered, where somebody wants them.
    messages: Option<Vec<MessageRecord>>,
}

/// A message accepted by `send`.
#[derive(Clone, Copy, Debug)]
struct Pending {
    accepted: Nanos,
    /// Position in its stream.
    place: u64,
    stream: u16,
    /// Where it is not the usual size.
    bytes: Option<u32>,
    delivered: bool,
    given_up: bool,
}

#[derive(Clone, Debug)]
struct StreamRecord {
    accepted: u64,
    /// The place that is next to be delivered in order.
    expected: u64,
    meter: DeliveryMeter,
}

impl DeliveryChecker {
    pub(crate) fn new(content: Content, streams: u16) -> Self {
        let record = StreamRecord { accepted: 0, expected: 0, meter: DeliveryMeter::new() };
        let file =
            matches!(content.source, Source::Given(_)).then(|| vec![0; content.source.len()]);
        Self {
            content,
            base: 0,
            pending: VecDeque::new(),
            ids_ahead: None,
            given_up: 0,
            passed_over: 0,
            streams: vec![record; streams.into()],
            delivered: 0,
            integrity: Integrity::default(),
            file,
            messages: None,
        }
    }

    /// From here on each message is recorded.
    pub(crate) fn record_messages(&mut self) {
        self.messages = Some(Vec::new());
    }

    /// The records.
    pub(crate) fn messages(&self) -> &[MessageRecord] {
        self.messages.as_deref().unwrap_or_default()
    }

    /// The next message: its payload, of the usual size or of `bytes`, and its payload protocol
    /// identifier. `None` at the end of a file.
    #[inline]
    pub(crate) fn next_message(&self, bytes: Option<u32>) -> Option<(Bytes, u32)> {
        let number = self.accepted_messages();
        let (source, range) = self.content.locate_message(number, bytes)?;
        Some((source.bytes().slice(range), PPID_MARK | (number & NUMBER_MASK) as u32))
    }

    /// The next message, of the usual size or of `bytes`, was accepted on `stream`.
    #[inline]
    pub(crate) fn note_accepted(&mut self, now: Nanos, stream: u16, bytes: Option<u32>) {
        let Some(record) = self.streams.get_mut(usize::from(stream)) else { return };
        let place = record.accepted;
        record.accepted += 1;
        let (delivered, given_up) = (false, false);
        let pending = Pending { accepted: now, place, stream, bytes, delivered, given_up };
        self.pending.push_back(pending);
    }

    /// The next message has this identifier, and may be given up.
    pub(crate) fn may_be_given_up(&mut self, id: MessageId) {
        self.ids_ahead = Some(id.0.wrapping_sub(self.accepted_messages()));
    }

    /// A message was given up. It may arrive nevertheless.
    pub(crate) fn give_up(&mut self, id: MessageId) {
        let number = self.ids_ahead.map(|ahead| id.0.wrapping_sub(ahead));
        let place = number.and_then(|number| number.checked_sub(self.base));
        let pending = place.and_then(|place| self.pending.get_mut(usize::try_from(place).ok()?));
        if let Some(pending) = pending.filter(|p| !p.given_up) {
            pending.given_up = true;
            self.given_up += u64::from(!pending.delivered);
        }
        self.forget_delivered();
    }

    /// Message bytes delivered in the whole run.
    pub(crate) const fn delivered_bytes(&self) -> u64 {
        self.delivered
    }

    /// Messages accepted so far.
    pub(crate) fn accepted_messages(&self) -> u64 {
        self.base + self.pending.len() as u64
    }

    /// Whether all messages of a file were accepted.
    pub(crate) fn is_complete(&self) -> bool {
        self.content.locate_message(self.accepted_messages(), None).is_none()
    }

    /// A message was read.
    #[inline]
    pub(crate) fn note_delivered(&mut self, now: Nanos, message: &Message) {
        let number = self.message_number(message.ppid);
        let known = number.and_then(|number| number.checked_sub(self.base));
        let known = known.and_then(|place| self.pending.get_mut(usize::try_from(place).ok()?));
        let Some(pending) = known.filter(|pending| !pending.delivered) else {
            return self.count_unexpected(number);
        };
        pending.delivered = true;
        self.given_up -= u64::from(pending.given_up);
        self.delivered += message.data.len() as u64;
        let pending = *pending;
        self.check_content(number.unwrap_or(0), pending, message);
        if let Some(messages) = &mut self.messages {
            messages.push(MessageRecord {
                accepted: pending.accepted,
                delivered: now,
                bytes: message.data.len() as u32,
                stream: pending.stream,
            });
        }
        if let Some(record) = self.streams.get_mut(usize::from(pending.stream)) {
            record.meter.record_message(message.data.len(), now.saturating_sub(pending.accepted));
        }
        self.forget_delivered();
    }

    /// Forgets the measurements so far.
    pub(crate) fn restart(&mut self) {
        self.streams.iter_mut().for_each(|record| record.meter = DeliveryMeter::new());
    }

    /// Per stream.
    pub(crate) fn stream_meters(&self) -> impl Iterator<Item = &DeliveryMeter> {
        self.streams.iter().map(|record| &record.meter)
    }

    pub(crate) fn integrity(&self) -> Integrity {
        let open = |pending: &&Pending| !pending.delivered && !pending.given_up;
        let outstanding = self.pending.iter().filter(open).count() as u64;
        let misordered = self.integrity.misordered + self.passed_over.saturating_sub(self.given_up);
        Integrity { outstanding, misordered, ..self.integrity }
    }

    pub(crate) fn received_file(&self) -> Option<Bytes> {
        self.file.as_ref().map(|file| Bytes::copy_from_slice(file))
    }

    /// The number with these low bits that is nearest to the messages under way.
    fn message_number(&self, ppid: u32) -> Option<u64> {
        if ppid & !(NUMBER_MASK as u32) != PPID_MARK {
            return None;
        }
        let ahead = u64::from(ppid).wrapping_sub(self.base) & NUMBER_MASK;
        let behind = NUMBER_MASK + 1 - ahead;
        if ahead <= behind { Some(self.base + ahead) } else { self.base.checked_sub(behind) }
    }

    fn count_unexpected(&mut self, number: Option<u64>) {
        match number {
            Some(number) if number < self.accepted_messages() => self.integrity.duplicated += 1,
            _ => self.integrity.corrupted += 1,
        }
    }

    fn check_content(&mut self, number: u64, pending: Pending, message: &Message) {
        let expected = self.content.locate_message(number, pending.bytes);
        let expected = expected.and_then(|(source, range)| source.bytes().get(range));
        if expected != Some(&message.data[..]) {
            self.integrity.corrupted += 1;
        }
        let Some(record) = self.streams.get_mut(usize::from(pending.stream)) else { return };
        let skips = self.ids_ahead.is_some() && pending.place > record.expected;
        let in_order = message.unordered || pending.place == record.expected || skips;
        if skips && !message.unordered {
            self.passed_over += pending.place - record.expected;
        }
        record.expected = record.expected.max(pending.place + 1);
        if !in_order || message.stream.0 != pending.stream {
            self.integrity.misordered += 1;
        }
        if let Some(file) = &mut self.file {
            let start = number as usize * self.content.message_bytes;
            let place = file.get_mut(start..start + message.data.len());
            place.into_iter().for_each(|place| place.copy_from_slice(&message.data));
        }
    }

    fn forget_delivered(&mut self) {
        // What was given up may come late.
        let old = self.pending.len() > GIVEN_UP_KEPT;
        while self.pending.front().is_some_and(|p| p.delivered || old && p.given_up) {
            self.pending.pop_front();
            self.base += 1;
        }
    }
}

/// The bytes of all messages of one direction.
#[derive(Debug)]
pub(crate) struct Content {
    source: Source,
    message_bytes: usize,
    /// Bytes in all; `None`: no end.
    total: Option<u64>,
}

#[derive(Debug)]
enum Source {
    /// A random block of one period and one message, so that every message is a slice of it.
    Pattern(Bytes),
    Given(Bytes),
}

impl Content {
    /// A pattern drawn from `rng`, of `total` bytes or without an end.
    pub(crate) fn from_pattern(rng: &mut Rng, message_bytes: u32, total: Option<u64>) -> Self {
        let message_bytes = message_bytes as usize;
        let period: Vec<u8> =
            std::iter::repeat_with(|| rng.bytes32()).flatten().take(PATTERN_PERIOD).collect();
        let block = period
            .iter()
            .copied()
            .cycle()
            .take(PATTERN_PERIOD + message_bytes.max(LONGEST_SIDE_MESSAGE));
        let source = Source::Pattern(block.collect::<Vec<_>>().into());
        Self { source, message_bytes, total }
    }

    /// These bytes.
    pub(crate) fn from_bytes(bytes: Bytes, message_bytes: u32) -> Self {
        let total = Some(bytes.len() as u64);
        Self { source: Source::Given(bytes), message_bytes: message_bytes as usize, total }
    }

    /// Where message `number` lies, of the usual size or of `bytes`: at most
    /// [`LONGEST_SIDE_MESSAGE`] or the usual size.
    #[inline]
    fn locate_message(
        &self,
        number: u64,
        bytes: Option<u32>,
    ) -> Option<(&Source, core::ops::Range<usize>)> {
        let offset = number.checked_mul(self.message_bytes as u64)?;
        let left = self.total.map_or(u64::MAX, |total| total.saturating_sub(offset));
        let len = bytes.map_or(self.message_bytes, |bytes| bytes as usize);
        let len = left.min(len as u64) as usize;
        let start = match &self.source {
            Source::Pattern(_) => (offset % PATTERN_PERIOD as u64) as usize,
            Source::Given(_) => usize::try_from(offset).ok()?,
        };
        (len > 0).then_some((&self.source, start..start + len))
    }
}

impl Source {
    fn bytes(&self) -> &Bytes {
        let (Self::Pattern(bytes) | Self::Given(bytes)) = self;
        bytes
    }

    fn len(&self) -> usize {
        self.bytes().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_proto::ids::StreamId;

    fn checker(streams: u16, total: Option<u64>) -> DeliveryChecker {
        DeliveryChecker::new(Content::from_pattern(&mut Rng::from_u64(1), 100, total), streams)
    }

    fn note_accepted(checker: &mut DeliveryChecker, now: Nanos, stream: u16) -> Message {
        let (data, ppid) = checker.next_message(None).unwrap();
        checker.note_accepted(now, stream, None);
        with_ppid(ppid, Message::new(StreamId(stream), data))
    }

    fn with_ppid(ppid: u32, mut message: Message) -> Message {
        message.ppid = ppid;
        message
    }

    #[test]
    fn messages_that_arrive_as_sent_are_measured() {
        let mut checker = checker(2, None);
        let messages: Vec<_> =
            (0..1000).map(|n| note_accepted(&mut checker, n, n as u16 % 2)).collect();
        // Streams may overtake each other: first all of stream 1, then all of stream 0.
        for stream in [1, 0] {
            for message in messages.iter().filter(|m| m.stream.0 == stream) {
                checker.note_delivered(2000, message);
            }
        }
        assert_eq!(checker.integrity(), Integrity::default());
        assert_eq!(checker.base, 1000);
        let totals: Vec<_> = checker.stream_meters().map(|m| m.summarize(1).messages).collect();
        assert_eq!(totals, [500, 500]);
    }

    #[test]
    fn whatever_goes_wrong_is_noticed() {
        let mut checker = checker(1, None);
        let messages: Vec<_> = (0..6).map(|_| note_accepted(&mut checker, 0, 0)).collect();
        checker.note_delivered(1, &messages[0]);
        checker.note_delivered(1, &messages[0]);
        checker.note_delivered(1, &messages[2]);
        checker.note_delivered(1, &messages[1]);
        checker.note_delivered(1, &messages[1]);
        let mut flipped = messages[3].clone();
        flipped.data = messages[4].data.clone();
        checker.note_delivered(1, &flipped);
        checker.note_delivered(1, &with_ppid(PPID_MARK | 77, messages[4].clone()));
        checker.note_delivered(1, &with_ppid(0, messages[4].clone()));
        let found = checker.integrity();
        let expected = Integrity { duplicated: 2, misordered: 2, corrupted: 3, outstanding: 2 };
        assert_eq!(found, expected);
        assert!(!found.holds());
    }

    #[test]
    fn a_file_ends_with_a_shorter_message() {
        let bytes = Bytes::from_static(b"a file of 24 bytes, just");
        let mut checker = DeliveryChecker::new(Content::from_bytes(bytes.clone(), 10), 1);
        let messages: Vec<_> = (0..3).map(|_| note_accepted(&mut checker, 0, 0)).collect();
        assert!(checker.is_complete() && checker.next_message(None).is_none());
        assert_eq!(messages[2].data.len(), 4);
        messages.iter().for_each(|message| checker.note_delivered(1, message));
        assert_eq!(checker.received_file(), Some(bytes));
        assert!(checker.integrity().holds());
    }

    #[test]
    fn numbers_wrap() {
        let mut checker = checker(1, None);
        checker.base = 5 << NUMBER_BITS;
        let before = PPID_MARK | NUMBER_MASK as u32;
        assert_eq!(checker.message_number(before), Some((5 << NUMBER_BITS) - 1));
        assert_eq!(checker.message_number(PPID_MARK | 3), Some((5 << NUMBER_BITS) + 3));
    }
}
