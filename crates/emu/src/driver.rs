//! The thread that carries frames from port to port through the fabric, in real time.
#![expect(
    clippy::disallowed_types,
    reason = "a driver asks the clock, so that what is below need not"
)]

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;
use polypath_link::{Change, LinkStats, Nanos, NatChange};

use crate::fabric::{Delivery, Fabric};
use crate::frame::Frame;
use crate::lateness::{Lateness, Recorder};
use crate::nat::NatCounters;
use crate::port::Port;
use crate::priority::serve_first;

/// Is told of packets: when the kernel had them, in ns since 1970, the number of their route, and
/// the IP packet.
pub type Watcher = Box<dyn FnMut(Nanos, usize, &[u8]) + Send>;

/// What the thread is told.
pub(crate) enum Order {
    /// Begin the schedules and count from zero; answered when done.
    Start(Sender<()>),
    /// Change these links now; answered when done.
    Change(Vec<usize>, Change, Sender<()>),
    /// Change this box now; answered when done.
    ChangeNat(usize, NatChange, Sender<()>),
    /// Tell of packets from now on; answered when done.
    Watch(Watcher, Sender<()>),
    /// Tell the counters.
    Report(Sender<Counters>),
}

/// What has been counted since the start.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    /// One per link.
    pub(crate) links: Vec<LinkStats>,
    /// Names and counters of boxes.
    pub(crate) nats: Vec<(String, NatCounters)>,
    pub(crate) unrouted: u64,
    pub(crate) vanished: u64,
    pub(crate) refused: u64,
    pub(crate) lateness: Lateness,
    /// When the links' clock began, in ns since 1970.
    pub(crate) epoch: Nanos,
}

/// Rounds of batches read before frames are moved on, at most: a flood must not hold them up.
const ROUNDS: usize = 4;
/// Above that of programs which ask for the same.
const PRIORITY: u8 = 2;
/// Empty frames kept for later.
const SPARE: usize = 4096;

pub(crate) struct Driver {
    ports: Vec<Port>,
    fabric: Fabric,
    mtu: u32,
    orders: Receiver<Order>,
    wake: Arc<EventFd>,
    clock: Clock,
    spare: Vec<Frame>,
    deliveries: Vec<Delivery>,
    lateness: Recorder,
    watcher: Option<Watcher>,
}

impl Driver {
    /// `sockets` are those of [`Port::open_socket`], the client's first.
    pub(crate) fn new(
        sockets: Vec<OwnedFd>,
        fabric: Fabric,
        mtu: u32,
        orders: Receiver<Order>,
        wake: Arc<EventFd>,
    ) -> Self {
        Self {
            ports: sockets.into_iter().map(|socket| Port::new(socket, mtu)).collect(),
            fabric,
            mtu,
            orders,
            wake,
            clock: Clock::new(),
            spare: Vec::new(),
            deliveries: Vec::new(),
            lateness: Recorder::new(),
            watcher: None,
        }
    }

    /// Carries frames until nobody can give orders any more.
    pub(crate) fn run(mut self) {
        serve_first(PRIORITY);
        while self.obey_orders() {
            let ready = self.wait_for_work();
            self.receive_frames(&ready);
            self.fabric.advance_frames(self.clock.now(), &mut self.deliveries);
            self.deliver_frames();
        }
    }

