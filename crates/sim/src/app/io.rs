//! What applications are, and what they can do.

use bytes::Bytes;
use polypath_link::Nanos;
use polypath_proto::event::SenderQueueInfo;
use polypath_proto::ids::StreamId;
use polypath_proto::rng::Rng;
use polypath_proto::time::Time;
use polypath_proto::{Association, Reliability, SendOptions, StreamNeeds};

use super::sizes::Sizes;
use crate::delivery_checker::DeliveryChecker;
use crate::spec::MessageSpec;

/// Unsent bytes that an application keeps in an unlimited send buffer: enough that it never runs
/// dry between two acknowledgements, little enough that a long run does not fill the memory.
pub(crate) const UNLIMITED_BACKLOG: u64 = 4 << 20;

/// An application at the client.
pub(crate) trait App: core::fmt::Debug {
    /// Does all that can be done now. The first call marks the start.
    fn run(&mut self, io: &mut AppIo<'_>);

    /// When to run again, whatever else happens.
    fn next_wakeup(&self) -> Option<Nanos> {
        None
    }

    /// Whether it ends by itself, with a shutdown.
    fn is_finite(&self) -> bool {
        false
    }
}

/// What an application can do.
#[derive(Debug)]
pub(crate) struct AppIo<'a> {
    pub(crate) now: Nanos,
    /// Responses received so far.
    pub(crate) responses: u64,
    pub(crate) rng: &'a mut Rng,
    /// How long it is tried to deliver what is sent.
    pub(crate) reliability: Reliability,
    assoc: &'a mut Association,
    checker: &'a mut DeliveryChecker,
    /// Bytes that still fit into the backlog of an unlimited send buffer.
    backlog_left: u64,
}

impl<'a> AppIo<'a> {
    pub(crate) fn new(
        now: Nanos,
        assoc: &'a mut Association,
        checker: &'a mut DeliveryChecker,
        rng: &'a mut Rng,
        responses: u64,
    ) -> Self {
        let buffer = assoc.view(Time(now)).send_buffer;
        let unlimited = buffer.limit == u64::MAX;
        let backlog_left =
            if unlimited { UNLIMITED_BACKLOG.saturating_sub(buffer.unsent) } else { u64::MAX };
        let reliability = Reliability::Full;
        Self { now, responses, rng, reliability, assoc, checker, backlog_left }
    }

    /// Sends the next message; false if it has to wait or there is none.
    #[inline]
    pub(crate) fn send(&mut self, stream: u16, unordered: bool) -> bool {
        self.send_next(stream, unordered, None)
    }

    /// Sends a message of `bytes` in place of the usual size.
    pub(crate) fn send_sized(&mut self, stream: u16, unordered: bool, bytes: u32) -> bool {
        self.send_next(stream, unordered, Some(bytes))
    }

    #[inline]
    fn send_next(&mut self, stream: u16, unordered: bool, bytes: Option<u32>) -> bool {
        if self.backlog_left == 0 {
            return false;
        }
        let Some((data, ppid)) = self.checker.next_message(bytes) else { return false };
        let len = data.len() as u64;
        let reliability = self.reliability;
        let options = SendOptions { unordered, ppid, reliability, ..SendOptions::default() };
        let Ok(id) = self.assoc.send(Time(self.now), StreamId(stream), data, options) else {
            return false;
        };
        self.backlog_left = self.backlog_left.saturating_sub(len);
        if reliability != Reliability::Full {
            self.checker.may_be_given_up(id);
        }
        self.checker.note_accepted(self.now, stream, bytes);
        true
    }

    /// Declares what a stream needs.
    pub(crate) fn declare_needs(&mut self, stream: u16, needs: StreamNeeds) {
        // A checked specification names only streams that there are, unless the peer allows fewer.
        let _ = self.assoc.set_stream_needs(StreamId(stream), needs);
    }

    /// Whether all messages of a file were accepted.
    pub(crate) fn all_accepted(&self) -> bool {
        self.checker.is_complete()
    }

    /// What waits in the send buffer.
    pub(crate) fn queue_info(&self) -> SenderQueueInfo {
        self.assoc.sender_queue_info()
    }

    /// Closes the association gracefully.
    pub(crate) fn shutdown(&mut self) {
        self.assoc.shutdown(Time(self.now));
    }

    /// Aborts the association.
    pub(crate) fn abort(&mut self) {
        self.assoc.abort(Time(self.now), Bytes::new());
    }
}

/// Streams in turn.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) messages: MessageSpec,
    pub(super) next: u16,
    sizes: Option<Sizes>,
}

impl Turn {
    /// Streams from 0 on. Sizes that vary are drawn from `rng`.
    pub(super) fn new(messages: MessageSpec, rng: Rng) -> Self {
        let sizes = messages.most_bytes.map(|most| Sizes::new(messages.bytes, most, rng));
        Self { messages, next: 0, sizes }
    }

    /// Sends a message on the stream whose turn it is, and says how many bytes it has; `None` if it
    /// has to wait or there is none.
    #[inline]
    pub(super) fn send(&mut self, io: &mut AppIo<'_>) -> Option<u32> {
        let (stream, MessageSpec { bytes, unordered, .. }) = (self.next, self.messages);
        let sent = match &mut self.sizes {
            None => io.send(stream, unordered).then_some(bytes),
            Some(sizes) => {
                let drawn = sizes.next_size();
                let sent = io.send_sized(stream, unordered, drawn).then_some(drawn);
                sent.inspect(|_| sizes.take_size())
            }
        };
        if sent.is_some() {
            self.skip_stream();
        }
        sent
    }

    /// Skips the stream whose turn it is.
    pub(super) fn skip_stream(&mut self) {
        self.next = (self.next + 1) % self.messages.streams;
    }
}
