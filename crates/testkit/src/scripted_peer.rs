//! A peer made of hand-written packets: it sets an association up by the rules, then says what the
//! test tells it to.

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, EndpointConfig, PathPairing};
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{AssocHandle, Association, Endpoint, Event, FourTuple};
use polypath_wire::chunk::kind;
use polypath_wire::{
    Chunk, CookieEchoChunk, DataChunk, DataFlags, EncodeChunk, InitFixed, InitRepr, Parameter,
    ParamsBuf, Ssn, StreamId, Tsn,
};

use crate::packet::{PacketBuilder, raw_chunks, render_packet};
use crate::world::{HostId, address, tuple};

/// The scripted peer's port and the victim's.
pub const PORTS: (u16, u16) = (5000, 5001);

/// The hand-made peer, and the endpoint that has to bear it.
#[derive(Debug)]
pub struct ScriptedPeer {
    /// The real endpoint.
    pub victim: Endpoint,
    /// Its association with us.
    pub handle: AssocHandle,
    /// The present.
    pub now: Time,
    /// The verification tag of packets to the victim.
    pub tag: u32,
    /// The verification tag of packets to us.
    pub own_tag: u32,
    /// Our next TSN.
    pub tsn: Tsn,
    /// The victim's first TSN.
    pub victim_tsn: Tsn,
    /// Events of the victim.
    pub events: Vec<Event>,
    /// The COOKIE ECHO packet, for replays.
    pub cookie_echo: Vec<u8>,
    /// Our INIT and the victim's answer to it.
    pub handshake: [Vec<u8>; 2],
}

/// Our own tag and first TSN.
const OWN: (u32, Tsn) = (0x0bad_cafe, Tsn(1000));

/// An endpoint that accepts associations with these settings.
pub fn victim(assoc: AssocConfig, seed: u64) -> Endpoint {
    let config = EndpointConfig {
        port: PORTS.1,
        addresses: vec![address(HostId::SERVER, 0), address(HostId::SERVER, 1)],
        pairing: PathPairing::Index,
        assoc: assoc.into(),
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Rng::from_u64(seed))
}

/// An INIT packet with these parameters.
pub fn init(tag: u32, params: ParamsBuf) -> Vec<u8> {
    init_from(tag, OWN.1, params)
}

fn init_from(tag: u32, initial_tsn: Tsn, params: ParamsBuf) -> Vec<u8> {
    let fixed = InitFixed {
        initiate_tag: tag,
        a_rwnd: 1 << 20,
        outbound_streams: 16,
        inbound_streams: 16,
        initial_tsn,
    };
    PacketBuilder::new(PORTS.0, PORTS.1, 0).push_chunk(&InitRepr { fixed, params }).build()
}

/// The path over link 0, as the victim sees it.
pub fn victim_tuple() -> FourTuple {
    tuple(HostId::SERVER, 0)
}

/// Everything that an endpoint has to send now.
pub fn drain_packets(endpoint: &mut Endpoint, now: Time) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    loop {
        let mut packet = Vec::new();
        if endpoint.poll_transmit(now, &mut packet).is_none() {
            return packets;
        }
        packets.push(packet);
    }
}

impl ScriptedPeer {
    /// Sets an association up with an endpoint of these settings.
    ///
    /// # Panics
    /// When the victim does not take part in the handshake.
    pub fn connect(assoc: AssocConfig, seed: u64) -> Self {
        Self::connect_with(assoc, seed, ParamsBuf::default())
    }

    /// The same with parameters in the INIT.
    ///
    /// # Panics
    /// When the victim does not take part in the handshake.
    pub fn connect_with(assoc: AssocConfig, seed: u64, params: ParamsBuf) -> Self {
        Self::connect_from(assoc, seed, params, OWN.1)
    }

    /// The same with our first TSN.
    ///
    /// # Panics
    /// When the victim does not take part in the handshake.
    pub fn connect_from(assoc: AssocConfig, seed: u64, params: ParamsBuf, tsn: Tsn) -> Self {
        let (mut victim, now) = (victim(assoc, seed), Time::ZERO);
        let request = init_from(OWN.0, tsn, params);
        victim.handle_datagram(now, victim_tuple(), &request);
        let answers = drain_packets(&mut victim, now);
        let answer = answers.first().cloned().unwrap_or_default();
        let InitAck { tag, tsn: victim_tsn, cookie } = read_init_ack(&answer).expect("INIT ACK");
        let handshake = [request, answer];
        let echo = CookieEchoChunk { cookie: &cookie };
        let cookie_echo = PacketBuilder::new(PORTS.0, PORTS.1, tag).push_chunk(&echo).build();
        victim.handle_datagram(now, victim_tuple(), &cookie_echo);
        drain_packets(&mut victim, now);
        let handle = victim.associations().next().expect("the cookie was good");
        let own_tag = OWN.0;
        let events = Vec::new();
        let mut scripted_peer = Self {
            victim,
            handle,
            now,
            tag,
            own_tag,
            tsn,
            victim_tsn,
            events,
            cookie_echo,
            handshake,
        };
        scripted_peer.take_events();
        scripted_peer
    }

