//! Captures of a run as pcapng: one interface per path and direction, at the host that sends.

use std::collections::VecDeque;
use std::io::Write;

use polypath_capture::pcapng::{
    Direction, InterfaceId, IpFramer, PacketOptions, PcapngWriter, Route, UdpPorts, WriteError,
};
use polypath_link::{DropReason, Nanos};

use crate::observer::{Observer, RouteInfo, SentPacket};

/// Writes every packet of a run, in the order in which they were sent. Packets that links drop say
/// so in a comment; therefore a packet is written once its fate is known.
#[derive(Debug)]
pub struct Pcap<W> {
    writer: PcapngWriter<W>,
    routes: Vec<(InterfaceId, RouteInfo)>,
    framer: IpFramer,
    waiting: VecDeque<Waiting>,
    /// Number of the first packet that waits.
    first: u64,
    spare: Vec<Vec<u8>>,
    error: Option<WriteError>,
}

#[derive(Debug)]
struct Waiting {
    at: Nanos,
    interface: Option<InterfaceId>,
    data: Vec<u8>,
    fate: Fate,
}

#[derive(Debug)]
enum Fate {
    OnTheWay,
    Delivered,
    Dropped(String),
}

impl<W: Write> Pcap<W> {
    /// Begins a capture file.
    ///
    /// # Errors
    /// When the output fails.
    pub fn new(out: W) -> Result<Self, WriteError> {
        Ok(Self {
            writer: PcapngWriter::new(out, concat!("polypath ", env!("CARGO_PKG_VERSION")))?,
            routes: Vec::new(),
            framer: IpFramer::default(),
            waiting: VecDeque::new(),
            first: 0,
            spare: Vec::new(),
            error: None,
        })
    }

    /// Writes what is left and gives back the output.
    ///
    /// # Errors
    /// The first error of the whole capture.
    pub fn finish(mut self) -> Result<W, WriteError> {
        while let Some(packet) = self.waiting.pop_front() {
            self.write_packet(packet);
        }
        match self.error {
            Some(error) => Err(error),
            None => self.writer.finish(),
        }
    }

    fn decide_fate(&mut self, id: u64, fate: Fate) {
        let place = id.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        if let Some(packet) = place.and_then(|place| self.waiting.get_mut(place)) {
            packet.fate = fate;
        }
        let decided = |packet: &Waiting| !matches!(packet.fate, Fate::OnTheWay);
        while self.waiting.front().is_some_and(decided) {
            let packet = self.waiting.pop_front();
            self.first += 1;
            packet.into_iter().for_each(|packet| self.write_packet(packet));
        }
    }

    fn write_packet(&mut self, packet: Waiting) {
        let comment = match &packet.fate {
            Fate::OnTheWay => Some("still on its way at the end of the run"),
            Fate::Delivered => None,
            Fate::Dropped(comment) => Some(comment.as_str()),
        };
        let direction = Some(Direction::Outbound);
        let options = PacketOptions { direction, comment, ..PacketOptions::default() };
        if let (Some(interface), None) = (packet.interface, &self.error) {
            self.error = self.writer.add_packet(interface, packet.at, &packet.data, options).err();
        }
        self.spare.push(packet.data);
    }
}

impl<W: Write> Observer for Pcap<W> {
    fn started(&mut self, routes: &[RouteInfo]) {
        for route in routes {
            let name = format!("{} {} to {}", route.path, route.from_host, route.to_host);
            let description = format!("{} to {}", route.from, route.to);
            match self.writer.add_interface(&name, &description, 0) {
                Ok(interface) => self.routes.push((interface, route.clone())),
                Err(error) => self.error = Some(error),
            }
        }
    }

    fn packet_sent(&mut self, packet: &SentPacket<'_>) {
        let mut data = self.spare.pop().unwrap_or_default();
        let known = self.routes.get(packet.route);
        let interface = known.and_then(|(interface, route)| {
            let udp = packet.udp.map(|(source, destination)| UdpPorts { source, destination });
            let route = Route { udp, ..Route::new(route.from, route.to) };
            self.framer.frame_packet(&route, packet.data, &mut data).ok().map(|()| *interface)
        });
        self.waiting.push_back(Waiting { at: packet.at, interface, data, fate: Fate::OnTheWay });
    }

    fn packet_delivered(&mut self, _at: Nanos, id: u64) {
        self.decide_fate(id, Fate::Delivered);
    }

    fn packet_dropped(&mut self, _at: Nanos, id: u64, link: &str, reason: DropReason) {
        let reason = match reason {
            DropReason::Loss => "random loss",
            DropReason::BitError => "bit error",
            DropReason::QueueFull => "queue full",
            DropReason::Red => "random early detection",
            DropReason::Down => "link down",
            DropReason::TooLarge => "larger than the link carries",
        };
        self.decide_fate(id, Fate::Dropped(format!("dropped by link {link}: {reason}")));
    }
}
