//! What an interval policy sees.

/// Which figures there are, what they are of, and how they are scaled. What was learned with one
/// version cannot be used with another.
pub const VERSION: u32 = 1;

/// The names of a path's figures, in their order.
pub const PATH_FIGURES: [&str; 12] = [
    "usable",
    "sendable",
    "srtt",
    "min-rtt",
    "queueing",
    "rttvar",
    "cwnd",
    "in-flight",
    "delivery-rate",
    "loss-rate",
    "in-recovery",
    "queued",
];

/// The names of the association's figures, in their order.
pub const ASSOC_FIGURES: [&str; 6] =
    ["usable-paths", "peer-window", "send-buffer", "backlog", "send-rate", "elapsed"];

/// What an interval policy sees of an association: figures of each path, and of the association.
///
/// All figures are finite, not negative, at most 10, and multiples of 2^-20, so that their sums
/// over paths are exact. Sizes are in bytes, kB are 1000 of them, log is to the base of two. "The
/// interval" is the time since the observation before; in the first, all that is measured in it is
/// 0.
///
/// | of each path | is | range |
/// |---|---|---|
/// | `usable` | may carry data: confirmed, reachable, wanted | 0 or 1 |
/// | `sendable` | usable, and its congestion window and the buffers have room | 0 or 1 |
/// | `srtt` | log(1 + ms) / 10 of the smoothed round trip; while unmeasured RTO.Initial | 0 to 2 |
/// | `min-rtt` | log(1 + ms) / 10 of the smallest round trip; 0 while unmeasured | 0 to 2 |
/// | `queueing` | smoothed over smallest round trip, less 1; 0 while unmeasured | 0 to 10 |
/// | `rttvar` | variation over smoothed round trip; 0 while unmeasured | 0 to 10 |
/// | `cwnd` | log(1 + packets) / 10 of the congestion window | 0 to 2 |
/// | `in-flight` | bytes in flight over the congestion window | 0 to 10 |
/// | `delivery-rate` | log(1 + kB/s) / 20 delivered in the interval | 0 to 2 |
/// | `loss-rate` | lost over lost and delivered bytes of the interval | 0 to 1 |
/// | `in-recovery` | in fast recovery | 0 or 1 |
/// | `queued` | the part of the bytes in the send buffer that went out on this path | 0 to 1 |
///
/// | of the association | is | range |
/// |---|---|---|
/// | `usable-paths` | a tenth of the number of usable paths | 0 to 10 |
/// | `peer-window` | the part of the peer's window that is left | 0 to 1 |
/// | `send-buffer` | the part of the send buffer that is used; 0 where it has no limit | 0 to 1 |
/// | `backlog` | log(1 + kB) / 20 that wait unsent | 0 to 2 |
/// | `send-rate` | log(1 + kB/s) / 20 of new data sent in the interval | 0 to 2 |
/// | `elapsed` | log(1 + ms) / 10 of the interval | 0 to 2 |
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    pub(super) paths: Vec<[f32; PATH_FIGURES.len()]>,
    pub(super) assoc: [f32; ASSOC_FIGURES.len()],
}

impl Observation {
    /// An observation of these figures, for tests of policies.
    pub const fn from_figures(
        paths: Vec<[f32; PATH_FIGURES.len()]>,
        assoc: [f32; ASSOC_FIGURES.len()],
    ) -> Self {
        Self { paths, assoc }
    }

    /// The figures of each path, by its number, in the order of [`PATH_FIGURES`].
    pub fn paths(&self) -> &[[f32; PATH_FIGURES.len()]] {
        &self.paths
    }

    /// The figures of the association, in the order of [`ASSOC_FIGURES`].
    pub const fn assoc(&self) -> &[f32; ASSOC_FIGURES.len()] {
        &self.assoc
    }

    /// Whether the path of these figures is usable.
    pub const fn is_usable(path: &[f32; PATH_FIGURES.len()]) -> bool {
        let [usable, ..] = path;
        *usable > 0.0
    }

    /// Where a path's figure of this name stands.
    pub fn path_figure(name: &str) -> Option<usize> {
        PATH_FIGURES.iter().position(|figure| *figure == name)
    }
}
