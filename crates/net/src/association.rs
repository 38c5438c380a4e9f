//! One association, as the application holds it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::event::{CloseReason, Event, Message, SenderQueueInfo};
use polypath_proto::ids::{MessageId, PathId, StreamId};
use polypath_proto::policy::StreamParam;
use polypath_proto::stats::{AbandonedMessages, AssocStats, LimitStats, PathMtuStats};
use polypath_proto::time::Time;
use polypath_proto::view::PathAdmin;
use polypath_proto::{
    AgreedExtensions, AssocHandle, AssocSettings, PathSettings, RecvFrom, SendOptions, State,
    StreamNeeds,
};
use tokio::sync::broadcast;

pub use crate::contact::Contact;
use crate::error::{Closed, ConnectError, SendError, SendRefusal, SettingsError};
use crate::inner::Inner;
use crate::path_info::PathInfo;
use crate::setup_errors::SetupPath;
use crate::shared::{self, Signals};

/// An association. All methods take `&self`, so one task may send while another receives: put it
/// into an [`Arc`].
///
/// Dropping it shuts it down gracefully: what was sent still arrives, what comes in is discarded.
pub struct Association {
    endpoint: Arc<Inner>,
    h: AssocHandle,
    signals: Arc<Signals>,
}

impl fmt::Debug for Association {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Association").field(&self.h.0).finish()
    }
}

impl Drop for Association {
    fn drop(&mut self) {
        self.endpoint.shared.abandon_association(self.h);
    }
}

impl Association {
    pub(crate) fn shared(&self) -> &shared::Shared {
        &self.endpoint.shared
    }

    pub(crate) const fn handle(&self) -> AssocHandle {
        self.h
    }

    pub(crate) fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Messages of an outgoing stream (`None`: of all) that were given up
    /// ([`SendOptions::reliability`]).
    pub fn abandoned(&self, stream: Option<u16>) -> AbandonedMessages {
        let state = self.endpoint.shared.lock();
        let association = state.core.association(self.h);
        association.map(|a| a.abandoned(stream.map(StreamId))).unwrap_or_default()
    }

    pub(crate) fn new(endpoint: Arc<Inner>, h: AssocHandle, signals: Arc<Signals>) -> Self {
        Self { endpoint, h, signals }
    }

    /// Sends a message in order on stream `stream`. Waits while the send buffer is full.
    /// Cancel-safe: a dropped future has sent nothing.
    ///
    /// # Errors
    /// When the association is over or shutting down, there is no such stream, or the message can
    /// never be sent.
    pub async fn send(&self, stream: u16, data: impl Into<Bytes>) -> Result<MessageId, SendError> {
        self.send_with(stream, data, SendOptions::default()).await
    }

