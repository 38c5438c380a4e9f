//! The scheduler in a world whose policy is elsewhere.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use polypath_policies::scheduler::interval::{
    ASSOC_FIGURES, Action, Interval, IntervalPolicy, Observation, PATH_FIGURES,
};
use polypath_policies::{OwnScheduler, Registry};
use polypath_proto::time::{Duration, Time};
use polypath_scenario::Policies;

/// The name by which the sender's scheduler is asked for.
pub(crate) const NAME: &str = "agent";

/// What the scheduler and the agent tell each other.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    state: Mutex<State>,
    /// The agent has decided since the scheduler looked.
    is_new: AtomicBool,
    /// The scheduler has seen something since the agent acted.
    is_fresh: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    every: Duration,
    action: Action,
    paths: Vec<[f32; PATH_FIGURES.len()]>,
    assoc: [f32; ASSOC_FIGURES.len()],
}

impl Exchange {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self, every: Duration) {
        self.lock().every = every;
    }

    pub(crate) fn act(&self, action: Action) {
        self.lock().action = action;
        self.is_new.store(true, Ordering::Relaxed);
        self.is_fresh.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_fresh(&self) -> bool {
        self.is_fresh.load(Ordering::Relaxed)
    }

    /// The latest figures of the paths, which are copied to `paths`, and of the association.
    pub(crate) fn look(
        &self,
        paths: &mut Vec<[f32; PATH_FIGURES.len()]>,
    ) -> [f32; ASSOC_FIGURES.len()] {
        let state = self.lock();
        paths.clone_from(&state.paths);
        state.assoc
    }
}

/// Writes down what it sees, and does what it was told.
#[derive(Debug)]
struct Agent(Arc<Exchange>);

impl IntervalPolicy for Agent {
    fn decide(&mut self, _now: Time, observation: &Observation) -> Action {
        let mut state = self.0.lock();
        state.paths.clear();
        state.paths.extend_from_slice(observation.paths());
        state.assoc = *observation.assoc();
        self.0.is_fresh.store(true, Ordering::Relaxed);
        state.action.clone()
    }

    fn revise(&mut self) -> Option<Action> {
        // One thread steps a world: the order of these does not matter to anybody else.
        if !self.0.is_new.load(Ordering::Relaxed) {
            return None;
        }
        self.0.is_new.store(false, Ordering::Relaxed);
        Some(self.0.lock().action.clone())
    }

    fn name(&self) -> &'static str {
        NAME
    }
}

/// The policies of Polypath, and the agent's scheduler.
pub(crate) fn policies(exchange: &Arc<Exchange>) -> Policies {
    let exchange = Arc::clone(exchange);
    let find = move |name: &str| {
        let exchange = Arc::clone(&exchange);
        let make = move |_: &_, _: &mut _| {
            let every = exchange.lock().every;
            Box::new(Interval::new(Agent(Arc::clone(&exchange)), every)) as Box<_>
        };
        (name == NAME).then(|| Ok(OwnScheduler::new(make)))
    };
    Policies::new(Registry::builtin().with_own_schedulers(find))
}
