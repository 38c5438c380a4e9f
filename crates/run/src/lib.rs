//! From a scenario to its results: one run in the simulator, its metrics, and what its network
//! admits.
//!
//! ```
//! use polypath_run::{Recording, read_scenario, run};
//! use polypath_scenario::Source;
//!
//! let text = "
//!     [path.wifi]
//!     rate = '20Mbit/s'
//!     delay = '15ms'
//!     [path.lte]
//!     rate = '10Mbit/s'
//!     delay = '40ms'
//!     [[flow]]
//!     app = 'file'
//!     size = '1MiB'
//! ";
//! let scenario = read_scenario(&Source::new("example.toml", text)?)?;
//! let mut capture = Vec::new();
//! let recording = Recording { pcap: Some(&mut capture), trace: None };
//! let result = run(&scenario, 1, recording, &mut |_done| ())?;
//! assert!(result.flows[0].integrity.holds());
//! assert!(capture.len() > 1 << 20);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A run is a pure function of scenario and seed. No file is opened here, no thread started and no
//! clock read: captures and traces go to any [`Write`](std::io::Write), so all of it works in a
//! browser, too.

pub mod demo;
pub mod limit;
pub mod metrics;
mod read;
mod run;
mod world;

pub use polypath_capture::trace::TraceLine;
pub use polypath_sim::{RunResult, WorldSpec};
pub use read::read_scenario;
pub use run::{Recording, RunError, refuse_failed, run, run_world};
pub use world::world_spec;
