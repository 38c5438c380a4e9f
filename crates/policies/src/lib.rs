//! The policies beyond RFC 9260's own: one file each, written against the public traits of
//! `polypath_proto` alone.
//!
//! A policy is written `name` or `name?key=value&key=value`. [`factory`] turns five such texts into
//! the policies of an association, [`all`] lists what there is.
//!
//! # A policy of your own
//! It needs a type, the trait of the question that it answers, and an entry with its name. Nothing
//! here has to change:
//!
//! ```
//! use polypath_policies::{OptionEntry, PolicyEntry, PolicySpec, Registry};
//! use polypath_proto::policy::{PathPick, PathScheduler, Policy};
//! use polypath_proto::view::{AssocView, ChunkMeta};
//!
//! /// The path with the most room, counted after leaving a reserve free.
//! #[derive(Debug)]
//! struct MostRoom {
//!     /// Bytes.
//!     reserve: u64,
//! }
//!
//! impl Policy for MostRoom {
//!     fn name(&self) -> &'static str {
//!         "most-room"
//!     }
//! }
//!
//! impl PathScheduler for MostRoom {
//!     fn pick_path(&mut self, view: &AssocView<'_>, _next: &ChunkMeta) -> PathPick {
//!         let busy = view.paths.iter().any(|p| p.outstanding > 0);
//!         // An empty network sends no feedback that could wake us up: then the reserve does not count.
//!         let reserve = if busy { self.reserve } else { 0 };
//!         let roomy = view.sendable().filter(|p| p.room() > reserve).max_by_key(|p| p.room());
//!         roomy.map_or(PathPick::Wait, |p| PathPick::Use(p.id))
//!     }
//! }
//!
//! const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("most-room", |options| {
//!     let reserve = options.number("reserve", 0..=1_000_000)?;
//!     Ok(Box::new(move |_cc, _rng| Box::new(MostRoom { reserve })))
//! })
//! .summary("the path with the most room in its congestion window")
//! .source("this example")
//! .options(&[OptionEntry {
//!     name: "reserve",
//!     default: "0",
//!     values: "<0..1000000>",
//!     summary: "bytes of the window that stay free",
//! }]);
//!
//! let mut registry = Registry::builtin();
//! registry.add(ENTRY)?;
//! let path_scheduler = "most-room?reserve=3000".to_owned();
//! let factory = registry.factory(&PolicySpec { path_scheduler, ..PolicySpec::default() })?;
//!
//! // What every policy must keep to; run it with a few seeds.
//! # let recipe = registry.path_scheduler("most-room?reserve=3000")?;
//! polypath_testkit::conformance::check_path_scheduler(
//!     |_seed| Box::new(MostRoom { reserve: 3000 }),
//!     1,
//! );
//! # drop((factory, recipe));
//! # Ok::<(), polypath_policies::PolicyError>(())
//! ```
//!
//! # Features
//! - `schema` (off by default): the names of profiles can be read from files by `serde`, and have a
//!   JSON schema by `schemars`.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod buffer;
mod builder;
pub mod congestion;
mod entry;
mod error;
mod kind;
mod nearest;
mod option;
mod options;
mod own;
pub mod path_model;
mod path_order;
pub mod profile;
mod registry;
mod renamed;
pub mod retransmission;
pub mod scheduler;
pub mod shared_bottleneck;
pub mod stream;
#[cfg(test)]
mod test_views;

pub use builder::AssocBuilder;
pub use entry::{Configure, PolicyEntry, Recipe};
pub use error::PolicyError;
pub use kind::PolicyKind;
pub use nearest::did_you_mean;
pub use option::OptionEntry;
pub use options::Options;
pub use own::OwnScheduler;
pub use profile::{Profile, UnknownProfile};
pub use registry::{PolicySpec, Registry, all, factory};
pub use renamed::present_text;
