//! Packets that nobody else can read, write or replay: what the DTLS chunk
//! (draft-ietf-tsvwg-sctp-dtls-chunk) asks of whoever agrees on keys and uses them. No cipher and
//! no TLS is known here; `polypath-secure` implements these traits.
//!
//! An association that is configured with [`KeyManagement`] offers its methods in INIT and INIT
//! ACK. Once both ends have said theirs, it [asks](KeyManagement::protect) for a [`Protection`],
//! carries the messages of that to the peer's, as user messages with PPID 4242 on stream 0, and
//! lets nothing else through in plain. From [`ProtectionEvent::Established`] on, each packet has
//! one DTLS chunk with all its chunks inside.

use core::fmt;
use core::ops::Range;

use bytes::Bytes;

use crate::ids::PathId;
use crate::time::{Duration, Time};

/// Bytes that stand in front of the chunks of a protected packet, behind its common header: the
/// DTLS chunk's header and pre-padding, and the record's header.
pub const HEADROOM: usize = 4 + 1 + RECORD_HEADER_LEN;

/// Bytes of a record's header: flags and epoch, and 16 bits of its number.
pub const RECORD_HEADER_LEN: usize = 3;

/// Bytes that stand behind the chunks: the content type and the cipher's tag.
pub const TRAILER: usize = 1 + 16;

/// What protection takes of each packet, bytes, with the padding behind the chunk.
pub const OVERHEAD: usize = (HEADROOM + TRAILER).next_multiple_of(4);

/// Bytes of chunks in one packet, at most (RFC 8446 section 5.2).
pub const LONGEST_CONTENT: usize = 1 << 14;

/// Payload Protocol Identifier of key management messages.
pub const KEY_MANAGEMENT_PPID: u32 = 4242;

/// The largest key management message, bytes; and what may be held of one that comes in parts.
pub const MAX_KEY_MESSAGE: usize = 64 << 10;

/// The first epoch of an association's keys.
pub const FIRST_EPOCH: u64 = 3;

/// A way to agree on keys, for all associations that are configured with it.
pub trait KeyManagement: fmt::Debug + Send + Sync {
    /// Identifiers of its methods (the draft's section 10.1), the preferred first: 0 for keys
    /// shared before, 192 for TLS 1.3. At least one, and at most [`MAX_METHODS`].
    fn methods(&self) -> &[u8];

    /// Both ends of an association have agreed: the one that protects it from now on.
    fn protect(&self, now: Time, agreed: &Agreed) -> Box<dyn Protection>;
}

/// Methods that one end may offer, at most.
pub const MAX_METHODS: usize = 16;

/// What both ends of an association have agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The identifier of the method.
    pub method: u8,
    /// Our part in it.
    pub role: Role,
    /// The DTLS Key Management Parameters, as they were sent: with their headers, without padding.
    /// First that of the end with the client's role, then that of the server.
    pub parameters: [Vec<u8>; 2],
    /// What distinguishes this association from others between the same ends: verification tags and
    /// initial TSNs, the client's first.
    pub session: [u8; 16],
    /// Random numbers of the association, for what must be the same in each run with its seed. Not
    /// for keys of real use.
    pub seed: [u8; 32],
}

/// Who is client and who is server in the first key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It speaks first.
    Client,
    /// It answers.
    Server,
}

impl Role {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// The keys of one association: how they are agreed on, replaced and used.
pub trait Protection: fmt::Debug + Send {
    /// The association is set up: messages can come from now on.
    fn association_is_up(&mut self, _now: Time) {}

    /// A key management message of the peer, whole. `protected`: it came in a DTLS chunk. `rto` is
    /// the longest retransmission timeout of the association's paths.
    fn handle_message(&mut self, now: Time, rto: Duration, message: &[u8], protected: bool);

    /// The next key management message to send.
    fn poll_message(&mut self) -> Option<Bytes>;

    /// What has happened.
    fn poll_event(&mut self) -> Option<ProtectionEvent>;

    /// When [`handle_timeout`](Self::handle_timeout) shall be called; [`Time::MAX`]: never.
    fn next_timeout(&self) -> Time;

    /// Time has passed. `rto` as in [`handle_message`](Self::handle_message).
    fn handle_timeout(&mut self, now: Time, rto: Duration);

