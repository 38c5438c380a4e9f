//! A scenario on wires: as an emulated network for any programs, and, over real sockets in that
//! network, beside the simulator.
//!
//! Both worlds have the same links with the same random draws, the same stack with the same settings, and applications that do the
//! same. What differs is what a simulator leaves out: the operating system, its scheduling and its queues.
#![expect(clippy::disallowed_types, reason = "the emulated world has a clock")]

mod app;
mod capture;
mod compare;
mod error;
mod meter;
mod network;
mod play;
mod report;
mod table;

pub use capture::Capture;
pub use compare::{Comparison, FlowComparison, Options, Pair, compare};
pub use error::TestbedError;
pub use meter::{FlowOutcome, Played};
pub use network::{left_out, network_spec};
pub use play::play;
pub use report::{EmulationReport, LatenessReport, LinkReport, NatReport, RouteReport};
pub use table::{markdown, text};
