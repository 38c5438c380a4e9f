//! Quantities with mandatory units.
//!
//! Every quantity is a whole number of a base unit, read exactly: `1.5Mbit/s` is 1,500,000 bit/s and
//! never passes through a float. A text finer than the base unit is refused rather than rounded.

mod choice;
mod kind;
mod quantity;

pub use choice::{Burst, ChoiceError, InitialWindow, Interval, Limit, QueueSize, Threshold};
pub use kind::{Kind, UnitError};
pub use quantity::{Delay, Mtus, Packets, Probability, Quantity, Rate, Size};
