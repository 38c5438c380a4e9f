//! The receiving half of an association: DATA in, messages to the application, SACKs back.
//!
//! A chunk is judged by its TSN ([`tracker`]), finds room or not ([`buffer`]), is put together with
//! its message ([`reassembly`]) and delivered in its stream's order ([`delivery`]); [`ack`] decides
//! when a SACK is due and [`build`] what it says.

mod ack;
mod buffer;
mod build;
mod deferred_reset;
mod delivery;
mod forward;
mod interleaved;
mod message;
mod partial_delivery;
mod partial_state;
mod paths;
mod reassembly;
mod reset;
mod skip;
mod stats;
mod stream;
mod thinning;
mod tracker;
mod verdict;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use polypath_wire::{PacketWriter, SACKS_ARE_SPACED};

use self::ack::{AckPolicy, Outcome, WindowUpdates};
use self::buffer::{Buffer, Charge};
use self::build::SackBuilder;
use self::deferred_reset::{Deferred, Jump};
use self::delivery::Delivery;
pub use self::delivery::RecvFrom;
use self::interleaved::{Interleaved, TOO_LARGE};
pub(crate) use self::message::Incoming;
use self::message::{Assembled, Payload};
use self::partial_state::PartialDelivery;
use self::paths::DataPaths;
#[cfg(test)]
use self::paths::PathSet;
use self::reassembly::{Fragment, Reassembly};
pub(crate) use self::stats::ReceiverStats;
use self::thinning::Thinning;
use self::tracker::{Arrival, Tracker};
pub(crate) use self::verdict::{ForwardVerdict, GivenUpTo, ResetVerdict};
use crate::config::{NrSack, SackConfig};
use crate::event::{Message, Part};
use crate::ids::{Mid, PathId, StreamId, Tsn};
use crate::stats::StreamStats;
use crate::time::{Duration, Time};
use crate::trace::{StreamIdField, TraceEvent};
use crate::tsn_map::{extend, wire};

/// Settings of the receiving half.
#[derive(Clone, Debug)]
pub(crate) struct ReceiverSettings {
    /// Receive buffer, payload bytes.
    pub(crate) buffer: u32,
    /// What a held chunk takes of it beside its payload, bytes.
    pub(crate) chunk_charge: u32,
    /// The largest message that is reassembled, bytes. One that does not fit the buffer cannot be
    /// received either, unless it is delivered in parts.
    pub(crate) max_message: u32,
    /// Partial delivery begins at so many bytes; `None`: never.
    pub(crate) partial_delivery: Option<u32>,
    /// Data comes as I-DATA.
    pub(crate) interleaving: bool,
    /// The peer may give messages up.
    pub(crate) skips: bool,
    /// The first MID of every stream.
    pub(crate) first_mid: Mid,
    /// Inbound streams after negotiation.
    pub(crate) inbound_streams: u16,
    /// When SACKs are sent.
    pub(crate) sack: SackConfig,
    /// Both ends know DAC.
    pub(crate) dac: bool,
    /// Both ends know of fewer and shorter SACKs.
    pub(crate) thins_sacks: bool,
    /// What both ends agreed to about NR-SACKs.
    pub(crate) nr_sack: NrSack,
}

/// What became of a DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataVerdict {
    /// Accepted.
    New,
    /// Here already.
    Duplicate,
    /// Dropped: the window is closed.
    NoRoom,
    /// Dropped: its TSN lies too far ahead to be reported.
    OutOfRange,
    /// Acknowledged and discarded; to be answered with ERROR, cause Invalid Stream Identifier.
    InvalidStream(StreamId),
    /// To be answered with ABORT, cause No User Data.
    NoUserData,
    /// To be answered with ABORT, cause Protocol Violation: a message of more bytes than these.
    TooLarge(StreamId, u32),
    /// To be answered with ABORT, cause Protocol Violation, and this text.
    Violation(&'static str),
}

