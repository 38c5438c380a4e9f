//! The links and the frames on them, without I/O: told the time, frames in, frames out.

use std::net::IpAddr;

use polypath_link::{Change, Link, LinkConfig, LinkSeed, LinkStats, Nanos, NatChange, Offer};

use crate::frame::Frame;
use crate::nat::{Arrival, Boxes, NatCounters};
use crate::spec::{CrossSpec, NetworkSpec};

/// All links, and the ways over them.
#[derive(Debug)]
pub(crate) struct Fabric {
    hops: Vec<Hop>,
    routes: Vec<Route>,
    cross: Vec<Cross>,
    boxes: Boxes,
    /// How many interfaces the client has: they are the first.
    clients: usize,
    overhead: u32,
    unrouted: u64,
    vanished: u64,
}

/// A frame that has crossed all its links.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// Number of the interface that it goes to, the client's first.
    pub(crate) port: usize,
    /// When it should have been there.
    pub(crate) due: Nanos,
    pub(crate) frame: Frame,
}

#[derive(Debug)]
struct Route {
    from: IpAddr,
    to: IpAddr,
    /// Numbers of the interfaces that have these addresses.
    entry: usize,
    exit: usize,
    links: Vec<usize>,
    vanish_above: u32,
}

#[derive(Debug)]
struct Hop {
    config: LinkConfig,
    seed: LinkSeed,
    link: Link<Load>,
    /// The latest time that the link has seen: frames of another interface may have come before it.
    clock: Nanos,
    due: Nanos,
}

#[derive(Debug)]
enum Load {
    Frame {
        frame: Frame,
        route: usize,
        /// Position of the next link in the route.
        next: usize,
    },
    Cross,
}

/// A source of cross traffic, and its next packet.
#[derive(Debug)]
struct Cross {
    spec: CrossSpec,
    next: Option<(Nanos, u32)>,
}

/// No time at all.
const NEVER: Nanos = Nanos::MAX;

impl Fabric {
    /// The network of a checked specification, at rest: links keep their first settings until
    /// [`Self::start_experiment`].
    pub(crate) fn new(spec: NetworkSpec) -> Self {
        let interfaces = spec.client.interfaces.iter().chain(&spec.server.interfaces);
        let owners: Vec<_> = interfaces.map(|interface| interface.addresses.clone()).collect();
        let port = |address| owners.iter().position(|own| own.contains(&address)).unwrap_or(0);
        let route = |spec: crate::spec::RouteSpec| Route {
            from: spec.from,
            to: spec.to,
            entry: port(spec.from),
            exit: port(spec.to),
            links: spec.links,
            vanish_above: spec.vanish_above.unwrap_or(u32::MAX),
        };
        let mut fabric = Self {
            hops: spec.links.into_iter().map(|link| Hop::new(link.config, link.seed)).collect(),
            routes: spec.routes.into_iter().map(route).collect(),
            cross: spec.cross.into_iter().map(|spec| Cross { spec, next: None }).collect(),
            boxes: Boxes::new(spec.nats),
            clients: spec.client.interfaces.len(),
            overhead: spec.frame_overhead,
            unrouted: 0,
            vanished: 0,
        };
        fabric.stop_experiment();
        fabric
    }

    /// Empties all links and begins their schedules, and the cross traffic, at time 0.
    pub(crate) fn start_experiment(&mut self) {
        self.hops.iter_mut().for_each(|hop| hop.replace_link(hop.config.clone()));
        self.cross.iter_mut().for_each(Cross::advance_packet);
        self.boxes.start_schedules();
        (self.unrouted, self.vanished) = (0, 0);
    }

    /// Empties all links, takes what is random or changes from them, and switches boxes off.
    pub(crate) fn stop_experiment(&mut self) {
        self.boxes.switch_off();
        self.hops.iter_mut().for_each(|hop| hop.replace_link(steady_config(&hop.config)));
    }

