//! Experiments: scenarios with claims, the runs that they need on all cores, and the verdicts.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use polypath_experiments::experiment::Experiment;
//! use polypath_experiments::reproduce::{
//!     Options, collect_jobs, execute_jobs, judge_study, prepare_study,
//! };
//! use polypath_experiments::store::Store;
//!
//! let file = Path::new("scenarios/papers/iyengar-2007/section-3-blocking.toml");
//! let experiment = Experiment::from_file(file)?;
//! let study = prepare_study(experiment, Options::default())?;
//! // Runs that the store has are not made again.
//! let mut store = Store::open(Path::new("results/runs"))?;
//! execute_jobs(&collect_jobs([&study]), &mut store, &|_done| ())?;
//! let (report, _runs) = judge_study(&study, &store)?;
//! for claim in &report.claims {
//!     println!("{}: {}", claim.id, claim.finding.verdict);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From here on there are files and threads: [`disk`] reads scenarios, [`carried`] has those that
//! are part of the program, [`output`] writes files that appear under their names only once they
//! are whole, and [`store`] keeps finished runs.

pub mod carried;
pub mod disk;
pub mod evaluate;
pub mod experiment;
pub mod fingerprint;
pub mod output;
pub mod recording;
pub mod reproduce;
pub mod stats;
pub mod store;
pub mod sweep;