    /// Whether packets leave protected. Once they do they always do.
    fn seals(&self) -> bool;

    /// Whether nothing that comes in plain is believed. Once it is so it stays so.
    fn is_enforced(&self) -> bool;

    /// Makes a DTLS chunk of the chunks at the end of `packet`. `at` is where it begins: there are
    /// [`HEADROOM`] bytes of any content, and behind them the chunks, up to the end. Header, record
    /// and padding are filled in and appended. False if there is no key to do so (any more): then
    /// the packet must not be sent.
    fn seal(&mut self, now: Time, packet: &mut Vec<u8>, at: usize) -> bool;

    /// Opens a DTLS chunk where it stands, given with its header and without padding, that came on
    /// `path` (if that is known): the chunks in it are in this range of `chunk` then, of which the
    /// first [`HEADROOM`] bytes are no part. On an error the bytes of `chunk` are worth nothing,
    /// and everything else but counters is as it was: nothing of a packet is believed before it has
    /// opened.
    ///
    /// # Errors
    /// If it is not what the peer sealed, or came before.
    fn open(
        &mut self,
        now: Time,
        path: Option<PathId>,
        chunk: &mut [u8],
    ) -> Result<Range<usize>, OpenError>;

    /// Opens a DTLS chunk, given with its header and without padding, that we sealed a moment ago,
    /// and appends its chunks to `out`: what the system refused to send is sent again in another
    /// packet. False if it is not ours, or of an epoch that has ended.
    fn open_own(&self, chunk: &[u8], out: &mut Vec<u8>) -> bool;

    /// A path is gone; its number may stand for another one from now on.
    fn forget_path(&mut self, path: PathId);

    /// Who the peer is: the SubjectPublicKeyInfo (DER) that it proved to have the private key of.
    /// `None` before that is known, and where keys were shared before.
    fn peer(&self) -> Option<&[u8]>;

    /// Counters.
    fn stats(&self) -> ProtectionStats;
}

/// Something happened to an association's keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtectionEvent {
    /// Both ends have keys and use them: the application's data may flow. Told once.
    Established,
    /// Packets leave with the keys of another epoch.
    Rekeyed {
        /// The new one.
        epoch: u64,
    },
    /// There will be no keys: the association must end, once what
    /// [`poll_message`](Protection::poll_message) has was sent.
    Failed(ProtectionFailure),
}

/// Why an association cannot be protected (any longer).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtectionFailure {
    /// We do not let in who the peer proved to be.
    #[error("the peer's key is not one that is allowed")]
    UnknownPeer {
        /// Its SubjectPublicKeyInfo (DER).
        key: Vec<u8>,
    },
    /// The peer was somebody else when keys were replaced.
    #[error("the peer came with another key than before")]
    PeerChanged,
    /// The peer refused: what its TLS alert says.
    #[error("the peer refused: {0}")]
    Refused(String),
    /// A message that makes no sense, or was changed on its way.
    #[error("the key exchange failed: {0}")]
    Exchange(String),
    /// The peer took too long.
    #[error("the key exchange took too long")]
    TimedOut,
    /// No more packets may be protected, or tried to be opened, with the keys that there are, and
    /// others could not be agreed on.
    #[error("the keys are used up")]
    Exhausted,
}

/// Why a DTLS chunk was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It is too short, or its record has another form than the one that is used.
    #[error("not a record of the form that is used")]
    Malformed,
    /// There is no key of its epoch, or it wants a restart's.
    #[error("no key for it")]
    NoKey,
    /// It came before, or is older than what can be told of.
    #[error("seen before, or too old to tell")]
    Replayed,
    /// Its tag is wrong: it was changed, or never ours, or its number was guessed wrong.
    #[error("not authentic")]
    Forged,
}

/// Counters of an association's protection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProtectionStats {
    /// The epoch that packets leave with; 0 before there is one.
    pub epoch: u64,
    /// How often keys were replaced.
    pub rekeys: u64,
    /// Packets that were protected.
    pub sealed: u64,
    /// Packets that were opened.
    pub opened: u64,
    /// Packets whose tag was wrong.
    pub forged: u64,
    /// Packets that came before, or were too old to tell.
    pub replayed: u64,
    /// Packets of an epoch that there is no key for, or of another form.
    pub unopenable: u64,
}
