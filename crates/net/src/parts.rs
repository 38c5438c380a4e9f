//! Messages in parts: larger than the buffers, or handed in and taken while they are being made.

use bytes::Bytes;
use polypath_proto::ids::{MessageId, StreamId};
use polypath_proto::{Association as Core, SendOptions};

use crate::association::Association;
use crate::error::SendError;

impl Association {
    /// Sends a part of a message: the first one of a stream opens a message, and the one that says
    /// `last` ends it. So a message may be larger than the send buffer, up to `max_message`; larger
    /// than the peer's receive buffer if the peer takes messages in parts
    /// (`AssocConfig::partial_delivery`, where `recv` gives parts: see
    /// [`Message::part`](crate::Message::part)). The options of the first part count. Until then
    /// the stream takes no other message, and without interleaving
    /// (`ExtensionConfig::interleaving`) nothing else is sent. Waits while the send buffer is full.
    /// Cancel-safe: a dropped future has sent nothing of its part.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_part(
        &self,
        stream: u16,
        data: impl Into<Bytes>,
        options: SendOptions,
        last: bool,
    ) -> Result<MessageId, SendError> {
        let data = data.into();
        self.when_there_is_room(|| self.try_send_part(stream, data.clone(), options, last)).await
    }

    /// Sends a part of a message if the send buffer has room for it now.
    ///
    /// # Errors
    /// As [`try_send`](Self::try_send).
    pub fn try_send_part(
        &self,
        stream: u16,
        data: impl Into<Bytes>,
        options: SendOptions,
        last: bool,
    ) -> Result<MessageId, SendError> {
        let data = data.into();
        let (stream, bytes) = (StreamId(stream), data.len());
        let send = |core: &mut Core, now| core.send_part(now, stream, data, options, last);
        self.hand_in(stream, bytes, send)
    }

    /// Whether messages of different streams are interleaved: both ends offered it (RFC 8260).
    pub fn is_interleaving(&self) -> bool {
        self.with_core(|core| core.is_interleaving()).unwrap_or(false)
    }
}
