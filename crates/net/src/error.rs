//! What can go wrong, in one line each.

use std::io;
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use polypath_proto::PathId;
use polypath_proto::event::CloseReason;
use polypath_proto::protection::ProtectionFailure;
use polypath_secure::PublicKey;
use polypath_wire::cause::code;

// Why the core would not do what it was asked for: nothing was sent, nothing has changed.
pub use polypath_proto::{
    AddressError as AddressRefusal, AuthKeyError as AuthKeyRefusal, ConnectError as ConnectRefusal,
    ReconfigError as ReconfigRefusal, SendError as SendRefusal, SettingsError as SettingsRefusal,
};

/// Why an endpoint could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// There was no address.
    #[error(
        "no local address given: name at least one (nothing listens on all addresses by itself)"
    )]
    NoAddress,
    /// An address named twice.
    #[error("local address {0} is given twice")]
    Twice(IpAddr),
    /// Not an address of one host.
    #[error("local address {0}: a unicast address of this host is needed")]
    NotUnicast(IpAddr),
    /// The address is not this host's.
    #[error("local address {0} is not an address of this host")]
    NotOurs(IpAddr),
    /// Another socket has the port.
    #[error(
        "UDP port {port} at {address} is in use: stop the other program or choose another port"
    )]
    InUse {
        /// Where.
        address: IpAddr,
        /// Which.
        port: u16,
    },
    /// No such network device.
    #[error("network device {device:?} (for {address}) does not exist")]
    NoDevice {
        /// For which address.
        address: IpAddr,
        /// The device's name.
        device: String,
    },
    /// Not allowed.
    #[error("{what} at {address}: permission denied ({hint})")]
    Permission {
        /// Where.
        address: IpAddr,
        /// What was tried.
        what: &'static str,
        /// What would help.
        hint: &'static str,
    },
    /// The kernel answers SCTP packets itself.
    #[error(
        "this kernel's own SCTP module is loaded and would answer our packets with ABORT: \
         unload it (rmmod sctp) or use UDP encapsulation"
    )]
    KernelSctp,
    /// Anything else.
    #[error("socket at {address}: {source}")]
    Socket {
        /// Where.
        address: IpAddr,
        /// The system's word.
        source: io::Error,
    },
    /// The thread that moves packets did not start.
    #[error("the reactor thread did not start: {0}")]
    Thread(io::Error),
}

