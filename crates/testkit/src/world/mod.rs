//! Endpoints in one thread, with virtual time between them.
//!
//! Path i joins the address 10.0.i.1 of host 0 with 10.0.i.2 of host 1. A packet takes the link of
//! the network its destination is in, so that every pair of addresses is a path. A third host, if
//! there is one, is 10.0.i.3 and talks to host 1 over the same links. The first host may sit behind
//! NATs that change their minds, and every host's clock may jump.

mod link;
mod log;
mod place;
mod plain;

use link::{Copies, IP_HEADER};
pub use link::{Link, Oversize, flip_bits};
pub use log::{Fate, LogEntry, PacketLog};
pub use place::{HostId, address, translated_address, tuple};

use core::fmt;
use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use place::find_place;
use plain::find_plain;
use polypath_proto::config::{AssocConfig, EndpointConfig};
use polypath_proto::endpoint::IcmpReport;
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{AssocHandle, Association, Endpoint, Event, FourTuple, Transmit};
use polypath_wire::{ChecksumCheck, PacketView};

/// An endpoint misbehaves towards its driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// `poll_timeout` names a time that `handle_timeout` does not get rid of.
    #[error("host {host}: {MAX_TIMEOUTS} timeouts at {at}: some timer does not go away")]
    BusyLoop {
        /// Which host.
        host: usize,
        /// When.
        at: Time,
    },
    /// `poll_transmit` does not come to an end.
    #[error("host {host}: {MAX_PACKETS} packets at {at}: there is no end")]
    PacketStorm {
        /// Which host.
        host: usize,
        /// When.
        at: Time,
    },
    /// What `poll_transmit` said about a packet is not so.
    #[error("host {host}: transmit says {said} bytes, the buffer has {written}")]
    WrongLength {
        /// Which host.
        host: usize,
        /// `Transmit::len`.
        said: usize,
        /// Bytes in the buffer.
        written: usize,
    },
    /// A packet that is larger than its path is known to carry, and must not be fragmented.
    #[error(
        "host {host} at {at}: a packet of {len} bytes beside its IP header, the path carries {mtu}"
    )]
    TooLarge {
        /// Which host.
        host: usize,
        /// When.
        at: Time,
        /// Its bytes.
        len: usize,
        /// Bytes that the path carries, IP header included.
        mtu: u32,
    },
    /// A packet that its own receiver could not read.
    #[error("host {host} at {at}: sent a packet that does not decode: {what}")]
    Undecodable {
        /// Which host.
        host: usize,
        /// When.
        at: Time,
        /// Why.
        what: String,
    },
    /// Something in plain that should have been protected.
    #[error("host {host} at {at}: sent in plain: {what}")]
    Plain {
        /// Which host.
        host: usize,
        /// When.
        at: Time,
        /// What.
        what: String,
    },
}

/// Timeouts of one host at one instant, at most.
const MAX_TIMEOUTS: u32 = 200;
/// Bytes that a report of a router quotes of a packet: all of an INIT's fixed part, and some more
/// (RFC 1812 section 4.3.2.3).
const QUOTED: usize = 128;
/// Packets of one host at one instant, at most: more than the buffers of any test hold.
const MAX_PACKETS: u32 = 20_000;

/// A host.
#[derive(Debug)]
pub struct Host {
    /// Its endpoint.
    pub endpoint: Endpoint,
    /// Its settings.
    pub config: EndpointConfig,
    /// Events that the application did not take yet.
    pub events: VecDeque<(AssocHandle, Event)>,
    /// How much its clock is ahead of the world's.
    ahead: Duration,
    timeouts: u32,
    packets: u32,
    counted_at: Time,
}

#[derive(Debug)]
struct Arrival {
    host: HostId,
    tuple: FourTuple,
    bytes: Bytes,
    /// It is no packet, but what a router says of one that the host sent: `bytes` are what it
    /// quotes.
    report: Option<IcmpReport>,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A packet came to a host.
    Packet(HostId),
    /// A timer of a host expired.
    Timeout(HostId),
    /// A host that was asked for packets had something to tell; no time passed.
    Told,
    /// Nothing is left to happen before the limit; the time is now that limit.
    Idle,
}

