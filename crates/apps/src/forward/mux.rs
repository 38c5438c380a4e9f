//! Many connections over one association: [`Mux`] takes messages out of the association as they
//! come and gives each to its connection, whose [`Channel`] another task reads and writes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use polypath_net::{Association, Closed, Message, PathState, SendError};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::channel::{Channel, OpenError};
use super::frame::{Destination, Frame, FrameError, ppid};
use super::hub::{Hub, State};
use super::inbox::{Fault, Inbox};
use super::refusal::Refusal;
use super::streams::{Side, StreamFault};

/// Messages that are taken out of the association at once.
const AT_ONCE: usize = 64;
/// How often the round-trip time is looked up.
const TICK: Duration = Duration::from_millis(200);
/// Frames of stream 0 that wait for who reads them, at most: a peer sends a few.
const LETTERS: usize = 256;

/// How much one association may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections that the peer may have open at a time.
    pub connections: u32,
    /// Bytes that wait for readers here, over all connections.
    pub waiting: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 1024, waiting: 8 << 20 }
    }
}

/// Why an association carries no connections any more.
#[derive(Debug, thiserror::Error)]
pub enum MuxEnd {
    /// It is over.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// The peer has shut it down.
    #[error("the peer ended the association")]
    Shutdown,
    /// The peer does not keep to the protocol, and was told so.
    #[error("the peer broke the protocol of forward: {0}")]
    Broke(Breach),
}

/// How a peer broke the protocol.
#[derive(Debug, thiserror::Error)]
pub enum Breach {
    /// Not a frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// On the wrong stream.
    #[error(transparent)]
    Stream(#[from] StreamFault),
    /// In a connection.
    #[error("stream {0}: {1}")]
    Connection(u16, String),
    /// A message of another application.
    #[error("payload protocol identifier {0:#x} on stream {1}")]
    Ppid(u32, u16),
    /// A frame that has no place there.
    #[error("a frame on stream {0} that belongs elsewhere")]
    Misplaced(u16),
    /// More on stream 0 than anybody reads.
    #[error("too many frames on stream 0")]
    Letters,
}

/// Somebody at the other end wants to connect.
#[derive(Debug)]
pub struct Incoming {
    hub: Arc<Hub>,
    number: u16,
    /// Where to.
    pub to: Destination,
    channel: Channel,
}

/// Connections over one association.
#[derive(Debug)]
pub struct Mux {
    hub: Arc<Hub>,
    limits: Limits,
}

/// What comes over the association, and what [`Mux::run`] fills.
#[derive(Debug)]
pub struct Outlets {
    /// Connections that the peer opens.
    pub incoming: mpsc::UnboundedReceiver<Incoming>,
    /// Frames of stream 0.
    pub letters: mpsc::Receiver<Frame>,
    /// For [`Mux::run`].
    pub inlets: Inlets,
}

/// Where a [`Mux`] that runs puts what comes.
#[derive(Debug)]
pub struct Inlets {
    incoming: mpsc::UnboundedSender<Incoming>,
    letters: mpsc::Sender<Frame>,
    given_up: mpsc::UnboundedReceiver<u16>,
}

impl Mux {
    /// Over `association`, of which this is the end `side`. [`run`](Self::run) makes it work.
    pub fn new(association: Arc<Association>, side: Side, limits: Limits) -> (Arc<Self>, Outlets) {
        let (hub, given_up) = Hub::new(association, side, limits.waiting);
        let (incoming_in, incoming) = mpsc::unbounded_channel();
        let (letters_in, letters) = mpsc::channel(LETTERS);
        let inlets = Inlets { incoming: incoming_in, letters: letters_in, given_up };
        (Arc::new(Self { hub, limits }), Outlets { incoming, letters, inlets })
    }

    /// The association.
    pub fn association(&self) -> &Arc<Association> {
        &self.hub.association
    }

    /// What the peer may use it for.
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Connections that are not over: ours, and the peer's.
    pub fn connections(&self) -> (usize, usize) {
        self.hub.lock().streams.counts()
    }

