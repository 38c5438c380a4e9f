//! The policy traits: where research happens.
//!
//! A policy sees views ([`crate::view`]), answers with values and owns only its own state. It never
//! touches the association. Each implementation is one file; RFC 9260's own behaviour lives here as
//! the default, everything else in `polypath-policies`.

mod buffer;
mod classic;
mod common;
mod congestion;
mod congestion_config;
mod path_scheduler;
mod retransmission;
mod set;
mod stream_scheduler;

pub use buffer::{BufferPolicy, SharedBuffer};
pub use classic::{ClassicCc, Cut, CwndStep, PathWindow, Rfc9260Rule, WindowRule};
pub use common::Policy;
pub use congestion::{AckedInfo, CongestionControl, LossInfo};
pub use congestion_config::{CcConfig, CwndUnit, InitialCwnd, InitialSsthresh};
pub use path_scheduler::{PaddedTrip, PathChange, PathPick, PathScheduler, PrimaryPath, Trigger};
pub use retransmission::{RetransmissionPolicy, Rfc9260Retransmission, RtxPick};
pub use set::{PolicyFactory, PolicySet, Rfc9260Policies};
pub use stream_scheduler::{FirstCome, MessageInfo, StreamParam, StreamQueues, StreamScheduler};
