//! Associations whose addresses change, and ASCONFs made by hand.

#![allow(unused_imports, reason = "each test binary uses its own part of the harness")]

pub(crate) use core::net::IpAddr;
pub(crate) use std::sync::Arc;

pub(crate) use bytes::Bytes;
pub(crate) use polypath_proto::config::{
    AssocConfig, EndpointConfig, ExtensionConfig, PathPairing,
};
pub(crate) use polypath_proto::event::AddressChange;
pub(crate) use polypath_proto::ids::{StreamId, Tsn};
pub(crate) use polypath_proto::time::Duration;
pub(crate) use polypath_proto::view::PathState;
pub(crate) use polypath_proto::{
    AddressError, CloseReason, Event, FourTuple, PathId, SendOptions, State,
};
pub(crate) use polypath_wire::param::AsconfRequest;
pub(crate) use polypath_wire::{
    AsconfAckChunk, AsconfChunk, CausesBuf, ChecksumCheck, Chunk, ErrorCause, ErrorChunk,
    PacketView, Parameter, ParamsBuf,
};

use super::authentic::*;
use super::craft::*;
use super::*;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) const MS: Duration = Duration::from_millis(1);

pub(crate) const EMPTY: (u16, &[u8]) = (0, b"");

pub(crate) const PORTS: (u16, u16) = (CLIENT_PORT, SERVER_PORT);

pub(crate) fn config() -> AssocConfig {
    AssocConfig {
        extensions: ExtensionConfig {
            authentication: true,
            dynamic_addresses: true,
            ..ExtensionConfig::NONE
        },
        ..AssocConfig::default()
    }
}

pub(crate) fn at(port: u16, addresses: &[IpAddr], assoc: AssocConfig) -> EndpointConfig {
    EndpointConfig { assoc: Arc::new(assoc), ..endpoint(port, addresses) }
}

pub(crate) fn connected_with(client: AssocConfig, server: AssocConfig) -> Pair {
    let mut pair = Pair::with(
        at(CLIENT_PORT, &client_addresses(), client.clone()),
        at(SERVER_PORT, &server_addresses(), server),
    );
    pair.connect_with(client);
    pair.run(SECOND);
    assert_eq!(
        (pair.client.state(), pair.server.state()),
        (State::Established, State::Established)
    );
    pair
}

pub(crate) fn connected() -> Pair {
    connected_with(config(), config())
}

/// One address on either side.
pub(crate) fn single() -> Pair {
    single_with(config())
}

pub(crate) fn single_with(server: AssocConfig) -> Pair {
    let mut pair = Pair::with(
        at(CLIENT_PORT, &[ip("10.0.0.1")], config()),
        at(SERVER_PORT, &[ip("10.0.0.2")], server),
    );
    let path = [client_paths()[0]];
    pair.client.endpoint.connect(pair.now, &path, SERVER_PORT, Arc::new(config())).unwrap();
    pair.run(SECOND);
    pair
}

pub(crate) fn overheard(pair: &Pair) -> Overheard {
    Overheard::new(&pair.log[0], &pair.last_with(INIT_ACK))
}

pub(crate) fn server_tag(pair: &Pair) -> u32 {
    read_init_ack(&pair.last_with(INIT_ACK)).0
}

/// The client's initial TSN, its first serial number.
pub(crate) fn client_tsn(pair: &Pair) -> u32 {
    let init = &chunks(&pair.log[0])[0];
    u32::from_be_bytes([init[16], init[17], init[18], init[19]])
}

pub(crate) fn socket(address: &str) -> core::net::SocketAddr {
    core::net::SocketAddr::new(ip(address), 0)
}

pub(crate) fn add(pair: &mut Pair, address: &str) {
    let (now, h) = (pair.now, pair.client.handle());
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assoc.add_local_address(now, socket(address)).unwrap();
}

pub(crate) fn remove(pair: &mut Pair, address: &str) {
    let (now, h) = (pair.now, pair.client.handle());
    let assoc = pair.client.endpoint.association_mut(h).unwrap();
    assoc.remove_local_address(now, ip(address)).unwrap();
}

pub(crate) fn peers_of(host: &Host) -> Vec<IpAddr> {
    let mut all = host.endpoint.association(host.handle()).unwrap().peer_addresses().to_vec();
    all.sort();
    all
}

pub(crate) fn ours_of(host: &Host) -> Vec<IpAddr> {
    let mut all = host.endpoint.association(host.handle()).unwrap().local_addresses();
    all.sort();
    all
}

/// The live paths and their states.
pub(crate) fn paths_of(host: &Host) -> Vec<(FourTuple, PathState)> {
    let assoc = host.endpoint.association(host.handle()).unwrap();
    let view = assoc.view(polypath_proto::time::Time::from_secs(1));
    let live = view.paths.iter().filter(|p| p.state != PathState::Removed);
    live.map(|p| (assoc.path_tuple(p.id).unwrap(), p.state)).collect()
}

pub(crate) fn is_active(host: &Host, local: &str, remote: &str) -> bool {
    paths_of(host).contains(&(tuple(local, remote), PathState::Active))
}

pub(crate) fn said(host: &Host, address: &str, change: AddressChange) -> bool {
    host.saw(&Event::LocalAddress { address: ip(address), change })
}

