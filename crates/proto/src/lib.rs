//! The sans-IO SCTP stack with Concurrent Multipath Transfer.
//!
//! See `ARCHITECTURE.md` for the map.

#![forbid(unsafe_code)]

mod association;
mod auth;
pub mod config;
mod control;
pub mod endpoint;
pub mod event;
mod extension;
mod handshake;
pub mod ids;
mod needs;
mod path;
pub mod policy;
mod receiver;
pub mod rng;
mod sender;
mod state;
pub mod stats;
pub mod time;
pub mod trace;
mod tsn_map;
pub mod view;

pub use association::{AddressError, Association, ReconfigError, State};
pub use auth::AuthKeyError;
pub use config::{AgreedExtensions, AssocSettings, PathSettings, SettingsError};
pub use endpoint::{ConnectError, Endpoint, Transmit};
pub use event::{CloseReason, Event, Message, ReconfigOutcome, StreamDirection};
pub use ids::{AssocHandle, FourTuple, MessageId, PathId, ReconfigId};
pub use needs::{Service, StreamNeeds};
pub use receiver::RecvFrom;
pub use sender::{Reliability, SendError, SendOptions};