/// The receiving half of an association.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    settings: ReceiverSettings,
    tracker: Tracker,
    buffer: Buffer,
    reassembly: Reassembly,
    /// In place of `reassembly` where data comes as I-DATA.
    interleaved: Option<Box<Interleaved>>,
    delivery: Delivery,
    partial: PartialDelivery,
    ack: AckPolicy,
    updates: WindowUpdates,
    paths: DataPaths,
    builder: SackBuilder,
    /// Where both ends agreed to it, once data came.
    thinning: Option<Box<Thinning>>,
    stats: ReceiverStats,
    /// Payload bytes that had come when a SACK was copied last.
    copied: u64,
    /// Where the latest SACK was copied to.
    copied_to: Option<PathId>,
    /// Streams that are reset once more has arrived.
    deferred: Option<Box<Deferred>>,
    /// TSNs were reset.
    jump: Option<Box<Jump>>,
    /// The peer was asked to reset the association, and may have done so behind this TSN (see
    /// [`reset`]).
    in_doubt: Option<u64>,
    /// What became deliverable, and what was dropped, while that is traced.
    #[expect(
        clippy::box_collection,
        reason = "most associations have none, and a server has many"
    )]
    log: Option<Box<Vec<TraceEvent>>>,
}

impl Receiver {
    /// A receiver that awaits `peer_initial_tsn` first.
    pub(crate) fn new(settings: ReceiverSettings, peer_initial_tsn: Tsn) -> Self {
        let buffer = Buffer::new(settings.buffer, settings.chunk_charge);
        Self {
            tracker: Tracker::new(peer_initial_tsn, settings.nr_sack),
            reassembly: Reassembly::new(settings.max_message),
            interleaved: settings
                .interleaving
                .then(|| Interleaved::new(settings.max_message).into()),
            delivery: match settings.interleaving {
                true => Delivery::by_mid(settings.first_mid.0),
                false => Delivery::default(),
            },
            partial: PartialDelivery::new(settings.partial_delivery),
            ack: AckPolicy::new(settings.sack, settings.dac),
            updates: WindowUpdates::new(buffer.size(), buffer.chunk_charge()),
            paths: DataPaths::new(),
            builder: SackBuilder::new(settings.sack.max_gap_blocks),
            thinning: None,
            stats: ReceiverStats::default(),
            copied: 0,
            copied_to: None,
            deferred: None,
            jump: None,
            in_doubt: None,
            log: None,
            buffer,
            settings,
        }
    }

    /// What happens here is traced: see [`take_log`](Self::take_log).
    pub(crate) fn keep_log(&mut self, on: bool) {
        self.log = on.then(Box::default);
    }

    /// What became deliverable or was dropped since the last time, while that is traced.
    #[inline]
    pub(crate) fn take_log(&mut self) -> Option<Vec<TraceEvent>> {
        let log = self.log.as_mut().filter(|log| !log.is_empty())?;
        Some(core::mem::take(&mut **log))
    }

    fn note_reneged(&mut self, tsn: u64) {
        self.stats.reneged += 1;
        if let Some(log) = &mut self.log {
            log.push(TraceEvent::Reneged { tsn: wire(tsn).0 });
        }
    }

    /// SACK.Delay, and packets for each SACK, from now on.
    pub(crate) fn set_ack_timing(&mut self, delay: Duration, every: u32) {
        self.ack.set_timing(delay, every);
    }