pub(crate) fn submit(pair: &mut Pair, from_client: bool, count: u32) {
    let now = pair.now;
    let host = if from_client { &mut pair.client } else { &mut pair.server };
    let h = host.handle();
    let assoc = host.endpoint.association_mut(h).unwrap();
    for i in 0..count {
        let data = Bytes::from([i.to_be_bytes().as_slice(), &[7; 996]].concat());
        assoc.send(now, StreamId(0), data, SendOptions::default()).unwrap();
    }
}

pub(crate) fn numbers(host: &Host) -> Vec<u32> {
    let number = |m: &polypath_proto::Message| u32::from_be_bytes(m.data[..4].try_into().unwrap());
    host.received.iter().map(number).collect()
}

/// Packets with any of `kinds` that went from or to `address`.
pub(crate) fn with_kinds<'p>(
    packets: &'p [Packet],
    address: &str,
    kinds: &[u8],
) -> Vec<&'p Packet> {
    let address = ip(address);
    let there = |p: &&Packet| p.tuple.remote.ip() == address || p.tuple.local.ip() == address;
    let has = |p: &&Packet| p.kinds().iter().any(|kind| kinds.contains(kind));
    packets.iter().filter(there).filter(has).collect()
}

#[derive(Clone, Copy)]
pub(crate) enum Ask {
    Add(&'static str),
    Delete(&'static str),
    Primary(&'static str),
}

pub(crate) fn request_params(asked: &[Ask]) -> ParamsBuf {
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
pub(crate) fn asconf(pair: &Pair, ahead: u32, lookup: &str, asked: &[Ask]) -> Vec<u8> {
    raw_asconf(pair, ahead, lookup, request_params(asked))
}

pub(crate) fn raw_asconf(pair: &Pair, ahead: u32, lookup: &str, params: ParamsBuf) -> Vec<u8> {
    let (serial, address) = (client_tsn(pair).wrapping_add(ahead), ip(lookup));
    let push = move |w: &mut polypath_wire::PacketWriter<'_>| {
        let chunk = AsconfChunk { serial, address, params: params.as_params() };
        w.push(&chunk).expect("fits");
    };
    overheard(pair).packet(PORTS, server_tag(pair), EMPTY, &[&push])
}

/// (correlation, cause code) of each error in an ASCONF-ACK, and the correlation ids reported as successful.
pub(crate) fn verdicts(packet: &Packet) -> (Vec<(u32, u16)>, Vec<u32>) {
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

/// Injects `data` at the server as if it came along `way`; gives the packets sent in answer at once.
pub(crate) fn inject(pair: &mut Pair, at_server: FourTuple, data: &[u8]) -> Vec<Packet> {
    let before = pair.log.len();
    pair.inject(Way::ToServer, at_server, data);
    let answers = pair.log[before..].iter().filter(|p| p.way == Way::ToClient);
    answers.cloned().collect()
}

pub(crate) fn last_ack(answers: &[Packet]) -> &Packet {
    answers.iter().rfind(|p| p.kinds().contains(&ASCONF_ACK)).expect("an ASCONF-ACK")
}

/// A packet whose first chunk is an ASCONF-ACK with `params`.
pub(crate) fn ack_like(params: &[u8]) -> Vec<u8> {
    let mut chunk = vec![ASCONF_ACK, 0, 0, (8 + params.len()) as u8, 0, 0, 0, 0];
    chunk.extend_from_slice(params);
    let mut packet = vec![0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0];
    packet.extend(chunk);
    packet
}

pub(crate) fn first_param(packet: &[u8]) -> polypath_wire::RawParam<'_> {
    let view = PacketView::parse(packet, ChecksumCheck::Skip).unwrap();
    let raw = view.chunks().next().unwrap().unwrap();
    let Chunk::AsconfAck(ack) = raw.decode().unwrap() else { panic!("ASCONF-ACK expected") };
    ack.params.iter().next().unwrap().unwrap()
}

/// The server, as it were, answers the client's latest ASCONF: its first request fails for this reason.
pub(crate) fn answer_with(pair: &mut Pair, cause: &ErrorCause<'_>) {
    let sent = pair.log.iter().rfind(|p| p.kinds().contains(&ASCONF)).unwrap();
    let asked = chunks(sent).into_iter().find(|c| c[0] == ASCONF).unwrap();
    let word = |at: usize| u32::from_be_bytes(asked[at..at + 4].try_into().unwrap());
    let (serial, correlation) = (word(4), word(20));
    let causes: CausesBuf = [*cause].into_iter().collect();
    let push = |w: &mut polypath_wire::PacketWriter<'_>| {
        let error = polypath_wire::param::AsconfError { correlation, causes: causes.as_causes() };
        let params: ParamsBuf = [Parameter::ErrorCauseIndication(error)].into_iter().collect();
        w.push(&AsconfAckChunk { serial, params: params.as_params() }).unwrap();
    };
    let (ports, tag) = ((SERVER_PORT, CLIENT_PORT), read_init(&pair.log[0]));
    let answer = overheard(pair).packet(ports, tag, EMPTY, &[&push]);
    pair.inject(Way::ToClient, client_paths()[0], &answer);
}
