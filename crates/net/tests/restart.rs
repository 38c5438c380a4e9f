//! A peer that forgets everything and opens again from the same port, made by hand.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use polypath_net::{Association, Config, Encapsulation, Endpoint, Event};
use polypath_wire::{
    ChecksumCheck, ChecksumMode, Chunk, CookieEchoChunk, EncodeChunk, InitFixed, InitRepr,
    PacketView, PacketWriter, Parameter, ParamsBuf, Tsn,
};
use tokio::net::UdpSocket;

const PORTS: (u16, u16) = (4000, 5000);

struct Peer(UdpSocket);

impl Peer {
    async fn new(server: &Endpoint) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        socket.connect(server.local_addresses()[0]).await.unwrap();
        Self(socket)
    }

    async fn say(&self, tag: u32, chunk: &impl EncodeChunk) {
        let mut out = Vec::new();
        let mut writer = PacketWriter::new(&mut out, 1500, PORTS.0, PORTS.1, tag);
        writer.push(chunk).unwrap();
        writer.finish(ChecksumMode::Crc32c);
        self.0.send(&out).await.unwrap();
    }

    /// The next packet with a chunk that `wanted` finds something in.
    async fn hear<T>(&self, wanted: impl Fn(u32, Chunk<'_>) -> Option<T>) -> T {
        let mut buf = vec![0; 2000];
        let listening = async {
            loop {
                let len = self.0.recv(&mut buf).await.unwrap();
                let view = PacketView::parse(&buf[..len], ChecksumCheck::Verify).unwrap();
                let tag = view.header().verification_tag;
                let mut chunks = view.chunks().filter_map(|raw| raw.unwrap().decode().ok());
                if let Some(found) = chunks.find_map(|chunk| wanted(tag, chunk)) {
                    return found;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), listening).await.expect("an answer")
    }

    /// Opens as a peer with this tag.
    async fn open(&self, own: u32) {
        let fixed = InitFixed {
            initiate_tag: own,
            a_rwnd: 100_000,
            outbound_streams: 1,
            inbound_streams: 1,
            initial_tsn: Tsn(own),
        };
        self.say(0, &InitRepr { fixed, params: ParamsBuf::new() }).await;
        let (tag, cookie) = self
            .hear(|_, chunk| {
                let Chunk::InitAck(ack) = chunk else { return None };
                let cookie = ack.params.iter().find_map(|p| match p.ok()?.decode() {
                    Ok(Parameter::StateCookie(cookie)) => Some(cookie.to_vec()),
                    _ => None,
                });
                Some((ack.fixed.initiate_tag, cookie?))
            })
            .await;
        self.say(tag, &CookieEchoChunk { cookie: &cookie }).await;
        self.hear(|tag, chunk| (tag == own && matches!(chunk, Chunk::CookieAck)).then_some(()))
            .await;
    }

    async fn hear_shutdown(&self, own: u32) {
        self.hear(|tag, chunk| (tag == own && matches!(chunk, Chunk::Shutdown(_))).then_some(()))
            .await;
    }
}

async fn accepted() -> (Association, Peer, Endpoint) {
    let config = Config::insecure_server([IpAddr::V4(Ipv4Addr::LOCALHOST)], PORTS.1);
    let server = Endpoint::bind(config.encapsulation(Encapsulation::Udp(0))).unwrap();
    let peer = Peer::new(&server).await;
    let (association, ()) = tokio::join!(server.accept(), peer.open(77));
    (association.unwrap(), peer, server)
}

#[tokio::test]
async fn a_shutdown_goes_on_with_the_new_life_of_a_peer_that_restarts() {
    let (association, peer, _server) = accepted().await;
    let mut events = association.events();
    association.begin_shutdown();
    peer.hear_shutdown(77).await;
    peer.open(78).await;
    while events.next().await != Some(Event::Restarted) {}
    peer.hear_shutdown(78).await;
}

#[tokio::test]
async fn an_association_that_nobody_holds_says_goodbye_to_the_new_life_of_its_peer() {
    let (association, peer, _server) = accepted().await;
    drop(association);
    peer.hear_shutdown(77).await;
    peer.open(78).await;
    peer.hear_shutdown(78).await;
}
