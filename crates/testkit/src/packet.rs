//! Packets made by hand: well-formed ones from chunks, and the same with every lie a peer could
//! tell.

use std::fmt::Write as _;

use polypath_wire::checksum::packet_checksum;
use polypath_wire::{
    COMMON_HEADER_LEN, ChecksumCheck, Chunk, ChunkBuf, CommonHeader, DataFlags, EncodeChunk,
    GapBlocks, PacketView, RawChunk,
};

/// A packet under construction.
#[derive(Clone, Debug)]
pub struct PacketBuilder {
    bytes: Vec<u8>,
}

impl PacketBuilder {
    /// A packet without chunks, from one SCTP port to another.
    pub fn new(from: u16, to: u16, tag: u32) -> Self {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(&from.to_be_bytes());
        bytes.extend_from_slice(&to.to_be_bytes());
        bytes.extend_from_slice(&tag.to_be_bytes());
        bytes.extend_from_slice(&[0; 4]);
        Self { bytes }
    }

    /// Appends a chunk with its padding. There is no limit: a packet may be as large as a datagram.
    #[must_use]
    pub fn push_chunk(mut self, chunk: &impl EncodeChunk) -> Self {
        ChunkBuf::new(chunk).encode(&mut self.bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// Appends a chunk of any type; its length field is right.
    #[must_use]
    pub fn push_raw(self, kind: u8, flags: u8, value: &[u8]) -> Self {
        let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
        self.push_lying(kind, flags, length, value)
    }

    /// Appends a chunk that claims to be `length` bytes long.
    #[must_use]
    pub fn push_lying(mut self, kind: u8, flags: u8, length: u16, value: &[u8]) -> Self {
        let [high, low] = length.to_be_bytes();
        self.bytes.extend_from_slice(&[kind, flags, high, low]);
        self.bytes.extend_from_slice(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// The packet with its checksum.
    pub fn build(mut self) -> Vec<u8> {
        reseal_checksum(&mut self.bytes);
        self.bytes
    }
}

/// Makes the checksum right again.
pub fn reseal_checksum(packet: &mut [u8]) {
    let crc = packet_checksum(packet).to_le_bytes();
    if let Some(field) = packet.get_mut(8..COMMON_HEADER_LEN) {
        field.copy_from_slice(&crc);
    }
}

/// The common header, whatever the checksum says.
pub fn read_header(packet: &[u8]) -> Option<CommonHeader> {
    PacketView::parse(packet, ChecksumCheck::Skip).ok().map(|p| p.header())
}

/// Whether some chunk of the packet is of type `kind`.
pub fn has_chunk(packet: &[u8], kind: u8) -> bool {
    raw_chunks(packet).any(|chunk| chunk.kind == kind)
}

/// The chunks that can be told apart.
pub fn raw_chunks(packet: &[u8]) -> impl Iterator<Item = RawChunk<'_>> {
    let view = PacketView::parse(packet, ChecksumCheck::Skip);
    view.into_iter().flat_map(|view| view.chunks().flatten())
}

/// The packet in one line, for people.
pub fn render_packet(packet: &[u8]) -> String {
    let mut line = String::new();
    let Some(header) = read_header(packet) else {
        return format!("{} bytes that are no packet", packet.len());
    };
    let (from, to, tag) = (header.source_port, header.destination_port, header.verification_tag);
    // Writing to a string cannot fail.
    let _ = write!(line, "{from}>{to} tag {tag:08x}:");
    for raw in raw_chunks(packet) {
        let _ = match raw.decode() {
            Ok(chunk) => write!(line, " {};", describe_chunk(&raw, &chunk)),
            Err(error) => write!(line, " type {} malformed ({error});", raw.kind),
        };
    }
    line
}

fn describe_chunk(raw: &RawChunk<'_>, chunk: &Chunk<'_>) -> String {
    match chunk {
        Chunk::Data(d) => {
            let (tsn, sid, ssn, len) = (d.tsn, d.stream, d.ssn, d.payload.len());
            format!("DATA {tsn} s{sid}#{ssn} {} {len}B", describe_flags(d.flags))
        }
        Chunk::IData(d) => {
            let (tsn, sid, len) = (d.tsn, d.stream, d.payload.len());
            format!("I-DATA {tsn} s{sid}#{}.{} {} {len}B", d.mid, d.fsn(), describe_flags(d.flags))
        }
        Chunk::Sack(s) => {
            let (cum, rwnd, dups) = (s.cumulative_tsn, s.a_rwnd, s.duplicates.len());
            format!("SACK {cum} rwnd {rwnd}{} dups {dups}", describe_blocks(s.gap_blocks))
        }
        Chunk::NrSack(s) => {
            let (cum, rwnd, dups) = (s.cumulative_tsn, s.a_rwnd, s.duplicates.len());
            let (gaps, nr) = (describe_blocks(s.gap_blocks), describe_blocks(s.nr_gap_blocks));
            format!("NR-SACK {cum} rwnd {rwnd}{gaps} nr{nr} dups {dups}")
        }
        Chunk::Init(c) => format!("INIT tag {:08x}", c.fixed.initiate_tag),
        Chunk::InitAck(c) => format!("INIT-ACK tag {:08x}", c.fixed.initiate_tag),
        Chunk::Shutdown(c) => format!("SHUTDOWN {}", c.cumulative_tsn),
        Chunk::Abort(c) => {
            format!(
                "ABORT{} causes {:?}",
                if c.reflected { " T" } else { "" },
                cause_codes(c.causes)
            )
        }
        Chunk::Error(c) => format!("ERROR causes {:?}", cause_codes(c.causes)),
        Chunk::ShutdownComplete { reflected } => {
            format!("SHUTDOWN-COMPLETE{}", if *reflected { " T" } else { "" })
        }
        Chunk::Heartbeat(_) => "HEARTBEAT".to_owned(),
        Chunk::HeartbeatAck(_) => "HEARTBEAT-ACK".to_owned(),
        Chunk::CookieEcho(_) => "COOKIE-ECHO".to_owned(),
        Chunk::CookieAck => "COOKIE-ACK".to_owned(),
        Chunk::ShutdownAck => "SHUTDOWN-ACK".to_owned(),
        _ => format!("type {} {}B", raw.kind, raw.bytes().len()),
    }
}

fn describe_flags(flags: DataFlags) -> String {
    let bits = [
        (flags.unordered, "U"),
        (flags.beginning, "B"),
        (flags.ending, "E"),
        (flags.immediate, "I"),
    ];
    bits.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect()
}

fn cause_codes(causes: polypath_wire::Causes<'_>) -> Vec<u16> {
    causes.iter().flatten().map(|cause| cause.code).collect()
}

fn describe_blocks(gaps: GapBlocks<'_>) -> String {
    const SHOWN: usize = 6;
    let mut text: String =
        gaps.iter().take(SHOWN).map(|gap| format!(" +{}-{}", gap.start, gap.end)).collect();
    if gaps.len() > SHOWN {
        let _ = write!(text, " (and {} more)", gaps.len() - SHOWN);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_wire::{ShutdownChunk, Tsn};

    #[test]
    fn built_packets_decode_and_render() {
        let bytes = PacketBuilder::new(1, 2, 3)
            .push_chunk(&ShutdownChunk { cumulative_tsn: Tsn(7) })
            .push_raw(0x40, 0, b"abc")
            .build();
        assert!(PacketView::parse(&bytes, ChecksumCheck::Verify).is_ok());
        let line = render_packet(&bytes);
        assert!(line.starts_with("1>2 tag 00000003: SHUTDOWN 7; type 64 malformed"), "{line}");
        assert!(has_chunk(&bytes, 0x40) && !has_chunk(&bytes, 0));
    }
}