/// Why streams were not reset or added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReconfigError {
    /// Refused before the peer was asked.
    #[error(transparent)]
    Refused(#[from] ReconfigRefusal),
    /// The peer does not want to.
    #[error("the peer denied the request")]
    Denied,
    /// The peer called it an error.
    #[error("the peer could not do it (result {0} of RFC 6525 section 4.4)")]
    Failed(u32),
    /// The association is over.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// Why a shared key was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthKeyError {
    /// It cannot be done.
    #[error(transparent)]
    Refused(#[from] AuthKeyRefusal),
    /// The association is over.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// Why the settings of an association were not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// They contradict each other, or the protocol.
    #[error(transparent)]
    Refused(#[from] SettingsRefusal),
    /// The association is over.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// Why a path was not added, or not removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// No socket can be opened at that address.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The association cannot take it up, or give it up.
    #[error(transparent)]
    Refused(#[from] AddressRefusal),
    /// The peer does not take the address.
    #[error("the peer refused the address {address}{}", cause_suffix(*.cause))]
    Denied {
        /// Which.
        address: IpAddr,
        /// Its error cause code, if it gave one.
        cause: Option<u16>,
    },
    /// No address of the peer has the family of the new one.
    #[error("no path from {address}: the peer has no address of its family")]
    NoPeerAddress {
        /// Which.
        address: IpAddr,
    },
    /// It is not there, or not any more.
    #[error("path {} does not exist", .0.0)]
    NoSuchPath(PathId),
    /// Nothing could be sent any more.
    #[error("path {} starts at the only address of this endpoint", .0.0)]
    LastAddress(PathId),
    /// The association is over.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// Why the peer was not asked about an address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It cannot be done.
    #[error(transparent)]
    Refused(#[from] AddressRefusal),
    /// The association is over.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// Why an association was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No pair of a local and a remote address of one family.
    #[error(
        "no path: none of the local addresses {local:?} has the address family of any of {remote:?}"
    )]
    NoPath {
        /// Ours.
        local: Vec<SocketAddr>,
        /// The peer's.
        remote: Vec<SocketAddr>,
    },
    /// Refused before a packet was sent.
    #[error(transparent)]
    Refused(#[from] ConnectRefusal),
    /// Packets could not be sent on any path, or nobody is there.
    #[error("no path to {remote:?}: {why}")]
    Unreachable {
        /// The peer's addresses.
        remote: Vec<SocketAddr>,
        /// What became of each path: the system's word, or that nobody answered.
        why: String,
    },
    /// The peer did not answer.
    #[error("no answer from {remote:?}: is the peer running, and do firewalls let UDP through?")]
    NoAnswer {
        /// The peer's addresses.
        remote: Vec<SocketAddr>,
    },
    /// The peer answered with ABORT.
    #[error(
        "the peer at {remote:?} refused the association{}{}",
        cause_text(*.cause),
        quote_reason(.reason)
    )]
    Rejected {
        /// The peer's addresses.
        remote: Vec<SocketAddr>,
        /// Its error cause code, if it gave one.
        cause: Option<u16>,
        /// What it said, at most 256 bytes of it; empty if it said nothing.
        reason: Bytes,
    },
    /// It ended before it was set up: [`Closed::NoProtection`] and [`Closed::Unprotected`] tell
    /// what keys have to do with it.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl ConnectError {
    /// Set-up with the peer at `remote` ended for `reason`; `words` are what the peer's ABORT said.
    pub(crate) fn from_reason(remote: Vec<SocketAddr>, reason: CloseReason, words: &Bytes) -> Self {
        match Closed::from_reason(reason, words) {
            Closed::PeerAbort { cause, reason } => Self::Rejected { remote, cause, reason },
            other => other.into(),
        }
    }
}

fn cause_suffix(cause: Option<u16>) -> String {
    cause.map_or_else(String::new, |code| format!(" (error cause {code})"))
}

fn cause_text(cause: Option<u16>) -> String {
    match cause {
        Some(code::OUT_OF_RESOURCE) => {
            " (out of resource: it has as many associations as it allows)".to_owned()
        }
        Some(code::MISSING_DTLS_CHUNK) => {
            " (it demands encryption, and this side is insecure)".to_owned()
        }
        Some(code::NO_COMMON_KEY_MANAGEMENT) => {
            " (it agrees on keys in another way than this side: a shared secret or TLS)".to_owned()
        }
        Some(code::TIE_BREAKER_COLLISION) => {
            " (both sides drew the same lot for who begins the key exchange: try again)".to_owned()
        }
        Some(code::INCOMPATIBLE_ROLES) => {
            " (both sides want the same part in the key exchange)".to_owned()
        }
        Some(code) => format!(" (error cause {code})"),
        None => " (nobody accepts associations at that SCTP port)".to_owned(),
    }
}

/// The association is over, and not because the peer said goodbye.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Closed {
    /// Shut down gracefully.
    #[error("the association was shut down")]
    Shutdown,
    /// We ended it.
    #[error("the association was aborted by this side")]
    LocalAbort,
    /// The peer ended it.
    #[error("the peer aborted the association{}{}", cause_suffix(*.cause), quote_reason(.reason))]
    PeerAbort {
        /// Its error cause code, if it gave one.
        cause: Option<u16>,
        /// What it said, at most 256 bytes of it; empty if it said nothing.
        reason: Bytes,
    },
    /// No path works any more.
    #[error("the peer cannot be reached any more on any path")]
    Unreachable,
    /// The peer is there, and acknowledged nothing that must be authenticated.
    #[error(
        "the peer answers heartbeats and acknowledges nothing that must be authenticated: has it the same shared key?"
    )]
    NothingAcknowledged,
    /// The peer did not end what it still had to send, long after this side asked for a shutdown.
    #[error("the peer was still not done five RTO.Max after the shutdown began: aborted")]
    ShutdownTimeout,
    /// Set-up did not succeed.
    #[error("the association could not be set up: no answer")]
    HandshakeTimeout,
    /// The cookie's life is too short for the round trip.
    #[error("the association could not be set up: the peer finds our cookie stale")]
    StaleCookie,
    /// The peer opened, too, and was first.
    #[error(
        "the association was not set up: the peer, behind a NAT, has opened one with us meanwhile"
    )]
    AlreadyConnected,
    /// Chunks must be authenticated, and the peer cannot.
    #[error(
        "the association could not be set up: the peer does not authenticate what must be authenticated"
    )]
    NoAuthentication,
    /// The peer does not protect its packets.
    #[error(
        "the peer does not encrypt, or not in a way that is known here: it may have been started \
         insecure, or speak SCTP alone"
    )]
    NoProtection,
    /// No keys could be agreed on, or no longer. Who knows the key of
    /// [`ProtectionFailure::UnknownPeer`] to be the right one may
    /// [trust](polypath_secure::Trust::pinned) it and try again.
    #[error("{}", failure_text(.0))]
    Unprotected(Box<ProtectionFailure>),
    /// The peer's host said that the peer is gone, and nothing came of it any more.
    #[error("the peer is gone: its host says so, and it does not answer any more")]
    PeerGone,
    /// The path scheduler failed, and says why.
    #[error("the path scheduler failed: {0}")]
    PolicyFailed(Box<str>),
    /// The peer broke the protocol.
    #[error("the peer broke the protocol: aborted with error cause {cause}")]
    ProtocolViolation {
        /// The cause code that it was told.
        cause: u16,
    },
}

