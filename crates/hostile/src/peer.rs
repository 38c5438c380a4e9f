//! Peers made by hand, without a stack: many associations from one UDP socket, each with an SCTP
//! port of its own.

use std::net::UdpSocket;
use std::time::Duration;

use polypath_testkit::packet::{PacketBuilder, reseal_checksum};
use polypath_testkit::scripted_peer::read_init_ack;
use polypath_wire::chunk::kind as chunk_kind;
use polypath_wire::{
    ChecksumCheck, CookieEchoChunk, InitFixed, InitRepr, PacketView, ParamsBuf, RawChunk, Tsn,
};

use crate::field::Field;
use crate::kind::Kind;
use crate::observer::Seen;
use crate::serve::PORT;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// First SCTP port.
const FIRST_PORT: u16 = 10_000;

/// Associations that say nothing but what they are told to; SCTP in UDP over IPv4.
#[derive(Debug)]
pub struct Peers {
    socket: UdpSocket,
    /// SCTP port, and the victim's tag.
    associations: Vec<(u16, u32)>,
}

impl Peers {
    /// Sets `count` associations up from the honest client's address.
    ///
    /// # Panics
    /// When the victim does not answer, or the system has no sockets.
    pub fn connect(field: &Field, count: u16) -> Self {
        let at = (Kind::COMMON.client().ip(), 0);
        let bound = field.client.run(|| UdpSocket::bind(at)).expect("the namespace");
        let socket = bound.expect("a socket");
        socket.connect(Kind::COMMON.victim()).expect("a route");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut peers = Self { socket, associations: Vec::new() };
        for port in FIRST_PORT..FIRST_PORT + count {
            let tag = peers.set_up(port);
            peers.associations.push((port, tag));
        }
        peers
    }

    /// The verification tag for packets to the victim.
    fn set_up(&self, port: u16) -> u32 {
        let fixed = InitFixed {
            initiate_tag: u32::from(port),
            a_rwnd: 1 << 20,
            outbound_streams: 16,
            inbound_streams: 16,
            initial_tsn: Tsn(1),
        };
        let init = InitRepr { fixed, params: ParamsBuf::new() };
        self.send_packet(&PacketBuilder::new(port, PORT, 0).push_chunk(&init).build());
        let ack =
            self.await_answer(|packet| read_init_ack(packet).map(|ack| (ack.tag, ack.cookie)));
        let echo = CookieEchoChunk { cookie: &ack.1 };
        self.send_packet(&PacketBuilder::new(port, PORT, ack.0).push_chunk(&echo).build());
        self.await_answer(|packet| (packet.get(12) == Some(&chunk_kind::COOKIE_ACK)).then_some(()));
        ack.0
    }

    /// Every association sends DATA number 2, 3, ... without number 1: unordered beginnings of
    /// messages that never end, one byte each, which the victim must keep with all their books.
    pub fn send_fragments(&self, count: u32) {
        const BEGINNING: u8 = 0b110;
        for n in 0..count {
            for (port, tag) in &self.associations {
                let mut value = (2 + 2 * n).to_be_bytes().to_vec();
                value.extend([0; 9]);
                let packet = PacketBuilder::new(*port, PORT, *tag);
                self.send_packet(&packet.push_raw(chunk_kind::DATA, BEGINNING, &value).build());
            }
        }
    }

    fn send_packet(&self, packet: &[u8]) {
        // What is lost is lost.
        let _ = self.socket.send(packet);
    }

    fn await_answer<T>(&self, wanted: impl Fn(&[u8]) -> Option<T>) -> T {
        let mut buffer = [0; 2000];
        loop {
            let length = self.socket.recv(&mut buffer).expect("the victim answers");
            if let Some(found) = wanted(&buffer[..length]) {
                return found;
            }
        }
    }
}

/// Set-ups of protected associations that stop in the middle: somebody repeats, from one SCTP port
/// after the other, the INIT and the first message of key exchange that he has seen of an honest
/// client, and can say nothing to the answer.
#[derive(Debug)]
pub struct Copies {
    socket: UdpSocket,
    /// The INIT.
    init: Vec<u8>,
    /// The DATA chunk behind the honest client's cookie, with its header.
    first: Vec<u8>,
}

impl Copies {
    /// Of this INIT and this COOKIE ECHO, from the honest client's address.
    ///
    /// # Panics
    /// When there is nothing behind the cookie, or the system has no sockets.
    pub fn of(field: &Field, init: &Seen, echo: &Seen) -> Self {
        let cookie = echo.packet.get(14..16).and_then(|len| len.try_into().ok());
        let cookie = usize::from(u16::from_be_bytes(cookie.expect("a chunk")));
        let first = echo.packet.get(12 + cookie.next_multiple_of(4)..).unwrap_or_default();
        assert!(!first.is_empty(), "the first message goes with the cookie");
        let at = (Kind::COMMON.client().ip(), 0);
        let socket = field.client.run(|| UdpSocket::bind(at)).expect("the namespace");
        let socket = socket.expect("a socket");
        socket.connect(Kind::COMMON.victim()).expect("a route");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Self { socket, init: init.packet.clone(), first: first.to_vec() }
    }

    /// `count` of them. Gives how many were answered with a message of key exchange: the victim has
    /// worked for these.
    pub fn begin(&self, count: u16) -> u32 {
        (FIRST_PORT..FIRST_PORT + count).filter(|port| self.begin_one(*port)).count() as u32
    }

    fn begin_one(&self, port: u16) -> bool {
        let _ = self.socket.send(&copy_from_port(&self.init, port));
        let Some(ack) = self.await_answer(|packet| {
            let is_ours = packet.get(2..4) == Some(&port.to_be_bytes());
            read_init_ack(packet).filter(|_| is_ours)
        }) else {
            return false;
        };
        let (kind, flags) = match self.first.get(..2) {
            Some([kind, flags]) => (*kind, *flags),
            _ => return false,
        };
        let echo = CookieEchoChunk { cookie: &ack.cookie };
        let packet = PacketBuilder::new(port, PORT, ack.tag).push_chunk(&echo);
        let length = self.first.get(2..4).and_then(|len| len.try_into().ok()).unwrap_or([0, 4]);
        let value = self.first.get(4..usize::from(u16::from_be_bytes(length))).unwrap_or_default();
        let _ = self.socket.send(&packet.push_raw(kind, flags, value).build());
        // It comes with the COOKIE ACK.
        let has_data = |packet: &[u8]| {
            let packet = PacketView::parse(packet, ChecksumCheck::Skip).ok()?;
            let is_data =
                |raw: RawChunk<'_>| matches!(raw.kind, chunk_kind::DATA | chunk_kind::I_DATA);
            let ours = packet.header().destination_port == port;
            (ours && packet.chunks().flatten().any(is_data)).then_some(())
        };
        self.await_answer(has_data).is_some()
    }

    fn await_answer<T>(&self, wanted: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let mut buffer = [0; 2000];
        loop {
            let length = self.socket.recv(&mut buffer).ok()?;
            if let Some(found) = wanted(&buffer[..length]) {
                return Some(found);
            }
        }
    }
}

/// The same packet from another SCTP port.
fn copy_from_port(packet: &[u8], port: u16) -> Vec<u8> {
    let mut copy = packet.to_vec();
    if let Some(field) = copy.get_mut(..2) {
        field.copy_from_slice(&port.to_be_bytes());
    }
    reseal_checksum(&mut copy);
    copy
}
