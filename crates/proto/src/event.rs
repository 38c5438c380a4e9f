//! What an association tells its application.

mod close_reason;
mod display;

use core::net::IpAddr;

use bytes::Bytes;
use polypath_wire::param::ReconfigResult;
use smallvec::SmallVec;

pub use close_reason::CloseReason;

use crate::ids::{MessageId, PathId, ReconfigId, StreamId, Tsn};
use crate::stats::{Limit, Stall};
use crate::time::{Duration, Time};
use crate::view::PathState;

/// Something the application should know. Events of one association come in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The association is set up: data flows both ways.
    Established {
        /// Outbound streams after negotiation.
        outbound_streams: u16,
        /// Inbound streams after negotiation.
        inbound_streams: u16,
    },
    /// The peer restarted (RFC 9260 section 5.2.4, action A): what was in flight is lost, numbers
    /// start anew. Never suppressed. The association is established again, with a peer that knows
    /// nothing of a shutdown: who had asked for one asks again.
    Restarted,
    /// At least one message can be received.
    Readable,
    /// Acknowledged data left the send buffer. The next one comes only once this one was fetched,
    /// so a burst of acknowledgements is one event.
    Writable(SenderQueueInfo),
    /// A path was added.
    PathAdded(PathId),
    /// A path was removed: one of its addresses was taken back. What was in flight on it is sent
    /// again on others.
    PathRemoved(PathId),
    /// The peer was asked to change what it knows of our addresses (RFC 5061), and answered.
    LocalAddress {
        /// Our address.
        address: IpAddr,
        /// What became of it.
        change: AddressChange,
    },
    /// A path's state changed.
    PathState {
        /// Which.
        path: PathId,
        /// Its new state.
        state: PathState,
    },
    /// A path fell silent while others did not, or was heard of again: silent, it carries no new
    /// data, and what is in flight on it goes out once more elsewhere
    /// ([`Rescheduling`](crate::config::Rescheduling)).
    PathSilent {
        /// Which.
        path: PathId,
        /// Whether it is silent now.
        silent: bool,
    },
    /// Data on a path is lost again and again while heartbeats are answered: a link on the way
    /// drops packets as large as ours without a word (an MTU hole, RFC 8899 section 1.1). Told once
    /// until data arrives there again.
    PacketsTooBig {
        /// Which path.
        path: PathId,
        /// Its path MTU as configured, bytes with IP header.
        mtu: u32,
    },
    /// Discovery found that a path carries packets of another size than was known (RFC 8899).
    PathMtu {
        /// Which path.
        path: PathId,
        /// The size, bytes with IP header.
        mtu: u32,
    },
    /// Something else limits the transfer most than before
    /// ([`AssocConfig::stall_detection`](crate::config::AssocConfig::stall_detection)).
    Limited(Limit),
    /// Data makes no progress although the peer is heard. Told once until data is acknowledged
    /// again.
    Stalled {
        /// Why, as far as can be told.
        cause: Stall,
        /// How long nothing was acknowledged.
        silence: Duration,
    },
    /// Another path became primary.
    PrimaryChanged(PathId),
    /// All that was sent is acknowledged and nothing waits.
    SenderDry,
    /// A message was not, or not provably, delivered when the association ended.
    SendFailed {
        /// Which.
        message: MessageId,
        /// Its stream.
        stream: StreamId,
        /// Whether any byte of it had been sent.
        sent: bool,
    },
    /// Something about authentication changed (RFC 4895; RFC 6458 section 6.1.8).
    Authentication(AuthNotice),
    /// The rest of a message that was delivered in part will not come: the association ended, or
    /// the peer gave the message up (RFC 6458 section 6.1.7). Parts of it may still wait to be
    /// received; the next one that is a first begins another message.
    PartialDeliveryAborted {
        /// Its stream.
        stream: StreamId,
        /// Whether it is the stream's unordered message.
        unordered: bool,
    },
    /// The peer sends a message larger than `max_message`, or than the receive buffer where
    /// messages come whole; or several that interleave, come whole, and fill it together, so that
    /// none of them would ever be complete. It gets an ABORT.
    MessageTooLarge {
        /// Its stream; of several messages that of the largest.
        stream: StreamId,
        /// The largest that is taken, bytes: `max_message`, or the receive buffer.
        limit: u32,
    },
    /// A message that need not be delivered whatever it takes was given up
    /// ([`Reliability`](crate::Reliability)). It may have been delivered nevertheless, if something
    /// of it had been sent.
    Abandoned {
        /// Which.
        message: MessageId,
        /// Its stream.
        stream: StreamId,
        /// Whether any byte of it had been sent.
        sent: bool,
    },
    /// Streams start at number 0 again (RFC 6525). Messages that were received before may still
    /// wait to be taken.
    StreamsReset {
        /// Outgoing or incoming ones.
        direction: StreamDirection,
        /// Which; none: all.
        streams: Vec<StreamId>,
    },
    /// All streams start at number 0 again, and TSNs elsewhere (RFC 6525).
    AssociationReset {
        /// Our next TSN.
        next_sent: Tsn,
        /// The peer's next TSN.
        next_received: Tsn,
    },
    /// Streams were added behind those that there were (RFC 6525); the new ones can be used.
    StreamsAdded {
        /// Outgoing ones.
        outgoing: u16,
        /// Incoming ones.
        incoming: u16,
    },
    /// The peer answered a request for a reconfiguration. Asked for more of its streams, a peer may
    /// just add as many (RFC 6525 section 5.2.6): then it is asked again, and "performed" is told
    /// once it says so, or after two more requests without a word.
    Reconfigured {
        /// Which.
        request: ReconfigId,
        /// Its answer.
        outcome: ReconfigOutcome,
    },
    /// The peer reported an error (RFC 9260 section 3.3.10).
    PeerError {
        /// Cause code.
        cause: u16,
    },
    /// The peer shuts down: no more new data is accepted, what is queued still goes out.
    PeerShutdown,
    /// The association is over. The last event.
    Closed(CloseReason),
}

