//! What data waited for in a run, by what the simulator knows and a trace does not: which packets
//! were dropped, which path each took, and how long each would have taken without queue or jitter.
//!
//! It follows the definitions of `polypath-why` and shares no code with it. It knows ordered
//! messages of one chunk each, from client to server, over paths that do not change.

use std::collections::{BTreeMap, BTreeSet};

use polypath_capture::trace::TraceWriter;
use polypath_link::DropReason;
use polypath_proto::trace::{Fate, TraceEvent, TraceRecord};
use polypath_run::world_spec;
use polypath_scenario::{App, Direction, Scenario};
use polypath_sim::Observer;
use polypath_sim::observer::{RouteInfo, SentPacket, TraceSource};
use polypath_why::Cause;

/// Byte-nanoseconds by path and cause.
pub(crate) type Charged = BTreeMap<(u8, Cause), u128>;

/// Whether the oracle knows all there is in this network.
pub(crate) fn knows(scenario: &Scenario) -> bool {
    let links = || scenario.path.values().chain(scenario.link.values());
    let flow = &scenario.flow[0];
    let message = flow.message_most.or(flow.message).map_or(1452, |size| size.0);
    links().all(|link| link.edge.is_none() && link.one_way(Direction::Forward).rate.is_some())
        && scenario.at.is_empty()
        && scenario.every.is_empty()
        && scenario.nat.is_empty()
        && scenario.flow.len() == 1
        && flow.beside.is_empty()
        && !matches!(flow.app, App::Request)
        && flow.direction != Some(Direction::Reverse)
        && flow.unordered != Some(true)
        && flow.reliability.is_none()
        && message <= 1_200
}

const SECOND: u64 = 1_000_000_000;

/// A packet with data.
#[derive(Clone, Copy, Debug)]
struct Packet {
    path: u8,
    sent: u64,
    /// How long it would have taken with the path for itself.
    alone: u64,
    arrived: Option<u64>,
}

/// A chunk at the receiver.
#[derive(Clone, Copy, Debug)]
struct Stay {
    bytes: u64,
    path: u8,
    from: u64,
    deliverable: Option<u64>,
    taken: Option<u64>,
}

/// Watches a run.
pub(crate) struct Oracle<'a> {
    scenario: &'a Scenario,
    routes: Vec<RouteInfo>,
    /// Names of paths, in the order in which the association counts them.
    paths: Vec<String>,
    packets: BTreeMap<u64, Packet>,
    /// Packets by when they were sent.
    sent_at: BTreeMap<u64, Vec<u64>>,
    /// The packets of each TSN.
    of: BTreeMap<u32, Vec<u64>>,
    streams: BTreeMap<u32, u16>,
    lost: BTreeMap<u32, Vec<u64>>,
    /// The packet that arrived last.
    latest: u64,
    stays: BTreeMap<u32, Stay>,
    end: u64,
    /// It met what it does not know.
    lost_track: bool,
}

/// Runs the scenario; gives what it waited for and its trace. `None`: the oracle lost track.
pub(crate) fn judge(scenario: &Scenario) -> Option<(Charged, Vec<u8>)> {
    let spec = world_spec(scenario, true).expect("a world");
    let all = || scenario.path_names().map(str::to_owned).collect();
    let oracle = Oracle {
        scenario,
        routes: Vec::new(),
        paths: scenario.flow[0].paths.clone().unwrap_or_else(all),
        packets: BTreeMap::new(),
        sent_at: BTreeMap::new(),
        of: BTreeMap::new(),
        streams: BTreeMap::new(),
        lost: BTreeMap::new(),
        latest: 0,
        stays: BTreeMap::new(),
        end: 0,
        lost_track: false,
    };
    let mut watching = (oracle, TraceWriter::new(Vec::new()));
    polypath_sim::run(&spec, scenario.seeds.first, Some(&mut watching)).expect("a run");
    let (oracle, writer) = watching;
    let file = writer.finish().expect("memory");
    (!oracle.lost_track).then(|| (oracle.charge_all(), file))
}

