//! Why associations end.

use crate::protection::ProtectionFailure;

/// Why an association ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// Graceful shutdown: both sides got everything.
    #[error("the association was shut down: both sides got everything")]
    Shutdown,
    /// We aborted it.
    #[error("this side aborted the association")]
    LocalAbort,
    /// The peer aborted it, with this cause code if it gave one.
    #[error("the peer aborted the association{}", with_code(*.cause))]
    PeerAbort {
        /// First cause code of the ABORT.
        cause: Option<u16>,
    },
    /// Association.Max.Retrans was exceeded: the peer is unreachable.
    #[error("the peer cannot be reached any more on any path")]
    Unreachable,
    /// Association.Max.Retrans was exceeded after
    /// [`AuthNotice::NothingAcknowledged`](super::AuthNotice::NothingAcknowledged): the peer
    /// answers heartbeats, and acknowledges nothing that must be authenticated. Perhaps it has
    /// another shared key.
    #[error("the peer answers heartbeats and acknowledges nothing that must be authenticated")]
    NothingAcknowledged,
    /// We asked for a graceful shutdown, with all of our data acknowledged, and five RTO.Max later
    /// the peer still had data to send, or had not answered; or data is not, and a peer that is
    /// heard of sent no SACK for as long: we aborted (T5-shutdown-guard, RFC 9260 section 9.2).
    #[error("the peer was still not done five RTO.Max after the shutdown began")]
    ShutdownTimeout,
    /// The handshake got no answer.
    #[error("the handshake got no answer")]
    HandshakeTimeout,
    /// The handshake failed: the peer called our cookie stale twice (RFC 9260 section 5.2.6). Its
    /// Valid.Cookie.Life is shorter than the way there and back.
    #[error("the peer called our cookie stale twice")]
    StaleCookie,
    /// The handshake led to a peer that has an association with us already: it opened, too, from
    /// behind a NAT that hid who it is. That one goes on.
    #[error("the peer, behind a NAT, has opened an association with us meanwhile")]
    AlreadyConnected,
    /// The peer cannot authenticate chunks, which our configuration demands, or an extension that
    /// the peer itself offers (RFC 5061 section 6).
    #[error("the peer does not authenticate what must be authenticated")]
    NoAuthentication,
    /// The peer does not protect its packets in a way that we know, which our configuration demands
    /// ([`AssocConfig::protection`](crate::config::AssocConfig::protection)).
    #[error("the peer does not protect its packets, or not in a way that is known here")]
    NoProtection,
    /// No keys could be agreed on, or no longer.
    #[error("{0}")]
    Unprotected(Box<ProtectionFailure>),
    /// The peer's host said that the peer is gone, and nothing protected came of it any more.
    #[error("the peer's host says that the peer is gone, and it does not answer")]
    PeerGone,
    /// The path scheduler failed, and says why
    /// ([`Policy::failure`](crate::policy::Policy::failure)): we aborted.
    #[error("the path scheduler failed: {0}")]
    PolicyFailed(Box<str>),
    /// The peer broke the protocol; we sent ABORT with this cause code.
    #[error("the peer broke the protocol: aborted with error cause {cause}")]
    ProtocolViolation {
        /// Cause code sent.
        cause: u16,
    },
}

fn with_code(cause: Option<u16>) -> String {
    cause.map_or_else(String::new, |code| format!(" (error cause {code})"))
}