    /// A frame comes in from an interface. Gives it back if it goes nowhere, as it does if it comes
    /// from another interface than that of its source.
    pub(crate) fn enter_frame(
        &mut self,
        at: Nanos,
        port: usize,
        mut frame: Frame,
        out: &mut Vec<Delivery>,
    ) -> Option<Frame> {
        self.boxes.apply_due(at);
        let hidden = frame.addresses().is_some_and(|(_, to)| self.boxes.hides_address(to));
        if port >= self.clients && !hidden {
            match self.boxes.translate_arriving(at, frame.packet_mut()) {
                Arrival::Onward => {}
                Arrival::Dropped => return Some(frame),
                Arrival::Answered(packet) => {
                    out.push(Delivery { port, due: at, frame: frame.with_packet(&packet) });
                    return Some(frame);
                }
            }
        }
        let route = self.route_from(port, &frame).filter(|_| port < self.clients || !hidden);
        let Some(route) = route else {
            self.unrouted += 1;
            return Some(frame);
        };
        if frame.ip_bytes() > self.routes[route].vanish_above {
            self.vanished += 1;
            return Some(frame);
        }
        self.forward_load(at, Load::Frame { frame, route, next: 0 }, out);
        None
    }

    /// The number of the route that a frame from this interface takes.
    pub(crate) fn route_of(&self, at: Nanos, port: usize, frame: &Frame) -> Option<usize> {
        let (from, to) = frame.addresses()?;
        if port >= self.clients && self.boxes.is_external(to) {
            let inside = self.boxes.look_up(at, frame.packet())?;
            return self.find_route(port, (from, inside));
        }
        let hidden = port >= self.clients && self.boxes.hides_address(to);
        self.route_from(port, frame).filter(|_| !hidden)
    }

    /// The route of a frame whose addresses are those inside. What a client sends to a box goes up
    /// to its own.
    fn route_from(&self, port: usize, frame: &Frame) -> Option<usize> {
        let (from, to) = frame.addresses()?;
        if port < self.clients && self.boxes.is_external(to) && self.boxes.hides_address(from) {
            return self.routes.iter().position(|route| route.entry == port && route.from == from);
        }
        self.find_route(port, (from, to))
    }

    /// When [`Self::advance_frames`] has something to do.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        let crossing = self.cross.iter().map(Cross::next_due);
        let due = self.hops.iter().map(|hop| hop.due).chain(crossing).min();
        due.filter(|&due| due != NEVER)
    }

    /// Moves on all frames that are due by `now`, the earliest first.
    pub(crate) fn advance_frames(&mut self, now: Nanos, out: &mut Vec<Delivery>) {
        while let Some(due) = self.next_due().filter(|&due| due <= now) {
            self.send_cross(due);
            for hop in 0..self.hops.len() {
                if self.hops[hop].due == due {
                    self.take_arrivals(hop, due, out);
                }
            }
        }
    }

    /// Changes a link from `now` on.
    pub(crate) fn change_link(&mut self, now: Nanos, link: usize, change: Change) {
        if let Some(hop) = self.hops.get_mut(link) {
            hop.change_link(now, change);
        }
    }

    /// Changes a box now.
    pub(crate) fn change_nat(&mut self, number: usize, change: NatChange) {
        self.boxes.change_box(number, change);
    }

    /// What each box has counted since the start.
    pub(crate) fn nat_counters(&self) -> Vec<(String, NatCounters)> {
        self.boxes.counters()
    }

    pub(crate) fn link_stats(&self) -> Vec<LinkStats> {
        self.hops.iter().map(|hop| *hop.link.stats()).collect()
    }

    /// Frames without a route since the start; neighbour discovery and the like count, too.
    pub(crate) fn unrouted_frames(&self) -> u64 {
        self.unrouted
    }

    /// Frames above the size that their route lets through.
    pub(crate) fn oversized_frames(&self) -> u64 {
        self.vanished
    }

    fn find_route(&self, entry: usize, (from, to): (IpAddr, IpAddr)) -> Option<usize> {
        let fits = |route: &Route| route.entry == entry && route.to == to && route.from == from;
        self.routes.iter().position(fits)
    }

    fn take_arrivals(&mut self, hop: usize, due: Nanos, out: &mut Vec<Delivery>) {
        let load = self.hops[hop].poll_arrival(due);
        match load {
            Some(load @ Load::Frame { .. }) => self.forward_load(due, load, out),
            Some(Load::Cross) | None => {}
        }
    }

    fn forward_load(&mut self, at: Nanos, load: Load, out: &mut Vec<Delivery>) {
        let Load::Frame { frame, route, next } = load else { return };
        let Some(&link) = self.routes[route].links.get(next) else {
            return self.deliver_frame(at, frame, route, out);
        };
        let size = frame.ip_bytes() + self.overhead;
        self.hops[link].offer_load(at, size, Load::Frame { frame, route, next: next + 1 });
    }

    /// A frame is at the end of its route: at its host, or at the box that its client is behind.
    fn deliver_frame(
        &mut self,
        at: Nanos,
        mut frame: Frame,
        route: usize,
        out: &mut Vec<Delivery>,
    ) {
        let Route { entry, exit, .. } = self.routes[route];
        self.boxes.apply_due(at);
        if entry >= self.clients {
            return out.push(Delivery { port: exit, due: at, frame });
        }
        if !self.boxes.translate_leaving(at, frame.packet_mut()) {
            return;
        }
        if frame.addresses().is_some_and(|(_, to)| self.boxes.is_external(to)) {
            return self.turn_hairpin(at, frame, out);
        }
        out.push(Delivery { port: exit, due: at, frame });
    }

    /// A frame to an external address of a box, be it the same (hairpin, RFC 4787 section 6), goes
    /// down the links of whom it is for. If it is not let in it vanishes, even where boxes answer.
    fn turn_hairpin(&mut self, at: Nanos, mut frame: Frame, out: &mut Vec<Delivery>) {
        if self.boxes.translate_arriving(at, frame.packet_mut()) != Arrival::Onward {
            return;
        }
        let inside = frame.addresses().map(|(_, to)| to);
        let back = |route: &Route| route.entry >= self.clients && Some(route.to) == inside;
        if let Some(route) = self.routes.iter().position(back) {
            self.forward_load(at, Load::Frame { frame, route, next: 0 }, out);
        }
    }

    fn send_cross(&mut self, due: Nanos) {
        for cross in &mut self.cross {
            while let Some((at, size)) = cross.next.filter(|(at, _)| *at <= due) {
                self.hops[cross.spec.link].offer_load(at, size, Load::Cross);
                cross.advance_packet();
            }
        }
    }
}

