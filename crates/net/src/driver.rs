//! The reactor: a thread of its own that moves packets between sockets and core.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use polypath_proto::FourTuple;
use polypath_proto::time::Time;

use crate::batch::{Flow, Whole};
use crate::capture::{Capture, is_sealed};
use crate::interfaces::{Change, Watcher};
use crate::lane::{Fate, Lane, Lanes};
use crate::shared::{Shared, State};
use crate::socket::{Inbox, Opened, Room, Socket, Trouble};

/// Calls to one socket before the others get their turn.
const RECEIVE_ROUNDS: usize = 4;

/// Messages of routers about one socket's packets before other things get their turn.
const TROUBLES_AT_ONCE: usize = 64;

/// Attempts to send a batch. Each ICMP message leaves an error behind that the next call gives
/// instead of doing its work; anybody may have sent it, and it says nothing of this batch.
const ATTEMPTS: usize = 8;

/// Those errors (Linux, icmp_err_convert and its counterpart for IPv6).
const OF_ICMP: [Errno; 10] = [
    Errno::ECONNREFUSED,
    Errno::EHOSTUNREACH,
    Errno::ENETUNREACH,
    Errno::ENOPROTOOPT,
    Errno::EPROTO,
    Errno::EACCES,
    Errno::EMSGSIZE,
    Errno::EOPNOTSUPP,
    Errno::EHOSTDOWN,
    Errno::ENONET,
];

/// The shortest sleep while a socket is full.
const SHORT: Duration = Duration::from_millis(1);

/// When a full socket is tried again that cannot be watched, for want of descriptors.
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// The reactor of one endpoint.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    lanes: Lanes<Socket>,
    /// For the sockets that are full, by their local addresses: what tells when they are not.
    full: Vec<(SocketAddr, Option<Room>)>,
    watcher: Option<Watcher>,
    inbox: Inbox,
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
    /// An association is over.
    ended: bool,
    /// When the core must be told the time again.
    deadline: Option<Time>,
}

