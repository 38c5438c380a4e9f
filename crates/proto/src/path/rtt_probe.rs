//! The chunk that is being timed.

use crate::time::Time;

/// The chunk whose acknowledgement gives the next RTT sample: one at a time, so once per round trip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// Extended TSN.
    pub(crate) tsn: u64,
    pub(crate) sent: Time,
    /// It was acknowledged by a SACK that came along another path; a SACK on this path may still give the sample.
    pub(crate) acked_elsewhere: Option<Time>,
}
