//! Scenario files: what is in them, how they are read, and what is wrong with them.
//!
//! A scenario is a text in TOML: a network, the SCTP stacks of its hosts, the traffic between them,
//! and how long to watch it. [`Source`] holds such a text and what was set over it; its
//! [`Scenario`] is plain data, checked. Quantities carry their [`units`], and a
//! mistake is one line that names file, field, value and what is allowed.
//!
//! ```
//! use polypath_scenario::Source;
//!
//! let text = "
//!     [path.wifi]
//!     rate = '20Mbit/s'
//!     delay = '15ms'
//!     [[flow]]
//!     app = 'saturated'
//!     [time]
//!     measure = '10s'
//! ";
//! let mut source = Source::new("example.toml", text)?;
//! source.set_field(&"path.wifi.delay=75ms".parse()?)?;
//! let scenario = source.parse_scenario()?;
//! assert_eq!(scenario.path["wifi"].delay.unwrap().to_string(), "75ms");
//!
//! source.set_field(&"path.wifi.rate=fast".parse()?)?;
//! assert!(source.parse_scenario().unwrap_err().to_string().starts_with("--set: path.wifi.rate"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No file is opened here and no clock is read, so it works in a browser, too: what a scenario
//! names comes from the [`Files`] that are handed in.

pub mod catalogue;
mod changes;
mod check;
mod cross;
mod error;
pub mod example;
mod field_path;
mod fields;
mod files;
mod flow;
mod nat;
mod needs;
mod plan;
mod policies;
pub mod profile;
mod renamed;
mod scenario;
pub mod schema;
mod set;
mod source;
mod stack;
mod topology;
mod trace_file;
pub mod units;

pub use changes::{Action, Change, Repeat, Series};
pub use cross::{CrossTraffic, Spacing};
pub use error::ScenarioError;
pub use files::Files;
pub use flow::{App, Direction, FlowSpec};
pub use nat::{Filtering, Mapping, NatSpec, Ports, Unmapped};
pub use needs::{BesideSpec, NeedsSpec, ReliabilitySpec};
pub use plan::{Axis, Case, Scalar, Seeds, TimeSpec};
pub use policies::Policies;
pub use scenario::Scenario;
pub use set::{Assignment, AssignmentError};
pub use source::Source;
pub use stack::{Protection, StackSettings, StackSpec};
pub use topology::{
    Endpoints, Family, GilbertElliott, JitterShape, LinkSettings, LossPlace, PathSpec, Red,
    RouteSpec, ServerAddresses,
};
pub use trace_file::TraceFile;
