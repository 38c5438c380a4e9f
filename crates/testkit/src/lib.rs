//! What tests of several crates share; for tests only.
//!
//! Whoever writes a policy finds here what each must keep to:
//!
//! ```
//! use polypath_proto::policy::PrimaryPath;
//! use polypath_testkit::conformance::check_path_scheduler;
//!
//! for seed in 0..3 {
//!     check_path_scheduler(|_seed| Box::new(PrimaryPath), seed);
//! }
//! ```

#![forbid(unsafe_code)]

pub mod conformance;
pub mod fingerprint;
pub mod interact;
pub mod invariants;
pub mod model;
pub mod packet;
pub mod pair;
pub mod scripted_peer;
pub mod world;
