//! Packets made by hand.

use polypath_wire::{
    AbortChunk, CausesBuf, ChecksumCheck, ChecksumMode, Chunk, CookieEchoChunk, EncodeChunk,
    InitAckRepr, InitFixed, InitRepr, PacketView, PacketWriter, Parameter, ParamsBuf, Tsn,
};

use super::addresses::{CLIENT_PORT, SERVER_PORT};
use super::packet::Packet;

/// Type of INIT.
pub const INIT: u8 = 1;
/// Type of INIT ACK.
pub const INIT_ACK: u8 = 2;
/// Type of SACK.
pub const SACK: u8 = 3;
/// Type of ABORT.
pub const ABORT: u8 = 6;
/// Type of SHUTDOWN.
pub const SHUTDOWN: u8 = 7;
/// Type of SHUTDOWN ACK.
pub const SHUTDOWN_ACK: u8 = 8;
/// Type of ERROR.
pub const ERROR: u8 = 9;
/// Type of COOKIE ECHO.
pub const COOKIE_ECHO: u8 = 10;
/// Type of COOKIE ACK.
pub const COOKIE_ACK: u8 = 11;
/// Type of SHUTDOWN COMPLETE.
pub const SHUTDOWN_COMPLETE: u8 = 14;

/// A packet from the client's port to the server's.
pub fn to_server(tag: u32, chunks: &[&dyn Fn(&mut PacketWriter<'_>)]) -> Vec<u8> {
    packet(CLIENT_PORT, SERVER_PORT, tag, chunks)
}

/// A packet from the server's port to the client's.
pub fn to_client(tag: u32, chunks: &[&dyn Fn(&mut PacketWriter<'_>)]) -> Vec<u8> {
    packet(SERVER_PORT, CLIENT_PORT, tag, chunks)
}

/// A packet with these chunks.
pub fn packet(from: u16, to: u16, tag: u32, chunks: &[&dyn Fn(&mut PacketWriter<'_>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = PacketWriter::new(&mut out, 60_000, from, to, tag);
    chunks.iter().for_each(|push| push(&mut writer));
    writer.finish(ChecksumMode::Crc32c);
    out
}

/// A chunk as the functions above take it.
pub fn chunk(chunk: impl EncodeChunk) -> impl Fn(&mut PacketWriter<'_>) {
    move |writer| writer.push(&chunk).expect("fits")
}

/// The fixed part of an INIT or INIT ACK.
pub fn fixed(tag: u32) -> InitFixed {
    InitFixed {
        initiate_tag: tag,
        a_rwnd: 100_000,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: Tsn(1),
    }
}

/// An INIT.
pub fn init_with(fixed: InitFixed, params: &[Parameter<'_>]) -> InitRepr {
    InitRepr { fixed, params: params.iter().copied().collect() }
}

/// An INIT without parameters.
pub fn init(tag: u32) -> InitRepr {
    init_with(fixed(tag), &[])
}

/// An INIT ACK.
pub fn init_ack(fixed: InitFixed, params: ParamsBuf) -> InitAckRepr {
    InitAckRepr { fixed, params }
}

/// An ABORT without causes, T bit or not.
pub fn abort(reflected: bool) -> impl Fn(&mut PacketWriter<'_>) {
    move |writer| {
        let causes = CausesBuf::new();
        let chunk = AbortChunk { reflected, causes: causes.as_causes() };
        writer.push(&chunk).expect("fits");
    }
}

/// A COOKIE ECHO.
pub fn cookie_echo(cookie: Vec<u8>) -> impl Fn(&mut PacketWriter<'_>) {
    move |writer| writer.push(&CookieEchoChunk { cookie: &cookie }).expect("fits")
}

/// The cookie and Initiate Tag of an INIT ACK.
pub fn read_init_ack(packet: &Packet) -> (u32, Vec<u8>) {
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
pub fn read_init(packet: &Packet) -> u32 {
    let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).expect("valid");
    let raw = view.chunks().next().expect("a chunk").expect("valid");
    let Chunk::Init(init) = raw.decode().expect("valid") else { panic!("INIT expected") };
    init.fixed.initiate_tag
}

/// Cause codes and T bit of an ABORT or ERROR.
pub fn read_causes(packet: &Packet) -> (bool, Vec<u16>) {
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
