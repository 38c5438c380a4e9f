//! The end that asks: `polypath forward`. One association after another carries its connections.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polypath_net::Association;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::channel::{Channel, OpenError};
use super::dial::Dialer;
use super::frame::{Destination, Frame, Instance, ListenerId};
use super::hello::{self, HelloError};
use super::meet::carry_to;
use super::mux::{Incoming, Limits, Mux, MuxEnd, Outlets};
use super::permit::Permits;
use super::refusal::Refusal;
use super::spec::{ForwardSpec, Listen};
use super::streams::Side;
use super::target::Target;
use super::watch::await_silence;

/// How long a connection waits for an association.
pub const WAIT: Duration = Duration::from_secs(10);

/// Lookups of names at a time for what -R names.
const LOOKUPS: usize = 8;

/// When the far end is asked again for a listener that it could not open.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How long connections may take to notice that their association is gone.
const GOODBYE: Duration = Duration::from_secs(1);

/// What an association of a client ended with.
#[derive(Debug, thiserror::Error)]
pub enum CarryEnd {
    /// The peer is no server of ours.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// It ended.
    #[error(transparent)]
    Mux(#[from] MuxEnd),
    /// Nothing was heard of it.
    #[error("nothing was heard of the peer for {} s", .0.as_secs())]
    Silent(Duration),
}

/// What the far end says of a listener of -R.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remote {
    /// It listens, at this port.
    Listening(Listen, u16),
    /// It does not.
    Refused(Listen, Refusal),
}

/// One listener at the far end.
#[derive(Clone, Debug)]
struct Reverse {
    at: Listen,
    /// Where its connections go, here.
    to: Option<Target>,
    /// The connections of others go to who asked.
    taker: Option<mpsc::UnboundedSender<Incoming>>,
    told: Option<mpsc::UnboundedSender<Remote>>,
    /// What was told last.
    last: Option<Remote>,
}

/// The client. Connections are opened by whichever association there is.
#[derive(Debug)]
pub struct Client {
    instance: Instance,
    limits: Limits,
    silence: Duration,
    current: watch::Sender<Option<Arc<Mux>>>,
    reverses: Mutex<(ListenerId, BTreeMap<ListenerId, Reverse>)>,
    dialer: Dialer,
    lookups: Arc<tokio::sync::Semaphore>,
}

