//! The world: everything that happens, in the order in which it happens.

use polypath_link::{DropReason, Nanos, NatVerdict};
use polypath_proto::endpoint::IcmpReport;
use polypath_proto::time::Time;
use polypath_proto::{Association, Endpoint, FourTuple};

use crate::app::AppIo;
use crate::check::SpecError;
use crate::cross::Source;
use crate::end::Side;
use crate::event_queue::{EventQueue, NEVER};
use crate::flow::Flow;
use crate::host::{Host, hosts_with_ports, route_infos};
use crate::nat::Boxes;
use crate::network::{Forwarded, Network, Packet};
use crate::observer::{Observer, SentPacket, TraceSource};
use crate::report::flow_result;
use crate::results::RunResult;
use crate::scheduled_actions::{ScheduledAction, ScheduledActions};
use crate::slots::{Slot, Slots};
use crate::spec::WorldSpec;

/// A running simulation.
pub struct World<'o> {
    now: Nanos,
    seed: u64,
    events_due: EventQueue,
    slots: Slots,
    network: Network,
    boxes: Boxes,
    hosts: Vec<Host>,
    flows: Vec<Flow>,
    actions: ScheduledActions,
    cross: Vec<Source>,
    observer: Option<&'o mut dyn Observer>,
    sample_every: Option<Nanos>,
    settle_at: Nanos,
    end: Nanos,
    /// End once as many finite flows are over.
    finite_flows: Option<usize>,
    finished: bool,
    packets: u64,
    unroutable: u64,
    events: u64,
}

impl<'o> World<'o> {
    /// Builds the world at time 0.
    ///
    /// # Errors
    /// What [`WorldSpec::check`] finds.
    pub fn new(
        spec: &WorldSpec,
        seed: u64,
        observer: Option<&'o mut dyn Observer>,
    ) -> Result<Self, SpecError> {
        spec.check()?;
        let mut network = Network::new(spec, seed);
        if observer.is_some() {
            network.watch_packets();
        }
        let flows = build_flows(spec, seed, &network, observer.is_some());
        let cross: Vec<_> = spec.cross.iter().map(|cross| Source::new(cross, seed)).collect();
        let (links, ends) = (network.link_count(), 2 * flows.len());
        let slots = Slots { links, ends, cross: cross.len() };
        let finite = flows.iter().filter(|flow| flow.is_finite()).count();
        let mut world = Self {
            now: 0,
            seed,
            events_due: EventQueue::new(slots.slot_count()),
            slots,
            hosts: hosts_with_ports(&spec.topology, &flows),
            actions: ScheduledActions::new(&spec.actions, &spec.flows, &network),
            network,
            boxes: Boxes::new(&spec.topology.nats, seed),
            flows,
            cross,
            observer,
            sample_every: spec.sample_every,
            settle_at: spec.time.settle,
            end: spec.time.settle.saturating_add(spec.time.measure),
            finite_flows: Some(finite).filter(|&n| n > 0 && spec.time.stop_when_done),
            finished: false,
            packets: 0,
            unroutable: 0,
            events: 0,
        };
        world.schedule_start();
        Ok(world)
    }

    /// The present, ns.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// When the run ends at the latest, ns.
    #[must_use]
    pub fn end(&self) -> Nanos {
        self.end
    }

    /// The part of the run that is done, from 0 to 1; 1 once it is over.
    #[must_use]
    pub fn progress(&self) -> f64 {
        if self.finished { 1.0 } else { self.now as f64 / self.end.max(1) as f64 }
    }

    /// Whether the run is over.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Processes one event; false when the run is over.
    pub fn step(&mut self) -> bool {
        self.step_until(self.end)
    }

    /// Processes all events up to and including `time`, or until the run is over.
    pub fn run_until(&mut self, time: Nanos) {
        let time = time.min(self.end);
        while self.step_until(time) {}
        if !self.finished {
            self.now = self.now.max(time);
            self.finished = self.now >= self.end;
        }
    }

    /// Takes all links of a path, or the link of this name if there is no such path, down or up.
    /// False if there is neither.
    pub fn set_up(&mut self, name: &str, up: bool) -> bool {
        let mut links = self.network.links_of_path(name);
        if links.is_empty() {
            links.extend(self.network.link_named(name));
        }
        let found = !links.is_empty();
        self.carry_out(ScheduledAction::Links(links, up));
        found
    }

