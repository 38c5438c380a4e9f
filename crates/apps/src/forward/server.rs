//! The end that is asked: `polypath serve`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polypath_net::{Association, Fingerprint};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use super::dial::Dialer;
use super::frame::{Destination, Frame, Instance, ListenerId};
use super::hello;
use super::listen::Listener;
use super::meet::carry_to;
use super::mux::{Incoming, Limits, Mux, MuxEnd, Outlets};
use super::permit::Permits;
use super::refusal::Refusal;
use super::spec::Listen;
use super::streams::Side;
use super::watch::await_silence;
use crate::admission::{Dismissed, Place};
use crate::keys::peer_fingerprint;
use crate::mirror::host::{Between, Mirrors, OfClient};
use crate::mirror::words::Words;

/// Lookups of names at a time: of all clients, and of one.
const LOOKUPS: (usize, usize) = (32, 8);
/// Connections that were refused and are told of one client, at most.
const TOLD: u32 = 20;
/// How long connections may take to notice that their association is gone.
const GOODBYE: Duration = Duration::from_secs(1);

/// What clients may do.
#[derive(Debug)]
pub struct ServerOptions {
    /// Where they may connect.
    pub permits: Permits,
    /// Where they may listen beside the ports from 1024 of loopback addresses.
    pub permit_listen: Permits,
    /// How much of the association's streams and memory each may use.
    pub limits: Limits,
    /// Connections at a time, of all clients.
    pub connections: usize,
    /// Listeners of one client.
    pub listeners: usize,
    /// Who was silent for so long is gone.
    pub silence: Duration,
    /// For `doctor`.
    pub mirrors: Mirrors,
}

