//! Figures that need the trace events of a run, about the sending end of its first flow. Whole run.

mod arrivals;
mod attempts;
mod recovery;
mod spans;

use arrivals::Arrivals;
use attempts::Attempts;
use polypath_link::{DropReason, Nanos};
use polypath_proto::trace::TraceRecord;
use polypath_scenario::{Direction, Scenario};
use polypath_sim::RunResult;
use polypath_sim::observer::{Observer, SentPacket, TraceSource};
use recovery::Recovery;

use super::Figures;

/// Watches a run.
#[derive(Debug)]
pub struct Probe {
    flow: String,
    host: &'static str,
    attempts: Attempts,
    arrivals: Arrivals,
    recovery: Recovery,
}

impl Probe {
    /// A probe for runs of this scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let direction = scenario.flow.first().and_then(|flow| flow.direction);
        Self {
            flow: scenario.flow_name(0),
            host: if direction == Some(Direction::Reverse) { "server" } else { "client" },
            attempts: Attempts::default(),
            arrivals: Arrivals::default(),
            recovery: Recovery::default(),
        }
    }

    /// Adds what it saw.
    pub fn figures(&self, out: &mut Figures, result: &RunResult) {
        let Some(flow) = result.flows.first() else { return };
        let paths: Vec<&str> = flow.paths.iter().map(|path| path.name.as_str()).collect();
        self.attempts.figures(out, &paths);
        self.arrivals.figures(out);
        self.recovery.figures(out, &paths);
    }
}

impl Observer for Probe {
    fn packet_sent(&mut self, packet: &SentPacket<'_>) {
        self.arrivals.packet_sent(packet);
    }

    fn packet_delivered(&mut self, at: Nanos, id: u64) {
        self.arrivals.packet_delivered(at, id);
    }

    fn packet_dropped(&mut self, _: Nanos, id: u64, _: &str, _: DropReason) {
        self.arrivals.packet_dropped(id);
    }

    fn trace(&mut self, source: TraceSource<'_>, record: &TraceRecord) {
        if source.flow == self.flow && source.host == self.host {
            self.attempts.record(record);
            self.arrivals.record(record);
            self.recovery.record(record);
        }
    }
}

/// Whether a metric needs traces.
pub fn is_traced(metric: &str) -> bool {
    const BEGINNINGS: [&str; 9] = [
        "tsn-time.",
        "recovery-",
        "blocked-in-recovery",
        "blocked-outside-recovery",
        "blocked-spell.",
        "pause.",
        "rounds",
        "first-choice.",
        "last-resort.",
    ];
    is_decision(metric) || BEGINNINGS.iter().any(|beginning| metric.starts_with(beginning))
}

/// Numbers of the path scheduler: which there are depends on it.
pub fn is_decision(metric: &str) -> bool {
    metric.starts_with("decision.") || metric.starts_with("decision-lowest.")
}
