//! The associations of an endpoint: how packets find them, and which of them have something to do.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use polypath_wire::Tsn;
use slab::Slab;

use crate::association::{Association, State};
use crate::event::Event;
use crate::ids::{AssocHandle, FourTuple, PathId};
use crate::time::Time;
use crate::trace::TraceRecord;

/// One association and what is known of it without asking.
#[derive(Debug)]
struct Slot {
    assoc: Association,
    /// Where its peer is: under these packets find it.
    addresses: Vec<(IpAddr, u16)>,
    /// What the indices were made from.
    indexed: Indexed,
    /// Its entry in [`Table::deadlines`], at or before its real deadline; `Time::MAX`: none.
    deadline: Time,
    /// It is in [`Table::ready`].
    ready: bool,
    /// It is in [`Table::eventful`].
    eventful: bool,
    /// It is in [`Table::traced`].
    traced: bool,
}

impl Slot {
    /// Its association is about to be used: whether it may record something now and could not
    /// before.
    #[inline]
    fn may_record(&mut self) -> bool {
        let begins = !self.traced && self.assoc.is_tracing();
        self.traced |= begins;
        begins
    }
}

/// A verification tag, and who chose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tag {
    /// In packets to us.
    Local(u32),
    /// In packets to the peer.
    Peer(u32),
}

/// What the indices of an association follow: others mean other entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Indexed {
    local_tag: u32,
    peer_tag: u32,
    /// The count of changes of the peer's addresses.
    addresses: u32,
}

impl Indexed {
    const fn of(assoc: &Association) -> Self {
        Self {
            local_tag: assoc.local.tag,
            peer_tag: assoc.peer.tag,
            addresses: assoc.address_generation,
        }
    }
}

/// A peer's address, UDP port and SCTP port. Two hosts behind one NAT differ in the UDP port alone
/// (RFC 6951 section 3.2).
type Place = (IpAddr, u16, u16);

const fn place(at: SocketAddr, peer_port: u16) -> Place {
    (at.ip(), at.port(), peer_port)
}

/// All associations.
#[derive(Debug, Default)]
pub(super) struct Table {
    slots: Slab<Slot>,
    /// Which association a peer's address, UDP port (0 without encapsulation) and SCTP port belong
    /// to. Our own port is always the endpoint's. Who names an address first has it, until someone
    /// proves it: naming an address takes nothing from anybody. Two may have proven the same one at
    /// two of our addresses, which a NAT may tell apart: packets then find the other one by their
    /// tag.
    index: BTreeMap<Place, AssocHandle>,
    /// Which association a tag and the peer's SCTP port belong to, the first of several.
    tags: BTreeMap<(Tag, u16), AssocHandle>,
    /// The association of the latest packet; most packets are for it, too.
    latest: Option<AssocHandle>,
    /// Associations that may have something to send. Their deadlines may have moved.
    ready: VecDeque<AssocHandle>,
    /// Associations that may have events.
    eventful: VecDeque<AssocHandle>,
    /// Associations that may have recorded something.
    traced: Vec<AssocHandle>,
    /// When to look at which association: at or before its deadline.
    deadlines: BTreeSet<(Time, AssocHandle)>,
}

