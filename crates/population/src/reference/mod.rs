//! What a draw is compared with: the limit, the best path alone, every other scheduler.

mod alone;
mod limit;
mod outcome;
mod schedulers;

pub use alone::Alone;
pub use limit::limit_of_draw;
pub use outcome::Outcome;
pub use schedulers::{SchedulerError, check_scheduler, other_schedulers, own_scheduler};

pub(crate) use alone::run_paths_alone;
pub(crate) use outcome::{round_to_thousandth, run_scenario};
