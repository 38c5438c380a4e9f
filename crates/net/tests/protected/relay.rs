//! Somebody between two ends: he sees every packet, and says what he likes to either of them, from
//! where the other seems to be.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use polypath_wire::{
    ChecksumCheck, ChecksumMode, EncodeChunk, PacketView, PacketWriter, chunk::kind,
};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// Packets that are remembered, each way.
const REMEMBERED: usize = 1000;

/// The relay; it stops when it is dropped.
pub(crate) struct Relay {
    towards_client: Arc<Side>,
    towards_server: Arc<Side>,
    carriers: [JoinHandle<()>; 2],
}

/// What he has at one side.
pub(crate) struct Side {
    socket: UdpSocket,
    /// Where that end is.
    end: Mutex<Option<SocketAddr>>,
    /// What went to that end.
    seen: Mutex<Vec<Vec<u8>>>,
}

impl Relay {
    /// Between the server at `server` and who sends to [`address`](Self::address).
    pub(crate) async fn new(server: SocketAddr) -> Self {
        let side = async |end| {
            let socket = UdpSocket::bind(("127.0.0.9", 0)).await.unwrap();
            Arc::new(Side { socket, end: Mutex::new(end), seen: Mutex::default() })
        };
        let (towards_client, towards_server) = (side(None).await, side(Some(server)).await);
        let carriers = [
            tokio::spawn(carry(towards_client.clone(), towards_server.clone())),
            tokio::spawn(carry(towards_server.clone(), towards_client.clone())),
        ];
        Self { towards_client, towards_server, carriers }
    }

    /// Where clients send to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.towards_client.socket.local_addr().unwrap()
    }

    pub(crate) fn sides(&self) -> [&Side; 2] {
        [&self.towards_client, &self.towards_server]
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.carriers.iter().for_each(JoinHandle::abort);
    }
}

/// What comes at `from` leaves at `to`.
async fn carry(from: Arc<Side>, to: Arc<Side>) {
    let mut buf = vec![0; 65_536];
    loop {
        let Ok((len, source)) = from.socket.recv_from(&mut buf).await else { continue };
        from.end.lock().unwrap().get_or_insert(source);
        let packet = &buf[..len];
        to.say_bytes(packet).await;
        let mut seen = to.seen.lock().unwrap();
        if seen.len() < REMEMBERED {
            seen.push(packet.to_vec());
        }
    }
}

impl Side {
    pub(crate) async fn say_bytes(&self, packet: &[u8]) {
        let end = *self.end.lock().unwrap();
        if let Some(end) = end {
            let _refused_by_icmp = self.socket.send_to(packet, end).await;
        }
    }

    /// Says one chunk in plain to this end, with the ports of its association and this tag.
    pub(crate) async fn say(&self, tag: u32, chunk: &impl EncodeChunk) {
        let header = self.latest();
        let mut out = Vec::new();
        let (from, to) = (header.source_port, header.destination_port);
        let mut writer = PacketWriter::new(&mut out, 1500, from, to, tag);
        writer.push(chunk).unwrap();
        writer.finish(ChecksumMode::Crc32c);
        self.say_bytes(&out).await;
    }

    /// The tag that this end expects.
    pub(crate) fn tag(&self) -> u32 {
        self.latest().verification_tag
    }

    fn latest(&self) -> polypath_wire::CommonHeader {
        let seen = self.seen.lock().unwrap();
        PacketView::parse(seen.last().unwrap(), ChecksumCheck::Skip).unwrap().header()
    }

    /// The protected packets that went to this end.
    pub(crate) fn sealed(&self) -> Vec<Vec<u8>> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|packet| packet[12] == kind::DTLS).cloned().collect()
    }

    /// Whether what the application sent could be read here.
    pub(crate) fn reads(&self, text: &[u8]) -> bool {
        let seen = self.seen.lock().unwrap();
        seen.iter().any(|packet| packet.windows(text.len()).any(|at| at == text))
    }
}