/// The same link without what is random or changes, to be measured.
pub(crate) fn steady_config(config: &LinkConfig) -> LinkConfig {
    LinkConfig { jitter: None, loss: Vec::new(), schedule: Vec::new(), ..config.clone() }
}

impl Hop {
    fn new(config: LinkConfig, seed: LinkSeed) -> Self {
        let link = Link::new(config.clone(), seed);
        Self { config, seed, link, clock: 0, due: NEVER }
    }

    fn replace_link(&mut self, config: LinkConfig) {
        self.link = Link::new(config, self.seed);
        (self.clock, self.due) = (0, NEVER);
    }

    fn offer_load(&mut self, at: Nanos, size: u32, load: Load) {
        self.clock = self.clock.max(at);
        // What is dropped is counted by the link.
        let (Offer::Accepted | Offer::Dropped(_)) = self.link.offer_packet(self.clock, size, load);
        self.note_due();
    }

    fn poll_arrival(&mut self, at: Nanos) -> Option<Load> {
        self.clock = self.clock.max(at);
        let load = self.link.poll_arrival(self.clock);
        self.note_due();
        load
    }

    fn change_link(&mut self, now: Nanos, change: Change) {
        self.clock = self.clock.max(now);
        match change {
            Change::Up(up) => self.link.set_up(self.clock, up),
            Change::Rate(rate) => self.link.set_rate(self.clock, rate),
            Change::Delay(delay) => self.link.set_delay(self.clock, delay),
            Change::Loss(models) => self.link.set_loss(self.clock, models),
        }
        self.note_due();
    }

    fn note_due(&mut self) {
        self.due = self.link.next_delivery().unwrap_or(NEVER);
    }
}

impl Cross {
    fn next_due(&self) -> Nanos {
        self.next.map_or(NEVER, |(at, _)| at)
    }