/// Hosts, links and the time.
pub struct World {
    now: Time,
    hosts: Vec<Host>,
    links: Vec<[Link; 2]>,
    /// Under which address the client is known beyond each link.
    nats: Vec<SocketAddr>,
    arrivals: BTreeMap<(Time, u64), Arrival>,
    sent: u64,
    strays: u64,
    cut: u64,
    rng: Rng,
    /// Nothing of an application may leave in plain.
    demands_protection: bool,
    /// The latest packets.
    pub log: PacketLog,
    buf: Vec<u8>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "World at {}, {} packets under way", self.now, self.arrivals.len())
    }
}

impl World {
    /// Two hosts, or three, without endpoints' history, joined by links with these delays.
    /// `configs` get the addresses of the world where they name none.
    pub fn new(
        configs: impl IntoIterator<Item = EndpointConfig>,
        delays: &[Duration],
        seed: u64,
    ) -> Self {
        let mut rng = Rng::from_u64(seed);
        let links = delays.iter().map(|d| [Link::new(*d); 2]).collect::<Vec<_>>();
        let mut hosts = Vec::new();
        for (i, mut config) in configs.into_iter().enumerate() {
            if config.addresses.is_empty() {
                config.addresses = (0..links.len()).map(|l| address(HostId(i), l)).collect();
            }
            hosts.push(Host::new(config, rng.fork()));
        }
        Self {
            now: Time::ZERO,
            hosts,
            nats: (0..links.len()).map(|link| translated_address(link, 0, 0)).collect(),
            links,
            arrivals: BTreeMap::new(),
            sent: 0,
            strays: 0,
            cut: 0,
            rng,
            demands_protection: false,
            log: PacketLog::new(256),
            buf: Vec::with_capacity(2048),
        }
    }

    /// The present.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// What the clock of `host` says.
    pub fn clock(&self, host: HostId) -> Time {
        self.hosts.get(host.0).map_or(self.now, |h| self.now + h.ahead)
    }

    /// The clock of `host` jumps, forward or (as far as it is ahead) backward. It was not looked at
    /// in between.
    pub fn jump_clock(&mut self, host: HostId, by: Duration, back: bool) {
        let Some(host) = self.hosts.get_mut(host.0) else { return };
        host.ahead = if back { host.ahead.saturating_sub(by) } else { host.ahead + by };
    }

    /// From now on the NAT of `link` knows the client by this address, and nobody by the former
    /// one.
    pub fn rebind_nat(&mut self, link: usize, public: SocketAddr) {
        if let Some(nat) = self.nats.get_mut(link) {
            *nat = public;
        }
    }

    /// From now on it is a failure to send anything in plain that is not part of a set-up.
    pub const fn demand_protection(&mut self) {
        self.demands_protection = true;
    }

    /// Packets sent so far, by anyone.
    pub const fn packets(&self) -> u64 {
        self.sent
    }

    /// Packets sent to addresses that nobody has.
    pub const fn strays(&self) -> u64 {
        self.strays
    }

    /// Packets lost because their link was cut.
    pub const fn cut(&self) -> u64 {
        self.cut
    }

    /// Number of links.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// The direction of a link in which `from` sends.
    ///
    /// # Panics
    /// When there is no such link.
    pub fn link_mut(&mut self, link: usize, from: HostId) -> &mut Link {
        &mut self.links[link][from.direction()]
    }

    /// All directions of all links.
    pub fn links_mut(&mut self) -> impl Iterator<Item = &mut Link> {
        self.links.iter_mut().flatten()
    }

    /// Cuts or restores both directions of a link.
    ///
    /// # Panics
    /// When there is no such link.
    pub fn set_up(&mut self, link: usize, up: bool) {
        for direction in &mut self.links[link] {
            direction.up = up;
        }
    }

    /// A host.
    ///
    /// # Panics
    /// When there is no such host.
    pub fn host(&mut self, host: HostId) -> &mut Host {
        &mut self.hosts[host.0]
    }

    /// An association, to be looked at.
    pub fn assoc(&self, host: HostId, handle: AssocHandle) -> Option<&Association> {
        self.hosts.get(host.0)?.endpoint.association(handle)
    }

