//! Associations whose addresses change, and ASCONFs made by hand.

use core::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, EndpointConfig, ExtensionConfig};
use polypath_proto::event::AddressChange;
use polypath_proto::ids::StreamId;
use polypath_proto::time::Duration;
use polypath_proto::view::PathState;
use polypath_proto::{Event, FourTuple, SendOptions, State};
use polypath_wire::param::AsconfRequest;
use polypath_wire::{
    AsconfAckChunk, AsconfChunk, CausesBuf, ChecksumCheck, Chunk, ErrorCause, PacketView,
    Parameter, ParamsBuf,
};

use super::authentic::{ASCONF, ASCONF_ACK, Overheard, split_chunks};
use super::craft::{INIT_ACK, read_init, read_init_ack};
use super::{
    CLIENT_PORT, End, Packet, Pair, SERVER_PORT, Way, client_addresses, client_paths, endpoint, ip,
    server_addresses, tuple,
};

/// A second.
pub const SECOND: Duration = Duration::from_secs(1);

/// A millisecond.
pub const MS: Duration = Duration::from_millis(1);

/// The empty shared key.
pub const EMPTY: (u16, &[u8]) = (0, b"");

/// The ports of the client's packets.
pub const PORTS: (u16, u16) = (CLIENT_PORT, SERVER_PORT);

/// Settings of an end with the extension.
pub fn config() -> AssocConfig {
    AssocConfig {
        extensions: ExtensionConfig {
            authentication: true,
            dynamic_addresses: true,
            ..ExtensionConfig::NONE
        },
        ..AssocConfig::default()
    }
}

/// Settings of an endpoint.
pub fn at(port: u16, addresses: &[IpAddr], assoc: AssocConfig) -> EndpointConfig {
    EndpointConfig { assoc: Arc::new(assoc), ..endpoint(port, addresses) }
}

/// A pair with an association, with these settings.
pub fn connected_with(client: AssocConfig, server: AssocConfig) -> Pair {
    let mut pair = Pair::with(
        at(CLIENT_PORT, &client_addresses(), client.clone()),
        at(SERVER_PORT, &server_addresses(), server),
    );
    pair.connect_with(client);
    pair.run_for(SECOND);
    assert_eq!(
        (pair.client.state(), pair.server.state()),
        (State::Established, State::Established)
    );
    pair
}

/// A pair with an association, both ends with [`config`].
pub fn connected() -> Pair {
    connected_with(config(), config())
}

/// One address on either side.
pub fn single_homed() -> Pair {
    single_with(config())
}

/// The same, the server with these settings.
pub fn single_with(server: AssocConfig) -> Pair {
    let mut pair = Pair::with(
        at(CLIENT_PORT, &[ip("10.0.0.1")], config()),
        at(SERVER_PORT, &[ip("10.0.0.2")], server),
    );
    let path = [client_paths()[0]];
    pair.client.endpoint.connect(pair.now, &path, SERVER_PORT, Arc::new(config())).unwrap();
    pair.run_for(SECOND);
    pair
}

/// What was said in the handshake.
pub fn overhear_handshake(pair: &Pair) -> Overheard {
    Overheard::new(&pair.log[0], &pair.last_with(INIT_ACK))
}

/// The verification tag of packets to the server.
pub fn server_tag(pair: &Pair) -> u32 {
    read_init_ack(&pair.last_with(INIT_ACK)).0
}

/// The client's initial TSN, its first serial number.
pub fn client_tsn(pair: &Pair) -> u32 {
    let init = &split_chunks(&pair.log[0])[0];
    u32::from_be_bytes([init[16], init[17], init[18], init[19]])
}

/// An address without a UDP port.
pub fn socket(address: &str) -> core::net::SocketAddr {
    core::net::SocketAddr::new(ip(address), 0)
}

/// The client gets an address.
pub fn add_address(pair: &mut Pair, address: &str) {
    let (now, h) = (pair.now, pair.client.handle());
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assoc.add_local_address(now, socket(address)).unwrap();
}

