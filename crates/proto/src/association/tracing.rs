//! What the trace is told of both halves: chunks that arrive, what the application can have and
//! takes, and chunks that are declared lost. Each costs a branch while tracing is off.

use super::Association;
use crate::event::Message;
use crate::ids::PathId;
use crate::receiver::{DataVerdict, Incoming};
use crate::time::Time;
use crate::trace::{Fate, StreamIdField, TraceEvent};
use crate::tsn_map::wire;

impl Association {
    /// A chunk with user data arrived on `path`, and this became of it.
    #[inline]
    pub(super) fn trace_arrival(
        &mut self,
        now: Time,
        path: PathId,
        chunk: &Incoming<'_>,
        verdict: DataVerdict,
    ) {
        if self.tracer.is_on() {
            let interleaved = self.is_interleaving();
            self.tracer.emit(now, || chunk.traced(path, interleaved, fate(verdict)));
            self.trace_receiver(now);
        }
    }

    /// What became deliverable, or was dropped again.
    #[inline]
    pub(super) fn trace_receiver(&mut self, now: Time) {
        if let Some(log) = self.rx.take_log() {
            self.tracer.extend(now, log.into_iter());
        }
    }

    /// The application, or key management, took a message or a part of one.
    #[inline]
    pub(super) fn trace_taken(&mut self, now: Time, message: &Message) {
        self.trace_receiver(now);
        self.tracer.emit(now, || TraceEvent::Taken {
            stream: StreamIdField(message.stream),
            tsn: message.tsn.0,
            bytes: u32::try_from(message.data.len()).unwrap_or(u32::MAX),
        });
    }

    /// The chunks that were declared lost since the last time.
    #[inline]
    pub(super) fn trace_losses(&mut self, now: Time) {
        if let Some(lost) = self.tx.outstanding.take_loss_log() {
            let events = lost.into_iter();
            let events = events.map(|(path, tsn)| TraceEvent::ChunkLost { path, tsn: wire(tsn).0 });
            self.tracer.extend(now, events);
        }
    }

    /// Both halves begin: what both ends know of it.
    pub(super) fn trace_beginning(&mut self, now: Time) {
        self.tx.outstanding.keep_loss_log(self.tracer.is_on());
        let (own, peer) = (self.local.initial_tsn.0, self.peer.initial_tsn.0);
        self.tracer
            .emit(now, || TraceEvent::Associated { initial_tsn: own, peer_initial_tsn: peer });
    }
}

const fn fate(verdict: DataVerdict) -> Fate {
    match verdict {
        DataVerdict::New => Fate::New,
        DataVerdict::Duplicate => Fate::Duplicate,
        DataVerdict::NoRoom => Fate::NoRoom,
        DataVerdict::OutOfRange
        | DataVerdict::InvalidStream(_)
        | DataVerdict::NoUserData
        | DataVerdict::TooLarge(..)
        | DataVerdict::Violation(_) => Fate::Refused,
    }
}
