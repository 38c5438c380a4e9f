//! What messages cost: bytes on the wire, room in the buffers.

use polypath_proto::config::{Encapsulation, SackPath};
use polypath_proto::protection::OVERHEAD;
use polypath_sim::spec::{AppSpec, FlowSpec, MessageSpec};

use super::model::{NoLimit, SackRoute};

const COMMON_HEADER: f64 = 12.0;
const DATA_HEADER: f64 = 16.0;
/// An NR-SACK with four gap blocks, without the headers before it: what stands in a SACK varies,
/// and a block more or less moves no limit by more than a tenth of a per cent.
const SACK_CHUNK: f64 = 36.0;

/// How a flow's messages travel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sending {
    /// Payload bits per bit on the wire, at best.
    pub(super) efficiency: f64,
    /// Bits of a full packet.
    pub(super) packet: f64,
    /// Bits of a SACK's packet.
    pub(super) sack: f64,
    /// Payload bits that the buffers of both ends admit.
    pub(super) buffer: f64,
    /// The way of the SACKs.
    pub(super) route: SackRoute,
}

impl Sending {
    /// For messages of so many bytes. `None`: the buffers hold none.
    pub(super) fn for_message(flow: &FlowSpec, message: u32) -> Option<Self> {
        let ip = if flow.paths.first()?.0.is_ipv4() { 20.0 } else { 40.0 };
        let udp = if flow.encapsulation == Encapsulation::Udp { 8.0 } else { 0.0 };
        let (client, server) = (&flow.client.assoc, &flow.server.assoc);
        let record = if client.protection.is_some() { OVERHEAD as f64 } else { 0.0 };
        let headers = ip + udp + COMMON_HEADER + record;
        let (mtu, message) = (f64::from(client.path_mtu), f64::from(message));
        let wire = Wire::for_message(message, mtu, headers)?;
        let charge = f64::from(client.reproduction.chunk_charge);
        let buffer =
            payload_room(message, wire.chunks, charge, server.receive_buffer, client.send_buffer);
        (buffer > 0.0).then_some(Self {
            efficiency: wire.payload / wire.bytes,
            packet: 8.0 * wire.packet,
            sack: 8.0 * (headers + SACK_CHUNK),
            buffer: 8.0 * buffer,
            route: match server.sack.path {
                SackPath::LastData | SackPath::FirstData => SackRoute::Own,
                // Round robin may choose any path with new data, so at best the fastest.
                SackPath::SmallestSrtt | SackPath::RoundRobin => SackRoute::Fastest,
                SackPath::Primary => SackRoute::Primary,
            },
        })
    }
}

/// Payload bytes that fit both buffers. The send buffer holds whole messages; the receive window
/// holds whole chunks, each with its charge.
fn payload_room(message: f64, chunks: f64, charge: f64, receive: u32, send: u64) -> f64 {
    let whole = |bytes: f64, each: f64| (bytes / each).floor();
    let receive = f64::from(receive);
    let received = if chunks > 1.0 {
        // Parts of a message count; without rounding this is never too small.
        receive * message / (message + chunks * charge)
    } else {
        whole(receive, message + charge) * message
    };
    (whole(send as f64, message) * message).min(received)
}

/// Packets that carry messages with the fewest headers.
struct Wire {
    /// Payload bytes of a group of packets.
    payload: f64,
    /// Its bytes on the wire.
    bytes: f64,
    /// Bytes of its greatest packet.
    packet: f64,
    /// DATA chunks per message.
    chunks: f64,
}

impl Wire {
    fn for_message(message: f64, mtu: f64, headers: f64) -> Option<Self> {
        let padded = |bytes: f64| (bytes / 4.0).ceil() * 4.0;
        let chunk_room = ((mtu - headers) / 4.0).floor() * 4.0;
        let chunk = DATA_HEADER + padded(message);
        let bundled = (chunk_room / chunk).floor();
        if bundled >= 1.0 {
            let bytes = headers + bundled * chunk;
            return Some(Self { payload: bundled * message, bytes, packet: bytes, chunks: 1.0 });
        }
        let part = chunk_room - DATA_HEADER;
        (part > 0.0).then(|| {
            let full = (message / part).floor();
            let rest = message - full * part;
            let last = if rest > 0.0 { headers + DATA_HEADER + padded(rest) } else { 0.0 };
            let packet = headers + chunk_room;
            let chunks = (message / part).ceil();
            Self { payload: message, bytes: full * packet + last, packet, chunks }
        })
    }
}

/// How the flow sends, if it always has something to send.
pub(super) fn model_sending(flow: &FlowSpec) -> Result<Sending, NoLimit> {
    let messages: &MessageSpec = match &flow.app {
        AppSpec::Saturated { messages, .. } => messages,
        AppSpec::File { .. }
        | AppSpec::ConstantRate { .. }
        | AppSpec::OnOff { .. }
        | AppSpec::RequestResponse { .. } => return Err(NoLimit::NotSaturated(flow.name.clone())),
    };
    if flow.reader.rate.is_some() || !flow.reader.pauses.is_empty() {
        return Err(NoLimit::SlowReader(flow.name.clone()));
    }
    if messages.most_bytes.is_some() {
        return Err(NoLimit::SizesVary(flow.name.clone()));
    }
    Sending::for_message(flow, messages.bytes).ok_or_else(|| NoLimit::NoRoom(flow.name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_usual_size_fill_a_packet() {
        let wire = Wire::for_message(1452.0, 1500.0, 32.0).unwrap();
        assert_eq!((wire.payload, wire.bytes, wire.chunks), (1452.0, 1500.0, 1.0));
        assert_eq!(wire.packet, 1500.0);
    }

    #[test]
    fn small_messages_share_packets() {
        // 32 + 12 * (16 + 104) = 1472; a thirteenth does not fit.
        let wire = Wire::for_message(101.0, 1500.0, 32.0).unwrap();
        assert_eq!((wire.payload, wire.bytes), (12.0 * 101.0, 1472.0));
    }

    #[test]
    fn large_messages_are_cut() {
        // Over IPv6 a chunk has room for 1432 bytes: 1452 = 1432 + 20, packets of 1500 and 52 + 16
        // + 20 bytes.
        let wire = Wire::for_message(1452.0, 1500.0, 52.0).unwrap();
        assert_eq!((wire.bytes, wire.chunks, wire.packet), (1588.0, 2.0, 1500.0));
        let even = Wire::for_message(2864.0, 1500.0, 52.0).unwrap();
        assert_eq!((even.bytes, even.chunks), (3000.0, 2.0));
        assert!(Wire::for_message(10.0, 60.0, 52.0).is_none());
    }

    #[test]
    fn buffers_hold_whole_messages_and_their_charges() {
        // 65,536 / 1452 = 45.1; with 256 bytes charged, 65,536 / 1708 = 38.4.
        assert_eq!(payload_room(1452.0, 1.0, 0.0, 65_536, u64::MAX), 45.0 * 1452.0);
        assert_eq!(payload_room(1452.0, 1.0, 256.0, 65_536, 65_536), 38.0 * 1452.0);
        assert_eq!(payload_room(1452.0, 1.0, 0.0, 65_536, 3000), 2904.0);
        assert_eq!(payload_room(1452.0, 1.0, 0.0, 65_536, 1000), 0.0);
        assert_eq!(payload_room(3000.0, 3.0, 0.0, 65_536, u64::MAX), 65_536.0);
    }
}