impl Observer for Oracle<'_> {
    fn started(&mut self, routes: &[RouteInfo]) {
        self.routes = routes.to_vec();
    }

    fn packet_sent(&mut self, packet: &SentPacket<'_>) {
        let Some(route) = self.routes.get(packet.route).filter(|r| r.from_host == "client") else {
            return;
        };
        let tsns = tsns_in(packet.data);
        let number = self.paths.iter().position(|name| *name == route.path);
        let Some(path) = number.filter(|_| !tsns.is_empty()) else { return };
        let bytes = packet.data.len() as u64 + if packet.udp.is_some() { 28 } else { 20 };
        let path_name = self.routes[packet.route].path.clone();
        let alone = self.alone(&path_name, bytes);
        let path = path as u8;
        self.packets.insert(packet.id, Packet { path, sent: packet.at, alone, arrived: None });
        self.sent_at.entry(packet.at).or_default().push(packet.id);
        for tsn in tsns {
            self.of.entry(tsn).or_default().push(packet.id);
        }
    }

    fn packet_delivered(&mut self, at: u64, id: u64) {
        self.latest = id;
        if let Some(packet) = self.packets.get_mut(&id) {
            packet.arrived = Some(at);
        }
    }

    fn packet_dropped(&mut self, _at: u64, id: u64, _link: &str, _reason: DropReason) {
        if let Some(packet) = self.packets.get_mut(&id) {
            packet.arrived = None;
        }
    }

    fn trace(&mut self, source: TraceSource<'_>, record: &TraceRecord) {
        let at = record.at.as_nanos();
        match (source.host, &record.event) {
            ("client", TraceEvent::Sent { tsn, stream, .. }) => {
                self.streams.insert(*tsn, stream.0.0);
            }
            ("client", TraceEvent::ChunkLost { tsn, .. }) => {
                self.lost.entry(*tsn).or_default().push(at);
            }
            ("server", event) => {
                self.end = at;
                self.receive(at, event);
            }
            _ => {}
        }
    }
}

