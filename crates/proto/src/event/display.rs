//! Events in plain English, one line each.

use core::fmt;

use super::{AddressChange, AuthNotice, Event, ReconfigOutcome, StreamDirection};
use crate::ids::StreamId;

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Established { outbound_streams, inbound_streams } => {
                write!(
                    f,
                    "set up with {outbound_streams} outbound, {inbound_streams} inbound streams"
                )
            }
            Self::Restarted => f.write_str("the peer restarted: what was in flight is lost"),
            Self::Readable => f.write_str("a message can be received"),
            Self::Writable(queue) => {
                write!(f, "the send buffer has room: {} bytes are in use", queue.used)
            }
            Self::PathAdded(path) => write!(f, "{path} was added"),
            Self::PathRemoved(path) => write!(f, "{path} was removed"),
            Self::LocalAddress { address, change } => write!(f, "{address}: {change}"),
            Self::PathState { path, state } => write!(f, "{path} is {state}"),
            Self::PathSilent { path, silent: true } => write!(f, "{path} fell silent"),
            Self::PathSilent { path, silent: false } => write!(f, "{path} is heard of again"),
            Self::PacketsTooBig { path, mtu } => {
                write!(f, "{path} loses packets of {mtu} bytes and answers heartbeats: an MTU hole")
            }
            Self::PathMtu { path, mtu } => write!(f, "{path} carries packets of {mtu} bytes"),
            Self::Limited(limit) => write!(f, "the transfer is limited by: {limit}"),
            Self::Stalled { cause, silence } => {
                write!(f, "nothing was acknowledged for {:.1} s: {cause}", silence.as_secs_f64())
            }
            Self::PrimaryChanged(path) => write!(f, "{path} is the primary path"),
            Self::SenderDry => f.write_str("all that was sent is acknowledged"),
            Self::SendFailed { message, stream, sent } => {
                let how = if *sent { "perhaps not delivered" } else { "never sent" };
                write!(f, "message {} of stream {} was {how}", message.0, stream.0)
            }
            Self::Authentication(notice) => notice.fmt(f),
            Self::PartialDeliveryAborted { stream, .. } => {
                write!(f, "the rest of a message of stream {} will not come", stream.0)
            }
            Self::MessageTooLarge { stream, limit } => {
                write!(f, "a message of stream {} is larger than {limit} bytes", stream.0)
            }
            Self::Abandoned { message, stream, .. } => {
                write!(f, "message {} of stream {} was given up", message.0, stream.0)
            }
            Self::StreamsReset { direction, streams } => {
                write!(f, "{direction} streams start at number 0 again: {}", StreamList(streams))
            }
            Self::AssociationReset { next_sent, next_received } => {
                let (sent, received) = (next_sent.0, next_received.0);
                write!(f, "TSNs were reset: the next is {sent} here, {received} at the peer")
            }
            Self::StreamsAdded { outgoing, incoming } => {
                write!(f, "{outgoing} outgoing and {incoming} incoming streams were added")
            }
            Self::Reconfigured { request, outcome } => {
                write!(f, "request {} to reconfigure streams was {outcome}", request.0)
            }
            Self::PeerError { cause } => write!(f, "the peer reported error cause {cause}"),
            Self::PeerShutdown => f.write_str("the peer shuts down"),
            Self::Closed(reason) => write!(f, "closed: {reason}"),
        }
    }
}

impl fmt::Display for AddressChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added => f.write_str("the peer knows this address now"),
            Self::Removed => f.write_str("the peer has forgotten this address"),
            Self::Primary => f.write_str("the peer was told to send to this address by preference"),
            Self::AddRefused { cause: Some(cause) } => {
                write!(f, "the peer refused to add this address (error cause {cause})")
            }
            Self::AddRefused { cause: None } => {
                f.write_str("the peer does not know dynamic addresses")
            }
            Self::RemoveRefused { cause } => {
                write!(f, "the peer refused to delete this address (error cause {cause})")
            }
            Self::PrimaryRefused { cause } => {
                write!(f, "the peer does not prefer this address (error cause {cause})")
            }
        }
    }
}

impl fmt::Display for AuthNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSupported => f.write_str("the peer does not authenticate chunks"),
            Self::NewKey(id) => write!(f, "the peer began to use key {id}"),
            Self::KeyFree(id) => write!(f, "nothing is sent with key {id} any more"),
            Self::NothingAcknowledged => f.write_str(
                "nothing that must be authenticated is acknowledged: has the peer the same key?",
            ),
        }
    }
}

impl fmt::Display for StreamDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Outgoing => "outgoing",
            Self::Incoming => "incoming",
            Self::Both => "outgoing and incoming",
        })
    }
}

impl fmt::Display for ReconfigOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Performed => f.write_str("performed"),
            Self::Denied => f.write_str("denied"),
            Self::Failed { result } => write!(f, "refused with result code {result}"),
        }
    }
}

/// Numbers of streams; none: all streams.
struct StreamList<'a>(&'a [StreamId]);

impl fmt::Display for StreamList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = self.0.split_first() else { return f.write_str("all") };
        write!(f, "{}", first.0)?;
        rest.iter().try_for_each(|stream| write!(f, ", {}", stream.0))
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{CloseReason, Event, StreamDirection};
    use crate::ids::{PathId, StreamId};
    use crate::view::PathState;

    #[test]
    fn events_are_said_in_one_line() {
        let streams = vec![StreamId(1), StreamId(7)];
        let reset = Event::StreamsReset { direction: StreamDirection::Both, streams };
        assert_eq!(
            reset.to_string(),
            "outgoing and incoming streams start at number 0 again: 1, 7"
        );
        let all = Event::StreamsReset { direction: StreamDirection::Incoming, streams: vec![] };
        assert_eq!(all.to_string(), "incoming streams start at number 0 again: all");
        let failed = Event::PathState { path: PathId(2), state: PathState::PotentiallyFailed };
        assert_eq!(failed.to_string(), "path 2 is potentially failed");
        let closed = Event::Closed(CloseReason::PeerAbort { cause: Some(12) });
        assert_eq!(closed.to_string(), "closed: the peer aborted the association (error cause 12)");
    }
}