    /// Hands the endpoint of one side of a flow to `f`, then lets it act and send.
    pub fn with_endpoint<T>(
        &mut self,
        flow: usize,
        side: Side,
        f: impl FnOnce(Time, &mut Endpoint) -> T,
    ) -> Option<T> {
        let now = Time(self.now);
        let result = f(now, &mut self.flows.get_mut(flow)?.end_mut(side).endpoint);
        self.serve_side(flow, side, false);
        Some(result)
    }

    /// The endpoint of one side of a flow.
    #[must_use]
    pub fn endpoint(&self, flow: usize, side: Side) -> Option<&Endpoint> {
        self.flows.get(flow).map(|flow| &flow.end(side).endpoint)
    }

    /// The results up to now.
    #[must_use]
    pub fn result(&self) -> RunResult {
        let measured = self.now.saturating_sub(self.settle_at);
        let routes = self.network.routes();
        let flow = |flow| flow_result(flow, routes, self.now, measured);
        RunResult {
            seed: self.seed,
            end: self.now,
            measured,
            flows: self.flows.iter().map(flow).collect(),
            links: self.network.link_results(self.now),
            cross: self.cross.iter().map(Source::result).collect(),
            nats: self.boxes.nat_results(),
            packets: self.packets,
            unroutable: self.unroutable,
            events: self.events,
        }
    }

    fn schedule_start(&mut self) {
        let routes = route_infos(&self.network, &self.hosts);
        if let Some(observer) = &mut self.observer {
            observer.started(&routes);
        }
        self.events_due.set_time(self.slots.settle_slot(), self.settle_at);
        self.events_due
            .set_time(self.slots.actions_slot(), self.actions.next_at().unwrap_or(NEVER));
        if self.sample_every.is_some() {
            self.events_due.set_time(self.slots.sample_slot(), 0);
        }
        for flow in 0..self.flows.len() {
            self.reschedule_side(flow, Side::Client);
        }
        for (n, source) in self.cross.iter().enumerate() {
            self.events_due.set_time(self.slots.cross_slot(n), source.next_at().unwrap_or(NEVER));
        }
    }

    #[inline]
    fn step_until(&mut self, time: Nanos) -> bool {
        let Some((at, slot)) = self.events_due.next_event().filter(|&(at, _)| at <= time) else {
            return false;
        };
        if self.finished {
            return false;
        }
        self.now = self.now.max(at);
        self.events += 1;
        self.handle_slot(slot);
        !self.finished
    }

    #[inline]
    fn handle_slot(&mut self, slot: usize) {
        match self.slots.owner_of(slot) {
            Slot::Link(link) => self.take_off_link(link),
            Slot::Timer(flow, side) => {
                let now = Time(self.now);
                self.flows[flow].end_mut(side).endpoint.handle_timeout(now);
                self.serve_side(flow, side, false);
            }
            Slot::App(flow, side) => self.serve_side(flow, side, true),
            Slot::Cross(source) => self.send_cross_traffic(source),
            Slot::Settle => {
                self.events_due.set_time(slot, NEVER);
                self.network.restart_counters(self.now);
                self.cross.iter_mut().for_each(Source::restart_counters);
                self.flows.iter_mut().for_each(|flow| flow.restart_measuring(self.now));
            }
            Slot::Actions => {
                while let Some(action) = self.actions.take_due(self.now) {
                    self.carry_out(action);
                }
                self.events_due.set_time(slot, self.actions.next_at().unwrap_or(NEVER));
            }
            Slot::Sample => {
                self.flows.iter_mut().for_each(|flow| flow.take_sample(self.now));
                self.network.take_sample(self.now);
                let next = self.sample_every.map(|every| self.now.saturating_add(every));
                self.events_due.set_time(slot, next.unwrap_or(NEVER));
            }
        }
    }

    /// Lets a source of cross traffic send what is due.
    fn send_cross_traffic(&mut self, n: usize) {
        let Some(source) = self.cross.get_mut(n) else { return };
        let mut packet = self.network.blank_packet();
        self.network.address_cross(&mut packet, n as u32, source.packet_bytes());
        source.note_sent();
        self.events_due.set_time(self.slots.cross_slot(n), source.next_at().unwrap_or(NEVER));
        self.forward_packet(packet);
    }