    /// [`take`](Self::take) for chunks of either kind.
    #[cfg(test)]
    pub(crate) fn data<'a>(
        &mut self,
        now: Time,
        path: PathId,
        chunk: impl Into<Incoming<'a>>,
    ) -> DataVerdict {
        self.take(now, path, &chunk.into().on(path))
    }

    /// Takes one chunk with user data that came on `path`: of the kind, DATA or I-DATA, that was
    /// agreed on.
    pub(crate) fn take(&mut self, now: Time, path: PathId, chunk: &Incoming<'_>) -> DataVerdict {
        self.paths.data(path, now);
        self.stats.chunks += 1;
        self.stats.bytes += chunk.payload.len() as u64;
        let verdict = self.receive(now, chunk);
        let outcome = match verdict {
            DataVerdict::New | DataVerdict::InvalidStream(_) => Outcome::New,
            DataVerdict::Duplicate => Outcome::Duplicate,
            DataVerdict::NoRoom
            | DataVerdict::OutOfRange
            | DataVerdict::NoUserData
            | DataVerdict::TooLarge(..)
            | DataVerdict::Violation(_) => Outcome::Dropped,
        };
        self.ack.chunk(outcome, chunk.flags.immediate);
        if self.settings.thins_sacks && outcome == Outcome::New {
            let tsn = self.tracker.extend(chunk.tsn);
            let above = tsn > self.tracker.cumulative();
            let thinning = self.thinning.get_or_insert_with(|| Thinning::new().into());
            thinning.note_arrival(tsn, chunk.payload.len(), above);
        }
        verdict
    }

    fn receive(&mut self, now: Time, chunk: &Incoming<'_>) -> DataVerdict {
        if chunk.payload.is_empty() {
            return DataVerdict::NoUserData;
        }
        let tsn = self.tracker.extend(chunk.tsn);
        match self.tracker.judge(tsn) {
            Arrival::New if chunk.label.stream.0 >= self.settings.inbound_streams => {
                self.discard(tsn, chunk)
            }
            Arrival::New if self.in_doubt.is_some() && !self.is_beyond_doubt(tsn, chunk) => {
                self.stats.dropped_range += 1;
                DataVerdict::OutOfRange
            }
            Arrival::New => self.accept(now, tsn, chunk),
            Arrival::Duplicate => {
                self.stats.duplicates += 1;
                self.tracker.duplicate(tsn);
                DataVerdict::Duplicate
            }
            Arrival::OutOfRange => {
                self.stats.dropped_range += 1;
                DataVerdict::OutOfRange
            }
        }
    }

    /// RFC 9260 section 6.5: a chunk of a stream that does not exist is acknowledged as usual.
    fn discard(&mut self, tsn: u64, chunk: &Incoming<'_>) -> DataVerdict {
        self.stats.invalid_stream += 1;
        self.tracker.record(tsn, chunk.payload.len());
        DataVerdict::InvalidStream(chunk.label.stream)
    }

    #[inline]
    fn accept(&mut self, now: Time, tsn: u64, chunk: &Incoming<'_>) -> DataVerdict {
        if !self.make_room(tsn, chunk.payload.len()) {
            return self.refuse(now, tsn, chunk.label.stream);
        }
        match self.store(now, tsn, chunk) {
            Ok(()) => DataVerdict::New,
            Err(TOO_LARGE) => DataVerdict::TooLarge(chunk.label.stream, self.settings.max_message),
            Err(violation) => DataVerdict::Violation(violation),
        }
    }

    /// No room for the very next TSN although the application has read all there is: what fills the
    /// buffer can never be completed.
    fn refuse(&mut self, now: Time, tsn: u64, stream: StreamId) -> DataVerdict {
        self.stats.dropped_window += 1;
        self.relieve(now);
        if tsn == self.tracker.cumulative() + 1 && self.delivery.readable() == 0 {
            return DataVerdict::TooLarge(self.fills_the_buffer(stream), self.buffer_size());
        }
        DataVerdict::NoRoom
    }

    /// Whether a chunk may be stored (RFC 9260 section 6.2). The RFC refuses chunks only once the
    /// window is 0, so one chunk may overbook a window that is nearly closed. At 0 a new highest
    /// TSN is refused, while one that fills a gap takes the room of the highest TSNs that wait for
    /// it.
    #[inline]
    fn make_room(&mut self, tsn: u64, payload: usize) -> bool {
        if self.buffer.window() > 0 {
            return true;
        }
        if tsn > self.tracker.highest() {
            return false;
        }
        if self.settings.nr_sack == NrSack::Received {
            // Nothing here may be dropped, so refusing would be for ever: the memory bound alone
            // decides.
            return self.buffer.memory_left() > 0;
        }
        while !self.buffer.fits(payload) && self.renege_above(tsn) {}
        self.buffer.window() > 0
    }

    /// Drops the chunk of the highest TSN above `tsn` that was not delivered; false if there is
    /// none. What was delivered is in neither place searched, so what was reported as non-renegable
    /// stays.
    fn renege_above(&mut self, tsn: u64) -> bool {
        if self.deferred.is_some() && self.renege_held(tsn) {
            return true;
        }
        if self.interleaved.is_some() {
            return self.renege_interleaved(tsn);
        }
        let fragment = self.reassembly.highest().filter(|highest| *highest > tsn);
        let waiting = self.delivery.highest_waiting(tsn);
        let (dropped, charge) = match (fragment, waiting) {
            (highest, Some((last, stream))) if highest.is_none_or(|highest| highest < last) => {
                let message = self.delivery.take_back(stream);
                (last, message.map(|message| self.reassembly.reopen(message)))
            }
            (Some(highest), _) => (highest, self.reassembly.drop_highest()),
            (None, _) => return false,
        };
        let Some(charge) = charge else { return false };
        self.buffer.free(charge);
        self.tracker.renege(dropped);
        self.note_reneged(dropped);
        true
    }

    #[inline]
    fn store(&mut self, now: Time, tsn: u64, chunk: &Incoming<'_>) -> Result<(), &'static str> {
        if let Some(deferred) = &mut self.deferred
            && deferred.holds(tsn, chunk.label.stream)
        {
            deferred.hold(tsn, chunk);
            self.buffer.add(Charge::of(chunk.payload.len()));
            self.tracker.record(tsn, chunk.payload.len());
            return Ok(());
        }
        if self.interleaved.is_some() {
            return self.store_interleaved(now, tsn, chunk);
        }
        if chunk.flags.beginning && chunk.flags.ending && self.reassembly.is_idle() {
            return self.store_message(now, tsn, chunk);
        }
        self.store_fragment(now, tsn, chunk)
    }

    /// DATA with a whole message, while no other is incomplete: what most chunks are.
    #[inline]
    fn store_message(
        &mut self,
        now: Time,
        tsn: u64,
        chunk: &Incoming<'_>,
    ) -> Result<(), &'static str> {
        let charge = Charge::of(chunk.payload.len());
        self.buffer.add(charge);
        self.reassembly.check_size(charge)?;
        let payload = Payload::Whole(Bytes::copy_from_slice(chunk.payload));
        let expected = self.tracker.cumulative() + 1;
        self.tracker.record(tsn, chunk.payload.len());
        let (label, part) = (chunk.label, Part::WHOLE);
        let message = Assembled { label, first: tsn, payload, part };
        self.deliver(now, message, tsn.saturating_sub(expected))
    }

    #[inline(never)]
    fn store_fragment(
        &mut self,
        now: Time,
        tsn: u64,
        chunk: &Incoming<'_>,
    ) -> Result<(), &'static str> {
        let fragment = Fragment {
            tsn,
            label: chunk.label,
            begins: chunk.flags.beginning,
            ends: chunk.flags.ending,
            data: Bytes::copy_from_slice(chunk.payload),
        };
        // Booked even if it turns out to break the rules: the books may err on the safe side only.
        self.buffer.add(Charge::of(chunk.payload.len()));
        let tracker = &mut self.tracker;
        // What is kept aside for a reset is no neighbour yet.
        let kept = |tsn| self.deferred.as_ref().is_some_and(|deferred| deferred.is_held(tsn));
        let received = |tsn| tracker.contains(tsn) && !kept(tsn);
        let complete = self.reassembly.insert(fragment, received)?;
        let expected = tracker.cumulative() + 1;
        tracker.record(tsn, chunk.payload.len());
        if let Some(message) = complete {
            let predecessors = message.first.saturating_sub(expected);
            return self.deliver(now, message, predecessors);
        }
        self.deliver_part(now)
    }

    /// Hands a message, or a part of one, over to its stream.
    #[inline(never)]
    fn deliver(
        &mut self,
        now: Time,
        message: Assembled,
        predecessors: u64,
    ) -> Result<(), &'static str> {
        let (stats, tracker) = (&mut self.stats, &mut self.tracker);
        let (mut interleaved, mut log) = (self.interleaved.as_deref_mut(), self.log.as_deref_mut());
        let delivered = self.delivery.accept(now, message, predecessors, |message| {
            note_delivery(message, stats, tracker, interleaved.as_deref_mut());
            log_delivery(message, log.as_deref_mut());
        });
        delivered.map_err(|_| "number of a message was used twice or skipped")
    }

    /// The packet that brought DATA is done; decides whether a SACK is due.
    #[inline]
    pub(crate) fn packet_end(&mut self, now: Time) {
        let not_before = self.thinning.as_ref().map(|thinning| thinning.next_sack());
        self.ack.packet_end(now, self.tracker.has_gaps(), not_before);
    }

    /// Takes the next message and frees its room; may make a window update due.
    #[inline]
    pub(crate) fn recv(&mut self, want: RecvFrom) -> Option<Message> {
        let next = self.delivery.next(want)?;
        self.buffer.free(next.charge);
        if self.delivery.readable() == 0 {
            self.relieve(next.delivered);
        }
        let tell = self.updates.freed(next.charge.payload, self.buffer.window());
        if tell && self.settings.sack.window_updates {
            self.ack.request();
        }
        // Last: a message that is held while other things are done is copied once for each of them.
        self.delivery.take(&next)
    }

    /// While no part was delivered: whether messages are delivered in parts, and from how many
    /// bytes on.
    pub(crate) fn set_partial_delivery(&mut self, from: Option<u32>) {
        self.settings.partial_delivery = from;
        self.partial = PartialDelivery::new(from);
    }

    /// Takes the next message of `stream` with this payload protocol identifier, wherever it stands
    /// among those that can be received.
    pub(crate) fn take_key_message(&mut self, stream: StreamId, ppid: u32) -> Option<Message> {
        let (message, charge) = self.delivery.take_by_ppid(stream, ppid)?;
        self.buffer.free(charge);
        Some(message)
    }

    /// Whether `tsn` is the one that comes next, or came before.
    pub(crate) fn is_next_or_old(&self, tsn: Tsn) -> bool {
        let next = self.tracker.cumulative() + 1;
        extend(next, tsn) <= next
    }

    /// Messages that [`recv`](Self::recv) would give.
    #[inline]
    pub(crate) const fn readable(&self) -> usize {
        self.delivery.readable()
    }

    /// Whether a SACK is to be sent now.
    #[inline]
    pub(crate) fn sack_due(&self, now: Time) -> bool {
        self.ack.due(now)
    }

    /// When a delayed SACK becomes due, unless [`sack_due`](Self::sack_due) says that one is
    /// already.
    #[inline]
    pub(crate) const fn sack_deadline(&self) -> Option<Time> {
        self.ack.deadline()
    }

    /// Whether there is something to acknowledge or to tell: a packet that goes out anyway may
    /// carry it.
    #[inline]
    pub(crate) const fn sack_pending(&self) -> bool {
        self.ack.pending()
    }

    /// Makes a SACK due at once.
    pub(crate) const fn request_sack(&mut self) {
        self.ack.request();
    }

    /// Writes the SACK or NR-SACK, shortened to what fits; false, and nothing changes, if nothing
    /// fits. `is_spaced`: the peer is told that the next one may answer many packets. `tells_all`:
    /// it is read where those before it did not come.
    pub(crate) fn write_sack(
        &mut self,
        path: PathId,
        is_spaced: bool,
        tells_all: bool,
        writer: &mut PacketWriter<'_>,
    ) -> bool {
        let (kind, mut flags, a_rwnd) = (self.settings.nr_sack, self.ack.flags(), self.a_rwnd());
        if is_spaced {
            flags |= SACKS_ARE_SPACED;
        }
        let all = tells_all || self.misses_sacks();
        let thinning = self.thinning.as_deref_mut().filter(|own| !all && !own.has_moved(path));
        let Some(all) = self.builder.write(&self.tracker, thinning, kind, flags, a_rwnd, writer)
        else {
            return false;
        };
        if let Some(thinning) = &mut self.thinning {
            thinning.note_written(path, all);
        }
        self.tracker.clear_duplicates();
        self.ack.written();
        self.updates.written(u64::from(a_rwnd));
        self.paths.sack_written();
        self.stats.sacks += 1;
        true
    }

    /// A second copy of the latest SACK goes out on this path, or none does.
    pub(crate) fn sack_copied(&mut self, path: Option<PathId>, now: Time) {
        self.copied_to = path;
        let Some(path) = path else { return };
        self.paths.sack_sent(path, now);
        self.stats.sacks += 1;
        self.copied = self.stats.bytes;
    }

    /// Whether the SACK before was copied to `path`: a copy may come before SACKs that went another
    /// way, and must not lean on what they tell.
    pub(crate) fn was_copied_to(&self, path: PathId) -> bool {
        self.copied_to == Some(path)
    }

    /// Whether a SACK is to be copied to `path`: `distance` after the one before, or sooner where
    /// what came since then would fill the buffer in so few turns that it may be the limit.
    pub(crate) fn copy_is_due(&self, path: PathId, now: Time, distance: Duration) -> bool {
        /// Copies for a whole buffer.
        const PER_BUFFER: u64 = 8;
        let news = self.stats.bytes.saturating_sub(self.copied);
        news.saturating_mul(PER_BUFFER) >= self.buffer.size()
            || self.paths.sacked(path).is_none_or(|at| now.since(at) >= distance)
    }

    /// A SACK of so many bytes went out on `path`; see
    /// [`round_robin_path`](Self::round_robin_path). `trips`: the latest round trips of the nearest
    /// and of the farthest path. `is_spaced`: the way back has a queue.
    pub(crate) fn sack_sent_on(
        &mut self,
        path: PathId,
        now: Time,
        bytes: usize,
        trips: (Duration, Duration),
        is_spaced: bool,
    ) {
        self.paths.sack_sent(path, now);
        if let Some(thinning) = &mut self.thinning {
            if is_spaced {
                thinning.note_spaced(now, bytes, trips, self.buffer.size());
            } else {
                thinning.note_sent(now, trips.0);
            }
        }
    }

    /// The path of the last DATA chunk; path 0 before the first.
    #[inline]
    pub(crate) const fn last_data_path(&self) -> PathId {
        self.paths.last()
    }

    /// Whether one in `part` of the latest packets with DATA came on `path`, or would with one
    /// more.
    pub(crate) fn brought(&self, path: PathId, part: u16) -> bool {
        self.paths.brought(path, part)
    }

    /// Whether DATA came on `path` within the last `age`.
    pub(crate) fn heard_within(&self, path: PathId, now: Time, age: Duration) -> bool {
        self.paths.arrived(path).is_some_and(|at| now.since(at) <= age)
    }

    /// The path for the next SACK by [`SackPath::FirstData`](crate::config::SackPath::FirstData).
    pub(crate) fn first_data_path(&self) -> PathId {
        self.paths.first()
    }

    /// The paths that DATA came on since the last SACK.
    #[cfg(test)]
    pub(crate) const fn data_paths(&self) -> PathSet {
        self.paths.since_sack()
    }

    /// The path for the next SACK by [`SackPath::RoundRobin`](crate::config::SackPath::RoundRobin).
    pub(crate) fn round_robin_path(&self) -> PathId {
        self.paths.round_robin()
    }

    /// The last TSN before the first gap.
    #[inline]
    pub(crate) const fn cumulative_tsn(&self) -> Tsn {
        wire(self.tracker.cumulative())
    }

    /// The window to advertise, bytes.
    #[inline]
    pub(crate) fn a_rwnd(&self) -> u32 {
        saturate(self.buffer.window())
    }

    /// The buffer's size, payload bytes.
    pub(crate) fn buffer_size(&self) -> u32 {
        saturate(self.buffer.size())
    }

    /// What `payload` bytes in full chunks take of the buffer, the charge per chunk included.
    pub(crate) fn with_charges(&self, payload: u64) -> u64 {
        payload + payload / ack::FULL_CHUNK * self.buffer.chunk_charge()
    }

    /// The buffer is larger from now on.
    pub(crate) fn grow_buffer(&mut self, size: u32) {
        self.buffer.grow(size);
        self.updates.grow(size.into());
    }

    /// Payload bytes in the receive buffer: not deliverable yet, or not read yet.
    pub(crate) fn held(&self) -> u32 {
        saturate(self.buffer.held().payload)
    }

    /// Payload bytes received above the cumulative TSN, read or not.
    pub(crate) fn out_of_order(&self) -> u32 {
        saturate(self.tracker.out_of_order())
    }

    /// Whether a TSN is missing below one that is here.
    #[inline]
    pub(crate) const fn has_gaps(&self) -> bool {
        self.tracker.has_gaps()
    }

    /// Whether the next SACK would report duplicates.
    pub(crate) fn has_duplicates(&self) -> bool {
        !self.tracker.duplicates().is_empty()
    }

    /// Whether the peer repeats what was acknowledged: SACKs do not arrive there.
    pub(crate) fn misses_sacks(&self) -> bool {
        self.has_duplicates() || self.paths.has_repeated()
    }

    /// Counters.
    pub(crate) const fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// Messages and bytes that became deliverable, per stream that was used, ascending.
    pub(crate) fn stream_stats(&self) -> impl Iterator<Item = StreamStats> + '_ {
        self.delivery.stats()
    }
}

