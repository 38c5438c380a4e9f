//! What the connections of one association share: its streams, the pool of their windows, and the
//! way to the peer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use polypath_net::{Association, SendError, SendOptions};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::credit::Pool;
use super::frame::{Frame, ppid};
use super::inbox::Inbox;
use super::streams::{Side, Streams};

/// Shared by all connections.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) association: Arc<Association>,
    state: Mutex<State>,
    /// Of the slowest path in use, ns.
    rtt: AtomicU64,
    /// Connections that were given up without a last frame.
    farewells: mpsc::UnboundedSender<u16>,
}

/// What the lock protects. The lock of an [`Inbox`] is taken inside it, never around it.
#[derive(Debug)]
pub(super) struct State {
    pub(super) streams: Streams<Arc<Inbox>>,
    pub(super) pool: Pool,
    /// Connections that the peer takes; none before it has said hello.
    pub(super) peer_takes: u32,
    pub(super) over: bool,
}

impl Hub {
    /// Without connections. Those that are given up are told to the receiver.
    pub(super) fn new(
        association: Arc<Association>,
        side: Side,
        waiting: u64,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<u16>) {
        let (out, back) = association.streams();
        let (farewells, given_up) = mpsc::unbounded_channel();
        let streams = Streams::new(side, out.min(back));
        let most = u64::from(out.min(back));
        let state = State { streams, pool: Pool::new(waiting, most), peer_takes: 0, over: false };
        let (state, rtt) = (Mutex::new(state), AtomicU64::new(0));
        (Arc::new(Self { association, state, rtt, farewells }), given_up)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_rtt(&self, rtt: Duration) {
        self.rtt.store(u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Says a frame on a stream; waits for room. Cancel-safe: a dropped future has said nothing.
    pub(super) async fn send(&self, number: u16, frame: &Frame) -> Result<(), SendError> {
        let options = SendOptions { ppid: ppid::FRAME, ..SendOptions::default() };
        self.association.send_with(number, frame.to_bytes(), options).await.map(drop)
    }

    /// Sends data of a connection.
    pub(super) async fn send_data(
        &self,
        number: u16,
        pieces: impl IntoIterator<Item = Bytes>,
    ) -> Result<(), SendError> {
        let options = SendOptions { ppid: ppid::DATA, ..SendOptions::default() };
        self.association.send_all(number, pieces, options).await
    }

    /// Says our last frame on `number`. In the same moment the number is free as far as we go: the
    /// peer may use it again as soon as it hears that.
    pub(super) async fn send_last(&self, number: u16, frame: &Frame) -> Result<(), SendError> {
        let options = SendOptions { ppid: ppid::FRAME, ..SendOptions::default() };
        let attempt = || {
            let mut state = self.lock();
            let sent = self.association.try_send(number, frame.to_bytes(), options)?;
            state.streams.we_ended(number);
            Ok(sent)
        };
        self.association.when_there_is_room(attempt).await.map(drop)
    }

    /// Nothing was said on `number`, which we wanted to open, and nothing will be.
    pub(super) fn withdraw(&self, number: u16) {
        self.lock().streams.withdraw(number);
    }

    /// It carries nothing any more: all connections are broken off.
    pub(super) fn break_off(&self) {
        let mut state = self.lock();
        state.over = true;
        state.streams.iter().for_each(|inbox| inbox.break_off());
    }

    /// Somebody gave the connection up without a last frame.
    pub(super) fn abandon(&self, number: u16) {
        // It fails only where nothing works any more.
        let _ = self.farewells.send(number);
    }

    /// The reader of a connection took `bytes`; what to grant.
    pub(super) fn consume(&self, inbox: &Inbox, bytes: u64) -> Option<u32> {
        let rtt = Duration::from_nanos(self.rtt.load(Ordering::Relaxed));
        let mut state = self.lock();
        let mut inner = inbox.lock();
        inner.window.as_mut()?.consume(&mut state.pool, bytes, Instant::now(), rtt)
    }

    /// Nobody reads any more.
    pub(super) fn close_window(&self, inbox: &Inbox) {
        let mut state = self.lock();
        if let Some(window) = inbox.give_up() {
            window.close(&mut state.pool);
        }
    }
}
