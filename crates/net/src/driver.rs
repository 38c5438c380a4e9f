//! The reactor: a thread of its own that moves packets between sockets and core.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use nix::errno::Errno;
use polypath_proto::FourTuple;
use polypath_proto::time::Time;

use crate::batch::{Batch, Outbox, Whole};
use crate::capture::Capture;
use crate::interfaces::{Change, Watcher};
use crate::shared::{Shared, State};
use crate::socket::{Inbox, Opened, Socket, Trouble, of_path};

/// Packets that are made before they are sent. More would let SACKs wait, fewer cost more calls.
const PACKETS_AT_ONCE: usize = 256;

/// Calls to one socket before the others get their turn.
const RECEIVE_ROUNDS: usize = 4;

/// Messages of routers about one socket's packets before other things get their turn.
const TROUBLES_AT_ONCE: usize = 64;

/// The reactor of one endpoint.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    sockets: Vec<Socket>,
    watcher: Option<Watcher>,
    inbox: Inbox,
    outbox: Outbox,
    packet: Vec<u8>,
    /// What routers said, with the local address of the socket.
    troubles: Vec<(SocketAddr, Trouble)>,
    capture: Option<Capture>,
}

/// What a round left to do.
#[derive(Debug, Default)]
struct Round {
    /// There may be more to receive, or to send.
    more: bool,
    /// This socket takes no more for now.
    blocked: Option<usize>,
    /// An association is over.
    ended: bool,
    /// When the core must be told the time again.
    deadline: Option<Time>,
}