/// The first and the last address that one host may have where it has `address`: over IPv6 as many
/// as it likes of a /64 (RFC 4291 section 2.5.1).
fn host_addresses(address: IpAddr) -> (IpAddr, IpAddr) {
    match address {
        IpAddr::V4(_) => (address, address),
        IpAddr::V6(address) => {
            let interface = u128::from(u64::MAX);
            let bits = address.to_bits();
            let [first, last] = [bits & !interface, bits | interface].map(Ipv6Addr::from_bits);
            (first.into(), last.into())
        }
    }
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn handles(&self) -> impl Iterator<Item = AssocHandle> {
        self.slots.iter().map(|(i, _)| AssocHandle(i))
    }

    #[inline]
    pub(super) fn get(&self, h: AssocHandle) -> Option<&Association> {
        self.slots.get(h.0).map(|slot| &slot.assoc)
    }

    /// The association, to be changed: it may have something to send and to tell afterwards.
    #[inline]
    pub(super) fn touch(&mut self, h: AssocHandle) -> Option<&mut Association> {
        let slot = self.slots.get_mut(h.0)?;
        if !slot.ready {
            slot.ready = true;
            self.ready.push_back(h);
        }
        if !slot.eventful {
            slot.eventful = true;
            self.eventful.push_back(h);
        }
        if slot.may_record() {
            self.traced.push(h);
        }
        Some(&mut slot.assoc)
    }

    /// What `h` has recorded since the last time.
    pub(super) fn take_trace(
        &mut self,
        h: AssocHandle,
    ) -> Option<(&Association, Vec<TraceRecord>)> {
        let slot = self.slots.get_mut(h.0)?;
        let records = slot.assoc.take_trace();
        (!records.is_empty()).then_some((&slot.assoc, records))
    }

    /// The associations that may have recorded something since the last time.
    pub(super) fn take_traced(&mut self) -> Vec<AssocHandle> {
        let traced = core::mem::take(&mut self.traced);
        for h in &traced {
            if let Some(slot) = self.slots.get_mut(h.0) {
                slot.traced = false;
            }
        }
        traced
    }

    pub(super) fn insert(&mut self, assoc: Association) -> AssocHandle {
        let h = AssocHandle(self.slots.insert(Slot {
            assoc,
            addresses: Vec::new(),
            indexed: Indexed::default(),
            deadline: Time::MAX,
            ready: false,
            eventful: false,
            traced: false,
        }));
        self.index_addresses(h);
        self.touch(h);
        h
    }

    pub(super) fn remove(&mut self, h: AssocHandle) {
        self.forget_addresses(h);
        self.forget_tags(h);
        let Some(slot) = self.slots.try_remove(h.0) else { return };
        self.deadlines.remove(&(slot.deadline, h));
        self.ready.retain(|other| *other != h);
        self.eventful.retain(|other| *other != h);
        self.traced.retain(|other| *other != h);
        self.latest = self.latest.filter(|other| *other != h);
    }

    /// The association that a packet on `tuple` from SCTP port `peer_port` is for.
    pub(super) fn find(&mut self, tuple: FourTuple, peer_port: u16) -> Option<AssocHandle> {
        self.find_path(&tuple, peer_port).map(|(h, _)| h)
    }

    /// The same, with the path if it is known by the way.
    #[inline]
    pub(super) fn find_path(
        &mut self,
        tuple: &FourTuple,
        peer_port: u16,
    ) -> Option<(AssocHandle, Option<PathId>)> {
        if let Some(h) = self.latest
            && let Some(path) = self.path(h, tuple, peer_port)
        {
            return Some((h, Some(path)));
        }
        let found = self.find_address(tuple.remote, peer_port);
        self.latest = found.or(self.latest);
        found.map(|h| (h, None))
    }

    /// The association with a peer's address, UDP port and SCTP port.
    pub(super) fn find_address(&self, at: SocketAddr, peer_port: u16) -> Option<AssocHandle> {
        self.index.get(&place(at, peer_port)).copied()
    }

    /// The same, if its peer proved that the address is its own, or our user said so.
    pub(super) fn find_proven(&self, at: SocketAddr, peer_port: u16) -> Option<AssocHandle> {
        self.find_address(at, peer_port).filter(|h| self.proves(*h, at))
    }

    fn proves(&self, h: AssocHandle, at: SocketAddr) -> bool {
        self.get(h).is_some_and(|assoc| assoc.paths.is_proven_at(at))
    }

    /// The association that has a proven path on `tuple`.
    pub(super) fn find_confirmed(&self, tuple: &FourTuple, peer_port: u16) -> Option<AssocHandle> {
        let confirmed = |assoc: &Association| {
            assoc.paths.by_tuple(tuple).is_some_and(|p| assoc.paths.is_confirmed(p))
        };
        let found = self.find_address(tuple.remote, peer_port)?;
        self.get(found).filter(|assoc| confirmed(assoc)).map(|_| found)
    }

    /// The association whose packets carry `tag`, and its path on `tuple`, if it has one there.
    pub(super) fn find_by_tag(
        &mut self,
        tag: u32,
        tuple: &FourTuple,
        peer_port: u16,
    ) -> Option<(AssocHandle, Option<PathId>)> {
        let h = self.find_tag(tag, peer_port)?;
        let path = self.path(h, tuple, peer_port);
        if path.is_some() {
            self.latest = Some(h);
        }
        Some((h, path))
    }

    /// The association whose packets carry `tag`.
    pub(super) fn find_tag(&self, tag: u32, peer_port: u16) -> Option<AssocHandle> {
        let h = self.tags.get(&(Tag::Local(tag), peer_port)).copied()?;
        let has = |assoc: &&Association| assoc.state() != State::Closed && assoc.local.tag == tag;
        self.get(h).filter(has).map(|_| h)
    }

    /// The association with a peer of this port, tag and first TSN: none but that very peer has the
    /// same, wherever it may be.
    pub(super) fn find_peer(&self, peer_port: u16, tag: u32, first: Tsn) -> Option<AssocHandle> {
        let h = self.tags.get(&(Tag::Peer(tag), peer_port)).copied()?;
        let same = |assoc: &&Association| assoc.peer.tag == tag && assoc.peer.initial_tsn == first;
        self.get(h).filter(|assoc| assoc.state() != State::Closed).filter(same).map(|_| h)
    }

    /// The association that a packet of ours is from, which an ICMP message quotes or the system
    /// refused: by where it went, or by the tag in it.
    pub(super) fn find_quoted(
        &self,
        tuple: &FourTuple,
        peer_port: u16,
        tag: Tag,
    ) -> Option<AssocHandle> {
        let at_all = |h: &AssocHandle| {
            self.get(*h).is_some_and(|assoc| assoc.paths.by_addresses(*tuple).is_some())
        };
        let named = self.tags.get(&(tag, peer_port)).copied().filter(at_all);
        named.or_else(|| self.find_address(tuple.remote, peer_port))
    }

    /// Associations with a peer that proved to be at `address`, or, if that is of IPv6, at one with
    /// the same first 64 bits. Who only names an address takes nothing of its share.
    pub(super) fn count_address(&self, address: IpAddr) -> usize {
        let (first, last) = host_addresses(address);
        let entries = self.index.range((first, 0, 0)..=(last, u16::MAX, u16::MAX));
        entries
            .filter(|((ip, udp, _), h)| self.first_proven(**h, first, last) == Some((*ip, *udp)))
            .count()
    }

    /// The first of an association's proven places between `first` and `last`: it counts once.
    fn first_proven(&self, h: AssocHandle, first: IpAddr, last: IpAddr) -> Option<(IpAddr, u16)> {
        let slot = self.slots.get(h.0)?;
        let of_host = |(ip, udp): &&(IpAddr, u16)| {
            let proven = || slot.assoc.paths.is_proven_at(SocketAddr::new(*ip, *udp));
            (first..=last).contains(ip) && proven()
        };
        slot.addresses.iter().find(of_host).copied()
    }

    #[inline]
    fn path(&self, h: AssocHandle, tuple: &FourTuple, peer_port: u16) -> Option<PathId> {
        let lives = |a: &&Association| a.peer.port == peer_port && a.state() != State::Closed;
        self.get(h).filter(lives)?.paths.by_tuple(tuple)
    }

    /// The next association that may have something to send.
    #[inline]
    pub(super) fn ready(&mut self) -> Option<(AssocHandle, &mut Association)> {
        let h = *self.ready.front()?;
        let slot = self.slots.get_mut(h.0)?;
        if slot.may_record() {
            self.traced.push(h);
        }
        Some((h, &mut slot.assoc))
    }

    /// The association that [`ready`](Self::ready) gave had nothing (more) to send.
    pub(super) fn done(&mut self) {
        let Some(h) = self.ready.pop_front() else { return };
        self.refresh(h);
        let Some(slot) = self.slots.get_mut(h.0) else { return };
        slot.ready = false;
        if !slot.eventful && !slot.assoc.events.is_empty() {
            slot.eventful = true;
            self.eventful.push_back(h);
        }
    }

    /// Whether an association may have events.
    #[inline]
    pub(super) fn may_tell(&self) -> bool {
        !self.eventful.is_empty()
    }

    /// The next event. Its association goes to the end of the line, or leaves it with its last
    /// event.
    pub(super) fn poll_event(&mut self) -> Option<(AssocHandle, Event)> {
        while let Some(h) = self.eventful.pop_front() {
            let Some(slot) = self.slots.get_mut(h.0) else { continue };
            let event = slot.assoc.poll_event();
            // One that is told of later has events, and gives none.
            slot.eventful = event.is_some() && !slot.assoc.events.is_empty();
            if slot.eventful {
                self.eventful.push_back(h);
            }
            if let Some(event) = event {
                return Some((h, event));
            }
        }
        None
    }

    /// The earliest deadline.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        let moving = self.ready.iter().filter_map(|h| self.get(*h)?.poll_timeout()).min();
        // Entries of those in `ready` count too: otherwise whoever merely looks at an association
        // changes when it wakes up.
        let fixed = self.deadlines.first().map(|(at, _)| *at);
        moving.into_iter().chain(fixed).min()
    }

    /// Takes an association whose deadline has passed.
    pub(super) fn expired(&mut self, now: Time) -> Option<AssocHandle> {
        let (at, h) = self.deadlines.first().copied().filter(|(at, _)| *at <= now)?;
        self.deadlines.remove(&(at, h));
        if let Some(slot) = self.slots.get_mut(h.0) {
            slot.deadline = Time::MAX;
        }
        Some(h)
    }

    /// Brings the deadlines of all that were touched up to date.
    pub(super) fn refresh_ready(&mut self) {
        for i in 0..self.ready.len() {
            if let Some(h) = self.ready.get(i).copied() {
                self.refresh(h);
            }
        }
    }

    /// Brings the deadline and the addresses of `h` up to date.
    #[inline]
    pub(super) fn refresh(&mut self, h: AssocHandle) {
        let Some(slot) = self.slots.get_mut(h.0) else { return };
        let deadline = slot.assoc.poll_timeout().unwrap_or(Time::MAX);
        // T3-rtx moves later with nearly every SACK. An entry that is too early costs one idle
        // wake-up per RTO, keeping it exact would cost a tree operation per packet.
        if deadline < slot.deadline {
            self.deadlines.remove(&(slot.deadline, h));
            self.deadlines.insert((deadline, h));
            slot.deadline = deadline;
        }
        let closed = slot.assoc.state() == State::Closed;
        if closed {
            if !slot.addresses.is_empty() {
                self.forget_addresses(h);
                self.forget_tags(h);
            }
        } else {
            let (before, now) = (slot.indexed, Indexed::of(&slot.assoc));
            if before != now {
                self.reindex(h, before, now);
            }
        }
    }

    /// Addresses may have gone.
    fn reindex(&mut self, h: AssocHandle, before: Indexed, now: Indexed) {
        if before.addresses != now.addresses {
            self.forget_addresses(h);
        }
        if (before.local_tag, before.peer_tag) != (now.local_tag, now.peer_tag) {
            self.forget_tags(h);
        }
        self.index_addresses(h);
    }

    fn index_addresses(&mut self, h: AssocHandle) {
        let Some(slot) = self.slots.get_mut(h.0) else { return };
        let assoc = &slot.assoc;
        slot.indexed = Indexed::of(assoc);
        let port = assoc.peer.port;
        if assoc.peer.tag != 0 {
            self.tags.entry((Tag::Peer(assoc.peer.tag), port)).or_insert(h);
        }
        self.tags.entry((Tag::Local(assoc.local.tag), port)).or_insert(h);
        for at in assoc.peer_sockets() {
            self.claim(h, at, port);
        }
    }

    fn claim(&mut self, h: AssocHandle, at: SocketAddr, port: u16) {
        let owner = self.find_address(at, port);
        if let Some(owner) = owner.filter(|owner| *owner != h) {
            if self.proves(owner, at) || !self.proves(h, at) {
                return;
            }
            if let Some(slot) = self.slots.get_mut(owner.0) {
                slot.addresses.retain(|other| *other != (at.ip(), at.port()));
            }
        }
        self.index.insert(place(at, port), h);
        let Some(slot) = self.slots.get_mut(h.0) else { return };
        let at = (at.ip(), at.port());
        if !slot.addresses.contains(&at) {
            // Most associations have one or two, and a server has many associations.
            slot.addresses.reserve_exact(1);
            slot.addresses.push(at);
        }
    }

    fn forget_addresses(&mut self, h: AssocHandle) {
        let Some(slot) = self.slots.get_mut(h.0) else { return };
        let port = slot.assoc.peer.port;
        for (ip, udp) in slot.addresses.drain(..) {
            self.index.remove(&(ip, udp, port));
        }
    }

    /// A tag is another, or the association is over.
    fn forget_tags(&mut self, h: AssocHandle) {
        let Some(slot) = self.slots.get(h.0) else { return };
        let (indexed, port) = (slot.indexed, slot.assoc.peer.port);
        for tag in [Tag::Local(indexed.local_tag), Tag::Peer(indexed.peer_tag)] {
            if self.tags.get(&(tag, port)) == Some(&h) {
                self.tags.remove(&(tag, port));
            }
        }
    }
}