    fn advance_packet(&mut self) {
        self.next = self.spec.packets.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::ipv4;
    use crate::spec::tests::one_path;

    const MS: Nanos = 1_000_000;

    fn slow() -> LinkConfig {
        LinkConfig { rate: Some(8_000_000), delay: 10 * MS, ..LinkConfig::default() }
    }

    fn there(bytes: usize) -> Frame {
        ipv4([10, 0, 1, 1], [10, 0, 1, 2], bytes)
    }

    fn arrivals(fabric: &mut Fabric, until: Nanos) -> Vec<(usize, Nanos)> {
        let mut out = Vec::new();
        fabric.advance_frames(until, &mut out);
        out.iter().map(|delivery| (delivery.port, delivery.due)).collect()
    }

    #[test]
    fn frames_take_the_time_of_their_link_and_leave_at_the_other_host() {
        let mut fabric = Fabric::new(one_path(&slow()));
        let mut out = Vec::new();
        assert!(fabric.enter_frame(0, 0, there(1000), &mut out).is_none());
        assert!(fabric.enter_frame(0, 0, there(500), &mut out).is_none());
        assert_eq!(fabric.next_due(), Some(11 * MS));
        // However late the call is, frames are due when they are.
        assert_eq!(arrivals(&mut fabric, 50 * MS), [(1, 11 * MS), (1, 11 * MS + MS / 2)]);
        assert_eq!(fabric.next_due(), None);
        assert!(out.is_empty());
    }

    #[test]
    fn overhead_counts_on_links() {
        let spec = NetworkSpec { frame_overhead: 14, ..one_path(&slow()) };
        let mut fabric = Fabric::new(spec);
        assert!(fabric.enter_frame(0, 0, there(986), &mut Vec::new()).is_none());
        assert_eq!(arrivals(&mut fabric, 50 * MS), [(1, 11 * MS)]);
    }

    #[test]
    fn a_route_crosses_its_links_one_after_another() {
        let mut spec = one_path(&slow());
        spec.routes[0].links = vec![0, 1];
        let mut fabric = Fabric::new(spec);
        assert!(fabric.enter_frame(0, 0, there(1000), &mut Vec::new()).is_none());
        assert_eq!(arrivals(&mut fabric, 50 * MS), [(1, 22 * MS)]);
    }

    #[test]
    fn frames_that_go_nowhere_come_back() {
        let mut spec = one_path(&slow());
        spec.routes[0].vanish_above = Some(1300);
        let mut fabric = Fabric::new(spec);
        let mut out = Vec::new();
        assert!(
            fabric.enter_frame(0, 0, ipv4([10, 0, 1, 1], [10, 0, 9, 9], 50), &mut out).is_some()
        );
        assert!(fabric.enter_frame(0, 1, there(50), &mut out).is_some());
        assert_eq!(fabric.unrouted_frames(), 2);
        assert!(fabric.enter_frame(0, 0, there(1301), &mut out).is_some());
        assert!(fabric.enter_frame(0, 0, there(1300), &mut out).is_none());
        assert_eq!(fabric.oversized_frames(), 1);
    }

    #[test]
    fn schedules_and_losses_wait_for_the_start() {
        let schedule = vec![(5 * MS, Change::Up(false))];
        let loss = vec![polypath_link::LossModel::Scripted(vec![0])];
        let mut fabric = Fabric::new(one_path(&LinkConfig { schedule, loss, ..slow() }));
        let mut out = Vec::new();
        assert!(fabric.enter_frame(0, 0, there(1000), &mut out).is_none());
        assert_eq!(arrivals(&mut fabric, 50 * MS).len(), 1);
        fabric.start_experiment();
        assert!(fabric.enter_frame(0, 0, there(1000), &mut out).is_none());
        assert!(fabric.enter_frame(0, 0, there(1000), &mut out).is_none());
        assert!(fabric.enter_frame(6 * MS, 0, there(1000), &mut out).is_none());
        assert_eq!(arrivals(&mut fabric, 50 * MS), []);
        let dropped = fabric.link_stats()[0].dropped;
        assert_eq!((dropped.loss, dropped.down), (1, 2));
    }

    #[test]
    fn cross_traffic_takes_its_share_and_leaves() {
        let mut spec = one_path(&slow());
        let packets = Box::new([(0, 1000), (MS, 1000)].into_iter());
        spec.cross = vec![CrossSpec { link: 0, packets }];
        let mut fabric = Fabric::new(spec);
        fabric.start_experiment();
        let mut out = Vec::new();
        fabric.advance_frames(0, &mut out);
        assert!(fabric.enter_frame(0, 0, there(1000), &mut out).is_none());
        assert_eq!(arrivals(&mut fabric, 50 * MS), [(1, 12 * MS)]);
        assert_eq!(fabric.link_stats()[0].delivered, 3);
    }

    #[test]
    fn a_cut_takes_effect_at_once_and_ends() {
        let mut fabric = Fabric::new(one_path(&slow()));
        let mut out = Vec::new();
        assert!(fabric.enter_frame(0, 0, there(1000), &mut out).is_none());
        fabric.change_link(5 * MS, 0, Change::Up(false));
        assert_eq!(arrivals(&mut fabric, 20 * MS), []);
        fabric.change_link(20 * MS, 0, Change::Up(true));
        assert!(fabric.enter_frame(20 * MS, 0, there(1000), &mut out).is_none());
        assert_eq!(arrivals(&mut fabric, 50 * MS), [(1, 31 * MS)]);
    }
}
