//! Links, the routes over them, and the packets on the way.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use polypath_link::{DropReason, Link, LinkStats, Nanos, Offer};

use crate::event_queue::{EventQueue, NEVER};
use crate::nat;
use crate::random::link_seed;
use crate::results::LinkResult;
use crate::spec::WorldSpec;

/// Bytes that a recycled buffer has room for: a usual path MTU and some.
const BUFFER_BYTES: usize = 2048;

const IPV4_HEADER: u32 = 20;
const IPV6_HEADER: u32 = 40;
const UDP_HEADER: u32 = 8;

/// All links and routes. Link number `n` is slot `n` of the event queue.
#[derive(Debug)]
pub(crate) struct Network {
    links: Vec<Hop>,
    routes: Vec<Route>,
    /// The links of all routes, one route after another, each ended by `None`.
    ways: Vec<Option<usize>>,
    /// Where the ways of cross traffic begin among them, two places each.
    cross_way: u32,
    /// Packets that are gone, to be used again: first those that are still in the cache.
    #[expect(clippy::vec_box, reason = "links carry boxes: a hop moves a pointer")]
    pool: Vec<Box<Packet>>,
    /// Packets marked so far.
    marked: u64,
    /// Numbers of packets destroyed on links, while somebody watches.
    destroyed: Option<Rc<RefCell<Vec<u64>>>>,
}

#[derive(Debug)]
struct Hop {
    name: String,
    link: Link<Box<Packet>>,
    /// The counters at the end of settling.
    settled: LinkStats,
    /// Times that packets would have waited, as sampled since then.
    waits: Vec<Nanos>,
}

/// A way from one address to another.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) name: String,
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    /// Positions of both hosts.
    pub(crate) from_host: u32,
    pub(crate) to_host: u32,
    /// Bytes of the IP header.
    ip_header: u32,
    /// The box at its end: that which `from` is behind.
    pub(crate) nat: Option<u32>,
    /// `to` is behind a box: nobody sends there but by the box's external address.
    pub(crate) hidden: bool,
    /// Where its links begin in [`Network::ways`].
    way: u32,
}

/// A packet on its way. It moves from link to link, and its bytes stay where they are: nothing
/// looks at them before they arrive, so that they need not be in the cache.
#[derive(Debug)]
pub(crate) struct Packet {
    /// The SCTP packet.
    pub(crate) data: Vec<u8>,
    pub(crate) route: u32,
    /// Bytes on the wire, the headers below SCTP included.
    size: u32,
    /// The next link's place in [`Network::ways`].
    hop: u32,
    /// IP may fragment it; the bytes of the IP header that each fragment has, else 0.
    fragment_header: u32,
    witness: Option<Box<Witness>>,
}

/// Notes the number of a packet that is destroyed: links that go down do not say what they lose.
#[derive(Debug)]
struct Witness {
    id: u64,
    destroyed: Option<Rc<RefCell<Vec<u64>>>>,
}

impl Drop for Witness {
    fn drop(&mut self) {
        if let Some(destroyed) = &self.destroyed {
            destroyed.borrow_mut().push(self.id);
        }
    }
}

impl Packet {
    /// The packet has arrived; returns its number if it was watched.
    pub(crate) fn arrived(&mut self) -> Option<u64> {
        let mut witness = self.witness.take()?;
        witness.destroyed = None;
        Some(witness.id)
    }
}