    /// Like [`send`](Self::send), with options.
    ///
    /// # Errors
    /// As there.
    pub async fn send_with(
        &self,
        stream: u16,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<MessageId, SendError> {
        let data = data.into();
        self.when_there_is_room(|| self.try_send(stream, data.clone(), options)).await
    }

    /// Makes `attempt`, which [tries to send](Self::try_send), again whenever there is more room in
    /// the send buffer, until it is not for want of room that it fails: for who has to do something
    /// else in the same moment. Cancel-safe.
    ///
    /// # Errors
    /// As `attempt`.
    pub async fn when_there_is_room(
        &self,
        attempt: impl Fn() -> Result<MessageId, SendError>,
    ) -> Result<MessageId, SendError> {
        loop {
            match attempt() {
                Err(SendError::Refused(SendRefusal::WouldBlock)) => {}
                other => return other,
            }
            let room = self.signals.writable.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            match attempt() {
                Err(SendError::Refused(SendRefusal::WouldBlock)) => room.await,
                other => return other,
            }
        }
    }

    /// Sends a message if the send buffer has room for it now.
    ///
    /// # Errors
    /// As [`send`](Self::send), and [`WouldBlock`](SendRefusal::WouldBlock) when the buffer is
    /// full.
    pub fn try_send(
        &self,
        stream: u16,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<MessageId, SendError> {
        let data = data.into();
        let (stream, bytes) = (StreamId(stream), data.len());
        self.hand_in(stream, bytes, |core, now| core.send(now, stream, data, options))
    }

    /// Hands `bytes` bytes for `stream` to the core by `send`, and asks to be woken if there is no
    /// room for them.
    pub(crate) fn hand_in(
        &self,
        stream: StreamId,
        bytes: usize,
        send: impl FnOnce(&mut polypath_proto::Association, Time) -> Result<MessageId, SendRefusal>,
    ) -> Result<MessageId, SendError> {
        let shared = &self.endpoint.shared;
        let now = shared.clock.now();
        let mut state = shared.lock();
        let Some(association) = state.association(self.h) else {
            return Err(state.why_closed(self.h).into());
        };
        match send(association, now) {
            Ok(id) => {
                drop(state);
                shared.work.notify_one();
                Ok(id)
            }
            Err(SendRefusal::Closed) => Err(state.why_closed(self.h).into()),
            Err(error) => {
                if error == SendRefusal::WouldBlock {
                    state.wait_for_room(self.h, stream, bytes as u64);
                }
                Err(error.into())
            }
        }
    }

    /// Sends many messages, all on one stream and with the same options: cheaper than one by one.
    /// Waits while the send buffer is full.
    ///
    /// # Errors
    /// As [`send`](Self::send); messages before the one that failed were sent. After cancellation
    /// some may have been.
    pub async fn send_all(
        &self,
        stream: u16,
        messages: impl IntoIterator<Item = Bytes>,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let mut left = messages.into_iter().peekable();
        while left.peek().is_some() {
            let room = self.signals.writable.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            if !self.send_some(stream, &mut left, options)? {
                room.await;
            }
        }
        Ok(())
    }

    /// Sends until nothing is left (true) or the buffer is full (false).
    fn send_some(
        &self,
        stream: u16,
        left: &mut std::iter::Peekable<impl Iterator<Item = Bytes>>,
        options: SendOptions,
    ) -> Result<bool, SendError> {
        let shared = &self.endpoint.shared;
        let now = shared.clock.now();
        let mut state = shared.lock();
        let mut all = true;
        while let Some(message) = left.peek() {
            let Some(association) = state.association(self.h) else {
                return Err(state.why_closed(self.h).into());
            };
            match association.send(now, StreamId(stream), message.clone(), options) {
                Ok(_) => drop(left.next()),
                Err(SendRefusal::WouldBlock) => {
                    state.wait_for_room(self.h, StreamId(stream), message.len() as u64);
                    all = false;
                    break;
                }
                Err(SendRefusal::Closed) => return Err(state.why_closed(self.h).into()),
                Err(error) => return Err(error.into()),
            }
        }
        drop(state);
        shared.work.notify_one();
        Ok(all)
    }

    /// The next message of any stream; `None` after the peer has shut down and everything was
    /// received. Cancel-safe.
    ///
    /// # Errors
    /// When the association ended otherwise, once everything was received.
    pub async fn recv(&self) -> Result<Option<Message>, Closed> {
        self.recv_from(RecvFrom::Any).await
    }

    /// The next message of one stream.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub async fn recv_stream(&self, stream: u16) -> Result<Option<Message>, Closed> {
        self.recv_from(RecvFrom::Stream(StreamId(stream))).await
    }

    async fn recv_from(&self, want: RecvFrom) -> Result<Option<Message>, Closed> {
        loop {
            let readable = self.signals.readable.notified();
            tokio::pin!(readable);
            readable.as_mut().enable();
            if let Some(message) = self.try_recv_from(want) {
                return Ok(Some(message));
            }
            if let Some(end) = self.end_outcome() {
                return end;
            }
            readable.await;
        }
    }

    /// Waits for a message and appends it to `messages` with all that are there, up to `limit`; 0
    /// at the end, as [`recv`](Self::recv)'s `None`. Cancel-safe.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub async fn recv_many(
        &self,
        messages: &mut Vec<Message>,
        limit: usize,
    ) -> Result<usize, Closed> {
        loop {
            let readable = self.signals.readable.notified();
            tokio::pin!(readable);
            readable.as_mut().enable();
            let taken = self.take_messages(messages, limit);
            if taken > 0 {
                return Ok(taken);
            }
            if let Some(end) = self.end_outcome() {
                return end.map(|_| 0);
            }
            readable.await;
        }
    }

