//! What the trace events of a run tell about the sender of its first flow. Whole run.

mod arrivals;
mod attempts;
mod recovery;
mod spans;

pub(in crate::metrics) use attempts::Reported;

use arrivals::Arrivals;
use attempts::Attempts;
use polypath_link::{DropReason, Nanos};
use polypath_proto::trace::TraceRecord;
use polypath_scenario::{Direction, Scenario};
use polypath_sim::observer::{Observer, SentPacket, TraceSource};
use recovery::{Recovery, RecoverySummary};

/// Watches a run for the metrics that need traces.
#[derive(Debug)]
pub struct Probe {
    flow: String,
    host: &'static str,
    attempts: Attempts,
    arrivals: Arrivals,
    recovery: Recovery,
}

/// What a probe saw.
#[derive(Debug)]
pub(in crate::metrics) struct Traces {
    pub(in crate::metrics) attempts: Attempts,
    pub(in crate::metrics) arrivals: Arrivals,
    pub(in crate::metrics) recovery: RecoverySummary,
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

    pub(in crate::metrics) fn into_traces(self) -> Traces {
        let recovery = self.recovery.summary();
        Traces { attempts: self.attempts, arrivals: self.arrivals, recovery }
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
            self.attempts.note_record(record);
            self.arrivals.note_record(record);
            self.recovery.note_record(record);
        }
    }
}
