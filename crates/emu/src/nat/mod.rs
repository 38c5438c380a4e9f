//! Boxes that translate addresses between the clients' links and the server, without I/O.
//!
//! UDP, TCP and ICMP echo are translated, and so are ICMP errors about them. All else is dropped
//! and counted: fragments, IPv6 extension headers, and SCTP directly over IP, of which most boxes
//! know nothing (RFC 6951 section 1).

mod checksum;
mod icmp;
mod packet;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};

use polypath_link::{Nanos, Nat, NatChange, NatStats, NatVerdict};

use self::icmp::IcmpError;
use self::packet::{Layout, Protocol, addresses};
use crate::spec::NatSpec;

/// All boxes of a network.
#[derive(Debug)]
pub(crate) struct Boxes {
    boxes: Vec<NatBox>,
    /// Before the start they let everything through untouched, so that links can be measured.
    on: bool,
}

/// What a box has counted, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NatCounters {
    /// UDP, TCP and ICMP echo: translated and refused.
    pub packets: NatStats,
    /// ICMP errors led on to whom they concern, either way.
    pub errors: u64,
    /// ICMP errors that the box sent itself.
    pub answers: u64,
    /// Dropped because there is nothing to translate: other protocols, fragments, ICMP errors about
    /// packets that nobody sent.
    pub other: u64,
}

/// What becomes of a packet from outside.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It goes on: let in, or nothing of any box.
    Onward,
    /// It is gone.
    Dropped,
    /// It is gone, and this packet goes back.
    Answered(Vec<u8>),
}

#[derive(Debug)]
struct NatBox {
    spec: NatSpec,
    /// For UDP, TCP and echo: they share addresses, and no ports.
    nats: [Nat; 3],
    counters: NatCounters,
}

impl Boxes {
    pub(crate) fn new(specs: Vec<NatSpec>) -> Self {
        Self { boxes: specs.into_iter().map(NatBox::new).collect(), on: false }
    }

    /// Switches all boxes on, empty, and begins their schedules at time 0.
    pub(crate) fn start_schedules(&mut self) {
        self.on = true;
        self.boxes.iter_mut().for_each(NatBox::start_afresh);
    }

    pub(crate) fn switch_off(&mut self) {
        self.on = false;
    }

    /// Carries out the changes that are due.
    pub(crate) fn apply_due(&mut self, now: Nanos) {
        let nats = self.boxes.iter_mut().flat_map(|each| &mut each.nats);
        nats.for_each(|nat| nat.advance_schedule(now));
    }

    /// Changes a box now.
    pub(crate) fn change_box(&mut self, number: usize, change: NatChange) {
        if let Some(each) = self.boxes.get_mut(number) {
            each.apply_change(change);
        }
    }

    /// Whether a client's address is behind a box, where nobody outside can send to.
    pub(crate) fn hides_address(&self, address: IpAddr) -> bool {
        self.on && self.boxes.iter().any(|each| each.spec.inside.contains(&address))
    }

    /// Whether a box has this address outside.
    pub(crate) fn is_external(&self, address: IpAddr) -> bool {
        self.on && self.boxes.iter().any(|each| each.is_external(address))
    }

    /// A packet leaves the links of a client: rewrites it if the client is behind a box. False if
    /// it is dropped there.
    pub(crate) fn translate_leaving(&mut self, now: Nanos, packet: &mut [u8]) -> bool {
        let Some((source, _)) = addresses(packet).filter(|_| self.on) else { return true };
        let mut boxes = self.boxes.iter_mut();
        let own = boxes.find(|each| each.spec.inside.contains(&source));
        own.is_none_or(|each| each.translate_leaving(now, packet))
    }

    /// A packet comes from outside: rewrites it if it goes to a box that lets it in.
    pub(crate) fn translate_arriving(&mut self, now: Nanos, packet: &mut [u8]) -> Arrival {
        let Some((_, destination)) = addresses(packet).filter(|_| self.on) else {
            return Arrival::Onward;
        };
        let mut boxes = self.boxes.iter_mut();
        let each = boxes.find(|each| each.is_external(destination));
        each.map_or(Arrival::Onward, |each| each.translate_arriving(now, packet))
    }

    /// Whom a packet from outside would get to. It changes nothing.
    pub(crate) fn look_up(&self, now: Nanos, packet: &[u8]) -> Option<IpAddr> {
        let (_, destination) = addresses(packet)?;
        let each = self.boxes.iter().find(|each| each.is_external(destination))?;
        each.find_owner(now, packet).map(|(inside, _)| inside.ip())
    }

    /// Names and counters of all boxes.
    pub(crate) fn counters(&self) -> Vec<(String, NatCounters)> {
        self.boxes.iter().map(|each| (each.spec.name.clone(), each.counters())).collect()
    }
}