    /// Takes off a link what has arrived at its end.
    fn take_off_link(&mut self, link: usize) {
        while let Some(packet) = self.network.poll_arrival(self.now, link) {
            self.forward_packet(packet);
        }
        self.report_destroyed(link, None);
        self.network.reschedule_link(link, &mut self.events_due);
    }

    #[inline]
    fn forward_packet(&mut self, packet: Box<Packet>) {
        match self.network.forward_packet(self.now, packet, &mut self.events_due) {
            Forwarded::Arrived(packet) => self.hand_to_host(packet),
            Forwarded::OnTheWay(link) => self.report_destroyed(link, None),
            Forwarded::Dropped(link, reason) => self.report_destroyed(link, Some(reason)),
        }
    }

    fn hand_to_host(&mut self, mut packet: Box<Packet>) {
        if let (Some(id), Some(observer)) = (packet.arrived(), &mut self.observer) {
            observer.packet_delivered(self.now, id);
        }
        if let Some(source) = self.network.cross_source(&packet) {
            if let Some(source) = self.cross.get_mut(source) {
                source.counts.delivered += 1;
            }
            return self.network.recycle_packet(packet);
        }
        let host = self.network.routes()[packet.route as usize].to_host as usize;
        if let Some((flow, side)) = self.hosts[host].owner_of_port(&packet) {
            let end = self.flows[flow].end_mut(side);
            let route = &self.network.routes()[packet.route as usize];
            let mut tuple = end.arrival_tuple(route);
            if let Some(number) = route.nat {
                let Some(mapped) = self.boxes.translate_outbound(self.now, number, &tuple) else {
                    return self.network.recycle_packet(packet);
                };
                tuple.remote = mapped;
            }
            end.endpoint.handle_datagram(Time(self.now), tuple, &packet.data);
            self.serve_side(flow, side, false);
        }
        self.network.recycle_packet(packet);
    }

    /// Lets one side of a flow act on what happened, and sends what it has to send.
    fn serve_side(&mut self, flow: usize, side: Side, woken: bool) {
        let was_done = self.flows[flow].is_done();
        self.flows[flow].act_on_news(self.now, side, woken);
        self.transmit_packets(flow, side);
        self.flows[flow].measure_side(self.now, side);
        self.hand_out_trace(flow, side);
        self.reschedule_side(flow, side);
        if !was_done && self.flows[flow].is_done() && self.flows[flow].is_finite() {
            self.note_done();
        }
    }

    fn transmit_packets(&mut self, flow: usize, side: Side) {
        loop {
            let mut packet = self.network.blank_packet();
            let end = self.flows[flow].end_mut(side);
            let Some(transmit) = end.endpoint.poll_transmit(Time(self.now), &mut packet.data)
            else {
                return self.network.recycle_packet(packet);
            };
            let (route, udp) = (end.route_of(&transmit), end.udp_ports());
            let route = route.or_else(|| self.let_in(flow, side, &transmit.tuple, &packet.data));
            self.packets += 1;
            match route {
                Some(route) => self.send_on_route(packet, route, udp, transmit.may_fragment),
                None => {
                    self.unroutable += 1;
                    self.network.recycle_packet(packet);
                }
            }
        }
    }

    /// The route of a packet to the external address of a box, if that lets it in; who sends it
    /// hears that the port is unreachable where boxes say so.
    #[cold]
    fn let_in(&mut self, flow: usize, side: Side, tuple: &FourTuple, data: &[u8]) -> Option<u32> {
        match self.boxes.translate_inbound(self.now, tuple)? {
            NatVerdict::Inside(inside) => self.network.route_between(tuple.local.ip(), inside.ip()),
            NatVerdict::Dropped(_) => None,
            NatVerdict::Unreachable(_) => {
                let (now, endpoint) =
                    (Time(self.now), &mut self.flows[flow].end_mut(side).endpoint);
                endpoint.handle_icmp(now, *tuple, data, IcmpReport::PortUnreachable);
                None
            }
        }
    }