/// The client loses an address.
pub fn remove_address(pair: &mut Pair, address: &str) {
    let (now, h) = (pair.now, pair.client.handle());
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assoc.remove_local_address(now, ip(address)).unwrap();
}

/// The peer's addresses, as the host knows them, sorted.
pub fn peers_of(host: &End) -> Vec<IpAddr> {
    let mut all = host.endpoint.association(host.handle()).unwrap().peer_addresses().to_vec();
    all.sort();
    all
}

/// The host's own addresses, sorted.
pub fn ours_of(host: &End) -> Vec<IpAddr> {
    let mut all = host.endpoint.association(host.handle()).unwrap().local_addresses();
    all.sort();
    all
}

/// The live paths and their states.
pub fn paths_of(host: &End) -> Vec<(FourTuple, PathState)> {
    let assoc = host.endpoint.association(host.handle()).unwrap();
    let view = assoc.view(polypath_proto::time::Time::from_secs(1));
    let live = view.paths.iter().filter(|p| p.state != PathState::Removed);
    live.map(|p| (assoc.path_tuple(p.id).unwrap(), p.state)).collect()
}

/// Whether the host has this path, and it is active.
pub fn is_active(host: &End, local: &str, remote: &str) -> bool {
    paths_of(host).contains(&(tuple(local, remote), PathState::Active))
}

/// Whether the application was told this of its address.
pub fn was_told(host: &End, address: &str, change: AddressChange) -> bool {
    host.has_seen(&Event::LocalAddress { address: ip(address), change })
}

/// Sends so many numbered messages of 1,000 bytes.
pub fn submit_numbered(pair: &mut Pair, from_client: bool, count: u32) {
    let now = pair.now;
    let host = if from_client { &mut pair.client } else { &mut pair.server };
    let h = host.handle();
    let assoc = host.endpoint.association_mut(h).unwrap();
    for i in 0..count {
        let data = Bytes::from([i.to_be_bytes().as_slice(), &[7; 996]].concat());
        assoc.send(now, StreamId(0), data, SendOptions::default()).unwrap();
    }
}

/// The numbers of all messages that the host read.
pub fn read_numbers(host: &End) -> Vec<u32> {
    let number = |m: &polypath_proto::Message| u32::from_be_bytes(m.data[..4].try_into().unwrap());
    host.received.iter().map(number).collect()
}

/// Packets with any of `kinds` that went from or to `address`.
pub fn with_kinds<'p>(packets: &'p [Packet], address: &str, kinds: &[u8]) -> Vec<&'p Packet> {
    let address = ip(address);
    let there = |p: &&Packet| p.tuple.remote.ip() == address || p.tuple.local.ip() == address;
    let has = |p: &&Packet| p.kinds().iter().any(|kind| kinds.contains(kind));
    packets.iter().filter(there).filter(has).collect()
}

