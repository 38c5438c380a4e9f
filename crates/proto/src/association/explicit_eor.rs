//! Messages in parts, on the way out and in (RFC 6458 sections 6.1.7, 8.1.21 and 8.1.26), and
//! interleaving (RFC 8260).

use bytes::Bytes;

use super::{Association, State};
use crate::event::Event;
use crate::ids::{MessageId, StreamId};
use crate::policy::Trigger;
use crate::sender::{SendError, SendOptions};
use crate::time::Time;

impl Association {
    /// Whether messages of different streams are interleaved: both ends offered it (RFC 8260
    /// section 2.2.1). False until the peer's offer is known.
    pub const fn is_interleaving(&self) -> bool {
        self.caps.agreed.interleaving
    }

    /// Hands in a part of a message: the first of a stream opens a message, and the one that says
    /// `last` ends it. The message as a whole may be larger than the send buffer, up to
    /// `max_message`, and larger than the peer's receive buffer if the peer delivers parts. The
    /// `options` of the first part count. Until the message is ended the stream takes no other and,
    /// without interleaving, nothing else is sent once its first part was. All parts have the
    /// message's id. Such a message is never given up.
    ///
    /// What waits for the end of an open message does not take the room of its parts: the send
    /// buffer may hold twice its size. A shutdown does not wait for that end: the message is
    /// reported as not sent, with those that could only go behind it, and the peer drops it.
    ///
    /// # Errors
    /// [`SendError::WouldBlock`] when the send buffer is full: wait for [`Event::Writable`].
    pub fn send_part(
        &mut self,
        now: Time,
        stream: StreamId,
        data: Bytes,
        options: SendOptions,
        last: bool,
    ) -> Result<MessageId, SendError> {
        self.check_send(stream, options.ppid)?;
        let scheduler = &mut *self.policies.stream_scheduler;
        let sent = self.tx.enqueue_part(now, stream, (data, last), options, scheduler);
        if sent.is_ok() {
            self.stats.messages_sent += u64::from(last);
            self.trigger(Trigger::Write);
        }
        sent
    }

    /// Refuses what cannot be sent on `stream` now.
    pub(super) fn check_send(&self, stream: StreamId, ppid: u32) -> Result<(), SendError> {
        if self.state == State::Closed {
            return Err(SendError::Closed);
        }
        if !self.state.accepts_messages() {
            return Err(SendError::ShuttingDown);
        }
        self.check_stream(stream)?;
        self.check_ppid(stream, ppid)
    }

    /// The kind of data chunk came that was not agreed on (RFC 8260 section 2.2.3).
    pub(super) fn mismatched_data(&mut self, now: Time, interleaved: bool) {
        let why = if interleaved {
            "I-DATA although it was not agreed on"
        } else {
            "DATA although I-DATA was agreed on"
        };
        self.protocol_violation(now, 13, why);
    }

    /// Tells the application of messages whose rest will not come.
    pub(super) fn report_aborted_parts(&mut self) {
        for (stream, unordered) in self.rx.take_aborted_parts() {
            self.events.push_back(Event::PartialDeliveryAborted { stream, unordered });
        }
    }
}
