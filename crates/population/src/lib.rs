//! A population of networks: scenarios drawn at random from stated distributions, and how near the
//! stack comes on each to what its network admits.
//!
//! A scheduler that is judged by the scenarios it was tuned on is judged by nothing. Here a draw is
//! a pure function of a seed and a number, so that a population has as many members as one has time
//! for, and those that nobody has seen are as good as those that somebody has.
//!
//! ```
//! use polypath_population::Population;
//!
//! let population = Population { seed: 7, packets: 100_000 };
//! let draw = population.draw(3)?;
//! assert_eq!(draw.text, population.draw(3)?.text);
//! assert_eq!(draw.scenario.flow.len(), 1);
//! # Ok::<(), polypath_population::DrawError>(())
//! ```
//!
//! `docs/evidence/population.md` says what is drawn from what.

mod application;
mod dice;
mod documentation;
mod draw;
mod execute;
mod feature;
mod files;
mod generate;
pub mod quantity;
mod record;
mod reference;
pub mod summary;
mod text;

pub use application::Application;
pub use documentation::distribution_tables;
pub use draw::{Draw, DrawError, Impossible, Population};
pub use execute::{ExecuteError, Plan, execute, run_draw};
pub use feature::Feature;
pub use files::{write_draw, write_file};
pub use record::{Record, Records, RecordsError};
pub use reference::{
    Alone, Outcome, SchedulerError, check_scheduler, limit_of_draw, other_schedulers, own_scheduler,
};
pub use text::summary_text;
