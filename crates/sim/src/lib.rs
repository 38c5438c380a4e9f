//! A deterministic discrete-event simulator that drives SCTP endpoints over links, in integer
//! nanoseconds.
//!
//! A run is a pure function of a [`WorldSpec`] and a seed.
//!
//! ```
//! use polypath_link::{LinkConfig, Queue};
//! use polypath_sim::spec::{AppSpec, FileContent, FlowSpec, MessageSpec, Topology, WorldSpec};
//! use polypath_sim::{DuplexPath, run};
//!
//! // 100 kB over 10 Mbit/s and 20 ms.
//! let link = LinkConfig {
//!     rate: Some(10_000_000),
//!     delay: 20_000_000,
//!     queue: Queue::DropTailPackets(100),
//!     ..LinkConfig::default()
//! };
//! let (content, messages) = (FileContent::Pattern(100_000), MessageSpec::default());
//! let app = AppSpec::File { content, messages };
//! let spec = WorldSpec {
//!     topology: Topology::disjoint(&[DuplexPath::symmetric("A", link)]),
//!     flows: vec![FlowSpec::new("file", vec![Topology::disjoint_addresses(0)], app)],
//!     ..WorldSpec::default()
//! };
//! let result = run(&spec, 1, None)?;
//! assert_eq!(result.flows[0].total.bytes, 100_000);
//! # Ok::<(), polypath_sim::SpecError>(())
//! ```
//!
//! # Features
//! - `schema` (off by default): JSON schemas of results by `schemars`.

mod app;
mod check;
mod cross;
mod delivery_checker;
mod end;
mod event_queue;
mod flow;
mod host;
mod meter;
mod nat;
mod network;
pub mod observer;
mod pcap;
mod random;
mod reader;
mod repeats;
mod report;
mod responses;
pub mod results;
mod run;
mod scheduled_actions;
mod slots;
pub mod spec;
mod topology;
mod trace_file;
mod world;

pub use check::SpecError;
pub use end::Side;
pub use observer::Observer;
pub use pcap::Pcap;
pub use random::{link_seed, named_key, named_rng, nat_seed};
pub use results::RunResult;
pub use run::run;
pub use spec::WorldSpec;
pub use topology::DuplexPath;
pub use world::World;
