//! `ecf`: earliest completion first (Lim et al., CoNEXT 2017).
//!
//! f is the path of the smallest RTT, s the fastest open one, k what is unsent, sigma the larger
//! RTT variation of the two. If f is not open, s is used unless waiting for f completes the
//! transfer earlier:
//!
//! wait if (1 + k / cwnd_f) RTT_f < (1 + w beta) (RTT_s + sigma) and (k / cwnd_s) RTT_s >= 2 RTT_f
//! + sigma,
//!
//! where w is 1 after waiting and 0 after the first inequality failed: hysteresis.
//!
//! Ours: k, cwnd in bytes instead of packets; k is what the send buffer holds unsent, as in the
//! paper. A source that keeps a large send buffer full therefore makes ECF equal to `min-rtt`:
//! there is no completion to be early for.

use polypath_proto::policy::{PathPick, PathScheduler, Policy};
use polypath_proto::view::{AssocView, ChunkMeta, PathView};

use super::rtt_helpers::{fastest_open, fastest_usable, in_flight, srtt_seconds, unsent_bytes};
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("ecf", read_options)
    .summary(
        "earliest completion first: a slower path only if waiting would end the transfer later",
    )
    .source("Lim et al. 2017")
    .options(&[
        OptionEntry {
            name: "beta",
            default: "0.25",
            values: "<0..10>",
            summary: "hysteresis: how much longer to wait once waiting",
        },
        OptionEntry {
            name: "backlog",
            default: "unsent",
            values: "unsent|window",
            summary: "k: what is unsent, or a window at least, as in Linux",
        },
    ]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn PathScheduler>, PolicyError> {
    let beta = options.number("beta", 0.0..=10.0)?;
    let choices = [("unsent", Backlog::Unsent), ("window", Backlog::Window)];
    let backlog = options.choice("backlog", &choices)?;
    Ok(Box::new(move |_, _| Box::new(Ecf::new(beta, backlog))))
}

/// What k is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// The unsent bytes.
    Unsent,
    /// The same, but never less than the window of the path in question.
    Window,
}

/// ECF.
#[derive(Clone, Copy, Debug)]
pub struct Ecf {
    beta: f64,
    backlog: Backlog,
    waiting: bool,
}

impl Ecf {
    /// A scheduler with this hysteresis.
    pub const fn new(beta: f64, backlog: Backlog) -> Self {
        Self { beta, backlog, waiting: false }
    }

    /// k over cwnd: windows that the path needs for what is unsent.
    fn windows_needed(&self, path: &PathView, unsent: u64) -> f64 {
        let cwnd = path.cwnd.max(1);
        let bytes = if self.backlog == Backlog::Window { unsent.max(cwnd) } else { unsent };
        bytes as f64 / cwnd as f64
    }

    /// Whether to wait for `f` instead of using `s`.
    fn should_wait(
        &mut self,
        view: &AssocView<'_>,
        f: &PathView,
        s: &PathView,
        unsent: u64,
    ) -> bool {
        let (rtt_f, rtt_s) = (srtt_seconds(view, f), srtt_seconds(view, s));
        let sigma = f.rttvar.max(s.rttvar).as_secs_f64();
        let patience = if self.waiting { 1.0 + self.beta } else { 1.0 };
        if (1.0 + self.windows_needed(f, unsent)) * rtt_f >= patience * (rtt_s + sigma) {
            self.waiting = false;
            return false;
        }
        let waits = self.windows_needed(s, unsent) * rtt_s >= 2.0 * rtt_f + sigma;
        self.waiting |= waits;
        waits
    }
}

impl Policy for Ecf {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn trace_values(&self) -> Vec<(&'static str, f64)> {
        vec![("waiting", f64::from(u8::from(self.waiting)))]
    }
}

impl PathScheduler for Ecf {
    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        let (Some(f), Some(s)) = (fastest_usable(view), fastest_open(view)) else {
            return PathPick::Wait;
        };
        if s.id != f.id && in_flight(view) && self.should_wait(view, f, s, unsent_bytes(view, next))
        {
            return PathPick::Wait;
        }
        PathPick::Use(s.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{self, chunk, view};
    use polypath_proto::PathId;
    use polypath_proto::time::Duration;

    /// Path 0: 20 ms, ten packets, full. Path 1: 100 ms, five packets, open.
    fn full_fast_path() -> Vec<PathView> {
        test_views::full_fast_path([10_000, 5_000], 100)
    }

    fn uses_slow(ecf: &mut Ecf, p: &[PathView], unsent: u64) -> bool {
        let mut view = view(p);
        view.send_buffer.unsent = unsent;
        match ecf.pick_path(&view, &chunk(0, 1)) {
            PathPick::Use(id) => {
                assert_eq!(id, PathId(1));
                true
            }
            other => {
                assert_eq!(other, PathPick::Wait);
                false
            }
        }
    }

    #[test]
    fn thresholds_by_hand() {
        let p = full_fast_path();
        let uses = |unsent| uses_slow(&mut Ecf::new(0.25, Backlog::Unsent), &p, unsent);
        // Second inequality: k / 5000 x 100 >= 40 ms from 2000 bytes on. First: (1 + k / 10,000) 20
        // < 100 ms up to 40,000.
        assert!(uses(1_999), "so little is sent sooner on the slow path than after waiting");
        assert!(!uses(2_000) && !uses(39_999));
        assert!(uses(40_000), "so much needs both");
    }

    #[test]
    fn variation_is_added_to_the_slow_path() {
        let mut p = full_fast_path();
        p[0].rttvar = Duration::from_millis(10);
        let uses = |unsent| uses_slow(&mut Ecf::new(0.25, Backlog::Unsent), &p, unsent);
        // (1 + k / 10,000) 20 < 110 up to 45,000; k / 5000 x 100 >= 50 from 2500 on.
        assert!(uses(2_499) && !uses(2_500) && !uses(44_999) && uses(45_000));
    }

    #[test]
    fn once_waiting_it_waits_longer() {
        let p = full_fast_path();
        let mut ecf = Ecf::new(0.25, Backlog::Unsent);
        assert!(uses_slow(&mut ecf, &p, 45_000));
        assert!(!uses_slow(&mut ecf, &p, 39_999));
        // (1 + k / 10,000) 20 < 1.25 x 100 up to 52,500.
        assert!(!uses_slow(&mut ecf, &p, 52_499));
        assert!(uses_slow(&mut ecf, &p, 52_500));
        assert!(uses_slow(&mut ecf, &p, 45_000), "and no longer");
    }

    #[test]
    fn a_window_at_least_as_in_linux() {
        let p = full_fast_path();
        // k = 5000 for the slow path: 100 ms >= 40 ms always, so that the last bytes wait as well.
        assert!(!uses_slow(&mut Ecf::new(0.25, Backlog::Window), &p, 1));
    }

    #[test]
    fn never_waits_for_nothing() {
        let mut p = full_fast_path();
        p[0].outstanding = 0;
        assert!(uses_slow(&mut Ecf::new(0.25, Backlog::Unsent), &p, 10_000));
    }
}