    fn take_messages(&self, messages: &mut Vec<Message>, limit: usize) -> usize {
        let shared = &self.endpoint.shared;
        let now = shared.clock.now();
        let before = messages.len();
        {
            let mut state = shared.lock();
            let Some(association) = state.association(self.h) else { return 0 };
            let next = core::iter::from_fn(|| association.recv(now, RecvFrom::Any));
            messages.extend(next.take(limit));
        }
        let taken = messages.len() - before;
        if taken > 0 {
            shared.work.notify_one();
        }
        taken
    }

    /// The next message of any stream if there is one now.
    pub fn try_recv(&self) -> Option<Message> {
        self.try_recv_from(RecvFrom::Any)
    }

    fn try_recv_from(&self, want: RecvFrom) -> Option<Message> {
        let shared = &self.endpoint.shared;
        let now = shared.clock.now();
        let message = shared.lock().association(self.h)?.recv(now, want)?;
        // Room in the receive buffer may be news for the peer.
        shared.work.notify_one();
        Some(message)
    }

    /// How the association ended, if it did.
    fn end_outcome(&self) -> Option<Result<Option<Message>, Closed>> {
        match self.endpoint.shared.lock().closed_error(self.h)? {
            Closed::Shutdown => Some(Ok(None)),
            reason => Some(Err(reason)),
        }
    }

    /// Waits for the end of set-up.
    pub(crate) async fn set_up(&self, remote: &[SocketAddr]) -> Result<(), ConnectError> {
        loop {
            let changed = self.signals.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(outcome) = self.set_up_outcome(remote) {
                return outcome;
            }
            changed.await;
        }
    }

    fn set_up_outcome(&self, remote: &[SocketAddr]) -> Option<Result<(), ConnectError>> {
        let state = self.endpoint.shared.lock();
        let slot = state.slots.get(&self.h)?;
        if slot.established && slot.closed.is_none() {
            return Some(Ok(()));
        }
        let remote = remote.to_vec();
        let errors = slot.setup_errors();
        // Nearly always there are none, and nobody asks for the paths.
        let association = errors.and_then(|_| state.core.association(self.h));
        let paths = association.map(SetupPath::all_of).unwrap_or_default();
        let everywhere = errors.filter(|errors| errors.are_everywhere(&paths));
        let error = match slot.closed.as_deref() {
            None => ConnectError::Unreachable { remote, why: everywhere?.describe(&paths) },
            // It was set up, and over before anybody looked.
            Some(CloseReason::PeerAbort { .. }) if slot.established => {
                state.why_closed(self.h).into()
            }
            Some(CloseReason::HandshakeTimeout) => match errors {
                Some(errors) => ConnectError::Unreachable { remote, why: errors.describe(&paths) },
                None => ConnectError::NoAnswer { remote },
            },
            Some(other) => {
                let core = state.core.association(self.h);
                let words = core.map(polypath_proto::Association::abort_reason);
                ConnectError::from_reason(remote, other.clone(), &words.unwrap_or_default())
            }
        };
        Some(Err(error))
    }

    /// Tells the peer that nothing more comes, and waits until everything sent has arrived and the
    /// association is over. Messages of the peer that are still to come can be received meanwhile
    /// and afterwards.
    ///
    /// # Errors
    /// When the association ends otherwise.
    pub async fn shutdown(&self) -> Result<(), Closed> {
        self.begin_shutdown();
        let end = self.closed().await;
        match self.endpoint.shared.lock().closed_error(self.h).unwrap_or_else(|| end.into()) {
            Closed::Shutdown => Ok(()),
            reason => Err(reason),
        }
    }

    /// Begins a shutdown without waiting for its end. It goes on with the peer's new life, should
    /// the peer restart meanwhile.
    pub fn begin_shutdown(&self) {
        let now = self.endpoint.shared.clock.now();
        if let Some(slot) = self.endpoint.shared.lock().slots.get_mut(&self.h) {
            slot.leaving = true;
        }
        self.with_core(|association| association.shutdown(now));
    }

    /// Ends the association at once and tells the peer `reason`. What was not delivered is lost.
    pub fn abort(&self, reason: impl Into<Bytes>) {
        let now = self.endpoint.shared.clock.now();
        self.with_core(|association| association.abort(now, reason.into()));
    }

