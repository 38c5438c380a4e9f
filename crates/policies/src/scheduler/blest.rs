//! `blest`: blocking estimation (Ferlin et al., IFIP Networking 2016).
//!
//! The open path of the smallest RTT is taken if it is the fastest of all, f. If it is a slower
//! one, s, its data will stay in the window for RTT_s, in which f could send
//!
//! X = MSS (cwnd_f + (n - 1) / 2) n, n = RTT_s / RTT_f rounded up, cwnd_f in packets; cwnd_f (2^n -
//! 1) in slow start.
//!
//! s is used only while lambda X fits into the window beside what s has in flight and the chunk;
//! else it waits for f. Once per RTT of the slowest path lambda grows by 0.04 if f, with room of
//! its own, was stopped by a full window meanwhile, and shrinks by 0.01 if not, within 1 and 1.3.
//!
//! Ours: the window is the smaller one of the peer's and of the send buffer; Linux (whose rounding
//! and steps these are) counts a stop when it re-injects a segment, which we do not; the average of
//! f's RTTs is its smoothed RTT.

use polypath_proto::policy::{PathPick, PathScheduler, Policy, Trigger};
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::{AssocView, ChunkMeta, PathView};

use super::rtt_helpers::{fastest_open, fastest_usable, in_flight, joint_window, srtt_seconds};
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("blest", read_options)
    .summary("a slower path only if what it holds leaves the fastest one its part of the window")
    .source("Ferlin et al. 2016; constants of Multipath TCP in Linux")
    .options(&[
        OptionEntry {
            name: "lambda",
            default: "1.2",
            values: "<1..1.3>",
            summary: "factor of what the fastest path is expected to send, at first",
        },
        OptionEntry {
            name: "adapt",
            default: "yes",
            values: "yes|no",
            summary: "whether lambda follows what is seen of blocking",
        },
    ]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn PathScheduler>, PolicyError> {
    let lambda = options.number("lambda", MIN_LAMBDA..=MAX_LAMBDA)?;
    let adapt = options.choice("adapt", &[("yes", true), ("no", false)])?;
    Ok(Box::new(move |_, _| Box::new(Blest::new(lambda, adapt))))
}

const MIN_LAMBDA: f64 = 1.0;
const MAX_LAMBDA: f64 = 1.3;
const UP: f64 = 0.04;
const DOWN: f64 = 0.01;
/// Rounds of slow start that are looked ahead, at most.
const MAX_DOUBLINGS: f64 = 16.0;

/// BLEST.
#[derive(Clone, Copy, Debug)]
pub struct Blest {
    lambda: f64,
    adapt: bool,
    /// When lambda was last looked at.
    since: Time,
    /// The fastest path was stopped by a full window since.
    blocked: bool,
}

impl Blest {
    /// A scheduler that begins with this lambda, and changes it if it is to `adapt`.
    pub const fn new(lambda: f64, adapt: bool) -> Self {
        Self { lambda, adapt, since: Time::ZERO, blocked: false }
    }

    /// Whether the slower path `s` may take `next` and leave `f` its part of the window.
    fn leaves_room_for(
        &self,
        view: &AssocView<'_>,
        f: &PathView,
        s: &PathView,
        next: &ChunkMeta,
    ) -> bool {
        let taken = s.outstanding_payload + u64::from(next.bytes);
        let free = joint_window(view).saturating_sub(taken);
        self.lambda * expected_bytes(f, srtt_seconds(view, s) / srtt_seconds(view, f))
            <= free as f64
    }

    fn adapt_lambda(&mut self, view: &AssocView<'_>) {
        let slowest = view.usable().map(|p| p.srtt.unwrap_or(view.rto_initial)).max();
        if view.now.since(self.since) < slowest.unwrap_or(Duration::ZERO) {
            return;
        }
        let step = if self.blocked { UP } else { -DOWN };
        self.lambda = (self.lambda + step).clamp(MIN_LAMBDA, MAX_LAMBDA);
        (self.since, self.blocked) = (view.now, false);
    }
}

/// X for a slower path whose RTT is `ratio` times that of `f`, bytes.
fn expected_bytes(f: &PathView, ratio: f64) -> f64 {
    let rounds = ratio.floor() + 1.0;
    let (mss, cwnd) = (f64::from(f.pmdcs), f.cwnd as f64);
    if f.cwnd < f.ssthresh {
        cwnd * (rounds.min(MAX_DOUBLINGS).exp2() - 1.0)
    } else {
        (cwnd + mss * (rounds - 1.0) / 2.0) * rounds
    }
}

/// The fastest path could send, but a full window stops it, part of which a slower path holds.
fn is_blocked(view: &AssocView<'_>) -> bool {
    let Some(f) = fastest_usable(view) else { return false };
    let buffer = &view.send_buffer;
    let packet = u64::from(f.pmdcs);
    let peer = buffer.unsent > 0 && view.peer_rwnd < packet;
    let sender = buffer.unsent == 0 && buffer.limit.saturating_sub(buffer.used) < packet;
    let elsewhere = view.usable().any(|p| p.id != f.id && p.queued > 0);
    f.has_room() && elsewhere && (peer || sender)
}

impl Policy for Blest {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn trace_values(&self) -> Vec<(&'static str, f64)> {
        vec![("lambda", self.lambda)]
    }
}

impl PathScheduler for Blest {
    fn begin_attempt(&mut self, view: &AssocView<'_>, _why: Trigger) {
        if self.adapt {
            self.adapt_lambda(view);
        }
    }

    fn end_attempt(&mut self, view: &AssocView<'_>) {
        self.blocked |= is_blocked(view);
    }

    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        let (Some(f), Some(s)) = (fastest_usable(view), fastest_open(view)) else {
            return PathPick::Wait;
        };
        if s.id == f.id || !in_flight(view) || self.leaves_room_for(view, f, s, next) {
            PathPick::Use(s.id)
        } else {
            PathPick::Wait
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{chunk, paths, view};
    use polypath_proto::PathId;
    use polypath_proto::view::SendBufferView;

    /// Path 0: 20 ms, full with ten packets, in congestion avoidance. Path 1: 90 ms, open.
    fn full_fast_path() -> Vec<PathView> {
        let mut p = paths(2);
        p[0].srtt = Some(Duration::from_millis(20));
        p[1].srtt = Some(Duration::from_millis(90));
        (p[0].cwnd, p[0].ssthresh, p[0].outstanding) = (14_680, 14_680, 14_680);
        p[0].sendable = false;
        p
    }

    /// The smallest window of the peer with which the slower path is used.
    fn least_window(lambda: f64, p: &[PathView]) -> u64 {
        let mut blest = Blest::new(lambda, false);
        let admits = |rwnd: &u64| {
            let mut view = view(p);
            view.peer_rwnd = *rwnd;
            blest.pick_path(&view, &chunk(0, 1452)) == PathPick::Use(PathId(1))
        };
        (0..1 << 20).find(admits).expect("a wide window admits")
    }

    #[test]
    fn congestion_avoidance_by_hand() {
        let mut p = full_fast_path();
        // n = floor(90 / 20) + 1 = 5 rounds of 10, 11, 12, 13, 14 packets: X = 1468 (10 + 4 / 2) 5
        // = 88,080.
        assert_eq!(least_window(1.0, &p), 88_080 + 1452);
        assert_eq!(least_window(1.2, &p), 105_696 + 1452);
        p[1].outstanding_payload = 4356;
        assert_eq!(least_window(1.0, &p), 88_080 + 4356 + 1452);
    }

    #[test]
    fn slow_start_by_hand() {
        let mut p = full_fast_path();
        (p[0].cwnd, p[0].ssthresh) = (2936, 1 << 20);
        // Two packets: 2 (2^5 - 1) = 62 packets of 1468.
        assert_eq!(least_window(1.0, &p), 91_016 + 1452);
    }

    #[test]
    fn the_send_buffer_is_a_window_too() {
        let p = full_fast_path();
        let mut blest = Blest::new(1.0, false);
        let mut view = view(&p);
        view.peer_rwnd = 1 << 20;
        view.send_buffer = SendBufferView::new(89_531, 14_520, 1452, 1);
        assert_eq!(blest.pick_path(&view, &chunk(0, 1452)), PathPick::Wait);
        view.send_buffer.limit = 89_532;
        assert_eq!(blest.pick_path(&view, &chunk(0, 1452)), PathPick::Use(PathId(1)));
    }

    #[test]
    fn the_fastest_path_and_an_empty_network_are_not_asked() {
        let mut p = full_fast_path();
        let mut blest = Blest::new(1.0, false);
        p[0].outstanding = 0;
        assert_eq!(blest.pick_path(&view(&p), &chunk(0, 1452)), PathPick::Use(PathId(1)));
        p[0].sendable = true;
        assert_eq!(blest.pick_path(&view(&p), &chunk(0, 1452)), PathPick::Use(PathId(0)));
        p.iter_mut().for_each(|p| p.sendable = false);
        assert_eq!(blest.pick_path(&view(&p), &chunk(0, 1452)), PathPick::Wait);
    }

    #[test]
    fn lambda_follows_blocking_once_per_slow_round_trip() {
        let mut p = full_fast_path();
        (p[0].outstanding, p[1].queued) = (0, 60_000);
        let mut blest = Blest::new(1.2, true);
        let mut at = |ms: u64, rwnd: u64| {
            let mut view = view(&p);
            view.now = Time::from_millis(ms);
            view.peer_rwnd = rwnd;
            view.send_buffer.unsent = 10_000;
            blest.begin_attempt(&view, Trigger::Sack);
            blest.end_attempt(&view);
            (blest.lambda * 1000.0).round()
        };
        assert_eq!(at(90, 0), 1190.0, "nothing was blocked before");
        assert_eq!(at(179, 60_000), 1190.0, "within one round trip");
        assert_eq!(at(180, 60_000), 1230.0);
        assert_eq!(at(270, 0), 1220.0);
        assert_eq!([at(360, 0), at(450, 0), at(540, 0)], [1260.0, 1300.0, 1300.0], "no further");
    }
}
