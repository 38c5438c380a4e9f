//! Metrics from trace events.

use super::metric::{Metric, Of, metric};
use super::number::whole;
use super::probe::{Reported, Traces};
use super::unit::Unit::{self, Bytes, Plain, Share, Time};

pub(super) static METRICS: &[Metric] = &[
    run("rounds", Plain, "send attempts that sent new data", |t| whole(t.attempts.with_data())),
    path("rounds.path.{path}", Plain, "those that sent some on the path", |t, n| {
        t.attempts.on_path(n).and_then(whole)
    }),
    path(
        "first-choice.path.{path}",
        Share,
        "share of the attempts with new data on several paths in which the path was served first",
        |t, n| t.attempts.first_choice(n),
    ),
    path(
        "last-resort.path.{path}",
        Share,
        "share of the attempts that sent on the path in which none before it in the list could \
         send when it was first served",
        |t, n| t.attempts.last_resort(n),
    ),
    reported(
        "decision.{number}.mean",
        Plain,
        "a number that the path scheduler reports with its decisions (`polypath simulate --trace` \
         shows them)",
        |r| Some(r.mean),
    ),
    reported(
        "decision.{quantity}.path.{path}.mean",
        Plain,
        "likewise, where its name ends in the number of a path",
        |r| Some(r.mean),
    ),
    reported(
        "decision-lowest.{quantity}.path.{path}",
        Share,
        "share of the attempts with new data whose first decision reports the least of all paths \
         for this one",
        |r| r.lowest,
    ),
    run("tsn-time.mean", Time, "first transmission of a TSN to its first arrival: mean", |t| {
        t.arrivals.mean()
    }),
    run("tsn-time.max", Time, "its greatest value", |t| t.arrivals.max()),
    run(
        "recovery-time",
        Time,
        "time waited for T3-rtx timers that expired, from one RTO before; overlaps count once",
        |t| Some(t.recovery.time),
    ),
    path("recovery-time.path.{path}", Time, "likewise, of the path's timer", |t, n| {
        Some(t.recovery.path(n).map_or(0.0, |path| path.time))
    }),
    path("recovery-longest.path.{path}", Time, "the longest such wait", |t, n| {
        Some(t.recovery.path(n).map_or(0.0, |path| path.longest))
    }),
    path(
        "pause.path.{path}.longest",
        Time,
        "longest time without new data on the path during the transfer",
        |t, n| t.recovery.pause(n).map(|pause| pause.length),
    ),
    path(
        "pause.path.{path}.recovery-elsewhere",
        Share,
        "share of that pause in which another path waited for a T3-rtx timer",
        |t, n| t.recovery.pause(n).map(|pause| pause.recovery_elsewhere),
    ),
    path("pause.path.{path}.own-losses", Plain, "losses declared on the path in it", |t, n| {
        t.recovery.pause(n).map(|pause| pause.own_losses as f64)
    }),
    path("pause.path.{path}.rwnd", Bytes, "smallest window of the peer in it", |t, n| {
        t.recovery.pause(n)?.least_peer_rwnd.and_then(whole)
    }),
    run(
        "blocked-in-recovery",
        Share,
        "share of `recovery-time` in which the peer's window was closed",
        |t| t.recovery.blocked_inside,
    ),
    run("blocked-in-recovery.single", Share, "likewise, of waits with an RTO below 2 s", |t| {
        t.recovery.blocked_inside_single
    }),
    run(
        "blocked-in-recovery.repeated",
        Share,
        "likewise, of waits with a timer that was backed off",
        |t| t.recovery.blocked_inside_repeated,
    ),
    run(
        "blocked-outside-recovery",
        Share,
        "share of the transfer outside of recovery in which the peer's window was closed",
        |t| t.recovery.blocked_outside,
    ),
    run(
        "blocked-spell.single",
        Time,
        "mean length of blocked spells that touch a wait with an RTO below 2 s",
        |t| t.recovery.spell_single,
    ),
    run(
        "blocked-spell.repeated",
        Time,
        "mean length of those that touch a wait with a timer that was backed off",
        |t| t.recovery.spell_repeated,
    ),
];

const fn run(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&Traces) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::Traces(of))
}

const fn path(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&Traces, usize) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::TracesOfPath(of))
}

const fn reported(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    of: fn(&Reported) -> Option<f64>,
) -> Metric {
    metric(name, unit, help, Of::Reported(of))
}