    /// Waits until the association is over.
    pub async fn closed(&self) -> CloseReason {
        loop {
            let changed = self.signals.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(reason) = self.endpoint.shared.lock().close_reason(self.h) {
                return reason;
            }
            changed.await;
        }
    }

    /// What the peer said when it aborted, at most 256 bytes of it; empty if it said nothing or did
    /// not abort.
    pub fn abort_reason(&self) -> Bytes {
        let state = self.endpoint.shared.lock();
        let association = state.core.association(self.h);
        association.map(|a| a.abort_reason()).unwrap_or_default()
    }

    /// Whether it is over.
    pub fn is_closed(&self) -> bool {
        self.endpoint.shared.lock().close_reason(self.h).is_some()
    }

    /// Where it stands in its life.
    pub fn state(&self) -> State {
        let state = self.endpoint.shared.lock();
        state.core.association(self.h).map_or(State::Closed, polypath_proto::Association::state)
    }

    /// What happens from now on: path changes, failed messages, restarts, the end.
    pub fn events(&self) -> Events {
        let mut state = self.endpoint.shared.lock();
        let slot = state.slots.get_mut(&self.h).filter(|slot| slot.closed.is_none());
        Events { receiver: slot.map(shared::Slot::subscribe) }
    }

    /// All paths.
    pub fn paths(&self) -> Vec<PathInfo> {
        let now = self.endpoint.shared.clock.now();
        self.endpoint.shared.lock().paths(self.h, now)
    }

    /// What limits the transfer at present, and for how long what has limited it.
    pub fn limits(&self) -> LimitStats {
        let now = self.endpoint.shared.clock.now();
        let state = self.endpoint.shared.lock();
        state
            .core
            .association(self.h)
            .map(|association| association.limits(now))
            .unwrap_or_default()
    }

    /// Sizes of the receive and the send buffer at present, bytes; 0 once the association is over.
    pub fn buffer_sizes(&self) -> (u32, u64) {
        let state = self.endpoint.shared.lock();
        let association = state.core.association(self.h);
        association.map_or((0, 0), polypath_proto::Association::buffer_sizes)
    }

    /// What is known of the size of packets on a path.
    pub fn path_mtu(&self, path: PathId) -> Option<PathMtuStats> {
        let state = self.endpoint.shared.lock();
        state.core.association(self.h).and_then(|association| association.path_mtu(path))
    }

    /// Says what a path may be used for.
    pub fn set_path_admin(&self, path: PathId, admin: PathAdmin) {
        let now = self.endpoint.shared.clock.now();
        self.with_core(|association| association.set_path_admin(now, path, admin));
    }

    /// The settings of a path: heartbeats and Path.Max.Retrans.
    pub fn path_settings(&self, path: PathId) -> Option<PathSettings> {
        let state = self.endpoint.shared.lock();
        state.core.association(self.h)?.path_settings(path)
    }

    /// Changes the settings of a path. False if there is no such path.
    pub fn set_path_settings(&self, path: PathId, settings: PathSettings) -> bool {
        let now = self.endpoint.shared.clock.now();
        self.with_core(|a| a.set_path_settings(now, path, settings)).unwrap_or(false)
    }

    /// Whether small messages are sent at once (SCTP_NODELAY); true once the association is over.
    pub fn nodelay(&self) -> bool {
        let state = self.endpoint.shared.lock();
        state.core.association(self.h).is_none_or(polypath_proto::Association::nodelay)
    }

    /// Says whether small messages are sent at once (SCTP_NODELAY, RFC 6458 section 8.1.5), as they
    /// are unless the settings say otherwise. Where they are not, what does not fill a packet waits
    /// for more while data is in flight (Nagle's rule).
    pub fn set_nodelay(&self, on: bool) {
        self.with_core(|association| association.set_nodelay(on));
    }

    /// Sends a heartbeat on a path now: its answer measures the path, and shows that it lives.
    /// False where none may be sent.
    pub fn request_heartbeat(&self, path: PathId) -> bool {
        let now = self.endpoint.shared.clock.now();
        self.with_core(|association| association.request_heartbeat(now, path)).unwrap_or(false)
    }