fn failure_text(failure: &ProtectionFailure) -> String {
    match failure {
        ProtectionFailure::UnknownPeer { key } => format!(
            "the peer's key is not one that is allowed: {}",
            PublicKey::from_spki(key).fingerprint()
        ),
        ProtectionFailure::Refused(alert) => {
            format!("the peer does not let this side's key in: {alert}")
        }
        other => other.to_string(),
    }
}

/// The peer's words behind a colon, made harmless: it may have said anything.
fn quote_reason(reason: &Bytes) -> String {
    if reason.is_empty() { String::new() } else { format!(": \"{}\"", reason.escape_ascii()) }
}

impl Closed {
    /// The end of an association for this `reason`, of which the peer said `words`.
    pub(crate) fn from_reason(reason: CloseReason, words: &Bytes) -> Self {
        match reason.into() {
            Self::PeerAbort { cause, .. } => Self::PeerAbort { cause, reason: words.clone() },
            other => other,
        }
    }
}

impl From<CloseReason> for Closed {
    fn from(reason: CloseReason) -> Self {
        match reason {
            CloseReason::Shutdown => Self::Shutdown,
            CloseReason::LocalAbort => Self::LocalAbort,
            CloseReason::PeerAbort { cause } => Self::PeerAbort { cause, reason: Bytes::new() },
            CloseReason::Unreachable => Self::Unreachable,
            CloseReason::NothingAcknowledged => Self::NothingAcknowledged,
            CloseReason::ShutdownTimeout => Self::ShutdownTimeout,
            CloseReason::HandshakeTimeout => Self::HandshakeTimeout,
            CloseReason::StaleCookie => Self::StaleCookie,
            CloseReason::AlreadyConnected => Self::AlreadyConnected,
            CloseReason::NoAuthentication => Self::NoAuthentication,
            CloseReason::NoProtection => Self::NoProtection,
            CloseReason::Unprotected(failure) => Self::Unprotected(failure),
            CloseReason::PeerGone => Self::PeerGone,
            CloseReason::PolicyFailed(why) => Self::PolicyFailed(why),
            CloseReason::ProtocolViolation { cause } => Self::ProtocolViolation { cause },
        }
    }
}

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The message itself is no good, or the association takes no more.
    #[error(transparent)]
    Refused(#[from] SendRefusal),
    /// The association is over.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl SendError {
    /// Whether there is only no room now: the same message may be sent later.
    pub const fn would_block(&self) -> bool {
        matches!(self, Self::Refused(SendRefusal::WouldBlock))
    }
}

/// Something that works, but less well than it could.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The kernel's limit is lower than what was asked for.
    #[error(
        "the kernel gave a {direction} buffer of {given} bytes at {address} where {wanted} were asked for: \
         raise {sysctl}"
    )]
    SmallBuffer {
        /// Of which socket.
        address: IpAddr,
        /// "send" or "receive".
        direction: &'static str,
        /// Asked for, bytes.
        wanted: usize,
        /// Granted, bytes.
        given: usize,
        /// The kernel setting that limits it.
        sysctl: &'static str,
    },
    /// Packets cannot be kept from being fragmented, so an MTU that is too large goes unnoticed.
    #[error("the system cannot keep packets at {address} from being fragmented")]
    MayFragment {
        /// Of which socket.
        address: IpAddr,
    },
}
