//! One world, stepped.

use std::sync::Arc;

use polypath_policies::scheduler::interval::{ASSOC_FIGURES, Action, PATH_FIGURES};
use polypath_proto::Association;
use polypath_proto::time::{Duration, Time};
use polypath_run::limit;
use polypath_sim::{Side, SpecError, World, WorldSpec};

use super::agent::Exchange;

/// Intervals without a send attempt, after which a step ends all the same.
const PATIENCE: u32 = 10;

/// What is measured in a step: seconds that it took, payload bytes that the receiver's application
/// got, payload bit/s that the network admits (NaN where that is not defined), seconds of queueing
/// that a byte in flight met on average, DATA chunk bytes declared lost, and the present.
pub(crate) const MEASURES: [&str; 6] = ["seconds", "delivered", "limit", "queueing", "lost", "now"];

/// What an agent sees after a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) paths: Vec<[f32; PATH_FIGURES.len()]>,
    pub(crate) assoc: [f32; ASSOC_FIGURES.len()],
    pub(crate) measured: [f64; MEASURES.len()],
    pub(crate) is_over: bool,
}

/// A world and what was counted in it so far.
pub(crate) struct Stepped {
    world: World<'static>,
    exchange: Arc<Exchange>,
    every: Duration,
    limit: f64,
    counted: Counted,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    now: u64,
    delivered: u64,
    lost: u64,
}

impl Stepped {
    pub(crate) fn new(
        spec: &WorldSpec,
        seed: u64,
        exchange: Arc<Exchange>,
        every: Duration,
    ) -> Result<Self, SpecError> {
        exchange.begin(every);
        let limits = limit::of_world(spec, seed);
        let limit = limits.flows.first().and_then(|limits| limits.as_ref().ok());
        let limit = limit.map_or(f64::NAN, |limits| limits.free);
        let world = World::new(spec, seed, None)?;
        Ok(Self { world, exchange, every, limit, counted: Counted::default() })
    }

    /// Runs until the scheduler is due to be asked again, and is.
    pub(crate) fn step(&mut self, action: Action) -> Seen {
        self.exchange.act(action);
        let longest = u64::try_from((self.every * PATIENCE).as_nanos()).unwrap_or(u64::MAX);
        let end = self.world.now().saturating_add(longest);
        while self.world.now() < end && !self.exchange.is_fresh() {
            if !self.world.step() {
                self.world.run_until(end);
                break;
            }
        }
        self.look()
    }

    /// What is seen now.
    pub(crate) fn look(&mut self) -> Seen {
        let mut seen = Seen { is_over: self.world.is_finished(), ..Seen::default() };
        seen.assoc = self.exchange.look(&mut seen.paths);
        let (counted, queueing) = self.count();
        let before = core::mem::replace(&mut self.counted, counted);
        seen.measured = [
            (counted.now - before.now) as f64 / 1e9,
            (counted.delivered - before.delivered) as f64,
            self.limit,
            queueing,
            (counted.lost - before.lost) as f64,
            counted.now as f64 / 1e9,
        ];
        seen
    }

    /// What was counted so far, which an association that is over takes with it.
    fn count(&self) -> (Counted, f64) {
        let now = self.world.now();
        let mut counted = Counted { now, ..self.counted };
        if let Some(assoc) = self.association(Side::Server) {
            counted.delivered = counted.delivered.max(assoc.stats().bytes_delivered);
        }
        let Some(assoc) = self.association(Side::Client) else { return (counted, 0.0) };
        let (mut in_flight, mut waiting, mut lost) = (0.0, 0.0, 0);
        for path in assoc.view(Time(now)).paths {
            lost += path.lost;
            let queueing = path.srtt.zip(path.min_rtt).map(|(srtt, min)| srtt.saturating_sub(min));
            in_flight += path.outstanding as f64;
            waiting += path.outstanding as f64 * queueing.unwrap_or_default().as_secs_f64();
        }
        counted.lost = counted.lost.max(lost);
        (counted, if in_flight > 0.0 { waiting / in_flight } else { 0.0 })
    }

    fn association(&self, side: Side) -> Option<&Association> {
        let endpoint = self.world.endpoint(0, side)?;
        endpoint.association(endpoint.associations().next()?)
    }
}
