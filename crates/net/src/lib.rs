//! Polypath on real networks: an async API over the sans-IO core.
//!
//! An [`Endpoint`] is one SCTP port, [bound](Endpoint::bind) to sockets of its own: one UDP socket
//! per local address (RFC 6951), or raw IP sockets. A thread of its own moves packets; the futures
//! of this crate need no particular runtime.
//!
//! ```no_run
//! use polypath_net::{Config, Endpoint, Identity, Tls, Trust};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! // Who we are, and the fingerprint of the peer that we want.
//! let identity = Identity::from_pkcs8_pem(&std::fs::read_to_string("identity.pem")?)?;
//! let peer = "pp:3q6d7wzfhvmbn2nahx5f6m3w4d7c2b5r4p6e7s2t3u4v5w6x7y2q".parse()?;
//! let keys = Tls::new(&identity, Trust::pinned([peer]));
//! // Two uplinks here, one address there: two paths.
//! let uplinks = ["192.0.2.1".parse()?, "198.51.100.1".parse()?];
//! let endpoint = Endpoint::bind(Config::client(uplinks, keys))?;
//! let association = endpoint.connect(&["203.0.113.5:9899".parse()?], 7).await?;
//! association.send(0, "hello").await?;
//! while let Some(message) = association.recv().await? {
//!     println!("stream {}: {} bytes", message.stream.0, message.data.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Packets are encrypted (draft-ietf-tsvwg-sctp-dtls-chunk), with keys that the ends agree on by
//! TLS 1.3; each knows the other by its public key. [`Config::insecure_client`] says what is given
//! up without.
//!
//! # Features
//! One of these is needed:
//! - `ring` (default): ciphers and TLS 1.3 by ring and rustls;
//! - `aws-lc-rs` (off by default): the same by aws-lc-rs and rustls; it is taken where both are on.

#![forbid(unsafe_code)]
#![expect(clippy::disallowed_types, reason = "a driver of the real world owns the clock")]

#[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
compile_error!("one of the features `ring` and `aws-lc-rs` of polypath-net is needed");

mod addresses;
mod association;
mod auth;
mod batch;
mod capture;
mod clock;
mod config;
mod contact;
mod driver;
mod endpoint;
mod error;
mod inner;
mod interfaces;
mod keys;
mod lane;
mod local_address;
mod observe;
mod observer;
mod parts;
mod path_info;
mod protection;
mod reconfig;
mod refusals;
mod setup_errors;
mod shared;
mod socket;
mod trace;
mod trace_queue;

pub use association::{Association, Contact, Events};
pub use capture::Capture;
pub use config::{Config, DEFAULT_PORT, Encapsulation, LocalAddress, Pairing};
pub use endpoint::Endpoint;
pub use error::{
    AddressError, AddressRefusal, AuthKeyError, AuthKeyRefusal, BindError, Closed, ConnectError,
    ConnectRefusal, PathError, ReconfigError, ReconfigRefusal, SendError, SendRefusal,
    SettingsError, SettingsRefusal, Warning,
};
pub use interfaces::Follow;
pub use keys::Keys;
pub use observer::{Observed, ObservedEvents, Observer, Snapshot};
pub use path_info::PathInfo;
pub use refusals::Refusal;
pub use trace::Trace;

pub use bytes::Bytes;
pub use polypath_policies::{AssocBuilder, PolicyError, Profile, UnknownProfile};
pub use polypath_proto::config::{
    AgreedExtensions, AssocConfig, AssocSettings, AuthConfig, AuthKey, BurstRule, CcConfig,
    CmtConfig, Cuc, CwndUnit, Edmid, ExtensionConfig, Handshake, HmacAlgorithm, InitialCwnd,
    InitialSsthresh, NrSack, PathMtuDiscovery, PfConfig, RateReduction, ReconfigConfig,
    RecoveryConfig, ReproductionConfig, Rescheduling, RtoConfig, SackConfig, SackPath,
    StallDetectionConfig, T3Marks,
};
pub use polypath_proto::event::{
    AddressChange, AuthNotice, CloseReason, Event, Message, Part, SenderQueueInfo, StreamDirection,
    StreamQueueInfo,
};
pub use polypath_proto::ids::{FourTuple, MessageId, Mid, PathId, ReconfigId, StreamId, Tsn};
pub use polypath_proto::policy::StreamParam;
pub use polypath_proto::protection::{
    KeyManagement, Protection, ProtectionFailure, ProtectionStats,
};
pub use polypath_proto::stats::{
    AbandonedCount, AbandonedMessages, AssocStats, EndpointStats, Limit, LimitStats, MtuState,
    PathMtuStats, PathStats, Stall, StreamStats, StreamWait, WaitsFor,
};
pub use polypath_proto::time::Time;
pub use polypath_proto::view::{PathAdmin, PathState};
pub use polypath_proto::{
    PathSettings, ReconfigOutcome, Reliability, SendOptions, Service, State, StreamNeeds,
};
pub use polypath_secure::{
    AllowList, CodeError, Enrolment, Fingerprint, FingerprintError, Identity, IdentityError,
    KeyLog, KnownPeers, PreShared, PublicKey, RekeyPolicy, Standing, Suite, TextError, Tls, Trust,
};