impl Driver {
    /// Starts the thread.
    pub(crate) fn start(shared: Arc<Shared>, opened: Opened) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let within = runtime.enter();
        let sockets = opened.into_sockets()?;
        let watcher = shared.config.follow.clone().map(Watcher::new).transpose()?;
        let capture = shared.config.capture.clone();
        let mut driver = Self {
            shared,
            sockets,
            watcher,
            inbox: Inbox::new(),
            outbox: Outbox::default(),
            packet: Vec::new(),
            troubles: Vec::new(),
            capture,
        };
        drop(within);
        let run = move || runtime.block_on(driver.run());
        std::thread::Builder::new().name("polypath".to_owned()).spawn(run).map(drop)
    }

    async fn run(&mut self) {
        let _stopping = Stopping(self.shared.clone());
        loop {
            let received = self.receive();
            self.hear(received);
            let mut round = self.collect();
            round.more |= received;
            self.flush(&mut round);
            if round.ended && self.outbox.packets() == 0 {
                self.shared.tell_ends();
            }
            if self.is_over() {
                return;
            }
            self.wait(&round).await;
        }
    }

    /// Takes over the sockets of new addresses, and closes those of addresses that nobody uses any more.
    fn take_over_sockets(&mut self, state: &mut State) {
        for opened in std::mem::take(&mut state.opened) {
            // One that the runtime does not take stays silent, as an address does that leads nowhere.
            self.sockets.extend(opened.into_sockets().unwrap_or_default());
        }
        // Packets that wait name their socket by its place.
        if self.sockets.len() > state.local.len() && self.outbox.packets() == 0 {
            let State { core, local, .. } = state;
            self.sockets
                .retain(|s| local.contains(&s.local()) || core.uses_address(s.local().ip()));
        }
    }

    /// Takes in what has arrived. True if there may be more.
    fn receive(&mut self) -> bool {
        let mut more = false;
        for i in 0..self.sockets.len() {
            for turn in 1..=RECEIVE_ROUNDS {
                let Some(socket) = self.sockets.get(i) else { break };
                // An error on reception is one of a path: its silence will tell.
                if !socket.receive(&mut self.inbox).unwrap_or(false) {
                    break;
                }
                more |= turn == RECEIVE_ROUNDS;
                self.take_in(socket.local());
            }
        }
        more
    }

    fn take_in(&self, local: SocketAddr) {
        let now = self.shared.clock.now();
        let mut state = self.shared.lock();
        for (remote, packet) in self.inbox.packets() {
            let tuple = FourTuple { local, remote };
            if let Some(capture) = &self.capture {
                capture.packet(tuple, false, packet);
            }
            state.core.handle_datagram(now, tuple, packet);
        }
    }

    /// Lets the core act, tells the application, and fetches packets.
    fn collect(&mut self) -> Round {
        let now = self.shared.clock.now();
        let shared = self.shared.clone();
        let mut state = shared.lock();
        self.take_over_sockets(&mut state);
        if state.core.poll_timeout().is_some_and(|at| at <= now) {
            state.core.handle_timeout(now);
        }
        shared.dispatch(&mut state, now);
        let more = self.fetch(now, &mut state);
        // What was sent may have ended an association.
        shared.dispatch(&mut state, now);
        let deadline = if more { None } else { state.core.poll_timeout() };
        Round { more, blocked: None, ended: !more && state.has_ended(), deadline }
    }

    /// Fetches packets up to the limit; true if there are more.
    fn fetch(&mut self, now: Time, state: &mut State) -> bool {
        while self.outbox.packets() < PACKETS_AT_ONCE {
            self.packet.clear();
            let Some(transmit) = state.core.poll_transmit(now, &mut self.packet) else {
                return false;
            };
            let socket = of_path(&self.sockets, transmit.tuple);
            let Some((i, socket)) = socket.and_then(|i| Some((i, self.sockets.get(i)?))) else {
                continue;
            };
            let tuple = transmit.tuple;
            match (transmit.probe, transmit.may_fragment) {
                (true, _) => self.outbox.push_alone(i, tuple, &self.packet, Whole::Probe),
                (_, true) => self.outbox.push_alone(i, tuple, &self.packet, Whole::Fragments),
                _ => self.outbox.push(i, tuple, &self.packet, socket.segments()),
            }
        }
        true
    }

    /// Sends what was fetched.
    fn flush(&mut self, round: &mut Round) {
        while let Some(batch) = self.outbox.pop() {
            let Some(socket) = self.sockets.get(batch.socket) else { continue };
            match Self::send(socket, &batch) {
                Ok(()) => {
                    if let Some(capture) = &self.capture {
                        batch
                            .packets()
                            .for_each(|packet| capture.packet(batch.tuple, true, packet));
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    round.blocked = Some(batch.socket);
                    self.outbox.unpop(batch);
                    break;
                }
                Err(e) if e.raw_os_error() == Some(Errno::EMSGSIZE as i32) => {
                    // The next size may be tried at once.
                    round.more = true;
                    if batch.packets > 1 {
                        self.outbox.take_apart(&batch);
                    } else {
                        let carried = Self::listen(socket, &mut self.troubles);
                        self.shared.packet_refused(batch.tuple, &batch.bytes, carried);
                    }
                }
                Err(e) => self.shared.send_failed(batch.tuple, &e),
            }
            self.outbox.recycle(batch);
        }
        for socket in &self.sockets {
            Self::listen(socket, &mut self.troubles);
        }
        round.more |= !self.troubles.is_empty();
    }

    /// Sends a batch. An error may stem from an earlier packet (ICMP): then the next attempt tells the truth.
    fn send(socket: &Socket, batch: &Batch) -> io::Result<()> {
        match socket.send(batch) {
            Err(e) if e.kind() != io::ErrorKind::WouldBlock => socket.send(batch),
            done => done,
        }
    }

    /// Takes note of what routers said, once all is taken in that had arrived by then: who closes its port may have said goodbye before.
    fn hear(&mut self, more_to_receive: bool) {
        if more_to_receive && self.troubles.len() < TROUBLES_AT_ONCE {
            return;
        }
        for (local, trouble) in self.troubles.drain(..) {
            self.shared.heard_of_trouble(FourTuple { local, remote: trouble.remote }, &trouble);
        }
    }

    /// Reads what routers say of a socket's packets. Gives what the interface carries, bytes of an IP packet, if it refused one.
    fn listen(socket: &Socket, troubles: &mut Vec<(SocketAddr, Trouble)>) -> Option<u32> {
        let mut carried = None;
        for trouble in std::iter::from_fn(|| socket.trouble()).take(TROUBLES_AT_ONCE) {
            match trouble.interface_mtu {
                Some(mtu) => carried = Some(mtu),
                None => troubles.push((socket.local(), trouble)),
            }
        }
        carried
    }

    fn is_over(&self) -> bool {
        let state = self.shared.lock();
        let idle = state.live() == 0 && self.outbox.packets() == 0;
        (state.abandoned || state.stopped) && idle
    }

    async fn wait(&mut self, round: &Round) {
        if round.blocked.is_none() && round.more {
            // The runtime looks for what has arrived.
            return tokio::task::yield_now().await;
        }
        let deadline = round.deadline.map(|at| self.shared.clock.instant(at));
        let mut sleep = deadline.map(|at| Box::pin(tokio::time::sleep_until(at.into())));
        let shared = self.shared.clone();
        let mut work = core::pin::pin!(shared.work.notified());
        poll_fn(|cx| {
            let due = sleep.as_mut().is_some_and(|sleep| sleep.as_mut().poll(cx).is_ready());
            let asked = work.as_mut().poll(cx).is_ready() | self.poll_interfaces(cx);
            if due | asked | self.poll_sockets(cx, round.blocked) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// Follows this host's addresses. True if one came or went.
    fn poll_interfaces(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        let mut changed = false;
        while let Poll::Ready(change) = watcher.poll_change(cx) {
            changed |= match change {
                // One that cannot be used is as good as none; most are ours already.
                Change::Came(local) => self.shared.add_address(&local).is_ok(),
                Change::Went(address) => self.shared.remove_address(address),
            };
        }
        changed
    }

    fn poll_sockets(&self, cx: &mut Context<'_>, blocked: Option<usize>) -> bool {
        let readable = self.sockets.iter().any(|socket| socket.poll_readable(cx).is_ready());
        let writable = blocked
            .and_then(|i| self.sockets.get(i))
            .is_some_and(|socket| socket.poll_writable(cx).is_ready());
        readable | writable
    }
}

/// Tells everybody when the reactor ends, however it ends.
struct Stopping(Arc<Shared>);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use polypath_proto::ids::StreamId;

    use crate::{Bytes, CloseReason, Config, Encapsulation, Endpoint, SendOptions};

    #[tokio::test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the core is held, and two reactors get time meanwhile"
    )]
    async fn a_goodbye_counts_before_the_port_that_was_closed_after_it() {
        let here = || [Ipv4Addr::LOCALHOST.into()];
        let config =
            Config { encapsulation: Encapsulation::Udp(0), ..Config::server(here(), 5000) };
        let server = Endpoint::bind(config).unwrap();
        let client = Endpoint::bind(Config::client(here())).unwrap();
        let there = server.local_addresses();
        let (a, b) = tokio::join!(client.connect(&there, 5000), server.accept());
        let (a, b) = (a.unwrap(), b.unwrap());
        // Time for what was said at the beginning to be answered.
        tokio::time::sleep(Duration::from_millis(100)).await;
        {
            // The client's reactor found nothing to receive, and waits for the core with something to send.
            let mut state = client.inner.shared.lock();
            let now = client.inner.shared.clock.now();
            let h = state.slots.keys().copied().next().unwrap();
            let association = state.association(h).unwrap();
            association
                .send(now, StreamId(0), Bytes::from_static(b"more"), SendOptions::default())
                .unwrap();
            client.inner.shared.work.notify_one();
            std::thread::sleep(Duration::from_millis(50));
            b.abort("enough");
            drop((b, server));
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(
            matches!(a.closed().await, CloseReason::PeerAbort { .. }),
            "{:?}",
            a.closed().await
        );
    }
}
