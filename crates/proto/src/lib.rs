//! The sans-IO SCTP stack with Concurrent Multipath Transfer.
//!
//! See `ARCHITECTURE.md` for the map.

#![forbid(unsafe_code)]

pub mod config;
pub mod event;
pub mod ids;
pub mod policy;
pub mod rng;
pub mod time;
pub mod trace;
pub mod view;

pub use ids::{AssocHandle, FourTuple, MessageId, PathId};