    /// An association, to be used.
    pub fn assoc_mut(&mut self, host: HostId, handle: AssocHandle) -> Option<&mut Association> {
        self.hosts.get_mut(host.0)?.endpoint.association_mut(handle)
    }

    /// Replaces the endpoint of a host by a new one with the same addresses and port, as after a
    /// crash.
    pub fn restart_host(&mut self, host: HostId) {
        let rng = self.rng.fork();
        let old = &mut self.hosts[host.0];
        *old = Host { ahead: old.ahead, ..Host::new(old.config.clone(), rng) };
    }

    /// Lets `host` connect to the other one over the paths 0..`paths`.
    ///
    /// # Panics
    /// When the endpoint refuses.
    pub fn connect(&mut self, host: HostId, paths: usize, config: Arc<AssocConfig>) -> AssocHandle {
        self.try_connect(host, paths, config).expect("nothing speaks against connecting")
    }

    /// The same, where an association may be in the way.
    pub fn try_connect(
        &mut self,
        host: HostId,
        paths: usize,
        config: Arc<AssocConfig>,
    ) -> Option<AssocHandle> {
        let tuples: Vec<_> = (0..paths).map(|link| tuple(host, link)).collect();
        let port = self.hosts[host.peer().0].config.port;
        let now = self.clock(host);
        self.hosts[host.0].endpoint.connect(now, &tuples, port, config).ok()
    }

    /// Hands a packet to `to` after `delay`, as if it came from its peer over `link`.
    pub fn inject_packet(&mut self, to: HostId, link: usize, delay: Duration, bytes: Bytes) {
        let tuple = tuple(to, link);
        self.log.push_entry(LogEntry {
            at: self.now,
            from: to.peer(),
            tuple: FourTuple { local: tuple.remote, remote: tuple.local },
            fate: Fate::Injected,
            bytes: bytes.clone(),
        });
        self.schedule_arrival(delay, Arrival { host: to, tuple, bytes, report: None });
    }

    /// Tells `to` what a router, or somebody who poses as one, says of a packet that it sent over
    /// `link`. Quotes the beginning of `packet`.
    pub fn report_icmp(&mut self, to: HostId, link: usize, packet: &Bytes, report: IcmpReport) {
        let bytes = packet.slice(..packet.len().min(QUOTED));
        let tuple = tuple(to, link);
        self.schedule_arrival(
            Duration::ZERO,
            Arrival { host: to, tuple, bytes, report: Some(report) },
        );
    }

