//! Who watches a run: captures, traces, progress bars.

use std::net::IpAddr;

use polypath_link::{DropReason, Nanos};
use polypath_proto::trace::TraceRecord;

/// Watches a run. Every method does nothing unless it is overridden; without an observer a run pays
/// nothing.
pub trait Observer {
    /// The world is built.
    fn started(&mut self, _routes: &[RouteInfo]) {}

    /// An endpoint sent a packet. Packets are numbered from 0 in this order.
    fn packet_sent(&mut self, _packet: &SentPacket<'_>) {}

    /// Packet `id` arrived at its host.
    fn packet_delivered(&mut self, _at: Nanos, _id: u64) {}

    /// Packet `id` was dropped by the link of this name.
    fn packet_dropped(&mut self, _at: Nanos, _id: u64, _link: &str, _reason: DropReason) {}

    /// An association of a traced flow recorded something.
    fn trace(&mut self, _source: TraceSource<'_>, _record: &TraceRecord) {}

    /// About this part of the run is done, from 0 to 1; called about a hundred times by
    /// [`run`](crate::run).
    fn progress(&mut self, _fraction: f64) {}
}

/// A route, as observers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteInfo {
    /// Name of the path.
    pub path: String,
    /// Source host.
    pub from_host: String,
    /// Source address.
    pub from: IpAddr,
    /// Destination host.
    pub to_host: String,
    /// Destination address.
    pub to: IpAddr,
}

/// A packet at the host that sends it, before its first link.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket<'a> {
    /// When, ns.
    pub at: Nanos,
    /// Its number.
    pub id: u64,
    /// Its route, by position in [`Observer::started`].
    pub route: usize,
    /// UDP source and destination port, if it is encapsulated.
    pub udp: Option<(u16, u16)>,
    /// The SCTP packet, from its common header on.
    pub data: &'a [u8],
}

/// Where a trace record comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceSource<'a> {
    /// Name of the flow.
    pub flow: &'a str,
    /// Name of the host.
    pub host: &'a str,
}

/// Both watch.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn started(&mut self, routes: &[RouteInfo]) {
        self.0.started(routes);
        self.1.started(routes);
    }

    fn packet_sent(&mut self, packet: &SentPacket<'_>) {
        self.0.packet_sent(packet);
        self.1.packet_sent(packet);
    }

    fn packet_delivered(&mut self, at: Nanos, id: u64) {
        self.0.packet_delivered(at, id);
        self.1.packet_delivered(at, id);
    }

    fn packet_dropped(&mut self, at: Nanos, id: u64, link: &str, reason: DropReason) {
        self.0.packet_dropped(at, id, link, reason);
        self.1.packet_dropped(at, id, link, reason);
    }

    fn trace(&mut self, source: TraceSource<'_>, record: &TraceRecord) {
        self.0.trace(source, record);
        self.1.trace(source, record);
    }

    fn progress(&mut self, fraction: f64) {
        self.0.progress(fraction);
        self.1.progress(fraction);
    }
}

/// Watches if it is there.
impl<A: Observer> Observer for Option<A> {
    fn started(&mut self, routes: &[RouteInfo]) {
        self.iter_mut().for_each(|observer| observer.started(routes));
    }

    fn packet_sent(&mut self, packet: &SentPacket<'_>) {
        self.iter_mut().for_each(|observer| observer.packet_sent(packet));
    }

    fn packet_delivered(&mut self, at: Nanos, id: u64) {
        self.iter_mut().for_each(|observer| observer.packet_delivered(at, id));
    }

    fn packet_dropped(&mut self, at: Nanos, id: u64, link: &str, reason: DropReason) {
        self.iter_mut().for_each(|observer| observer.packet_dropped(at, id, link, reason));
    }

    fn trace(&mut self, source: TraceSource<'_>, record: &TraceRecord) {
        self.iter_mut().for_each(|observer| observer.trace(source, record));
    }

    fn progress(&mut self, fraction: f64) {
        self.iter_mut().for_each(|observer| observer.progress(fraction));
    }
}