    /// A packet to the victim with the right ports and tag.
    pub fn packet(&self) -> PacketBuilder {
        PacketBuilder::new(PORTS.0, PORTS.1, self.tag)
    }

    /// Hands a packet to the victim; returns what it answers.
    pub fn deliver_packet(&mut self, packet: &[u8]) -> Vec<Vec<u8>> {
        self.victim.handle_datagram(self.now, victim_tuple(), packet);
        self.take_events();
        drain_packets(&mut self.victim, self.now)
    }

    /// A packet with one chunk.
    pub fn send_chunk(&mut self, chunk: &impl EncodeChunk) -> Vec<Vec<u8>> {
        let packet = self.packet().push_chunk(chunk).build();
        self.deliver_packet(&packet)
    }

    /// Lets time pass; returns what the victim sends of its own accord.
    ///
    /// # Panics
    /// When a timer of the victim does not go away.
    pub fn advance_time(&mut self, duration: Duration) -> Vec<Vec<u8>> {
        let limit = self.now + duration;
        let (mut sent, mut same_instant) = (Vec::new(), 0);
        while let Some(at) = self.victim.poll_timeout().filter(|at| *at <= limit) {
            same_instant = if at > self.now { 0 } else { same_instant + 1 };
            assert!(same_instant < 100, "a timer at {at} does not go away");
            self.now = self.now.max(at);
            self.victim.handle_timeout(self.now);
            self.take_events();
            sent.extend(drain_packets(&mut self.victim, self.now));
        }
        self.now = limit;
        sent
    }

    /// The victim's association.
    ///
    /// # Panics
    /// When it is gone.
    pub fn assoc(&mut self) -> &mut Association {
        self.victim.association_mut(self.handle).expect("the association is there until removed")
    }

    /// A whole ordered message as the next DATA chunk.
    pub fn data<'a>(&mut self, stream: u16, ssn: u16, payload: &'a [u8]) -> DataChunk<'a> {
        let tsn = self.tsn;
        self.tsn = tsn.next();
        let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
        DataChunk { tsn, stream: StreamId(stream), ssn: Ssn(ssn), ppid: 0, flags, payload }
    }

    /// Lets the victim send a message of `bytes` bytes on stream 0; returns its packets.
    ///
    /// # Panics
    /// When the victim refuses.
    pub fn make_it_send(&mut self, bytes: usize) -> Vec<Vec<u8>> {
        let now = self.now;
        let data = Bytes::from(vec![7; bytes]);
        let sent =
            self.assoc().send(now, StreamId(0), data, polypath_proto::SendOptions::default());
        sent.expect("the send buffer has room");
        drain_packets(&mut self.victim, now)
    }

    fn take_events(&mut self) {
        while let Some((_, event)) = self.victim.poll_event() {
            self.events.push(event);
        }
    }
}

/// What the one who opens needs of an INIT ACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitAck {
    /// The Initiate Tag.
    pub tag: u32,
    /// The first TSN.
    pub tsn: Tsn,
    /// The State Cookie.
    pub cookie: Vec<u8>,
}

/// The INIT ACK in a packet, if there is one with a cookie.
pub fn read_init_ack(packet: &[u8]) -> Option<InitAck> {
    let ack = raw_chunks(packet).find_map(|raw| match raw.decode() {
        Ok(Chunk::InitAck(ack)) => Some(ack),
        _ => None,
    })?;
    let cookie = ack.params.iter().flatten().find_map(|param| match param.decode() {
        Ok(Parameter::StateCookie(cookie)) => Some(cookie.to_vec()),
        _ => None,
    })?;
    Some(InitAck { tag: ack.fixed.initiate_tag, tsn: ack.fixed.initial_tsn, cookie })
}

/// The first cause code of an ABORT among the packets.
pub fn abort_cause(packets: &[Vec<u8>]) -> Option<u16> {
    packets.iter().flat_map(|packet| raw_chunks(packet)).find_map(|raw| match raw.decode() {
        Ok(Chunk::Abort(abort)) => abort.causes.iter().flatten().next().map(|cause| cause.code),
        _ => None,
    })
}

/// Chunks of a type in the packets.
pub fn count_chunks(packets: &[Vec<u8>], kind: u8) -> usize {
    packets.iter().flat_map(|packet| raw_chunks(packet)).filter(|raw| raw.kind == kind).count()
}

/// Chunks of DATA in the packets, as TSNs.
pub fn data_tsns(packets: &[Vec<u8>]) -> Vec<Tsn> {
    let chunks = packets.iter().flat_map(|packet| raw_chunks(packet));
    let data = chunks.filter(|raw| raw.kind == kind::DATA);
    data.filter_map(|raw| match raw.decode() {
        Ok(Chunk::Data(data)) => Some(data.tsn),
        _ => None,
    })
    .collect()
}

/// The packets in lines, for people.
pub fn show_packets(packets: &[Vec<u8>]) -> String {
    packets.iter().map(|packet| render_packet(packet) + "\n").collect()
}
