//! One scenario in two worlds: in the simulator, and over real sockets in an emulated network.
//!
//! Both have the same links with the same random draws, the same stack with the same settings, and applications that do the
//! same. What differs is what a simulator leaves out: the operating system, its scheduling and its queues.
#![expect(clippy::disallowed_types, reason = "the emulated world has a clock")]

mod app;
mod compare;
mod error;
mod meter;
mod play;
mod table;

pub use compare::{Comparison, FlowComparison, Options, Pair, compare};
pub use error::WorldsError;
pub use meter::{FlowOutcome, Played};
pub use play::play;
pub use table::{markdown, text};
