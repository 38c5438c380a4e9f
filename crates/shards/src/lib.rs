//! Work for many machines: a [`Plan`] says what is run, a [`Shard`] which part of it, [`run_shard`]
//! runs that into a segment of its own, and [`join_segments`] reads segments back. There is no
//! coordinator: a shard is a pure function of plan and number, and one that got lost is run again.
//!
//! ```
//! use polypath_shards::Shard;
//!
//! let shard: Shard = "17/400".parse()?;
//! assert_eq!((shard.number, shard.of), (17, 400));
//! # Ok::<(), polypath_shards::ShardError>(())
//! ```
//!
//! From the plan to what came of it:
//!
//! ```no_run
//! use std::path::Path;
//!
//! use polypath_shards::{Plan, join_segments, run_shard};
//!
//! let plan = Plan::read(Path::new("plan"))?;
//! run_shard(&plan, "17/400".parse()?, Path::new("out"), 0, &|_done| (), &|| false)?;
//! let joined = join_segments(&["out".into()])?;
//! println!("{} runs", joined.count_rows());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bundle;
mod error;
mod join;
mod plan;
mod prepare;
mod selftest;
mod shard;
mod shard_files;
mod verify;
mod watch;
mod worker;

pub use error::ShardError;
pub use join::{Joined, find_segments, join_segments};
pub use plan::{Plan, SeedRange, Work};
pub use prepare::Prepared;
pub use selftest::run_selftest;
pub use shard::{Shard, choose_shards};
pub use verify::{Sample, Verified, verify_segments};
pub use watch::{ShardProgress, WorkProgress, watch_segments};
pub use worker::{Done, run_shard};