impl NatBox {
    fn new(spec: NatSpec) -> Self {
        let nats = [(); 3].map(|()| Nat::new(spec.config.clone(), spec.seed));
        Self { spec, nats, counters: NatCounters::default() }
    }

    fn start_afresh(&mut self) {
        let fresh = [(); 3].map(|()| Nat::new(self.spec.config.clone(), self.spec.seed));
        (self.nats, self.counters) = (fresh, NatCounters::default());
    }

    fn apply_change(&mut self, change: NatChange) {
        self.nats.iter_mut().for_each(|nat| nat.apply_change(change));
    }

    /// All protocols have the same addresses.
    fn is_external(&self, address: IpAddr) -> bool {
        self.nats.iter().any(|nat| nat.is_external(address))
    }

    const fn nat_of(&self, protocol: Protocol) -> &Nat {
        let [udp, tcp, echo] = &self.nats;
        match protocol {
            Protocol::Udp => udp,
            Protocol::Tcp => tcp,
            Protocol::Echo => echo,
        }
    }

    const fn nat_mut(&mut self, protocol: Protocol) -> &mut Nat {
        let [udp, tcp, echo] = &mut self.nats;
        match protocol {
            Protocol::Udp => udp,
            Protocol::Tcp => tcp,
            Protocol::Echo => echo,
        }
    }

    fn translate_leaving(&mut self, now: Nanos, packet: &mut [u8]) -> bool {
        if let Some(layout) = Layout::read_layout(packet)
            && let Some((inside, outside)) = layout.endpoints(packet)
        {
            let mapped = self.nat_mut(layout.protocol).translate_outbound(now, inside, outside);
            return mapped.map(|mapped| layout.set_source(packet, mapped)).is_some();
        }
        let Some((error, mapped)) = self.find_quoted_mapping(now, packet) else {
            self.counters.other += 1;
            return false;
        };
        error.lead_out(packet, mapped);
        self.counters.errors += 1;
        true
    }

    fn translate_arriving(&mut self, now: Nanos, packet: &mut [u8]) -> Arrival {
        if let Some(layout) = Layout::read_layout(packet)
            && let Some((outside, mapped)) = layout.endpoints(packet)
        {
            return match self.nat_mut(layout.protocol).translate_inbound(now, outside, mapped) {
                NatVerdict::Inside(inside) => {
                    layout.set_destination(packet, inside);
                    Arrival::Onward
                }
                NatVerdict::Dropped(_) => Arrival::Dropped,
                NatVerdict::Unreachable(_) => self.answer_unreachable(packet),
            };
        }
        let Some((inside, Some(error))) = self.find_owner(now, packet) else {
            self.counters.other += 1;
            return Arrival::Dropped;
        };
        error.lead_in(packet, inside);
        self.counters.errors += 1;
        Arrival::Onward
    }

    fn answer_unreachable(&mut self, packet: &[u8]) -> Arrival {
        icmp::port_unreachable(packet).map_or(Arrival::Dropped, |answer| {
            self.counters.answers += 1;
            Arrival::Answered(answer)
        })
    }

    /// Whose packet from outside this is, or whom this error from outside concerns.
    fn find_owner(&self, now: Nanos, packet: &[u8]) -> Option<(SocketAddr, Option<IcmpError>)> {
        if let Some(layout) = Layout::read_layout(packet) {
            let (outside, mapped) = layout.endpoints(packet)?;
            return Some((
                self.nat_of(layout.protocol).inside_endpoint(now, mapped, outside)?,
                None,
            ));
        }
        let error = IcmpError::read_error(packet)?;
        let (mapped, outside) = error.quoted_endpoints(packet)?;
        let nat = self.nat_of(error.quoted_layout().protocol);
        Some((nat.inside_endpoint(now, mapped, outside)?, Some(error)))
    }

    /// An error from inside, and the external endpoint of the packet that it quotes.
    fn find_quoted_mapping(&self, now: Nanos, packet: &[u8]) -> Option<(IcmpError, SocketAddr)> {
        let error = IcmpError::read_error(packet)?;
        let (outside, inside) = error.quoted_endpoints(packet)?;
        let nat = self.nat_of(error.quoted_layout().protocol);
        Some((error, nat.mapped_endpoint(now, inside, outside)?))
    }

    fn counters(&self) -> NatCounters {
        let mut counters = self.counters;
        for NatStats { outbound, inbound, unmapped, filtered, refused } in
            self.nats.iter().map(Nat::stats)
        {
            let sum = &mut counters.packets;
            sum.outbound += outbound;
            sum.inbound += inbound;
            sum.unmapped += unmapped;
            sum.filtered += filtered;
            sum.refused += refused;
        }
        counters
    }
}
