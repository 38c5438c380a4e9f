//! What many draws say together.

mod against;
mod group;
mod interval;
mod members;
mod quantiles;
mod ratio;
mod spread;
mod total;
mod worst;

pub use against::{Against, BestOther};
pub use group::{Group, LimitGroup};
pub use interval::{Portion, portion_of};
pub use quantiles::Quantiles;
pub use spread::{Spread, Spreads};
pub use total::Summary;
pub use worst::Worst;