    /// Bytes that wait for readers here, or may come at any time.
    pub fn waiting(&self) -> u64 {
        self.hub.lock().pool.taken()
    }

    /// How many connections the peer takes, as it said in its hello.
    pub fn set_peer_limit(&self, connections: u32) {
        self.hub.lock().peer_takes = connections;
    }

    /// Says a frame on a stream; waits for room.
    ///
    /// # Errors
    /// When the association is over.
    pub async fn send(&self, number: u16, frame: &Frame) -> Result<(), SendError> {
        self.hub.send(number, frame).await
    }

    /// Opens a connection, and waits until the other end has it. Dropping the future gives up.
    ///
    /// # Errors
    /// When it is refused, or the association ends.
    pub async fn open(self: &Arc<Self>, to: Destination) -> Result<Channel, OpenError> {
        let (number, inbox, credit) = self.begin()?;
        let channel = Channel::new(self.hub.clone(), number, inbox, false);
        channel.open(&Frame::Open { credit, to }).await?;
        Ok(channel)
    }

    fn begin(&self) -> Result<(u16, Arc<Inbox>, u32), OpenError> {
        let inbox = Arc::<Inbox>::default();
        let mut state = self.hub.lock();
        if state.over {
            return Err(OpenError::Lost);
        }
        if state.streams.counts().0 >= usize::try_from(state.peer_takes).unwrap_or(usize::MAX) {
            return Err(Refusal::TooMany.into());
        }
        let window = state.pool.open(Instant::now()).ok_or(Refusal::TooMany)?;
        let credit = u32::try_from(window.size()).unwrap_or(u32::MAX);
        let Some(number) = state.streams.open(inbox.clone()) else {
            window.close(&mut state.pool);
            return Err(Refusal::TooMany.into());
        };
        inbox.lock().window = Some(window);
        Ok((number, inbox, credit))
    }

    /// Works until the association ends, or the peer breaks the protocol, which ends it. Then, and
    /// when the future is dropped, all connections are broken off.
    pub async fn run(self: &Arc<Self>, inlets: Inlets) -> MuxEnd {
        let Inlets { incoming, letters, given_up } = inlets;
        let _until_dropped = Running(&self.hub);
        tokio::select! {
            end = self.receive(&incoming, &letters) => end,
            never = self.say_farewells(given_up) => never,
            never = self.watch_rtt() => never,
        }
    }

    async fn receive(
        self: &Arc<Self>,
        incoming: &mpsc::UnboundedSender<Incoming>,
        letters: &mpsc::Sender<Frame>,
    ) -> MuxEnd {
        let mut messages = Vec::with_capacity(AT_ONCE);
        loop {
            match self.hub.association.recv_many(&mut messages, AT_ONCE).await {
                Ok(0) => return MuxEnd::Shutdown,
                Ok(_) => {}
                Err(closed) => return closed.into(),
            }
            let many = messages.len() == AT_ONCE;
            for message in messages.drain(..) {
                if let Err(breach) = self.take(message, incoming, letters) {
                    self.hub.association.abort(breach.to_string());
                    return MuxEnd::Broke(breach);
                }
            }
            // Those who carry it on get their turn, however much comes.
            if many {
                tokio::task::yield_now().await;
            }
        }
    }

    fn take(
        self: &Arc<Self>,
        message: Message,
        incoming: &mpsc::UnboundedSender<Incoming>,
        letters: &mpsc::Sender<Frame>,
    ) -> Result<(), Breach> {
        let number = message.stream.0;
        match (number, message.ppid) {
            (0, ppid::FRAME) => {
                let frame = Frame::from_bytes(&message.data)?;
                match letters.try_send(frame) {
                    Err(mpsc::error::TrySendError::Full(_)) => Err(Breach::Letters),
                    _ => Ok(()),
                }
            }
            (1.., ppid::DATA) => self.take_data(number, message.data),
            (1.., ppid::FRAME) => {
                let frame = Frame::from_bytes(&message.data)?;
                if let Some(one) = self.take_frame(number, frame)? {
                    let _nobody_listens = incoming.send(one);
                }
                Ok(())
            }
            (_, other) => Err(Breach::Ppid(other, number)),
        }
    }

