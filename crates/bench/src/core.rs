//! The core alone: two endpoints in memory, no links, no loss. Payload carried per CPU second, both
//! ends together.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use polypath_policies::PolicySpec;
use polypath_proto::config::{AssocConfig, EndpointConfig, ExtensionConfig};
use polypath_proto::ids::StreamId;
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{AssocHandle, Endpoint, Event, FourTuple, RecvFrom, SendOptions};

/// Message size: what fills a packet of 1500 bytes.
pub(crate) const MESSAGE: usize = 1452;

/// Two endpoints and what lies between them: nothing.
pub(crate) struct Pair {
    client: Endpoint,
    server: Endpoint,
    handle: AssocHandle,
    now: Time,
    packet: Vec<u8>,
    message: Bytes,
}

impl Pair {
    /// An established association over `paths` paths, for messages of `message` bytes.
    pub(crate) fn new(
        paths: u8,
        message: usize,
        extensions: ExtensionConfig,
    ) -> anyhow::Result<Self> {
        let policies = polypath_policies::factory(&PolicySpec::default())?;
        let assoc = Arc::new(AssocConfig {
            receive_buffer: 1 << 20,
            send_buffer: 1 << 20,
            policies,
            extensions,
            ..AssocConfig::default()
        });
        let tuples: Vec<FourTuple> = (0..paths)
            .map(|i| FourTuple {
                local: SocketAddr::from(([10, 0, i, 1], 0)),
                remote: SocketAddr::from(([10, 0, i, 2], 0)),
            })
            .collect();
        let endpoint = |addresses: Vec<_>, port| EndpointConfig {
            port,
            addresses,
            assoc: assoc.clone(),
            ..EndpointConfig::default()
        };
        let ours = tuples.iter().map(|t| t.local.ip()).collect();
        let theirs = tuples.iter().map(|t| t.remote.ip()).collect();
        let mut client = Endpoint::new(endpoint(ours, 5001), Rng::from_u64(1));
        let server = Endpoint::new(endpoint(theirs, 5002), Rng::from_u64(2));
        let handle = client.connect(Time::ZERO, &tuples, 5002, assoc)?;
        let message = Bytes::from(vec![0xA5; message]);
        let packet = Vec::with_capacity(2048);
        let mut pair = Self { client, server, handle, now: Time::ZERO, packet, message };
        // Long enough for every path to be verified.
        for _ in 0..4000 {
            pair.exchange_turn(false);
        }
        Ok(pair)
    }

    /// Sends messages until `bytes` arrived; gives how many bytes did.
    pub(crate) fn carry_payload(&mut self, bytes: u64) -> u64 {
        let mut got = 0;
        while got < bytes {
            got += self.exchange_turn(true);
        }
        got
    }

    /// One turn: the client writes, both ends exchange what they have. Gives the payload bytes that
    /// arrived.
    fn exchange_turn(&mut self, write: bool) -> u64 {
        self.now += Duration::from_micros(500);
        self.handle_timers();
        if write {
            self.write_messages();
        }
        exchange_packets(&mut self.client, &mut self.server, self.now, &mut self.packet);
        let got = read_messages(&mut self.server, self.now);
        exchange_packets(&mut self.server, &mut self.client, self.now, &mut self.packet);
        while self.client.poll_event().is_some() {}
        got
    }

    fn handle_timers(&mut self) {
        for end in [&mut self.client, &mut self.server] {
            if end.poll_timeout().is_some_and(|at| at <= self.now) {
                end.handle_timeout(self.now);
            }
        }
    }

    fn write_messages(&mut self) {
        let Some(assoc) = self.client.association_mut(self.handle) else { return };
        let send = |a: &mut polypath_proto::Association| {
            a.send(self.now, StreamId(0), self.message.clone(), SendOptions::default())
        };
        while send(assoc).is_ok() {}
    }
}

fn exchange_packets(from: &mut Endpoint, to: &mut Endpoint, now: Time, packet: &mut Vec<u8>) {
    packet.clear();
    while let Some(sent) = from.poll_transmit(now, packet) {
        let tuple = FourTuple { local: sent.tuple.remote, remote: sent.tuple.local };
        to.handle_datagram(now, tuple, packet);
        packet.clear();
    }
}

fn read_messages(end: &mut Endpoint, now: Time) -> u64 {
    let mut got = 0;
    while let Some((handle, event)) = end.poll_event() {
        if event != Event::Readable {
            continue;
        }
        let Some(assoc) = end.association_mut(handle) else { continue };
        while let Some(message) = assoc.recv(now, RecvFrom::Any) {
            got += message.data.len() as u64;
        }
    }
    got
}
