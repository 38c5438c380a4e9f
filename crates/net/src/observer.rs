//! Endpoints seen from outside, by who uses none of their associations.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use polypath_proto::State;
use polypath_proto::config::AgreedExtensions;
use polypath_proto::event::{Event, SenderQueueInfo};
use polypath_proto::ids::PathId;
use polypath_proto::stats::{AssocStats, LimitStats, StreamWait};
use polypath_proto::view::PathAdmin;
use tokio::sync::broadcast;

use crate::path_info::PathInfo;

/// Events that a slow listener may be behind.
const EVENTS_KEPT: usize = 256;

/// Streams of which is told for how long they wait.
pub(crate) const WAITS: usize = 8;

/// Sees every endpoint that is [bound](crate::Endpoint::bind) with it
/// ([`Config::observer`](crate::Config::observer)), and what becomes of their associations. It
/// keeps none of them alive. Clones are the same observer.
///
/// ```
/// use polypath_net::{Config, Endpoint, Observer};
///
/// let observer = Observer::new();
/// let config = Config::insecure_client(["127.0.0.1".parse()?]).observer(observer.clone());
/// let endpoint = Endpoint::bind(config)?;
/// assert!(observer.associations().is_empty(), "it has opened none");
/// # drop(endpoint);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Observer {
    inner: Arc<Registry>,
}

struct Registry {
    endpoints: Mutex<Vec<Weak<dyn Watched>>>,
    events: broadcast::Sender<(u64, Event)>,
    numbers: AtomicU32,
}

/// What an endpoint shows of itself. Associations have numbers that are never used again.
pub(crate) trait Watched: Send + Sync {
    /// Those that are not over, in ascending order.
    fn numbers(&self) -> Vec<u64>;
    fn snapshot(&self, number: u64) -> Option<Snapshot>;
    /// Whether there is such a path.
    fn set_path_admin(&self, number: u64, path: PathId, admin: PathAdmin) -> bool;
}

/// An association at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// Its number among those of this process.
    pub number: u64,
    /// The peer's SCTP port.
    pub peer_port: u16,
    /// Where it is in its life.
    pub state: State,
    /// What both ends support.
    pub agreed: AgreedExtensions,
    /// Its packets are encrypted.
    pub protected: bool,
    /// Counters.
    pub stats: AssocStats,
    /// Its paths.
    pub paths: Vec<PathInfo>,
    /// What limits the transfer, and for how long what has limited it.
    pub limits: LimitStats,
    /// Sizes of the receive and the send buffer, bytes.
    pub buffer_sizes: (u32, u64),
    /// Bytes held in the receive buffer, and those of them above the cum-ack.
    pub received: (u32, u32),
    /// What waits in the send buffer.
    pub send_queue: SenderQueueInfo,
    /// The streams that wait longest, and what for; eight at most.
    pub waits: Vec<StreamWait>,
}

/// Something that happened to an association.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Observed {
    /// The number of the association.
    pub association: u64,
    /// What.
    pub event: Event,
    /// Events before it that were missed, because nobody fetched them in time.
    pub missed: u64,
}

/// Events of all associations that an observer sees, from when it was asked for.
#[derive(Debug)]
pub struct ObservedEvents {
    receiver: broadcast::Receiver<(u64, Event)>,
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("endpoints", &self.lock().len()).finish_non_exhaustive()
    }
}

impl Default for Observer {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer {
    /// One that sees nothing yet.
    pub fn new() -> Self {
        let inner = Registry {
            endpoints: Mutex::default(),
            events: broadcast::Sender::new(EVENTS_KEPT),
            numbers: AtomicU32::new(1),
        };
        Self { inner: Arc::new(inner) }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<dyn Watched>>> {
        self.inner.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn watch(&self, endpoint: Weak<dyn Watched>) {
        let mut endpoints = self.lock();
        endpoints.retain(|endpoint| endpoint.strong_count() > 0);
        endpoints.push(endpoint);
    }

    /// The number of an association that begins.
    pub(crate) fn next_number(&self) -> u32 {
        self.inner.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn tell(&self, number: u32, event: &Event) {
        // They may be as many as messages.
        let is_of_a_message = matches!(event, Event::SenderDry | Event::Abandoned { .. });
        if !is_of_a_message && self.inner.events.receiver_count() > 0 {
            let _nobody_listens = self.inner.events.send((number.into(), event.clone()));
        }
    }

    fn endpoints(&self) -> Vec<Arc<dyn Watched>> {
        self.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// The numbers of the associations that are not over, in ascending order. A number means the
    /// same association for ever.
    pub fn associations(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self.endpoints().iter().flat_map(|e| e.numbers()).collect();
        all.sort_unstable();
        all
    }

    /// An association as it is now; `None` when it is over.
    pub fn snapshot(&self, association: u64) -> Option<Snapshot> {
        self.endpoints().iter().find_map(|endpoint| endpoint.snapshot(association))
    }

    /// Says what a path may be used for. False when there is no such association or path.
    pub fn set_path_admin(&self, association: u64, path: PathId, admin: PathAdmin) -> bool {
        self.endpoints().iter().any(|endpoint| endpoint.set_path_admin(association, path, admin))
    }

    /// What happens from now on, but what may happen with every message: [`Event::Readable`],
    /// [`Event::Writable`], [`Event::SenderDry`] and [`Event::Abandoned`] are not told.
    pub fn events(&self) -> ObservedEvents {
        ObservedEvents { receiver: self.inner.events.subscribe() }
    }
}

impl ObservedEvents {
    /// The next event; `None` when the observer is gone. Who is more than 256 events behind misses
    /// the oldest, and is told how many. Cancel-safe.
    pub async fn next(&mut self) -> Option<Observed> {
        let mut missed = 0;
        loop {
            match self.receiver.recv().await {
                Ok((association, event)) => return Some(Observed { association, event, missed }),
                Err(broadcast::error::RecvError::Lagged(behind)) => missed += behind,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}
