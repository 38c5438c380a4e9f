//! Unidirectional links without I/O: a queue, a transmitter, a propagation delay and the ways in
//! which packets are lost. The caller hands in the time and moves packets in and out, so the same
//! link serves virtual time in the simulator and real time in an emulator.
//!
//! ```
//! use polypath_link::{Link, LinkConfig, LinkSeed, Offer};
//!
//! // 10 Mbit/s and 45 ms: a 1500-byte packet takes 1.2 ms to send.
//! let config = LinkConfig { rate: Some(10_000_000), delay: 45_000_000, ..LinkConfig::default() };
//! let mut link = Link::new(config, LinkSeed::new(1, 7));
//! assert_eq!(link.offer_packet(0, 1500, "packet"), Offer::Accepted);
//! assert_eq!(link.next_delivery(), Some(46_200_000));
//! assert_eq!(link.poll_arrival(46_200_000), Some("packet"));
//! ```

mod arrival;
mod config;
mod error;
mod jitter;
mod link;
mod loss;
mod nat;
mod pipe;
mod queue;
mod random;
mod red;
mod schedule;
mod server;
mod stats;
mod trace;

pub use arrival::QueueLen;
pub use config::{LinkConfig, LossAt};
pub use error::ConfigError;
pub use jitter::{Jitter, JitterShape};
pub use link::{Link, Offer};
pub use loss::LossModel;
pub use nat::{
    Nat, NatChange, NatConfig, NatConfigError, NatDependence, NatPooling, NatRefusal, NatStats,
    NatVerdict,
};
pub use queue::Queue;
pub use random::LinkSeed;
pub use red::RedConfig;
pub use schedule::Change;
pub use stats::{DropReason, Drops, LinkStats};
pub use trace::{DeliveryTrace, TraceError};

/// A time or a duration in nanoseconds; times count from the epoch of the run.
pub type Nanos = u64;
