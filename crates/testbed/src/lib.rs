//! A scenario on wires: as an emulated network for any programs, and, over real sockets in that
//! network, beside the simulator.
//!
//! Both worlds have the same links with the same random draws, the same stack with the same
//! settings, and applications that do the same. What differs is what a simulator leaves out: the
//! operating system, its scheduling and its queues.
//!
//! ```no_run
//! use polypath_scenario::Source;
//! use polypath_testbed::{Options, compare_worlds, format_comparison};
//!
//! let scenario = "
//!     [path.A]
//!     rate = '8Mbit/s'
//!     delay = '5ms'
//!     [endpoints]
//!     encapsulation = 'udp'
//!     [[flow]]
//!     app = 'saturated'
//!     [time]
//!     measure = '5s'
//! ";
//! let scenario = Source::new("example.toml", scenario)?.parse_scenario()?;
//! let options = Options { first_seed: 1, runs: 3, check: true };
//! let comparison = compare_worlds(&scenario, options, &mut |what| eprintln!("{what}"))?;
//! print!("{}", format_comparison(&comparison));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![expect(clippy::disallowed_types, reason = "the emulated world has a clock")]

mod app;
mod capture;
mod compare;
mod error;
mod messages;
mod meter;
mod network;
mod pace;
mod play;
mod range;
mod reach;
mod report;
mod table;
mod worlds;

pub use capture::Capture;
pub use compare::{Comparison, FlowComparison, Options, Pair, compare_worlds};
pub use error::TestbedError;
pub use meter::{FlowOutcome, Played};
pub use network::{left_out, network_spec};
pub use play::play_flows;
pub use range::{RangeComparison, RunFigures, compare_with_range};
pub use reach::{Beyond, Reach};
pub use report::{EmulationReport, LatenessReport, LinkReport, NatReport, RouteReport};
pub use table::{format_comparison, format_markdown};
