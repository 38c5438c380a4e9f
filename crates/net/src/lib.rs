//! Polypath on real networks: an async API over the sans-IO core.
//!
//! An [`Endpoint`] is one SCTP port, [bound](Endpoint::bind) to sockets of its own: one UDP socket
//! per local address (RFC 6951), or raw IP sockets. A thread of its own moves packets; the futures
//! of this crate need no particular runtime.
//!
//! ```no_run
//! use polypath_net::{Config, Endpoint};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! // Two uplinks here, one address there: two paths.
//! let endpoint = Endpoint::bind(Config::client(["192.0.2.1".parse()?, "198.51.100.1".parse()?]))?;
//! let association = endpoint.connect(&["203.0.113.5:9899".parse()?], 9899).await?;
//! association.send(0, "hello").await?;
//! while let Some(message) = association.recv().await? {
//!     println!("stream {}: {} bytes", message.stream.0, message.data.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Nothing is encrypted: whoever sees the packets can read them, and take part unless chunks are
//! authenticated with a shared key ([`AuthConfig`]).

#![forbid(unsafe_code)]
#![expect(clippy::disallowed_types, reason = "a driver of the real world owns the clock")]

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
mod lane;
mod local_address;
mod parts;
mod reconfig;
mod setup_errors;
mod shared;
mod socket;

pub use association::{Association, Contact, Events, PathInfo};
pub use capture::Capture;
pub use config::{Config, DEFAULT_PORT, Encapsulation, LocalAddress, Pairing};
pub use endpoint::Endpoint;
pub use error::{
    AddressError, AddressRefusal, AuthKeyError, AuthKeyRefusal, BindError, Closed, ConnectError,
    ConnectRefusal, PathError, ReconfigError, ReconfigRefusal, SendError, SendRefusal,
    SettingsError, SettingsRefusal, Warning,
};
pub use interfaces::Follow;

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
pub use polypath_proto::stats::{
    AbandonedCount, AbandonedMessages, AssocStats, EndpointStats, Limit, LimitStats, MtuState,
    PathMtuStats, PathStats, Stall, StreamStats,
};
pub use polypath_proto::time::Time;
pub use polypath_proto::view::{PathAdmin, PathState};
pub use polypath_proto::{
    PathSettings, ReconfigOutcome, Reliability, SendOptions, Service, State, StreamNeeds,
};