impl Network {
    /// The network of a checked specification.
    pub(crate) fn new(spec: &WorldSpec, seed: u64) -> Self {
        let topology = &spec.topology;
        let mut drawn = spec.drawn_changes(seed);
        let mut hop = |spec: &crate::spec::LinkSpec| {
            let mut config = spec.config.clone();
            // Links keep the order of equal times: what was set by hand has the last word.
            if let Some(repeated) = drawn.remove(&spec.name) {
                config.schedule = repeated.into_iter().chain(config.schedule).collect();
            }
            Hop {
                name: spec.name.clone(),
                link: Link::new(config, link_seed(seed, &spec.name)),
                settled: LinkStats::default(),
                waits: Vec::new(),
            }
        };
        let position = |name: &String| topology.links.iter().position(|link| link.name == *name);
        let host = |address| topology.host_of(address).unwrap_or(0) as u32;
        let mut ways = Vec::new();
        let route = |spec: &crate::spec::RouteSpec| {
            let way = ways.len() as u32;
            ways.extend(spec.links.iter().filter_map(position).map(Some).chain([None]));
            Route {
                name: spec.name.clone(),
                from: spec.from,
                to: spec.to,
                from_host: host(spec.from),
                to_host: host(spec.to),
                ip_header: if spec.to.is_ipv4() { IPV4_HEADER } else { IPV6_HEADER },
                nat: nat::number_of(&topology.nats, spec.from),
                hidden: nat::number_of(&topology.nats, spec.to).is_some(),
                way,
            }
        };
        let links = topology.links.iter().map(&mut hop).collect();
        let routes: Vec<_> = topology.routes.iter().map(route).collect();
        let cross_way = ways.len() as u32;
        // Sources of cross traffic send over one link each.
        let crossed = spec.cross.iter().filter_map(|cross| position(&cross.link));
        ways.extend(crossed.flat_map(|link| [Some(link), None]));
        Self { links, routes, ways, cross_way, pool: Vec::new(), marked: 0, destroyed: None }
    }

    /// Starts to watch what becomes of packets.
    pub(crate) fn watch_packets(&mut self) {
        self.destroyed = Some(Rc::default());
    }

    pub(crate) fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// The number of the route between two addresses.
    pub(crate) fn route_between(&self, from: IpAddr, to: IpAddr) -> Option<u32> {
        let route = self.routes.iter().position(|route| (route.from, route.to) == (from, to))?;
        u32::try_from(route).ok()
    }

    pub(crate) fn link_count(&self) -> usize {
        self.links.len()
    }

    pub(crate) fn link_name(&self, link: usize) -> &str {
        self.links.get(link).map_or("", |hop| &hop.name)
    }

    /// An empty packet that is on no route yet.
    #[inline]
    pub(crate) fn blank_packet(&mut self) -> Box<Packet> {
        self.pool.pop().unwrap_or_else(|| {
            let data = Vec::with_capacity(BUFFER_BYTES);
            Box::new(Packet { data, route: 0, size: 0, hop: 0, fragment_header: 0, witness: None })
        })
    }

    /// Takes back a packet that nobody needs any more.
    #[inline]
    pub(crate) fn recycle_packet(&mut self, mut packet: Box<Packet>) {
        packet.data.clear();
        self.pool.push(packet);
    }

    /// Puts a packet at the beginning of its route.
    #[inline]
    pub(crate) fn put_on_route(
        &self,
        packet: &mut Packet,
        route: u32,
        udp: bool,
        may_fragment: bool,
    ) {
        let Route { ip_header, way, .. } = self.routes[route as usize];
        let headers = ip_header + if udp { UDP_HEADER } else { 0 };
        packet.size = packet.data.len() as u32 + headers;
        packet.fragment_header = if may_fragment { ip_header } else { 0 };
        (packet.route, packet.hop) = (route, way);
    }

    /// Makes an empty packet one of cross traffic.
    pub(crate) fn address_cross(&self, packet: &mut Packet, source: u32, size: u32) {
        (packet.size, packet.fragment_header) = (size, 0);
        packet.route = self.routes.len() as u32 + source;
        packet.hop = self.cross_way + 2 * source;
    }

    /// Which source of cross traffic a packet is from, if it is.
    #[inline]
    pub(crate) fn cross_source(&self, packet: &Packet) -> Option<usize> {
        (packet.route as usize).checked_sub(self.routes.len())
    }

    /// Numbers a packet, so that its end is noticed if somebody watches.
    pub(crate) fn number_packet(&mut self, packet: &mut Packet) -> u64 {
        let id = self.marked;
        self.marked += 1;
        packet.witness =
            self.destroyed.clone().map(|log| Box::new(Witness { id, destroyed: Some(log) }));
        id
    }

    /// The next packet that has arrived at the end of `link` by `now`.
    #[inline]
    pub(crate) fn poll_arrival(&mut self, now: Nanos, link: usize) -> Option<Box<Packet>> {
        self.links[link].link.poll_arrival(now)
    }

