//! A peer that authenticates its packets (RFC 4895), from what was said in the handshake: written a
//! second time.

use hmac::{Hmac, KeyInit, Mac};
use polypath_proto::config::{AssocConfig, ExtensionConfig};
use polypath_testkit::packet::{PacketBuilder, raw_chunks, reseal_checksum};
use polypath_testkit::scripted_peer::ScriptedPeer;
use polypath_wire::chunk::kind;
use polypath_wire::{ItemsBuf, Parameter, ParamsBuf};
use sha2::Sha256;

/// SHA-256, as HMAC identifiers go.
const SHA_256: u16 = 3;
/// Bytes of an AUTH chunk with it.
pub(crate) const AUTH_LEN: usize = 40;

const RANDOM: [u8; 32] = [0x5a; 32];

/// An association whose addresses may change.
pub(crate) fn config() -> AssocConfig {
    let mut extensions = ExtensionConfig::NONE;
    (extensions.authentication, extensions.dynamic_addresses) = (true, true);
    AssocConfig { extensions, ..super::quiet() }
}

/// What an INIT says to that end.
pub(crate) fn params(random: &[u8], extensions: &[u8]) -> ParamsBuf {
    let ids: ItemsBuf<u16, 2> = [SHA_256, 1].into_iter().collect();
    let chunks = [kind::ASCONF, kind::ASCONF_ACK];
    let mut params = ParamsBuf::new();
    params.push(&Parameter::Random(random));
    params.push(&Parameter::ChunkList(&chunks));
    params.push(&Parameter::HmacAlgorithms(ids.as_items()));
    params.push(&Parameter::SupportedExtensions(extensions));
    params
}

/// A peer that may change its addresses.
pub(crate) fn connect() -> ScriptedPeer {
    let extensions = [kind::AUTH, kind::ASCONF, kind::ASCONF_ACK];
    ScriptedPeer::connect_with(config(), 1, params(&RANDOM, &extensions))
}

/// The AUTH parameters of an INIT or INIT ACK, without padding, in the order of the keys (RFC 4895
/// section 6.1).
fn key_vector(packet: &[u8]) -> Vec<u8> {
    let raw = raw_chunks(packet).next().expect("a chunk");
    let mut rest = &raw.value[16..];
    let mut found = [const { Vec::new() }; 3];
    while rest.len() >= 4 {
        let kind = u16::from_be_bytes([rest[0], rest[1]]);
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        if let Some(slot) = found.get_mut(usize::from(kind.wrapping_sub(0x8002))) {
            *slot = rest[..len].to_vec();
        }
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    found.concat()
}

/// A packet of the peer whose chunks (their bytes) stand behind an AUTH chunk with the empty key.
pub(crate) fn authentic(p: &ScriptedPeer, chunks: &[u8]) -> Vec<u8> {
    let mut packet = PacketBuilder::new(5000, 5001, p.tag).build();
    let mut auth = vec![kind::AUTH, 0, 0, AUTH_LEN as u8, 0, 0, 0, SHA_256 as u8];
    auth.extend_from_slice(&[0; 32]);
    auth.extend_from_slice(chunks);
    let [a, b] = [&p.handshake[0], &p.handshake[1]].map(|packet| key_vector(packet));
    let swapped = (a.len(), &a) > (b.len(), &b);
    let key = if swapped { [b, a].concat() } else { [a, b].concat() };
    let mut mac: Hmac<Sha256> = Hmac::new_from_slice(&key).expect("any length");
    mac.update(&auth);
    auth[8..AUTH_LEN].copy_from_slice(&mac.finalize().into_bytes());
    packet.extend_from_slice(&auth);
    reseal_checksum(&mut packet);
    packet
}
