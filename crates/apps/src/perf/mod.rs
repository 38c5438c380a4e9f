//! Measuring: load over associations, and what both ends saw of it, per interval, path and stream.
//!
//! One association is one test. On its stream 0 travel the messages of `control`, on the others the
//! load. The client says what it wants ([`TestSpec`]); the server checks it, takes part, and ships
//! its [`EndReport`] at the end.

mod client;
mod clock;
mod control;
mod cpu;
mod delay;
mod error;
mod meter;
mod only;
mod report;
mod run;
mod server;
mod shipped;
mod spec;
pub mod text;
mod traffic;
mod watch;

pub use client::{ClientOptions, run_client};
pub use clock::ClockRelation;
pub use error::PerfError;
pub use report::{
    AssociationReport, ClientReport, Cpu, Delay, Direction, DirectionSum, EndReport, Flow,
    Interval, LimitShare, PathCondition, PathInterval, StreamCount,
};
pub use run::{Progress, Stop, stop_switch};
pub use server::{Server, ServerOptions, Session, SessionUpdate};
pub use spec::{Limits, Load, SpecError, TestSpec, Way};