impl Driver {
    /// Starts the thread.
    pub(crate) fn start_thread(shared: Arc<Shared>, opened: Opened) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let within = runtime.enter();
        let sockets = opened.into_sockets()?;
        let watcher = shared.config.follow.clone().map(Watcher::new).transpose()?;
        let capture = shared.config.capture.clone();
        let mut driver = Self {
            shared,
            lanes: Lanes::new(sockets),
            full: Vec::new(),
            watcher,
            inbox: Inbox::new(),
            packet: Vec::new(),
            troubles: Vec::new(),
            capture,
        };
        drop(within);
        let run = move || runtime.block_on(driver.run_reactor());
        std::thread::Builder::new().name("polypath".to_owned()).spawn(run).map(drop)
    }

    async fn run_reactor(&mut self) {
        let _stopping = Stopping(self.shared.clone());
        loop {
            let received = self.receive_packets();
            self.hear_routers(received);
            let mut round = self.collect_packets();
            round.more |= received;
            self.flush_lanes(&mut round);
            if round.ended && self.lanes.packets() == 0 {
                self.shared.tell_ends();
            }
            if self.is_over() {
                return;
            }
            self.wait_for_work(&round).await;
        }
    }

    /// Takes over the sockets of new addresses, and closes those of addresses that nobody uses any
    /// more.
    fn take_over_sockets(&mut self, state: &mut State) {
        for opened in std::mem::take(&mut state.opened) {
            // One that the runtime does not take stays silent, as an address does that leads
            // nowhere.
            self.lanes.add_sockets(opened.into_sockets().unwrap_or_default());
        }
        if self.lanes.len() > state.local.len() {
            let State { core, local, .. } = state;
            self.lanes.retain_sockets(|s| {
                local.contains(&s.local()) || core.uses_address(s.local().ip())
            });
        }
    }

    /// Takes in what has arrived. True if there may be more.
    fn receive_packets(&mut self) -> bool {
        let Self { lanes, inbox, shared, capture, .. } = self;
        let mut more = false;
        for lane in lanes.iter() {
            for turn in 1..=RECEIVE_ROUNDS {
                if !lane.socket.receive(inbox) {
                    break;
                }
                more |= turn == RECEIVE_ROUNDS;
                take_in(shared, inbox, capture.as_ref(), lane.socket.local());
            }
        }
        more
    }

    /// Lets the core act, tells the application, and fetches packets.
    fn collect_packets(&mut self) -> Round {
        let now = self.shared.clock.now();
        let shared = self.shared.clone();
        let mut state = shared.lock();
        self.take_over_sockets(&mut state);
        if state.core.poll_timeout().is_some_and(|at| at <= now) {
            state.core.handle_timeout(now);
        }
        shared.dispatch_events(&mut state, now);
        let drained = self.fetch_packets(now, &mut state);
        // What was sent may have ended an association.
        shared.dispatch_events(&mut state, now);
        state.write_trace();
        // With all sockets full the core waits, and its timers do not.
        let more = !drained && !self.lanes.all_blocked();
        let deadline = if more { None } else { state.core.poll_timeout() };
        let deadline = deadline.into_iter().chain(self.lanes.next_deadline()).min();
        Round { more, ended: drained && state.has_ended(), deadline }
    }

    /// Fetches packets as long as there is room for them; true if there are no more.
    fn fetch_packets(&mut self, now: Time, state: &mut State) -> bool {
        while self.lanes.has_room() {
            self.packet.clear();
            let Some(transmit) = state.core.poll_transmit(now, &mut self.packet) else {
                return true;
            };
            let tuple = transmit.tuple;
            if let (Some(capture), Some(_)) = (&self.capture, transmit.assoc) {
                capture.note_association(tuple);
            }
            let Some(lane) =
                self.lanes.iter_mut().find(|l| l.socket.local().ip() == tuple.local.ip())
            else {
                continue;
            };
            let whole = match (transmit.probe, transmit.may_fragment) {
                (true, _) => Whole::Probe,
                (_, true) => Whole::Fragments,
                _ => Whole::AsUsual,
            };
            let flow = Flow { tuple, assoc: transmit.assoc };
            if let Some(capture) = &self.capture
                && is_shown_inside(capture, flow, &self.packet)
                && let Some(plain) = flow.assoc.and_then(|h| state.core.plain_sent(h))
            {
                capture.write_plain(tuple, true, plain);
            }
            lane.push_packet(flow, &self.packet, whole, lane.socket.segments());
        }
        false
    }

    /// Sends what was fetched.
    fn flush_lanes(&mut self, round: &mut Round) {
        let Self { lanes, full, shared, troubles, capture, .. } = self;
        lanes.flush_batches(shared.clock.now(), |socket, batch| {
            match past_icmp(|| socket.send(batch)) {
                Ok(()) => {
                    if let Some(capture) = capture {
                        let flow = batch.flow;
                        let packets =
                            batch.packets().filter(|p| !is_shown_inside(capture, flow, p));
                        packets.for_each(|packet| capture.write_packet(flow.tuple, true, packet));
                    }
                    Fate::Gone
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    full.push((socket.local(), socket.writable_room().ok()));
                    Fate::Full
                }
                Err(e) if e.raw_os_error() == Some(Errno::EMSGSIZE as i32) => {
                    // The next size may be tried at once.
                    round.more = true;
                    if batch.packets > 1 {
                        return Fate::TakeApart;
                    }
                    let carried = read_router_errors(socket, || socket.trouble_now(), troubles);
                    shared.packet_refused(batch.flow.tuple, &batch.bytes, carried);
                    Fate::Gone
                }
                Err(e) => {
                    shared.send_failed(batch.flow, &e);
                    Fate::Gone
                }
            }
        });
        for lane in lanes.iter() {
            read_router_errors(&lane.socket, || lane.socket.next_trouble(), troubles);
        }
        round.more |= !troubles.is_empty();
    }

    /// Takes note of what routers said, once all is taken in that had arrived by then: who closes
    /// its port may have said goodbye before.
    fn hear_routers(&mut self, more_to_receive: bool) {
        if more_to_receive && self.troubles.len() < TROUBLES_AT_ONCE {
            return;
        }
        for (local, trouble) in self.troubles.drain(..) {
            self.shared.heard_of_trouble(FourTuple { local, remote: trouble.remote }, &trouble);
        }
    }

    fn is_over(&self) -> bool {
        let state = self.shared.lock();
        let idle = state.count_live() == 0 && self.lanes.packets() == 0;
        (state.abandoned || state.stopped) && idle
    }

    async fn wait_for_work(&mut self, round: &Round) {
        if round.more {
            // The runtime looks for what has arrived, and for sockets that are full no more.
            tokio::task::yield_now().await;
            if !self.full.is_empty() {
                poll_fn(|cx| Poll::Ready(self.poll_sockets(cx))).await;
            }
            return;
        }
        let deadline = round.deadline.map(|at| self.shared.clock.to_instant(at));
        let unwatched = self.full.iter().any(|(_, room)| room.is_none());
        let again = unwatched.then(|| Instant::now() + TRY_AGAIN);
        let first = deadline.into_iter().chain(again).min();
        // While a socket is full the core may have what is long due: the runtime must get to look
        // for room nevertheless.
        let patient = (!self.full.is_empty()).then(|| Instant::now() + SHORT);
        let first = first.map(|at| patient.map_or(at, |earliest| at.max(earliest)));
        let mut sleep = first.map(|at| Box::pin(tokio::time::sleep_until(at.into())));
        let shared = self.shared.clone();
        let mut work = core::pin::pin!(shared.work.notified());
        poll_fn(|cx| {
            let due = sleep.as_mut().is_some_and(|sleep| sleep.as_mut().poll(cx).is_ready());
            let asked = work.as_mut().poll(cx).is_ready() | self.poll_interfaces(cx);
            if due | asked | self.poll_sockets(cx) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        if unwatched {
            self.full.retain(|(_, room)| room.is_some());
            self.resume_sockets();
        }
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

    /// Whether packets or errors arrived, or a full socket takes packets again.
    fn poll_sockets(&mut self, cx: &mut Context<'_>) -> bool {
        let mut ready = false;
        for lane in self.lanes.iter_mut() {
            ready |= lane.socket.poll_arrivals(cx).is_ready();
        }
        let full = self.full.len();
        self.full
            .retain(|(_, room)| room.as_ref().is_none_or(|r| r.poll_writable(cx).is_pending()));
        if self.full.len() < full {
            self.resume_sockets();
            ready = true;
        }
        ready
    }

    /// Lets those sockets go on that are not full any more.
    fn resume_sockets(&mut self) {
        let Self { lanes, full, .. } = self;
        let still = |local| full.iter().any(|(at, _)| *at == local);
        lanes.iter_mut().filter(|l| !still(l.socket.local())).for_each(Lane::resume);
    }
}

/// Whether a packet that leaves is written as it was before it was sealed. The last words of an
/// association that is gone already are not.
fn is_shown_inside(capture: &Capture, flow: Flow, packet: &[u8]) -> bool {
    capture.wants_plain() && flow.assoc.is_some() && is_sealed(packet)
}

fn take_in(shared: &Shared, inbox: &mut Inbox, capture: Option<&Capture>, local: SocketAddr) {
    let now = shared.clock.now();
    let mut state = shared.lock();
    for (remote, packet) in inbox.packets() {
        let tuple = FourTuple { local, remote };
        let Some(capture) = capture else {
            state.core.handle_datagram_in_place(now, tuple, packet);
            continue;
        };
        state.core.handle_datagram(now, tuple, packet);
        match state.core.plain_received() {
            Some(plain) => capture.write_plain(tuple, false, plain),
            None => capture.write_packet(tuple, false, packet),
        }
    }
}

/// Sends by `call`, past what ICMP left behind.
fn past_icmp(mut call: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let mut result = call();
    for attempt in 1..ATTEMPTS {
        let errno = match &result {
            Err(e) if e.kind() != io::ErrorKind::WouldBlock => e.raw_os_error(),
            _ => break,
        };
        let again = match errno.map(Errno::from_raw) {
            // The device's queue took a part at most: it is loss.
            Some(Errno::ENOBUFS) => false,
            Some(errno) if OF_ICMP.contains(&errno) => true,
            // Segmentation that the device cannot do, which is off from now on.
            _ => attempt == 1,
        };
        if !again {
            break;
        }
        result = call();
    }
    result
}

/// Reads what routers say of a socket's packets. Gives what the interface carries, bytes of an IP
/// packet, if it refused one.
fn read_router_errors(
    socket: &Socket,
    next: impl FnMut() -> Option<Option<Trouble>>,
    troubles: &mut Vec<(SocketAddr, Trouble)>,
) -> Option<u32> {
    let mut carried = None;
    for trouble in std::iter::from_fn(next).take(TROUBLES_AT_ONCE).flatten() {
        match trouble.interface_mtu {
            Some(mtu) => carried = Some(mtu),
            None => troubles.push((socket.local(), trouble)),
        }
    }
    carried
}

/// Tells everybody when the reactor ends, however it ends.
struct Stopping(Arc<Shared>);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.stop_reactor();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use polypath_proto::ids::StreamId;

    use super::*;
    use crate::{Bytes, CloseReason, Config, Encapsulation, Endpoint, SendOptions};

    /// What becomes of a call that fails with these errors in turn, and works then; and how many
    /// calls it took.
    fn sent(errors: &[Errno]) -> (Option<i32>, usize) {
        let mut calls = 0;
        let result = past_icmp(|| {
            calls += 1;
            errors.get(calls - 1).map_or(Ok(()), |e| Err((*e).into()))
        });
        (result.err().and_then(|e| e.raw_os_error()), calls)
    }

    #[test]
    fn icmp_that_anybody_forges_fails_no_batch() {
        assert_eq!(sent(&[Errno::ECONNREFUSED; 5]), (None, 6));
        assert_eq!(sent(&[Errno::EMSGSIZE, Errno::EPROTO, Errno::EMSGSIZE]), (None, 4));
        let refused = Errno::ENETUNREACH;
        assert_eq!(sent(&[refused; 100]), (Some(refused as i32), ATTEMPTS), "there is no route");
        assert_eq!(sent(&[Errno::ENOBUFS]), (Some(Errno::ENOBUFS as i32), 1));
        assert_eq!(sent(&[Errno::EAGAIN]), (Some(Errno::EAGAIN as i32), 1));
        assert_eq!(sent(&[Errno::EINVAL]), (None, 2));
    }

    #[tokio::test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the core is held, and two reactors get time meanwhile"
    )]
    async fn a_goodbye_counts_before_the_port_that_was_closed_after_it() {
        let here = || [Ipv4Addr::LOCALHOST.into()];
        let config = Config {
            encapsulation: Encapsulation::Udp(0),
            ..Config::insecure_server(here(), 5000)
        };
        let server = Endpoint::bind(config).unwrap();
        let client = Endpoint::bind(Config::insecure_client(here())).unwrap();
        let there = server.local_addresses();
        let (a, b) = tokio::join!(client.connect(&there, 5000), server.accept());
        let (a, b) = (a.unwrap(), b.unwrap());
        // Time for what was said at the beginning to be answered.
        tokio::time::sleep(Duration::from_millis(100)).await;
        {
            // The client's reactor found nothing to receive, and waits for the core with something
            // to send.
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