/// What became of a change of our addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressChange {
    /// The peer knows it now: paths from there are verified.
    Added,
    /// The peer has forgotten it.
    Removed,
    /// The peer was told to send there by preference.
    Primary,
    /// The peer refused it, with this cause code if it gave one, or knows no such requests.
    AddRefused {
        /// Cause code; `None`: the peer does not know dynamic addresses after all.
        cause: Option<u16>,
    },
    /// The peer goes on sending there.
    RemoveRefused {
        /// Cause code; 0 if it gave none.
        cause: u16,
    },
    /// The peer does not prefer it.
    PrimaryRefused {
        /// Cause code; 0 if it gave none.
        cause: u16,
    },
}

/// News of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthNotice {
    /// The peer does not authenticate chunks: nothing is authenticated either way.
    NotSupported,
    /// The peer began to use this key.
    NewKey(u16),
    /// Nothing is sent with this key any more.
    KeyFree(u16),
    /// Nothing is acknowledged, although heartbeats are answered, and data or its acknowledgements
    /// need the shared key: perhaps the peer has another one. (Or all packets with data are too big
    /// for the way there.) Told once per key; a key that is set or activated is tried anew. Else
    /// the association ends with [`CloseReason::NothingAcknowledged`] after Association.Max.Retrans
    /// timeouts.
    NothingAcknowledged,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconfigOutcome {
    /// As asked for, or there was nothing to do.
    Performed,
    /// The peer does not want to.
    Denied,
    /// The peer called it an error, with this result code (RFC 6525 section 4.4).
    Failed {
        /// Result code.
        result: u32,
    },
}

impl ReconfigOutcome {
    pub(crate) const fn of(result: ReconfigResult) -> Self {
        match result {
            ReconfigResult::NOTHING_TO_DO | ReconfigResult::PERFORMED => Self::Performed,
            ReconfigResult::DENIED => Self::Denied,
            ReconfigResult(result) => Self::Failed { result },
        }
    }
}

/// Which way a stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamDirection {
    /// From us to the peer.
    Outgoing,
    /// From the peer to us.
    Incoming,
    /// Streams of both kinds with the same numbers.
    Both,
}

/// A received user message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// Its stream.
    pub stream: StreamId,
    /// Payload protocol identifier, as the peer gave it.
    pub ppid: u32,
    /// Delivered without regard to order.
    pub unordered: bool,
    /// The path on which its first chunk came.
    pub path: PathId,
    /// TSN of its first chunk.
    pub tsn: Tsn,
    /// When it became deliverable.
    pub delivered: Time,
    /// Which part of the message this is: all of it, unless partial delivery is on.
    pub part: Part,
    /// The payload.
    pub data: Bytes,
}

impl Message {
    /// A whole message of `stream`, as a peer sends it that says nothing else of it.
    pub const fn new(stream: StreamId, data: Bytes) -> Self {
        Self {
            stream,
            ppid: 0,
            unordered: false,
            path: PathId(0),
            tsn: Tsn(0),
            delivered: Time::ZERO,
            part: Part::WHOLE,
            data,
        }
    }
}

/// Which part of a user message a [`Message`] is (RFC 6458 sections 5.3 and 8.1.21). A part that is
/// not the whole belongs to the one message of its stream and of its kind, ordered or unordered,
/// that is being delivered; messages of other streams, and whole unordered ones, may come in
/// between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// It begins the message.
    pub first: bool,
    /// It ends the message (MSG_EOR).
    pub last: bool,
}

impl Part {
    /// All of a message.
    pub const WHOLE: Self = Self { first: true, last: true };

    /// Whether it is all of a message.
    pub const fn is_whole(self) -> bool {
        self.first && self.last
    }
}

impl Default for Part {
    fn default() -> Self {
        Self::WHOLE
    }
}

/// SQINFO: how much waits in the send buffer, in all and per stream (S0 section 6.2). Payload
/// bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SenderQueueInfo {
    /// The send buffer's size; `u64::MAX` when unlimited.
    pub limit: u64,
    /// Bytes held in all.
    pub used: u64,
    /// Streams that were used so far, in ascending order. Most associations use one: that takes no
    /// allocation.
    pub streams: SmallVec<[StreamQueueInfo; 1]>,
}

impl SenderQueueInfo {
    /// The entry of `stream`; empty if it was never used.
    pub fn stream(&self, stream: StreamId) -> StreamQueueInfo {
        let found = self.streams.iter().find(|s| s.stream == stream);
        found.copied().unwrap_or(StreamQueueInfo { stream, ..StreamQueueInfo::default() })
    }
}

/// One stream's part of the send buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamQueueInfo {
    /// Which stream.
    pub stream: StreamId,
    /// Bytes not yet sent.
    pub unsent_bytes: u64,
    /// Messages with unsent bytes.
    pub unsent_messages: u64,
    /// Bytes sent, and neither cum-acked nor NR-acked.
    pub unacked_bytes: u64,
}