    /// Moves a packet on: onto its next link, or back to the caller if it has crossed them all.
    #[inline]
    pub(crate) fn forward_packet(
        &mut self,
        now: Nanos,
        mut packet: Box<Packet>,
        queue: &mut EventQueue,
    ) -> Forwarded {
        let Some(link) = self.ways[packet.hop as usize] else {
            return Forwarded::Arrived(packet);
        };
        packet.hop += 1;
        let hop = &mut self.links[link];
        let (size, largest) = match packet.fragment_header {
            0 => (packet.size, packet.size),
            header => fragment_sizes(packet.size, header, hop.link.mtu()),
        };
        let offer = hop.link.offer_in_fragments(now, size, largest, packet);
        queue.set_time(link, hop.link.next_delivery().unwrap_or(NEVER));
        match offer {
            Offer::Accepted => Forwarded::OnTheWay(link),
            Offer::Dropped(reason) => Forwarded::Dropped(link, reason),
        }
    }

    /// Tells the event queue when `link` delivers next.
    #[inline]
    pub(crate) fn reschedule_link(&self, link: usize, queue: &mut EventQueue) {
        queue.set_time(link, self.links[link].link.next_delivery().unwrap_or(NEVER));
    }

    /// Takes a watched packet's number that was destroyed since the last call.
    pub(crate) fn take_destroyed(&self) -> Option<u64> {
        self.destroyed.as_ref()?.borrow_mut().pop()
    }

    /// The number of the link with this name.
    pub(crate) fn link_named(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|hop| hop.name == name)
    }

    /// The links of all routes with this name, each once.
    pub(crate) fn links_of_path(&self, name: &str) -> Vec<usize> {
        let routes = self.routes.iter().filter(|route| route.name == name);
        let mut links: Vec<_> = routes.flat_map(|route| self.links_of(route)).collect();
        links.sort_unstable();
        links.dedup();
        links
    }

    fn links_of(&self, route: &Route) -> impl Iterator<Item = usize> + '_ {
        self.ways.iter().skip(route.way as usize).map_while(|link| *link)
    }

    pub(crate) fn set_up(&mut self, now: Nanos, link: usize, up: bool, queue: &mut EventQueue) {
        if let Some(hop) = self.links.get_mut(link) {
            hop.link.set_up(now, up);
            self.reschedule_link(link, queue);
        }
    }

    /// Forgets the counters so far.
    pub(crate) fn restart_counters(&mut self, now: Nanos) {
        for hop in &mut self.links {
            hop.settled = hop.stats(now);
            hop.waits.clear();
        }
    }

    /// Notes how long a packet would wait on each link.
    pub(crate) fn take_sample(&mut self, now: Nanos) {
        for hop in &mut self.links {
            hop.waits.push(hop.link.backlog_time(now));
        }
    }

    pub(crate) fn link_results(&self, now: Nanos) -> Vec<LinkResult> {
        let result = |hop: &Hop| LinkResult {
            wait_p95: percentile_95(&hop.waits),
            ..LinkResult::since(hop.name.clone(), &hop.stats(now), &hop.settled)
        };
        self.links.iter().map(result).collect()
    }
}

/// The least value that 95 % of them do not exceed.
fn percentile_95(values: &[Nanos]) -> Option<Nanos> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let place = (sorted.len() * 95).div_ceil(100).checked_sub(1)?;
    sorted.get(place).copied()
}

/// Bytes of a packet of `size` bytes that IP cuts for a link that carries `mtu`, all headers of
/// `header` bytes included, and of the largest fragment.
fn fragment_sizes(size: u32, header: u32, mtu: u32) -> (u32, u32) {
    if size <= mtu || mtu <= header {
        return (size, size);
    }
    let payload = size - header;
    let count = payload.div_ceil(mtu - header);
    (payload + count * header, mtu)
}

impl Hop {
    fn stats(&self, now: Nanos) -> LinkStats {
        LinkStats { busy: self.link.busy_time(now), ..*self.link.stats() }
    }
}

/// What became of a packet that was moved on.
#[derive(Debug)]
pub(crate) enum Forwarded {
    /// It is at its destination.
    Arrived(Box<Packet>),
    /// It is on this link.
    OnTheWay(usize),
    /// It is gone.
    Dropped(usize, DropReason),
}