    /// Carries out what has been ordered; false when there will be no more orders.
    fn obey_orders(&mut self) -> bool {
        loop {
            match self.orders.try_recv() {
                Ok(order) => self.carry_out(order),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn carry_out(&mut self, order: Order) {
        // Who asked may be gone: then nobody needs the answer.
        match order {
            Order::Start(done) => {
                self.clock = Clock::new();
                self.fabric.start_experiment();
                self.lateness = Recorder::new();
                self.ports.iter_mut().for_each(|port| port.refused = 0);
                let _ = done.send(());
            }
            Order::Change(links, change, done) => {
                let now = self.clock.now();
                links.iter().for_each(|&link| self.fabric.change_link(now, link, change.clone()));
                let _ = done.send(());
            }
            Order::ChangeNat(number, change, done) => {
                self.fabric.change_nat(number, change);
                let _ = done.send(());
            }
            Order::Watch(watcher, done) => {
                self.watcher = Some(watcher);
                let _ = done.send(());
            }
            Order::Report(answer) => {
                let _ = answer.send(self.read_counters());
            }
        }
    }

    fn read_counters(&self) -> Counters {
        Counters {
            links: self.fabric.link_stats(),
            nats: self.fabric.nat_counters(),
            unrouted: self.fabric.unrouted_frames(),
            vanished: self.fabric.oversized_frames(),
            refused: self.ports.iter().map(|port| port.refused).sum(),
            lateness: self.lateness.summary(),
            epoch: self.clock.unix_epoch(),
        }
    }

    /// Sleeps until a frame comes in, one is due, or there is an order; returns the ports that have
    /// something to read.
    fn wait_for_work(&self) -> Vec<usize> {
        let mut fds: Vec<_> =
            self.ports.iter().map(|port| PollFd::new(port.fd(), PollFlags::POLLIN)).collect();
        fds.push(PollFd::new(self.wake.as_fd(), PollFlags::POLLIN));
        let due = self.fabric.next_due();
        let timeout = due.map(|due| Duration::from_nanos(due.saturating_sub(self.clock.now())));
        // An interruption is a call like any other.
        let _ = ppoll(&mut fds, timeout.map(TimeSpec::from), None);
        let ready = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
        if fds.pop().is_some_and(|wake| ready(&wake)) {
            let _ = self.wake.read();
        }
        fds.iter().enumerate().filter(|(_, fd)| ready(fd)).map(|(port, _)| port).collect()
    }

    fn receive_frames(&mut self, ready: &[usize]) {
        let (spare, fabric, mtu) = (&mut self.spare, &mut self.fabric, self.mtu);
        let watcher = &mut self.watcher;
        for &number in ready {
            let Some(port) = self.ports.get_mut(number) else { continue };
            for _ in 0..ROUNDS {
                let epoch = self.clock.unix_epoch();
                let now = self.clock.now();
                let mut back = Vec::new();
                let empty = || spare.pop().unwrap_or_else(|| Frame::with_room(mtu));
                let more = port.receive_frames(empty, |stamp, frame| {
                    let at = stamp.and_then(|stamp| stamp.checked_sub(epoch)).unwrap_or(now);
                    if let Some(watcher) = watcher
                        && let Some(route) = fabric.route_of(at.min(now), number, &frame)
                    {
                        watcher(stamp.unwrap_or(epoch + now), route, frame.packet());
                    }
                    back.extend(fabric.enter_frame(
                        at.min(now),
                        number,
                        frame,
                        &mut self.deliveries,
                    ));
                });
                spare.append(&mut back);
                if !more {
                    break;
                }
            }
        }
    }

    fn deliver_frames(&mut self) {
        if self.deliveries.is_empty() {
            return;
        }
        let mut dues = Vec::with_capacity(self.deliveries.len());
        for Delivery { port, due, frame } in self.deliveries.drain(..) {
            if let Some(port) = self.ports.get_mut(port) {
                port.queue.push(frame);
                dues.push(due);
            }
        }
        for port in self.ports.iter_mut().filter(|port| !port.queue.is_empty()) {
            let spare = &mut self.spare;
            port.send_queue(|frame| {
                if spare.len() < SPARE {
                    spare.push(frame);
                }
            });
        }
        let now = self.clock.now();
        dues.iter().for_each(|due| self.lateness.record_delay(now.saturating_sub(*due)));
    }
}

/// Time since the start.
#[derive(Clone, Copy, Debug)]
struct Clock(Instant);

impl Clock {
    fn new() -> Self {
        Self(Instant::now())
    }

    fn now(&self) -> Nanos {
        // Half a millennium fits.
        self.0.elapsed().as_nanos() as Nanos
    }

    /// When it began, in ns since 1970 by the clock that stamps frames, which may be set.
    fn unix_epoch(&self) -> Nanos {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (since.as_nanos() as Nanos).saturating_sub(self.now())
    }
}
