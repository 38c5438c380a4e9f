//! Authenticated packets made by hand, from what was seen of the handshake: RFC 4895 written a
//! second time.

use hmac::{Hmac, KeyInit, Mac};
use polypath_wire::{ChecksumCheck, ChecksumMode, PacketView, PacketWriter, RawChunk};
use sha2::Sha256;

use super::packet::Packet;

/// Type of DATA.
pub const DATA: u8 = 0;
/// Type of AUTH.
pub const AUTH: u8 = 15;
/// Type of HEARTBEAT.
pub const HEARTBEAT: u8 = 4;
/// Type of HEARTBEAT ACK.
pub const HEARTBEAT_ACK: u8 = 5;
/// Type of ASCONF.
pub const ASCONF: u8 = 0xc1;
/// Type of ASCONF-ACK.
pub const ASCONF_ACK: u8 = 0x80;

/// What both sides said in INIT and INIT ACK.
#[derive(Clone, Debug)]
pub struct Overheard {
    vectors: [Vec<u8>; 2],
}

/// The AUTH parameters of an INIT or INIT ACK, without padding, in the order of the keys.
pub fn key_vector(packet: &Packet) -> Vec<u8> {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).expect("valid");
    let raw = view.chunks().next().expect("a chunk").expect("valid");
    let mut rest = &raw.value[16..];
    let mut found = [const { Vec::new() }; 3];
    while rest.len() >= 4 {
        let kind = u16::from_be_bytes([rest[0], rest[1]]);
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        if (0x8002..=0x8004).contains(&kind) {
            found[usize::from(kind - 0x8002)] = rest[..len].to_vec();
        }
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    found.concat()
}

impl Overheard {
    /// From the packets of the handshake.
    pub fn new(init: &Packet, init_ack: &Packet) -> Self {
        Self { vectors: [key_vector(init), key_vector(init_ack)] }
    }

    fn derive_key(&self, secret: &[u8]) -> Vec<u8> {
        let [a, b] = &self.vectors;
        // Both begin with the same non-zero byte: longer is larger.
        let swapped = (a.len(), a) > (b.len(), b);
        let (low, high) = if swapped { (b, a) } else { (a, b) };
        [secret, low, high].concat()
    }

    /// `from -> to`: a packet whose chunks, but for those in front, are authenticated with SHA-256.
    pub fn authenticated_packet(
        &self,
        ports: (u16, u16),
        tag: u32,
        key: (u16, &[u8]),
        chunks: &[&dyn Fn(&mut PacketWriter<'_>)],
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = PacketWriter::new(&mut out, 60_000, ports.0, ports.1, tag);
        let mut auth = vec![AUTH, 0, 0, 40];
        auth.extend_from_slice(&key.0.to_be_bytes());
        auth.extend_from_slice(&[0, 3]);
        auth.extend_from_slice(&[0; 32]);
        writer.insert(0, &Bytes(&auth));
        chunks.iter().for_each(|push| push(&mut writer));
        let mut mac: Hmac<Sha256> =
            Hmac::new_from_slice(&self.derive_key(key.1)).expect("any length");
        mac.update(writer.chunk_area());
        let tag: [u8; 32] = mac.finalize().into_bytes().into();
        writer.chunk_area_mut()[8..40].copy_from_slice(&tag);
        writer.finish(ChecksumMode::Crc32c);
        out
    }
}

/// Bytes as a chunk.
#[derive(Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl polypath_wire::EncodeChunk for Bytes<'_> {
    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }
}

/// The packet again, with a correct checksum, after `change` had its way with the bytes.
pub fn tamper_with(data: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut data = data.to_vec();
    change(&mut data);
    reseal_checksum(&data)
}

fn reseal_checksum(data: &[u8]) -> Vec<u8> {
    let word = |at: usize| u16::from_be_bytes([data[at], data[at + 1]]);
    let tag = u32::from_be_bytes([data[4], data[5], data[6], data[7]]);
    let mut out = Vec::new();
    let mut writer = PacketWriter::new(&mut out, 60_000, word(0), word(2), tag);
    writer.insert(0, &Bytes(&data[12..]));
    writer.finish(ChecksumMode::Crc32c);
    out
}

/// The chunks of a packet, by their bytes.
pub fn split_chunks(packet: &Packet) -> Vec<Vec<u8>> {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).expect("valid");
    let bytes = |raw: RawChunk<'_>| raw.bytes().to_vec();
    view.chunks().map(|raw| bytes(raw.expect("valid"))).collect()
}