/// The server.
pub struct Server {
    options: ServerOptions,
    instance: Instance,
    dialer: Dialer,
    sockets: Arc<Semaphore>,
    clients: Mutex<BTreeMap<u64, Known>>,
    count: AtomicU64,
    /// Lines for who runs it, fit to be shown.
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

/// A client that is there.
struct Known {
    key: Option<Fingerprint>,
    instance: Instance,
    association: Arc<Association>,
}

/// Why a client is not served any more.
#[derive(Debug, thiserror::Error)]
pub enum ServeEnd {
    /// It said no hello in time.
    #[error(transparent)]
    Dismissed(#[from] Dismissed),
    /// It is no client of ours.
    #[error(transparent)]
    Hello(#[from] hello::HelloError),
    /// The association ended.
    #[error(transparent)]
    Mux(#[from] MuxEnd),
    /// Nothing was heard of it.
    #[error("nothing was heard of it for {} s", .0.as_secs())]
    Silent(Duration),
}

impl core::fmt::Debug for Server {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Server").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Server {
    /// Tells `tell` what happens.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn new(
        options: ServerOptions,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Arc<Self>, std::io::Error> {
        Ok(Arc::new(Self {
            instance: hello::draw_instance()?,
            dialer: Dialer::new(options.permits.clone(), LOOKUPS.0),
            sockets: Arc::new(Semaphore::new(options.connections)),
            clients: Mutex::default(),
            count: AtomicU64::new(0),
            options,
            tell: Box::new(tell),
        }))
    }

    /// Clients that said hello and are there, and their connections.
    pub fn load(&self) -> (usize, usize) {
        let used = self.options.connections - self.sockets.available_permits();
        (self.clients().len(), used)
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<u64, Known>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a client until it is gone; `place` is where it may wait for its hello.
    pub async fn serve(self: Arc<Self>, association: Arc<Association>, place: Place) -> ServeEnd {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let (mux, outlets) = Mux::new(association.clone(), Side::Server, self.options.limits);
        let Outlets { incoming, letters, inlets } = outlets;
        let mut client = ClientOf {
            server: &self,
            mux: &mux,
            number,
            name: name_of(&association),
            lookups: Arc::new(Semaphore::new(LOOKUPS.1)),
            listeners: BTreeMap::new(),
            mirror: self.options.mirrors.of_client(),
            refusals: 0,
            connections: JoinSet::new(),
        };
        let end = {
            let mut serving = core::pin::pin!(client.serve(incoming, letters, &place));
            tokio::select! {
                end = mux.run(inlets) => {
                    // What came before the end is heard, too: who said hello and left came.
                    tokio::select! {
                        biased;
                        _ = &mut serving => {}
                        () = core::future::ready(()) => {}
                    }
                    end.into()
                }
                end = &mut serving => end,
                () = await_silence(&association, self.options.silence) => {
                    ServeEnd::Silent(self.options.silence)
                }
            }
        };
        client.leave(&end).await;
        end
    }

    /// Ends what a process had before, which has come again: its listeners would be in the way.
    fn supersede(&self, number: u64, association: &Arc<Association>, instance: Instance) {
        let key = peer_fingerprint(association);
        let mut clients = self.clients();
        for known in clients.values().filter(|k| k.key == key && k.instance == instance) {
            known.association.abort("the same client has come again");
        }
        clients.insert(number, Known { key, instance, association: association.clone() });
    }
}

/// How a client is called in lines.
fn name_of(association: &Association) -> String {
    let from = association.paths().first().map(|path| path.stats.remote.to_string());
    let key = peer_fingerprint(association).map_or(String::new(), |key| format!(" ({key})"));
    format!("{}{key}", from.unwrap_or_default())
}

/// One client.
struct ClientOf<'a> {
    server: &'a Arc<Server>,
    mux: &'a Arc<Mux>,
    number: u64,
    name: String,
    lookups: Arc<Semaphore>,
    listeners: BTreeMap<ListenerId, AbortHandle>,
    mirror: OfClient,
    refusals: u32,
    /// With what each came to.
    connections: JoinSet<Option<Untold>>,
}

/// A connection that was refused: where to, and why.
type Untold = (String, Refusal);

impl ClientOf<'_> {
    async fn serve(
        &mut self,
        mut incoming: mpsc::UnboundedReceiver<Incoming>,
        mut letters: mpsc::Receiver<Frame>,
        place: &Place,
    ) -> ServeEnd {
        let exchange = hello::exchange(self.mux, &mut letters, self.server.instance);
        let greeted = place.await_greeting(core::pin::pin!(exchange)).await;
        let instance = match greeted {
            Err(dismissed) => return dismissed.into(),
            Ok(Err(hello::HelloError::Gone)) => return core::future::pending().await,
            Ok(Err(error)) => return error.into(),
            Ok(Ok(_)) if !place.keep_place() => return Dismissed::GaveWay.into(),
            Ok(Ok(instance)) => instance,
        };
        self.server.supersede(self.number, self.mux.association(), instance);
        (self.server.tell)(&format!("client {} came", self.name));
        loop {
            tokio::select! {
                Some(one) = incoming.recv() => self.take(one).await,
                Some(frame) = letters.recv() => self.hear(frame).await,
                Some(words) = self.mirror.told() => self.answer(&Frame::Mirror(words)).await,
                Some(done) = self.connections.join_next() => {
                    if let Ok(Some((to, why))) = done {
                        self.tell_refused(&to, why);
                    }
                }
                else => return core::future::pending().await,
            }
        }
    }

    /// A client can make many such lines.
    fn tell_refused(&mut self, to: &str, why: Refusal) {
        self.refusals += 1;
        let more = if self.refusals == TOLD { "; of more like this nothing is said" } else { "" };
        if self.refusals <= TOLD {
            // A path of a socket may be of any bytes.
            let to = crate::shown::escape_remark(to);
            (self.server.tell)(&format!("client {}: {to}: {why}{more}", self.name));
        }
    }

    async fn take(&mut self, one: Incoming) {
        let taken = self.server.sockets.clone().try_acquire_owned();
        let ours = self.mux.connections().1;
        let most = usize::try_from(self.mux.limits().connections).unwrap_or(usize::MAX);
        let Some(permit) = taken.ok().filter(|_| ours <= most) else {
            self.tell_refused("a connection", Refusal::TooMany);
            return one.refuse(Refusal::TooMany).await;
        };
        let Destination::Place(target) = one.to.clone() else {
            // Listeners are the client's to ask for, not this host's.
            return one.refuse(Refusal::NotPermitted).await;
        };
        let (server, lookups) = (self.server.clone(), self.lookups.clone());
        self.connections.spawn(async move {
            let dialed = tokio::select! {
                dialed = server.dialer.dial(&target, &lookups) => dialed,
                () = one.given_up() => return None,
            };
            let why = dialed.as_ref().err().copied();
            carry_to(one, dialed).await;
            drop(permit);
            why.map(|why| (target.to_string(), why))
        });
    }

    async fn hear(&mut self, frame: Frame) {
        let answer = match frame {
            Frame::Listen { id, at } => self.listen(id, &at),
            Frame::Unlisten { id } => {
                if let Some(listener) = self.listeners.remove(&id) {
                    listener.abort();
                }
                return;
            }
            Frame::Mirror(words) => match self.reflect(words).await {
                Some(answer) => Frame::Mirror(answer),
                None => return,
            },
            // A client of a later version may say more.
            _ => return,
        };
        self.answer(&answer).await;
    }

    /// It fails where the association is over.
    async fn answer(&self, frame: &Frame) {
        let _ = self.mux.send(0, frame).await;
    }

    async fn reflect(&mut self, words: Words) -> Option<Words> {
        let paths = self.mux.association().paths();
        let first = paths.first()?;
        let between = Between { local: first.stats.local.ip(), remote: first.stats.remote };
        self.mirror.hear(words, between).await
    }

    fn listen(&mut self, id: ListenerId, at: &Listen) -> Frame {
        let why = match self.bind(id, at) {
            Ok(listener) => {
                let port = listener.port();
                let text = format!("client {}: listening at {}", self.name, listener.describe());
                (self.server.tell)(&text);
                let (mux, sockets) = (self.mux.clone(), self.server.sockets.clone());
                let handle = self.connections.spawn(pass_on(listener, id, mux, sockets));
                self.listeners.insert(id, handle);
                return Frame::Listening { id, port };
            }
            Err(why) => why,
        };
        self.tell_refused(&format!("listen at {at}"), why);
        Frame::NotListening { id, why }
    }

    fn bind(&self, id: ListenerId, at: &Listen) -> Result<Listener, Refusal> {
        if !may_listen(&self.server.options.permit_listen, at) {
            return Err(Refusal::NotPermitted);
        }
        if self.listeners.len() >= self.server.options.listeners || self.listeners.contains_key(&id)
        {
            return Err(Refusal::TooMany);
        }
        Listener::bind(at).map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => Refusal::NotPermitted,
            _ => Refusal::Failed,
        })
    }