impl Client {
    /// Without an association yet; one of which nothing was heard for `silence` is given up.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn new(limits: Limits, silence: Duration) -> Result<Arc<Self>, std::io::Error> {
        Ok(Arc::new(Self {
            instance: hello::draw_instance()?,
            limits,
            silence,
            current: watch::Sender::new(None),
            reverses: Mutex::default(),
            dialer: Dialer::new(Permits::anywhere(), LOOKUPS),
            lookups: Arc::new(tokio::sync::Semaphore::new(LOOKUPS)),
        }))
    }

    /// The association of now.
    pub fn current(&self) -> Option<Arc<Mux>> {
        self.current.borrow().clone()
    }

    /// Opens a connection; waits for an association up to [`WAIT`].
    ///
    /// # Errors
    /// When it is refused, or there is no association.
    pub async fn open(&self, to: &Destination) -> Result<Channel, OpenError> {
        let deadline = Instant::now() + WAIT;
        let mut news = self.current.subscribe();
        loop {
            let found = timeout_at(deadline, news.wait_for(Option::is_some)).await;
            let mux = found.ok().and_then(|found| found.ok()?.clone()).ok_or(OpenError::Lost)?;
            match mux.open(to.clone()).await {
                // It ended meanwhile; the next one may do it.
                Err(OpenError::Lost) => tokio::time::sleep(Duration::from_millis(20)).await,
                other => return other,
            }
        }
    }

    /// Asks for a listener at the far end, now and with every association to come, whose
    /// connections go where `spec` says. What becomes of it is sent to `told`.
    pub fn listen_there(&self, spec: &ForwardSpec, told: mpsc::UnboundedSender<Remote>) {
        let to = Some(spec.target.clone());
        self.add_reverse(Reverse {
            at: spec.listen.clone(),
            to,
            taker: None,
            told: Some(told),
            last: None,
        });
    }

    /// Likewise, whose connections go to `taker`; [`unlisten`](Self::unlisten) ends it.
    pub fn listen_for(
        &self,
        at: Listen,
        taker: mpsc::UnboundedSender<Incoming>,
        told: mpsc::UnboundedSender<Remote>,
    ) -> ListenerId {
        self.add_reverse(Reverse { at, to: None, taker: Some(taker), told: Some(told), last: None })
    }

    fn add_reverse(&self, reverse: Reverse) -> ListenerId {
        let (id, at) = {
            let mut reverses = self.reverses();
            reverses.0 = reverses.0.wrapping_add(1);
            let (id, at) = (reverses.0, reverse.at.clone());
            reverses.1.insert(id, reverse);
            (id, at)
        };
        self.say(Frame::Listen { id, at });
        id
    }

    /// Ends a listener at the far end.
    pub fn unlisten(&self, id: ListenerId) {
        self.reverses().1.remove(&id);
        self.say(Frame::Unlisten { id });
    }

    /// Says something to the server of now, if there is one.
    fn say(&self, frame: Frame) {
        if let Some(mux) = self.current() {
            tokio::spawn(async move { mux.send(0, &frame).await });
        }
    }

    fn reverses(&self) -> MutexGuard<'_, (ListenerId, BTreeMap<ListenerId, Reverse>)> {
        self.reverses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the association in order, or else at once.
    pub async fn leave(&self) {
        let Some(mux) = self.current() else { return };
        let association = mux.association();
        association.begin_shutdown();
        if tokio::time::timeout(GOODBYE / 2, association.closed()).await.is_err() {
            association.abort("the client ended");
            let _ = tokio::time::timeout(GOODBYE, association.closed()).await;
        }
    }

    /// Carries connections over `association` until it ends. `ready` is called once the server has
    /// said hello.
    pub async fn carry(
        self: &Arc<Self>,
        association: Arc<Association>,
        ready: impl FnOnce(),
    ) -> CarryEnd {
        let (mux, outlets) = Mux::new(association.clone(), Side::Client, self.limits);
        let Outlets { incoming, letters, inlets } = outlets;
        let mut connections = JoinSet::new();
        let end = tokio::select! {
            end = mux.run(inlets) => end.into(),
            end = self.serve(&mux, letters, incoming, ready, &mut connections) => end,
            () = await_silence(&association, self.silence) => CarryEnd::Silent(self.silence),
        };
        self.current.send_replace(None);
        association.abort("the client gave the association up");
        let drained = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GOODBYE, drained).await;
        end
    }

    async fn serve(
        self: &Arc<Self>,
        mux: &Arc<Mux>,
        mut letters: mpsc::Receiver<Frame>,
        mut incoming: mpsc::UnboundedReceiver<Incoming>,
        ready: impl FnOnce(),
        connections: &mut JoinSet<()>,
    ) -> CarryEnd {
        if let Err(error) = hello::exchange(mux, &mut letters, self.instance).await {
            return match error {
                // How it ended is known by who runs it.
                HelloError::Gone => core::future::pending().await,
                error => error.into(),
            };
        }
        let wanted: Vec<_> =
            self.reverses().1.iter().map(|(id, reverse)| (*id, reverse.at.clone())).collect();
        self.current.send_replace(Some(mux.clone()));
        ready();
        for (id, at) in wanted {
            let _lost = mux.send(0, &Frame::Listen { id, at }).await;
        }
        loop {
            tokio::select! {
                Some(one) = incoming.recv() => {
                    connections.spawn(self.clone().take(one));
                }
                Some(frame) = letters.recv() => self.hear(frame),
                Some(_) = connections.join_next() => {}
                else => return core::future::pending().await,
            }
        }
    }

    fn hear(self: &Arc<Self>, frame: Frame) {
        let (id, port) = match frame {
            Frame::Listening { id, port } => (id, Ok(port)),
            Frame::NotListening { id, why } => (id, Err(why)),
            // A server of a later version may say more.
            _ => return,
        };
        let mut reverses = self.reverses();
        let Some(reverse) = reverses.1.get_mut(&id) else { return };
        let remote = match port {
            Ok(port) => Remote::Listening(reverse.at.clone(), port),
            Err(why) => Remote::Refused(reverse.at.clone(), why),
        };
        // What we had there before a break may still be in the way.
        if let Remote::Refused(_, Refusal::Failed | Refusal::TooMany) = remote {
            tokio::spawn(self.clone().ask_again(id, reverse.at.clone()));
        }
        if reverse.last.as_ref() != Some(&remote) {
            reverse.last = Some(remote.clone());
            // Who asked may be gone.
            let _ = reverse.told.as_ref().map(|told| told.send(remote));
        }
    }

    async fn ask_again(self: Arc<Self>, id: ListenerId, at: Listen) {
        tokio::time::sleep(ASK_AGAIN).await;
        if self.reverses().1.contains_key(&id) {
            self.say(Frame::Listen { id, at });
        }
    }

    /// A connection from the far end: only to what was named for one of our listeners there.
    async fn take(self: Arc<Self>, one: Incoming) {
        let Destination::Listener { id, .. } = one.to else {
            return one.refuse(Refusal::NotPermitted).await;
        };
        let reverse = self.reverses().1.get(&id).cloned();
        let Some(reverse) = reverse else { return one.refuse(Refusal::NotPermitted).await };
        if let Some(taker) = reverse.taker {
            let _dropped_is_broken_off = taker.send(one);
            return;
        }
        let Some(target) = reverse.to else { return };
        let dialed = tokio::select! {
            dialed = self.dialer.dial(&target, &self.lookups) => dialed,
            () = one.given_up() => return,
        };
        carry_to(one, dialed).await;
    }
}
