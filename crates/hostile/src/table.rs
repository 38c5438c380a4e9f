//! What the rows of the table have in common.

use std::time::Duration;

/// Packets per second of strangers.
pub(crate) const FLOOD: u32 = 50_000;

/// Packets per second whose cost is measured: few enough that none is lost.
pub(crate) const GENTLE: u32 = 10_000;

/// Bits per second of the honest transfer.
pub(crate) const GOODPUT: u32 = 50_000_000;

pub(crate) fn print_row(what: &str, of: &str, figure: &str) {
    println!("| {what} | {of} | {figure} |");
}

pub(crate) fn to_micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