fn saturate(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// A message, or a part of one, became deliverable: what it came in is not dropped again.
#[inline]
fn note_delivery(
    message: &Assembled,
    stats: &mut ReceiverStats,
    tracker: &mut Tracker,
    interleaved: Option<&mut Interleaved>,
) {
    stats.messages_delivered += u64::from(message.part.last);
    stats.bytes_delivered += message.charge().payload;
    message.for_each_range(|first, last| tracker.deliver(first, last));
    if let Some(interleaved) = interleaved {
        message.for_each_range(|tsn, _| interleaved.delivered(tsn));
    }
}

/// The same for the trace.
#[inline]
fn log_delivery(message: &Assembled, log: Option<&mut Vec<TraceEvent>>) {
    let Some(log) = log else { return };
    let (stream, tsn) = (StreamIdField(message.label.stream), wire(message.first).0);
    let mut range: Option<(u64, u64)> = None;
    let mut note = |(first, last)| {
        let (first, last) = (wire(first).0, wire(last).0);
        log.push(TraceEvent::Deliverable { stream, tsn, first, last });
    };
    message.for_each_range(|first, last| match &mut range {
        Some((_, end)) if *end + 1 == first => *end = last,
        _ => range.replace((first, last)).into_iter().for_each(&mut note),
    });
    range.into_iter().for_each(note);
}
