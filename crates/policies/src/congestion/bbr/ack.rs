//! What an acknowledgement tells BBR.

use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{PathView, RateSample};

/// A SACK that acknowledged data of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack<'a> {
    pub(super) now: Time,
    /// The path after it.
    pub(super) path: &'a PathView,
    pub(super) sample: &'a RateSample,
    /// RS.delivery_rate, bytes per second; 0 if the sample is not valid.
    pub(super) rate: f64,
    /// RS.rtt; `None` if all may be of retransmissions whose originals arrived. The sample's own
    /// round trip may be one of those.
    pub(super) rtt: Option<Duration>,
    /// C.is_cwnd_limited: in the last round trip the window once let no further packet through.
    pub(super) is_cwnd_limited: bool,
}
