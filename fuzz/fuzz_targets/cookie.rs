//! A cookie that came back changed, late, or in another packet sets nothing up.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use polypath_proto::config::AssocConfig;
use polypath_proto::time::Time;
use polypath_testkit::packet::{PacketBuilder, reseal_checksum};
use polypath_testkit::scripted_peer::{
    PORTS, drain_packets, init, read_init_ack, victim, victim_tuple,
};
use polypath_wire::{CookieEchoChunk, Parameter, ParamsBuf};

#[derive(Arbitrary, Debug)]
struct Input {
    addresses: Vec<[u8; 4]>,
    unknown: u8,
    /// XOR at places of the cookie.
    changes: Vec<(u8, u8)>,
    /// XOR at places of the common header, checksum apart.
    header: Option<(u8, u8)>,
    cut: u8,
    more: Vec<u8>,
    late_ms: u32,
}

fuzz_target!(|input: Input| {
    let mut endpoint = victim(AssocConfig::default(), 1);
    let named = input.addresses.iter().take(20).map(|octets| Parameter::Ipv4((*octets).into()));
    let unknown = core::iter::repeat_n(Parameter::EcnCapable, usize::from(input.unknown % 20));
    let params: ParamsBuf = named.chain(unknown).collect();
    let request = init(9, params);
    endpoint.handle_datagram(Time::ZERO, victim_tuple(), &request);
    let answers = drain_packets(&mut endpoint, Time::ZERO);
    let Some(ack) = answers.first().and_then(|packet| read_init_ack(packet)) else { return };
    assert!(
        answers[0].len() + 20 <= 3 * (request.len() + 20),
        "an INIT ACK of {} bytes",
        answers[0].len()
    );

    let mut cookie = ack.cookie.clone();
    for (at, xor) in input.changes.iter().take(8) {
        let at = usize::from(*at) % cookie.len();
        cookie[at] ^= xor;
    }
    cookie.truncate(cookie.len().saturating_sub((input.cut % 100).into()));
    cookie.extend(input.more.iter().take(50));
    let echo = CookieEchoChunk { cookie: &cookie };
    let honest = PacketBuilder::new(PORTS.0, PORTS.1, ack.tag).push_chunk(&echo).build();
    let mut packet = honest.clone();
    if let Some((at, xor)) = input.header {
        packet[usize::from(at) % 8] ^= xor;
    }
    let same = cookie == ack.cookie && packet == honest;
    reseal_checksum(&mut packet);
    let late = input.late_ms % 200_000;
    endpoint.handle_datagram(Time::from_millis(late.into()), victim_tuple(), &packet);
    let accepted = endpoint.associations().count() == 1;
    assert_eq!(accepted, same && late <= 60_000, "{input:?}");
});