impl Oracle<'_> {
    fn receive(&mut self, at: u64, event: &TraceEvent) {
        match *event {
            TraceEvent::Arrived { tsn, bytes, begins, ends, fate, .. } => {
                self.lost_track |= !(begins && ends && matches!(fate, Fate::New | Fate::Duplicate));
                if fate == Fate::New {
                    let path = self.packets.get(&self.latest).map_or(0, |packet| packet.path);
                    let bytes = bytes.into();
                    let stay = Stay { bytes, path, from: at, deliverable: None, taken: None };
                    self.stays.insert(tsn, stay);
                }
            }
            TraceEvent::Deliverable { tsn, .. } => {
                if let Some(stay) = self.stays.get_mut(&tsn) {
                    stay.deliverable = Some(at);
                }
            }
            TraceEvent::Taken { tsn, .. } => {
                if let Some(stay) = self.stays.get_mut(&tsn) {
                    stay.taken = Some(at);
                }
            }
            TraceEvent::Reneged { .. } => self.lost_track = true,
            _ => {}
        }
    }

    /// How long a packet takes over the links of a path that carry nothing else.
    fn alone(&self, path: &str, bytes: u64) -> u64 {
        let links = self.scenario.links_of(path);
        let of = |name: &&str| self.scenario.path.get(*name).or(self.scenario.link.get(*name));
        let links = links.iter().filter_map(of).map(|link| link.one_way(Direction::Forward));
        let one = |link: polypath_scenario::LinkSettings| {
            let rate = link.rate.map_or(u64::MAX, |rate| rate.0).max(1);
            link.delay.map_or(0, |delay| delay.0) + bytes * 8_000_000_000 / rate
        };
        links.map(one).sum()
    }

    fn charge_all(&self) -> Charged {
        let mut charged = Charged::new();
        // Of each stream: the TSN of what arrived last so far, in the order of TSNs.
        let mut latest: BTreeMap<u16, (u64, u32)> = BTreeMap::new();
        for (tsn, stream) in &self.streams {
            let came = self.stays.get(tsn).map_or(u64::MAX, |stay| stay.from);
            if let Some(stay) = self.stays.get(tsn) {
                self.charge(stay, latest.get(stream).copied(), &mut charged);
            }
            let last = latest.entry(*stream).or_insert((came, *tsn));
            *last = (*last).max((came, *tsn));
        }
        charged
    }

    /// `last`: when the last of what comes before it in its stream arrived, and its TSN.
    fn charge(&self, stay: &Stay, last: Option<(u64, u32)>, charged: &mut Charged) {
        let gone = stay.taken.unwrap_or(self.end);
        let ready = stay.deliverable.unwrap_or(self.end);
        let key = (stay.path, Cause::Application);
        *charged.entry(key).or_default() += u128::from(gone - ready) * u128::from(stay.bytes);
        let mut from = stay.from;
        let Some((came, missing)) = last.filter(|(came, _)| *came > from) else { return };
        for (end, path, cause) in self.life_of(missing) {
            let end = end.min(came).min(ready);
            if end > from {
                let time = u128::from(end - from) * u128::from(stay.bytes);
                *charged.entry((path, cause)).or_default() += time;
                from = end;
            }
        }
    }

    fn life_of(&self, tsn: u32) -> Vec<(u64, u8, Cause)> {
        let packets = self.of.get(&tsn).into_iter().flatten();
        let packets: Vec<Packet> = packets.filter_map(|id| self.packets.get(id)).copied().collect();
        let mut steps = Vec::new();
        let mut owed =
            packets.first().map_or((0, Cause::Window), |one| (one.path, Cause::Reordering));
        for (at, packet) in packets.iter().enumerate() {
            steps.push((packet.sent + packet.alone, owed.0, owed.1));
            if let Some(arrived) = packet.arrived {
                steps.push((arrived, packet.path, Cause::Queue));
                break;
            }
            let again = packets.get(at + 1).map_or(u64::MAX, |next| next.sent);
            let due = packet.sent + self.nearest_delay(packet);
            steps.push((due.min(again), packet.path, Cause::Queue));
            let lost = self.lost.get(&tsn).into_iter().flatten();
            let noticed = lost.copied().find(|lost| *lost > packet.sent);
            steps.push((noticed.unwrap_or(again).min(again), packet.path, Cause::Loss));
            if let Some(next) = packets.get(at + 1) {
                steps.push((next.sent, next.path, Cause::Sender));
            }
            owed = (packet.path, Cause::Loss);
        }
        steps.push((u64::MAX, owed.0, owed.1));
        steps
    }

    /// Packets have numbers in the order in which they are sent.
    fn packets_sent_near(&self, at: u64) -> impl Iterator<Item = &Packet> {
        let near = self.sent_at.range(at.saturating_sub(SECOND)..at.saturating_add(SECOND));
        near.flat_map(|(_, ids)| ids).filter_map(|id| self.packets.get(id))
    }

    /// What the packets around it on its path took.
    fn nearest_delay(&self, packet: &Packet) -> u64 {
        let distance = |other: &Packet| other.sent.abs_diff(packet.sent);
        let near = self.packets_sent_near(packet.sent).filter(|other| {
            other.path == packet.path && other.arrived.is_some() && distance(other) < SECOND
        });
        let nearest = near.min_by_key(|other| (distance(other), other.arrived));
        let delay = nearest.and_then(|other| Some(other.arrived? - other.sent));
        delay.unwrap_or(0).max(packet.alone)
    }
}

/// TSNs of DATA and I-DATA in a packet.
fn tsns_in(packet: &[u8]) -> BTreeSet<u32> {
    let mut rest = packet.get(12..).unwrap_or_default();
    let mut tsns = BTreeSet::new();
    while let [kind, _, high, low, tail @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low])).max(4);
        if let (0 | 64, Some(tsn)) = (*kind, tail.first_chunk()) {
            tsns.insert(u32::from_be_bytes(*tsn));
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    tsns
}