    /// Makes a path the primary one. False if there is no such confirmed path.
    pub fn set_primary(&self, path: PathId) -> bool {
        let now = self.endpoint.shared.clock.now();
        self.with_core(|association| association.set_primary(now, path)).unwrap_or(false)
    }

    /// Outbound and inbound streams, as negotiated.
    pub fn streams(&self) -> (u16, u16) {
        let state = self.endpoint.shared.lock();
        state.core.association(self.h).map_or((0, 0), polypath_proto::Association::streams)
    }

    /// The extensions that both ends agreed on at set-up; none once the association is over.
    pub fn agreed(&self) -> AgreedExtensions {
        let state = self.endpoint.shared.lock();
        let association = state.core.association(self.h);
        association.map(polypath_proto::Association::agreed).unwrap_or_default()
    }

    /// Our SCTP port: the endpoint's.
    pub fn local_port(&self) -> u16 {
        self.endpoint.port
    }

    /// The peer's SCTP port; `None` once the association is over.
    pub fn peer_port(&self) -> Option<u16> {
        let state = self.endpoint.shared.lock();
        state.core.association(self.h).map(polypath_proto::Association::peer_port)
    }

    /// The settings that may change while the association lives; `None` once it is over.
    pub fn settings(&self) -> Option<AssocSettings> {
        let state = self.endpoint.shared.lock();
        state.core.association(self.h).map(polypath_proto::Association::settings)
    }

    /// Changes the settings of this association; those of others, and of later ones, stay.
    ///
    /// # Errors
    /// When they contradict each other or the protocol, or the association is over; nothing has
    /// changed then.
    pub fn set_settings(&self, settings: AssocSettings) -> Result<(), SettingsError> {
        let set = self.with_core(|association| association.set_settings(settings));
        Ok(set.ok_or_else(|| self.why_closed())??)
    }

    /// Declares what an outbound stream needs of the paths.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn set_stream_needs(&self, stream: u16, needs: StreamNeeds) -> Result<(), SendError> {
        let set =
            self.with_core(|association| association.set_stream_needs(StreamId(stream), needs));
        set.unwrap_or(Err(SendRefusal::Closed)).map_err(SendError::from)
    }

    /// Sets a parameter of an outbound stream for the stream scheduler.
    pub fn set_stream_param(&self, stream: u16, param: StreamParam) {
        self.with_core(|association| association.set_stream_param(StreamId(stream), param));
    }

    /// Counters of the association, its paths and its streams.
    pub fn stats(&self) -> AssocStats {
        let state = self.endpoint.shared.lock();
        let association = state.core.association(self.h);
        association.map(polypath_proto::Association::stats).unwrap_or_default()
    }

    /// What waits in the send buffer, in all and per stream (S0's sender queue API).
    pub fn sender_queue_info(&self) -> SenderQueueInfo {
        let state = self.endpoint.shared.lock();
        let association = state.core.association(self.h);
        association.map(polypath_proto::Association::sender_queue_info).unwrap_or_default()
    }

    /// Free bytes of the send buffer.
    pub fn writable(&self) -> u64 {
        let state = self.endpoint.shared.lock();
        state.core.association(self.h).map_or(0, polypath_proto::Association::writable)
    }

    /// Why it is over; for calls that find it gone.
    pub(crate) fn why_closed(&self) -> Closed {
        self.endpoint.shared.lock().why_closed(self.h)
    }

    pub(crate) fn with_core<T>(
        &self,
        act: impl FnOnce(&mut polypath_proto::Association) -> T,
    ) -> Option<T> {
        let shared = &self.endpoint.shared;
        let done = shared.lock().association(self.h).map(act);
        shared.work.notify_one();
        done
    }
}

/// The events of an association, from when it was asked for.
#[derive(Debug)]
pub struct Events {
    receiver: Option<broadcast::Receiver<Event>>,
}

impl Events {
    /// The next event; `None` after [`Event::Closed`]. Who is more than 256 events behind misses
    /// the oldest. Cancel-safe.
    pub async fn next(&mut self) -> Option<Event> {
        let receiver = self.receiver.as_mut()?;
        loop {
            match receiver.recv().await {
                Ok(event) => return Some(event),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}