    #[inline]
    fn send_on_route(
        &mut self,
        mut packet: Box<Packet>,
        route: u32,
        udp: Option<(u16, u16)>,
        may_fragment: bool,
    ) {
        self.network.put_on_route(&mut packet, route, udp.is_some(), may_fragment);
        if let Some(observer) = &mut self.observer {
            let id = self.network.number_packet(&mut packet);
            observer.packet_sent(&SentPacket {
                at: self.now,
                id,
                route: route as usize,
                udp,
                data: &packet.data,
            });
        }
        self.forward_packet(packet);
    }

    fn hand_out_trace(&mut self, flow: usize, side: Side) {
        let Some(observer) = &mut self.observer else { return };
        let flow = &mut self.flows[flow];
        if !flow.traced {
            return;
        }
        let (name, end) = (flow.name.clone(), flow.end_mut(side));
        let host = self.hosts.get(end.host).map_or("", |host| &host.name);
        for record in end.assoc_mut().map(Association::take_trace).unwrap_or_default() {
            observer.trace(TraceSource { flow: &name, host }, &record);
        }
    }

    #[inline]
    fn reschedule_side(&mut self, flow: usize, side: Side) {
        let at = &self.flows[flow];
        let timeout = at.end(side).endpoint.poll_timeout().map_or(NEVER, Time::as_nanos);
        self.events_due.set_time(self.slots.timer_slot(flow, side), timeout);
        self.events_due.set_time(self.slots.app_slot(flow, side), at.next_wakeup(self.now, side));
    }

    fn note_done(&mut self) {
        if let Some(left) = &mut self.finite_flows {
            *left = left.saturating_sub(1);
            self.finished |= *left == 0;
        }
    }

    fn carry_out(&mut self, action: ScheduledAction) {
        match action {
            ScheduledAction::Links(links, up) => {
                for link in links {
                    self.network.set_up(self.now, link, up, &mut self.events_due);
                    self.report_destroyed(link, None);
                }
            }
            ScheduledAction::PathAdmin(flow, path, admin) => {
                let (now, end) = (Time(self.now), &mut self.flows[flow].client);
                end.assoc_mut()
                    .into_iter()
                    .for_each(|assoc| assoc.set_path_admin(now, path, admin));
                self.serve_side(flow, Side::Client, false);
            }
            ScheduledAction::Shutdown(flow) => self.stop_flow(flow, |io| io.shutdown()),
            ScheduledAction::Abort(flow) => self.stop_flow(flow, |io| io.abort()),
        }
    }

    fn stop_flow(&mut self, flow: usize, close: fn(&mut AppIo<'_>)) {
        self.flows[flow].stop_app(self.now, close);
        self.serve_side(flow, Side::Client, false);
    }

    /// Tells the observer what a link destroyed: the latest packet for `reason`, and all others
    /// because the link went down.
    #[inline]
    fn report_destroyed(&mut self, link: usize, reason: Option<DropReason>) {
        if self.observer.is_some() {
            self.report_destroyed_now(link, reason.unwrap_or(DropReason::Down));
        }
    }

    fn report_destroyed_now(&mut self, link: usize, mut reason: DropReason) {
        let Some(observer) = &mut self.observer else { return };
        while let Some(id) = self.network.take_destroyed() {
            observer.packet_dropped(self.now, id, self.network.link_name(link), reason);
            reason = DropReason::Down;
        }
    }

    pub(crate) fn report_progress(&mut self) {
        let progress = self.progress();
        if let Some(observer) = &mut self.observer {
            observer.progress(progress);
        }
    }
}

impl core::fmt::Debug for World<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("World")
            .field("now", &self.now)
            .field("seed", &self.seed)
            .field("flows", &self.flows)
            .finish_non_exhaustive()
    }
}

fn build_flows(spec: &WorldSpec, seed: u64, network: &Network, observed: bool) -> Vec<Flow> {
    let host = |address| spec.topology.host_of(address).unwrap_or(0);
    let flow = |flow: &crate::spec::FlowSpec| {
        let hosts = flow.paths.first().map_or([0, 0], |path| [host(path.0), host(path.1)]);
        Flow::new(flow, seed, hosts, network.routes(), observed)
    };
    spec.flows.iter().map(flow).collect()
}
