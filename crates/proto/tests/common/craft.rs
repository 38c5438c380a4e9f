//! Packets made by hand.

use polypath_wire::{
    AbortChunk, CausesBuf, ChecksumCheck, ChecksumMode, Chunk, CookieEchoChunk, EncodeChunk,
    InitAckRepr, InitFixed, InitRepr, PacketView, PacketWriter, Parameter, ParamsBuf, Tsn,
};

use super::{CLIENT_PORT, Packet, SERVER_PORT};

pub(crate) const INIT: u8 = 1;
pub(crate) const INIT_ACK: u8 = 2;
pub(crate) const SACK: u8 = 3;
pub(crate) const ABORT: u8 = 6;
pub(crate) const SHUTDOWN: u8 = 7;
pub(crate) const SHUTDOWN_ACK: u8 = 8;
pub(crate) const ERROR: u8 = 9;
pub(crate) const COOKIE_ECHO: u8 = 10;
pub(crate) const COOKIE_ACK: u8 = 11;
pub(crate) const SHUTDOWN_COMPLETE: u8 = 14;

/// A packet from the client's port to the server's.
pub(crate) fn to_server(tag: u32, chunks: &[&dyn Fn(&mut PacketWriter<'_>)]) -> Vec<u8> {
    packet(CLIENT_PORT, SERVER_PORT, tag, chunks)
}

/// A packet from the server's port to the client's.
pub(crate) fn to_client(tag: u32, chunks: &[&dyn Fn(&mut PacketWriter<'_>)]) -> Vec<u8> {
    packet(SERVER_PORT, CLIENT_PORT, tag, chunks)
}

pub(crate) fn packet(
    from: u16,
    to: u16,
    tag: u32,
    chunks: &[&dyn Fn(&mut PacketWriter<'_>)],
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = PacketWriter::new(&mut out, 60_000, from, to, tag);
    chunks.iter().for_each(|push| push(&mut writer));
    writer.finish(ChecksumMode::Crc32c);
    out
}

/// A chunk as the functions above take it.
pub(crate) fn chunk(chunk: impl EncodeChunk) -> impl Fn(&mut PacketWriter<'_>) {
    move |writer| writer.push(&chunk).expect("fits")
}

pub(crate) fn fixed(tag: u32) -> InitFixed {
    InitFixed {
        initiate_tag: tag,
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(1),
    }
}

pub(crate) fn init_with(fixed: InitFixed, params: &[Parameter<'_>]) -> InitRepr {
    InitRepr { fixed, params: params.iter().copied().collect() }
}

pub(crate) fn init(tag: u32) -> InitRepr {
    init_with(fixed(tag), &[])
}

pub(crate) fn init_ack(fixed: InitFixed, params: ParamsBuf) -> InitAckRepr {
    InitAckRepr { fixed, params }
}

pub(crate) fn abort(reflected: bool) -> impl Fn(&mut PacketWriter<'_>) {
    move |writer| {
        let causes = CausesBuf::new();
        let chunk = AbortChunk { reflected, causes: causes.as_causes() };
        writer.push(&chunk).expect("fits");
    }
}

pub(crate) fn cookie_echo(cookie: Vec<u8>) -> impl Fn(&mut PacketWriter<'_>) {
    move |writer| writer.push(&CookieEchoChunk { cookie: &cookie }).expect("fits")
}

/// The cookie and Initiate Tag of an INIT ACK.
pub(crate) fn read_init_ack(packet: &Packet) -> (u32, Vec<u8>) {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).expect("valid");
    let raw = view.chunks().next().expect("a chunk").expect("valid");
    let Chunk::InitAck(ack) = raw.decode().expect("valid") else { panic!("INIT ACK expected") };
    let cookie = ack.params.iter().find_map(|p| match p.expect("valid").decode() {
        Ok(Parameter::StateCookie(cookie)) => Some(cookie.to_vec()),
        _ => None,
    });
    (ack.fixed.initiate_tag, cookie.expect("a cookie"))
}

/// The Initiate Tag of an INIT.
pub(crate) fn read_init(packet: &Packet) -> u32 {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).expect("valid");
    let raw = view.chunks().next().expect("a chunk").expect("valid");
    let Chunk::Init(init) = raw.decode().expect("valid") else { panic!("INIT expected") };
    init.fixed.initiate_tag
}

/// Cause codes and T bit of an ABORT or ERROR.
pub(crate) fn read_causes(packet: &Packet) -> (bool, Vec<u16>) {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).expect("valid");
    let raw = view.chunks().last().expect("a chunk").expect("valid");
    match raw.decode().expect("valid") {
        Chunk::Abort(abort) => {
            (abort.reflected, abort.causes.iter().map(|c| c.expect("valid").code).collect())
        }
        Chunk::Error(error) => {
            (false, error.causes.iter().map(|c| c.expect("valid").code).collect())
        }
        other => panic!("ABORT or ERROR expected, not {other:?}"),
    }
}
