//! An endpoint: one SCTP port with all its associations.
//!
//! Drive it like this: hand in datagrams and timeouts, then fetch events until there are none (and
//! read and write), then fetch packets until there are none, then sleep until
//! [`Endpoint::poll_timeout`].

mod address_changes;
mod addresses;
mod checksum;
mod connect;
mod connect_error;
mod cookie_echo;
mod icmp;
mod icmp_report;
mod init;
mod network;
mod ootb;
mod rate;
mod reply;
mod sealed;
mod table;
mod tag;

use std::sync::Arc;

use polypath_wire::checksum::PacketChecksum;
use polypath_wire::chunk::kind;
use polypath_wire::{PacketView, RawChunk, WireErrorKind};

pub use connect_error::ConnectError;
pub use icmp_report::IcmpReport;

use crate::association::{Association, PacketSize, State};
use crate::auth::Proof;
use crate::config::EndpointConfig;
use crate::event::Event;
use crate::handshake::{
    CookieKeys, USED_COOKIES, UsedCookies, longest_cookie_life, permitted_config,
};
use crate::ids::{AssocHandle, FourTuple, PathId};
use crate::rng::Rng;
use crate::stats::EndpointStats;
use crate::time::Time;
use crate::trace::TraceRecord;
use address_changes::AddressChanges;
use reply::Replies;
use table::Table;

/// An SCTP endpoint.
#[derive(Debug)]
pub struct Endpoint {
    config: Arc<EndpointConfig>,
    rng: Rng,
    table: Table,
    keys: CookieKeys,
    used: UsedCookies,
    replies: Replies,
    stats: EndpointStats,
    checksum: PacketChecksum,
    /// What became of our addresses while cookies may live that know nothing of it.
    changes: AddressChanges,
    /// The packet that came last as it would have come in plain, if it was protected and that is
    /// kept.
    opened: Vec<u8>,
    /// What packets are opened in that must stay as they are.
    copy: Vec<u8>,
}

/// A packet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// From where to where.
    pub tuple: FourTuple,
    /// The association that sends it; `None` for an answer that belongs to none.
    pub assoc: Option<AssocHandle>,
    /// Its path.
    pub path: Option<PathId>,
    /// Bytes appended to the buffer: one SCTP packet with its common header, without IP or UDP
    /// header.
    pub len: usize,
    /// It is larger than the path is known to carry and cannot be made smaller: IP shall fragment
    /// it (Don't Fragment off; over IPv6, fragments made here). Every other packet goes with Don't
    /// Fragment set where path MTUs matter.
    pub may_fragment: bool,
    /// It probes the path's MTU: that the system finds it too large is an answer, to be told with
    /// [`Endpoint::packet_refused`], and it must not be fragmented whatever happens.
    pub probe: bool,
}

/// A packet that begins with a DTLS chunk of an association that has keys.
#[derive(Clone, Copy, Debug)]
struct SealedPacket {
    assoc: AssocHandle,
    path: Option<PathId>,
    /// Bytes of the chunk, without padding.
    chunk: usize,
}

impl Endpoint {
    /// An endpoint without associations. All its randomness comes from `rng`.
    pub fn new(mut config: EndpointConfig, mut rng: Rng) -> Self {
        config.assoc = permitted_config(config.assoc.clone(), &config);
        // Cookies may live twice as long as configured when peers ask for it (Cookie Preservative).
        let longest_life = longest_cookie_life(&config);
        let mut keys = CookieKeys::new(config.cookie_key_life, longest_life, rng.fork());
        // Made of the other key: what else `rng` gives does not depend on how replies are limited.
        let replies = Replies::new(config.replies, keys.sign(Time::ZERO, [b"networks", b""]));
        Self {
            keys,
            used: UsedCookies::new(longest_life, USED_COOKIES),
            replies,
            table: Table::default(),
            stats: EndpointStats::default(),
            checksum: PacketChecksum::default(),
            changes: AddressChanges::default(),
            copy: Vec::new(),
            opened: Vec::new(),
            config: Arc::new(config),
            rng,
        }
    }

    /// Takes a received SCTP packet: `tuple.local` is where it arrived, `tuple.remote` its source.
    /// Whatever `data` is, this neither fails nor panics; what is no good is counted and dropped,
    /// or answered as RFC 9260 says.
    ///
    /// Packets for other SCTP ports than ours are dropped without an answer, or refused if so
    /// [configured](EndpointConfig::refuse_other_ports): who runs several endpoints on one address
    /// hands each packet to the right one.
    pub fn handle_datagram(&mut self, now: Time, tuple: FourTuple, data: &[u8]) {
        if let Some(sealed) = self.handle_plain(now, tuple, data) {
            let mut copy = core::mem::take(&mut self.copy);
            copy.clear();
            copy.extend_from_slice(data);
            self.open_sealed(now, &tuple, sealed, &mut copy);
            self.copy = copy;
        }
    }

