//! Threads that own worlds: a world cannot move to another one.

use core::fmt;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use polypath_policies::scheduler::interval::Action;
use polypath_proto::time::Duration;
use polypath_sim::WorldSpec;

use super::agent::Exchange;
use super::world::{Seen, Stepped};

/// What a thread is asked to do.
enum Order {
    Reset {
        place: usize,
        spec: Box<WorldSpec>,
        seed: u64,
        exchange: Arc<Exchange>,
        every: Duration,
    },
    Step(Vec<(usize, Action)>),
    Look,
}

/// What it answers.
enum Answer {
    Reset(Result<(), String>),
    Seen(Vec<(usize, Seen)>),
}

struct Worker {
    orders: Option<Sender<Order>>,
    answers: Receiver<Answer>,
    thread: Option<JoinHandle<()>>,
}

/// Threads; the world in place n belongs to thread n modulo their number.
pub(super) struct Pool {
    workers: Vec<Worker>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("threads", &self.workers.len()).finish()
    }
}

impl Pool {
    pub(super) fn new(threads: usize) -> io::Result<Self> {
        let workers = (0..threads).map(|_| Worker::new()).collect::<io::Result<_>>()?;
        Ok(Self { workers })
    }

    pub(super) fn reset(
        &mut self,
        place: usize,
        spec: WorldSpec,
        seed: u64,
        exchange: Arc<Exchange>,
        every: Duration,
    ) -> Result<(), String> {
        let worker = &self.workers[place % self.workers.len()];
        worker.send(Order::Reset { place, spec: Box::new(spec), seed, exchange, every })?;
        match worker.receive()? {
            Answer::Reset(done) => done,
            Answer::Seen(_) => Err(FAULT.to_owned()),
        }
    }

    /// Steps all worlds, one action for each place.
    pub(super) fn step(&mut self, actions: Vec<Action>) -> Result<Vec<Seen>, String> {
        let count = actions.len();
        let mut orders: Vec<Vec<(usize, Action)>> = vec![Vec::new(); self.workers.len()];
        for (place, action) in actions.into_iter().enumerate() {
            let thread = place % self.workers.len();
            orders[thread].push((place, action));
        }
        for (worker, order) in self.workers.iter().zip(orders) {
            worker.send(Order::Step(order))?;
        }
        self.collect(count)
    }

    pub(super) fn look(&mut self, count: usize) -> Result<Vec<Seen>, String> {
        for worker in &self.workers {
            worker.send(Order::Look)?;
        }
        self.collect(count)
    }

    fn collect(&self, count: usize) -> Result<Vec<Seen>, String> {
        let mut all = vec![Seen::default(); count];
        for worker in &self.workers {
            let Answer::Seen(seen) = worker.receive()? else { return Err(FAULT.to_owned()) };
            for (place, seen) in seen {
                all[place] = seen;
            }
        }
        Ok(all)
    }
}

const FAULT: &str = "a thread of the environments has failed: a fault of polypath itself";

impl Worker {
    fn new() -> io::Result<Self> {
        let (orders, to_do) = channel();
        let (done, answers) = channel();
        let name = "polypath-worlds".to_owned();
        let work = move || serve(&to_do, &done);
        let thread = std::thread::Builder::new().name(name).spawn(work)?;
        Ok(Self { orders: Some(orders), answers, thread: Some(thread) })
    }

    fn send(&self, order: Order) -> Result<(), String> {
        let orders = self.orders.as_ref().ok_or(FAULT)?;
        orders.send(order).map_err(|_| FAULT.to_owned())
    }

    fn receive(&self) -> Result<Answer, String> {
        self.answers.recv().map_err(|_| FAULT.to_owned())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Without orders to come the thread ends.
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(orders: &Receiver<Order>, answers: &Sender<Answer>) {
    let mut worlds: BTreeMap<usize, Stepped> = BTreeMap::new();
    while let Ok(order) = orders.recv() {
        let answer = match order {
            Order::Reset { place, spec, seed, exchange, every } => {
                let made = Stepped::new(&spec, seed, exchange, every);
                Answer::Reset(made.map_err(|error| error.to_string()).map(|world| {
                    worlds.insert(place, world);
                }))
            }
            Order::Step(actions) => {
                let step = |(place, action)| Some((place, worlds.get_mut(&place)?.step(action)));
                Answer::Seen(actions.into_iter().filter_map(step).collect())
            }
            Order::Look => {
                let look = |(place, world): (&usize, &mut Stepped)| (*place, world.look());
                Answer::Seen(worlds.iter_mut().map(look).collect())
            }
        };
        if answers.send(answer).is_err() {
            return;
        }
    }
}