    async fn leave(mut self, end: &ServeEnd) {
        let was_there = self.server.clients().remove(&self.number).is_some();
        self.mux.association().abort(end.to_string());
        self.listeners.values().for_each(AbortHandle::abort);
        let connections = &mut self.connections;
        let drained = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GOODBYE, drained).await;
        if was_there {
            let why = crate::shown::escape_remark(&end.to_string());
            (self.server.tell)(&format!("client {} left: {why}", self.name));
        }
    }
}

/// Ports from 1024 of loopback addresses may be listened at without being named.
fn may_listen(permits: &Permits, at: &Listen) -> bool {
    let free = |port: u16| port == 0 || port >= 1024;
    match at {
        Listen::Tcp { port, .. } if at.is_loopback() && free(*port) => true,
        Listen::Tcp { .. } => at.addresses().iter().all(|address| permits.allows_listen(*address)),
        Listen::Unix(path) => permits.allows_unix(path),
    }
}

/// Opens a connection to the client for each that is taken. Ends when it is told to.
async fn pass_on(
    listener: Listener,
    id: ListenerId,
    mux: Arc<Mux>,
    sockets: Arc<Semaphore>,
) -> Option<Untold> {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            (local, from) = listener.accept() => {
                let Ok(permit) = sockets.clone().try_acquire_owned() else {
                    local.break_off();
                    continue;
                };
                let mux = mux.clone();
                connections.spawn(async move {
                    match mux.open(Destination::Listener { id, from }).await {
                        Ok(channel) => drop((local.relay(channel).await, permit)),
                        Err(_) => local.break_off(),
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}