    /// The same where the packet is not needed any more afterwards: if it is protected it is opened
    /// where it stands, which is sooner done.
    pub fn handle_datagram_in_place(&mut self, now: Time, tuple: FourTuple, data: &mut [u8]) {
        if let Some(sealed) = self.handle_plain(now, tuple, data) {
            self.open_sealed(now, &tuple, sealed, data);
        }
    }

    /// Takes a packet unless it is one that must be opened first.
    fn handle_plain(&mut self, now: Time, tuple: FourTuple, data: &[u8]) -> Option<SealedPacket> {
        self.stats.packets_received += 1;
        self.opened.clear();
        let packet = match self.read(&tuple, data) {
            Ok(packet) => packet,
            Err(error) => {
                match error.kind {
                    WireErrorKind::Checksum { .. } => self.stats.bad_checksum += 1,
                    _ => self.stats.malformed += 1,
                }
                return None;
            }
        };
        if packet.header().destination_port != self.config.port {
            self.on_other_port(now, tuple, &packet);
            return None;
        }
        let Some(Ok(first)) = packet.chunks().next() else {
            self.stats.malformed += 1;
            return None;
        };
        match first.kind {
            kind::INIT => self.on_init(now, tuple, &packet, &first),
            kind::COOKIE_ECHO => self.on_cookie_echo(now, tuple, &packet, None, first.value),
            kind::DTLS => return self.find_sealed(now, &tuple, &packet, &first),
            kind::AUTH if self.on_proven_echo(now, tuple, &packet, &first) => {}
            _ => self.on_packet(now, &tuple, &packet, &first),
        }
        None
    }