    /// Whether nothing is under way.
    pub fn is_quiet(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// Sends what endpoints have to send, then goes on to the next thing that happens, up to
    /// `limit`. Its events wait in [`Host::events`]; what the host has to say to it goes out in the
    /// next step.
    ///
    /// # Errors
    /// When an endpoint misbehaves towards its driver.
    pub fn advance_step(&mut self, limit: Time) -> Result<Step, WorldError> {
        let told = self.waiting_events();
        self.flush_hosts()?;
        if self.waiting_events() > told {
            // What the application answers may be all that goes on: time must not run away from it.
            return Ok(Step::Told);
        }
        let arrival = self.arrivals.first_key_value().map(|(key, _)| key.0);
        let timer = self.next_timer();
        let next = arrival.into_iter().chain(timer.map(|(at, _)| at)).min();
        let Some(next) = next.filter(|next| (*next).max(self.now) <= limit) else {
            self.now = self.now.max(limit);
            return Ok(Step::Idle);
        };
        self.now = self.now.max(next);
        if arrival.is_some_and(|at| at <= next) {
            return Ok(self.deliver_next());
        }
        let Some((_, host)) = timer else { return Ok(Step::Idle) };
        self.expire_timers(host)
    }

    fn waiting_events(&self) -> usize {
        self.hosts.iter().map(|host| host.events.len()).sum()
    }

    /// Steps until `done` says so; false if `limit` came first.
    ///
    /// # Errors
    /// When an endpoint misbehaves towards its driver.
    pub fn run_until(
        &mut self,
        limit: Time,
        mut done: impl FnMut(&mut Self) -> bool,
    ) -> Result<bool, WorldError> {
        loop {
            if done(self) {
                return Ok(true);
            }
            if self.advance_step(limit)? == Step::Idle {
                return Ok(done(self));
            }
        }
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// When an endpoint misbehaves towards its driver.
    pub fn run_for(&mut self, duration: Duration) -> Result<(), WorldError> {
        let limit = self.now + duration;
        self.run_until(limit, |_| false).map(drop)
    }

    /// Sends what endpoints have to send now.
    ///
    /// # Errors
    /// When an endpoint misbehaves towards its driver.
    pub fn flush_hosts(&mut self) -> Result<(), WorldError> {
        for i in 0..self.hosts.len() {
            while self.transmit_from(HostId(i))? {}
        }
        Ok(())
    }

    fn transmit_from(&mut self, from: HostId) -> Result<bool, WorldError> {
        let clock = self.clock(from);
        let host = &mut self.hosts[from.0];
        self.buf.clear();
        let Some(transmit) = host.endpoint.poll_transmit(clock, &mut self.buf) else {
            host.drain_events();
            return Ok(false);
        };
        let now = self.now;
        host.count_at(now);
        host.packets += 1;
        if host.packets > MAX_PACKETS {
            return Err(WorldError::PacketStorm { host: from.0, at: now });
        }
        if transmit.len != self.buf.len() {
            let (said, written) = (transmit.len, self.buf.len());
            return Err(WorldError::WrongLength { host: from.0, said, written });
        }
        self.check_size(from, &transmit)?;
        self.send_packet(from, &transmit)?;
        Ok(true)
    }

    /// What may not be fragmented must not be larger than what the path is known to carry.
    fn check_size(&self, from: HostId, transmit: &Transmit) -> Result<(), WorldError> {
        let Transmit { assoc, path, len, may_fragment, probe, .. } = *transmit;
        let known = || Some(self.assoc(from, assoc?)?.path_mtu(path?)?.mtu);
        let known = if may_fragment || probe { None } else { known() };
        match known.filter(|mtu| len + IP_HEADER > *mtu as usize) {
            Some(mtu) => Err(WorldError::TooLarge { host: from.0, at: self.now, len, mtu }),
            None => Ok(()),
        }
    }

    fn send_packet(&mut self, from: HostId, transmit: &Transmit) -> Result<(), WorldError> {
        let (at, tuple) = (self.now, transmit.tuple);
        let bytes = Bytes::copy_from_slice(&self.buf);
        // Floods come from all kinds of addresses, and are answered.
        let here = |p: &(HostId, usize)| p.0.0 < self.hosts.len() && p.1 < self.links.len();
        let Some((to, link)) = find_place(tuple.remote.ip()).filter(here) else {
            self.strays += 1;
            self.log.push_entry(LogEntry { at, from, tuple, fate: Fate::Lost, bytes });
            return Ok(());
        };
        let view = PacketView::parse(&bytes, ChecksumCheck::Skip).map_err(|error| {
            WorldError::Undecodable { host: from.0, at, what: error.to_string() }
        })?;
        if let Some(what) = find_plain(&view).filter(|_| self.demands_protection) {
            return Err(WorldError::Plain { host: from.0, at, what });
        }
        let direction = &self.links[link][from.direction()];
        if !transmit.may_fragment && !direction.may_carry(bytes.len()) {
            self.refuse_oversize(from, link, tuple, bytes);
            return Ok(());
        }
        self.travel_link(from, to, link, tuple, bytes);
        Ok(())
    }

    /// A packet is too large for its link.
    fn refuse_oversize(&mut self, from: HostId, link: usize, tuple: FourTuple, bytes: Bytes) {
        let clock = self.clock(from);
        let Link { mtu, delay, oversize, .. } = self.links[link][from.direction()];
        match oversize {
            Oversize::Vanish => {}
            Oversize::Refused => {
                let host = &mut self.hosts[from.0].endpoint;
                host.packet_refused(clock, tuple, &bytes, Some(mtu));
            }
            Oversize::Told(size) => {
                let report = IcmpReport::PacketTooBig { mtu: if size { mtu } else { 0 } };
                let quoted = bytes.slice(..bytes.len().min(QUOTED));
                let told = Arrival { host: from, tuple, bytes: quoted, report: Some(report) };
                self.schedule_arrival(delay, told);
            }
        }
        self.log.push_entry(LogEntry { at: self.now, from, tuple, fate: Fate::TooLarge, bytes });
    }

    fn travel_link(
        &mut self,
        from: HostId,
        to: HostId,
        link: usize,
        tuple: FourTuple,
        bytes: Bytes,
    ) {
        let direction = &mut self.links[link][from.direction()];
        let nat = self.nats[link];
        let passes = to != HostId::CLIENT || tuple.remote == nat;
        self.cut += u64::from(!direction.up || !passes);
        let copies =
            if passes { direction.carry_packet(&mut self.rng) } else { Copies([None, None]) };
        let mut back = FourTuple { local: tuple.remote, remote: tuple.local };
        if to == HostId::CLIENT {
            back.local = translated_address(link, 0, 0);
        }
        // A NAT changes the source of what leaves over its link; what leaves from another address
        // it has nothing to do with.
        if from == HostId::CLIENT && tuple.local == translated_address(link, 0, 0) {
            back.remote = nat;
        }
        let mut arriving = 0;
        for copy in copies.0.into_iter().flatten() {
            let mut bytes = bytes.clone();
            if copy.corrupt {
                let mut broken = bytes.to_vec();
                flip_bits(&mut broken, &mut self.rng);
                bytes = broken.into();
            }
            let arrival = Arrival { host: to, tuple: back, bytes, report: None };
            self.schedule_arrival(copy.delay, arrival);
            arriving += 1;
        }
        let fate = if arriving == 0 { Fate::Lost } else { Fate::Arrives(arriving) };
        self.log.push_entry(LogEntry { at: self.now, from, tuple, fate, bytes });
    }

    fn schedule_arrival(&mut self, delay: Duration, arrival: Arrival) {
        self.sent += 1;
        self.arrivals.insert((self.now + delay, self.sent), arrival);
    }

    fn next_timer(&self) -> Option<(Time, HostId)> {
        let timers = self.hosts.iter().enumerate();
        timers.filter_map(|(i, host)| Some((host.next_timer()?, HostId(i)))).min()
    }

    fn deliver_next(&mut self) -> Step {
        let Some((_, arrival)) = self.arrivals.pop_first() else { return Step::Idle };
        let clock = self.clock(arrival.host);
        let host = &mut self.hosts[arrival.host.0];
        let Arrival { tuple, bytes, report, .. } = &arrival;
        match report {
            None => host.endpoint.handle_datagram(clock, *tuple, bytes),
            Some(report) => _ = host.endpoint.handle_icmp(clock, *tuple, bytes, *report),
        }
        host.drain_events();
        Step::Packet(arrival.host)
    }

    fn expire_timers(&mut self, id: HostId) -> Result<Step, WorldError> {
        let clock = self.clock(id);
        let host = &mut self.hosts[id.0];
        host.count_at(self.now);
        host.timeouts += 1;
        if host.timeouts > MAX_TIMEOUTS {
            return Err(WorldError::BusyLoop { host: id.0, at: self.now });
        }
        host.endpoint.handle_timeout(clock);
        host.drain_events();
        Ok(Step::Timeout(id))
    }
}

impl Host {
    fn new(config: EndpointConfig, rng: Rng) -> Self {
        Self {
            endpoint: Endpoint::new(config.clone(), rng),
            config,
            events: VecDeque::new(),
            ahead: Duration::ZERO,
            timeouts: 0,
            packets: 0,
            counted_at: Time::ZERO,
        }
    }

    /// When, by the world's time, it must be woken.
    fn next_timer(&self) -> Option<Time> {
        let at = self.endpoint.poll_timeout()?;
        Some(if self.ahead.is_zero() { at } else { at - self.ahead })
    }

    fn drain_events(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            self.events.push_back(event);
        }
    }

    /// Starts counting anew when time moved on.
    const fn count_at(&mut self, now: Time) {
        if now.as_nanos() != self.counted_at.as_nanos() {
            (self.timeouts, self.packets, self.counted_at) = (0, 0, now);
        }
    }
}