    fn take_data(&self, number: u16, data: Bytes) -> Result<(), Breach> {
        let state = self.hub.lock();
        // What comes behind our last frame was under way already.
        let Some(inbox) = state.streams.hear(number)? else { return Ok(()) };
        inbox.put_data(data).map_err(|fault| breach_in(number, &fault))
    }

    fn take_frame(self: &Arc<Self>, number: u16, frame: Frame) -> Result<Option<Incoming>, Breach> {
        let mut state = self.hub.lock();
        if let Frame::Open { credit, to } = frame {
            return self.take_open(&mut state, number, credit, to).map(Some);
        }
        if let Some(inbox) = state.streams.hear(number)? {
            let heard = match frame {
                Frame::Accept { credit } => inbox.put_answer(Ok(credit)),
                Frame::Refuse(why) => inbox.put_answer(Err(why)),
                Frame::Credit(bytes) => inbox.put_credit(bytes),
                Frame::Fin => inbox.put_fin(),
                Frame::End if inbox.lock().fin => Ok(()),
                Frame::End => Err(Fault::Untimely),
                Frame::Reset => {
                    inbox.break_off();
                    Ok(())
                }
                _ => return Err(Breach::Misplaced(number)),
            };
            heard.map_err(|fault| breach_in(number, &fault))?;
        }
        if frame.is_last() {
            state.streams.they_ended(number);
        }
        Ok(None)
    }

    fn take_open(
        self: &Arc<Self>,
        state: &mut State,
        number: u16,
        credit: u32,
        to: Destination,
    ) -> Result<Incoming, Breach> {
        let inbox = Arc::<Inbox>::default();
        inbox.put_credit(credit).map_err(|fault| breach_in(number, &fault))?;
        // It asks, and does not answer.
        inbox.lock().answer = Some(Ok(()));
        state.streams.opened(number, inbox.clone())?;
        let channel = Channel::new(self.hub.clone(), number, inbox, true);
        Ok(Incoming { hub: self.hub.clone(), number, to, channel })
    }

    /// Breaks off the connections that were given up.
    async fn say_farewells(&self, mut given_up: mpsc::UnboundedReceiver<u16>) -> MuxEnd {
        while let Some(number) = given_up.recv().await {
            // It fails where nothing works any more.
            let _ = self.hub.send_last(number, &Frame::Reset).await;
        }
        core::future::pending().await
    }

    async fn watch_rtt(&self) -> MuxEnd {
        loop {
            let paths = self.hub.association.paths();
            let used = paths.iter().filter(|path| path.stats.state == PathState::Active);
            let rtt = used.filter_map(|path| path.stats.srtt).max().unwrap_or_default();
            self.hub.set_rtt(rtt);
            tokio::time::sleep(TICK).await;
        }
    }
}

/// Breaks all connections off when it goes.
struct Running<'a>(&'a Hub);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.break_off();
    }
}

fn breach_in(number: u16, fault: &Fault) -> Breach {
    Breach::Connection(number, fault.to_string())
}

impl Incoming {
    /// It is connected: tells the peer, and gives the connection.
    ///
    /// # Errors
    /// When there is no room for it, which the peer is told, or it is gone.
    pub async fn accept(self) -> Result<Channel, OpenError> {
        let window = self.hub.lock().pool.open(Instant::now());
        let Some(window) = window else {
            self.refuse(Refusal::TooMany).await;
            return Err(Refusal::TooMany.into());
        };
        let credit = u32::try_from(window.size()).unwrap_or(u32::MAX);
        self.channel.begin(window);
        let sent = self.hub.send(self.number, &Frame::Accept { credit }).await;
        sent.map_err(|_| OpenError::Lost)?;
        Ok(self.channel)
    }

    /// It is not.
    pub async fn refuse(self, why: Refusal) {
        self.channel.end_with(&Frame::Refuse(why)).await;
    }

    /// Waits until the peer gives up.
    pub async fn given_up(&self) {
        self.channel.broken().await;
    }
}