    /// Serves all timers that expired by `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.table.refresh_ready();
        while let Some(h) = self.table.expired(now) {
            if let Some(assoc) = self.table.touch(h) {
                assoc.handle_timeout(now);
            }
        }
    }

    /// Appends the next packet to `buf`; `None` when there is nothing to send now.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(reply) = self.replies.pop() {
            buf.extend_from_slice(&reply.packet);
            let (tuple, len) = (reply.tuple, reply.packet.len());
            return Some(Transmit {
                tuple,
                assoc: None,
                path: None,
                len,
                may_fragment: false,
                probe: false,
            });
        }
        while let Some((h, assoc)) = self.table.ready() {
            if let Some(packet) = assoc.poll_transmit(now, buf) {
                return Some(Transmit {
                    tuple: packet.tuple,
                    assoc: Some(h),
                    path: Some(packet.path),
                    len: packet.len,
                    may_fragment: packet.size == PacketSize::TooLarge,
                    probe: packet.size == PacketSize::Probe,
                });
            }
            self.table.done();
        }
        None
    }

    /// When [`handle_timeout`](Self::handle_timeout) must be called next. To be asked after
    /// [`poll_transmit`](Self::poll_transmit) gave `None`. May be earlier than anything happens: an
    /// idle wake-up does no harm.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.table.next_deadline()
    }

    /// The next event of any association, in turn. An association that a peer opened first shows up
    /// with [`Event::Established`]; after [`Event::Closed`] it stays readable until it is
    /// [removed](Self::remove).
    #[inline]
    pub fn poll_event(&mut self) -> Option<(AssocHandle, Event)> {
        if self.table.may_tell() { self.table.poll_event() } else { None }
    }

    /// An association.
    pub fn association(&self, h: AssocHandle) -> Option<&Association> {
        self.table.get(h)
    }

    /// An association, to be used; [`poll_transmit`](Self::poll_transmit) afterwards.
    pub fn association_mut(&mut self, h: AssocHandle) -> Option<&mut Association> {
        self.table.touch(h)
    }

    /// All associations, those included that are over and not removed yet.
    pub fn associations(&self) -> impl Iterator<Item = AssocHandle> {
        self.table.handles()
    }

    /// Hands over what each association has recorded since the last time, where
    /// [`trace`](crate::config::AssocConfig::trace) is on. Those that were not used meanwhile cost
    /// nothing.
    pub fn drain_traces(
        &mut self,
        mut take: impl FnMut(AssocHandle, &Association, Vec<TraceRecord>),
    ) {
        for h in self.table.take_traced() {
            if let Some((association, records)) = self.table.take_trace(h) {
                take(h, association, records);
            }
        }
    }

    /// What one association has recorded since the last time, if anything: before it is
    /// [removed](Self::remove).
    pub fn take_trace(&mut self, h: AssocHandle) -> Option<(&Association, Vec<TraceRecord>)> {
        self.table.take_trace(h)
    }

    /// Forgets an association. The peer is told nothing: [`abort`](Association::abort) it first if
    /// it lives. Its handle may be used again. What a closed association still has to say (ABORT,
    /// SHUTDOWN COMPLETE) goes out all the same.
    pub fn remove(&mut self, h: AssocHandle) {
        // Only control chunks are left, and no timer: the time plays no part.
        let now = Time::ZERO;
        if let Some(assoc) = self.table.touch(h).filter(|a| a.state() == State::Closed) {
            let mut packet = Vec::new();
            while let Some(sent) = assoc.poll_transmit(now, &mut packet) {
                self.replies.push_last_words(sent.tuple, core::mem::take(&mut packet));
            }
        }
        self.table.remove(h);
    }

    /// Whether INITs from strangers are answered from now on (listen and its end). Associations
    /// that there are, and set-ups that have begun, go on.
    pub fn set_accept(&mut self, accept: bool) {
        Arc::make_mut(&mut self.config).accept = accept;
    }

    /// Counters of what happened outside associations.
    pub fn stats(&self) -> EndpointStats {
        self.stats.clone()
    }

    /// A packet that starts with AUTH: if it is about a COOKIE ECHO, that is dealt with here;
    /// otherwise it is a packet like any other (RFC 4895 section 6.3).
    fn on_proven_echo(
        &mut self,
        now: Time,
        tuple: FourTuple,
        packet: &PacketView<'_>,
        auth: &RawChunk<'_>,
    ) -> bool {
        match packet.chunks().nth(1) {
            Some(Ok(second)) if second.kind == kind::COOKIE_ECHO => {
                self.on_cookie_echo(now, tuple, packet, Some(auth), second.value);
                true
            }
            _ => false,
        }
    }

    /// A packet that starts with neither INIT nor COOKIE ECHO.
    #[inline]
    fn on_packet(
        &mut self,
        now: Time,
        tuple: &FourTuple,
        packet: &PacketView<'_>,
        first: &RawChunk<'_>,
    ) {
        let Some((h, path)) = self.table.find_path(tuple, packet.header().source_port) else {
            return self.on_packet_from_elsewhere(now, tuple, packet, first, false);
        };
        let Some(assoc) = self.table.touch(h) else { return };
        if assoc.state().is_setup() && tag::has_chunk(packet, kind::SHUTDOWN_ACK) {
            // The peer still closes an association that we have forgotten (RFC 9260 section 8.5.1
            // E).
            self.on_out_of_the_blue(now, *tuple, packet);
        } else if tag::accepts(packet, first, assoc.local.tag, assoc.peer.tag) {
            let asked = assoc.state() == State::CookieWait;
            assoc.handle_packet(now, tuple, path, packet, Proof::None);
            if asked {
                self.on_answer(h);
            }
        } else {
            self.on_packet_from_elsewhere(now, tuple, packet, first, true);
        }
    }

    /// A packet from where nobody is known to be, or only who has another tag (`taken`). Its tag
    /// tells whose it is (RFC 6951 section 5.4): the association decides what it is worth.
    #[inline(never)]
    fn on_packet_from_elsewhere(
        &mut self,
        now: Time,
        tuple: &FourTuple,
        packet: &PacketView<'_>,
        first: &RawChunk<'_>,
        taken: bool,
    ) {
        let header = packet.header();
        let found = self.table.find_by_tag(header.verification_tag, tuple, header.source_port);
        let Some((h, path)) = found else {
            if taken {
                self.stats.bad_tag += 1;
            } else {
                self.on_out_of_the_blue(now, *tuple, packet);
            }
            return;
        };
        let Some(assoc) = self.table.get(h) else { return };
        if assoc.demands_protection() {
            // Not believed, and not answered; perhaps a hint.
            if let Some(assoc) = self.table.touch(h) {
                assoc.handle_packet(now, tuple, path, packet, Proof::None);
            }
            return;
        }
        let asked = assoc.state() == State::CookieWait;
        let welcome = !assoc.state().is_setup() || self.answers_from_elsewhere(h, *tuple, packet);
        let Some(assoc) = self.table.touch(h).filter(|_| welcome) else {
            self.stats.out_of_the_blue += 1;
            return;
        };
        if !tag::accepts(packet, first, assoc.local.tag, assoc.peer.tag) {
            self.stats.bad_tag += 1;
            return;
        }
        assoc.handle_packet(now, tuple, path, packet, Proof::None);
        if asked {
            return self.on_answer(h);
        }
        let known = assoc.paths.by_tuple(tuple).is_some();
        self.table.refresh(h);
        if !known && tag::has_chunk(packet, kind::SHUTDOWN_ACK) {
            // Whoever waits for the end there shall have it (RFC 9260 section 8.4, rule 5).
            self.on_out_of_the_blue(now, *tuple, packet);
        } else {
            // No ABORT: it would end all paths for one. The packet may be ahead of the ASCONF that
            // adds its source, or behind the one that took it away.
            self.stats.out_of_the_blue += u64::from(!known);
        }
    }
}