/// A request of an ASCONF.
#[derive(Clone, Copy, Debug)]
pub enum Ask {
    /// Add this address.
    Add(&'static str),
    /// Delete it.
    Delete(&'static str),
    /// Make it the primary one.
    Primary(&'static str),
}

/// Requests as parameters; correlation ids count from 100.
pub fn request_params(asked: &[Ask]) -> ParamsBuf {
    let request = |(i, ask): (usize, &Ask)| {
        let of = |a| AsconfRequest { correlation: 100 + i as u32, address: ip(a) };
        match ask {
            Ask::Add(a) => Parameter::AddIp(of(a)),
            Ask::Delete(a) => Parameter::DeleteIp(of(a)),
            Ask::Primary(a) => Parameter::SetPrimary(of(a)),
        }
    };
    asked.iter().enumerate().map(request).collect()
}

/// An authenticated ASCONF of the client, with `ahead` counted from its first serial number.
pub fn forge_asconf(pair: &Pair, ahead: u32, lookup: &str, asked: &[Ask]) -> Vec<u8> {
    raw_asconf(pair, ahead, lookup, request_params(asked))
}

/// The same with any parameters.
pub fn raw_asconf(pair: &Pair, ahead: u32, lookup: &str, params: ParamsBuf) -> Vec<u8> {
    let (serial, address) = (client_tsn(pair).wrapping_add(ahead), ip(lookup));
    let push = move |w: &mut polypath_wire::PacketWriter<'_>| {
        let chunk = AsconfChunk { serial, address, params: params.as_params() };
        w.push(&chunk).expect("fits");
    };
    overhear_handshake(pair).authenticated_packet(PORTS, server_tag(pair), EMPTY, &[&push])
}

/// (correlation, cause code) of each error in an ASCONF-ACK, and the correlation ids reported as
/// successful.
pub fn asconf_verdicts(packet: &Packet) -> (Vec<(u32, u16)>, Vec<u32>) {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
    let (mut errors, mut good) = (Vec::new(), Vec::new());
    for raw in view.chunks().map(Result::unwrap) {
        let Ok(Chunk::AsconfAck(ack)) = raw.decode() else { continue };
        for param in ack.params.iter().map(Result::unwrap) {
            match param.decode().unwrap() {
                Parameter::ErrorCauseIndication(e) => {
                    let code = e.causes.iter().next().unwrap().unwrap().code;
                    errors.push((e.correlation, code));
                }
                Parameter::SuccessIndication(id) => good.push(id),
                other => panic!("{other:?}"),
            }
        }
    }
    (errors, good)
}

/// Injects `data` at the server as if it came along `way`; gives the packets sent in answer at
/// once.
pub fn inject_at_server(pair: &mut Pair, at_server: FourTuple, data: &[u8]) -> Vec<Packet> {
    let before = pair.log.len();
    pair.inject_packet(Way::ToServer, at_server, data);
    let answers = pair.log[before..].iter().filter(|p| p.way == Way::ToClient);
    answers.cloned().collect()
}

/// The last packet with an ASCONF-ACK.
pub fn last_ack(answers: &[Packet]) -> &Packet {
    answers.iter().rfind(|p| p.kinds().contains(&ASCONF_ACK)).expect("an ASCONF-ACK")
}

/// A packet whose first chunk is an ASCONF-ACK with `params`.
pub fn ack_like(params: &[u8]) -> Vec<u8> {
    let mut chunk = vec![ASCONF_ACK, 0, 0, (8 + params.len()) as u8, 0, 0, 0, 0];
    chunk.extend_from_slice(params);
    let mut packet = vec![0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0];
    packet.extend(chunk);
    packet
}

/// The first parameter of an ASCONF-ACK.
pub fn first_param(packet: &[u8]) -> polypath_wire::RawParam<'_> {
    let view = PacketView::parse(packet, ChecksumCheck::Skip).unwrap();
    let raw = view.chunks().next().unwrap().unwrap();
    let Chunk::AsconfAck(ack) = raw.decode().unwrap() else { panic!("ASCONF-ACK expected") };
    ack.params.iter().next().unwrap().unwrap()
}

/// The server, as it were, answers the client's latest ASCONF: its first request fails for this
/// reason.
pub fn answer_with(pair: &mut Pair, cause: &ErrorCause<'_>) {
    let sent = pair.log.iter().rfind(|p| p.kinds().contains(&ASCONF)).unwrap();
    let asked = split_chunks(sent).into_iter().find(|c| c[0] == ASCONF).unwrap();
    let word = |at: usize| u32::from_be_bytes(asked[at..at + 4].try_into().unwrap());
    let (serial, correlation) = (word(4), word(20));
    let causes: CausesBuf = [*cause].into_iter().collect();
    let push = |w: &mut polypath_wire::PacketWriter<'_>| {
        let error = polypath_wire::param::AsconfError { correlation, causes: causes.as_causes() };
        let params: ParamsBuf = [Parameter::ErrorCauseIndication(error)].into_iter().collect();
        w.push(&AsconfAckChunk { serial, params: params.as_params() }).unwrap();
    };
    let (ports, tag) = ((SERVER_PORT, CLIENT_PORT), read_init(&pair.log[0]));
    let answer = overhear_handshake(pair).authenticated_packet(ports, tag, EMPTY, &[&push]);
    pair.inject_packet(Way::ToClient, client_paths()[0], &answer);
}
