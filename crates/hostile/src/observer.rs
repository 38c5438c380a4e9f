//! Somebody on the way who sees every packet that comes to a host: SCTP in UDP over IPv4.

use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};

use polypath_emu::Namespace;
use polypath_wire::chunk::kind as chunk_kind;
use socket2::{Domain, Protocol, Socket, Type};

/// What waits to be looked at, bytes.
const BUFFER: usize = 8 << 20;

/// Bytes of an SCTP packet before its first chunk.
const HEADER: usize = 12;

/// An SCTP packet that came by.
#[derive(Clone, Debug)]
pub struct Seen {
    /// From where.
    pub from: SocketAddr,
    /// To where.
    pub to: SocketAddr,
    /// With its common header.
    pub packet: Vec<u8>,
}

impl Seen {
    /// The type of its first chunk.
    pub fn first_kind(&self) -> Option<u8> {
        self.packet.get(HEADER).copied()
    }

    /// Its verification tag.
    pub fn tag(&self) -> u32 {
        self.word_at(4)
    }

    /// The SCTP port of its sender.
    pub fn port(&self) -> u16 {
        (self.word_at(0) >> 16) as u16
    }

    /// Of an INIT or INIT ACK: its sender's first TSN.
    pub fn initial_tsn(&self) -> u32 {
        self.word_at(HEADER + 16)
    }

    fn word_at(&self, at: usize) -> u32 {
        let bytes = self.packet.get(at..at + 4).and_then(|word| word.try_into().ok());
        u32::from_be_bytes(bytes.unwrap_or_default())
    }
}

/// Sees what comes to one host.
#[derive(Debug)]
pub struct Observer {
    socket: Socket,
    /// What nobody asked for yet.
    kept: Vec<Seen>,
}

impl Observer {
    /// Looks at what comes to `host` from now on.
    ///
    /// # Panics
    /// When the system refuses raw sockets.
    pub fn start(host: &Namespace) -> Self {
        let open = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP));
        let socket = host.run(open).and_then(|opened| opened).expect("raw sockets for root");
        socket.set_recv_buffer_size(BUFFER).expect("a buffer");
        socket.set_nonblocking(true).expect("it need not wait");
        Self { socket, kept: Vec::new() }
    }

    /// What came since it was looked last.
    pub fn look(&mut self) -> Vec<Seen> {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(len) = self.socket.read(&mut buffer) {
            take_apart(&buffer[..len], &mut self.kept);
        }
        core::mem::take(&mut self.kept)
    }

    /// The first packet of this type, once there is one; the others can be looked at later.
    ///
    /// # Panics
    /// When that takes longer than 5 s.
    #[expect(clippy::disallowed_methods, reason = "it waits in real time")]
    pub fn await_kind(&mut self, kind: u8) -> Seen {
        for _ in 0..500 {
            let mut seen = self.look();
            let found = seen.iter().position(|seen| seen.first_kind() == Some(kind));
            let found = found.map(|at| seen.remove(at));
            self.kept = seen;
            if let Some(found) = found {
                return found;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("no packet of type {kind} comes by");
    }
}

/// The SCTP packets in an IPv4 packet with UDP.
fn take_apart(packet: &[u8], seen: &mut Vec<Seen>) {
    let ihl = packet.first().map_or(0, |first| usize::from(first & 15) * 4);
    let Some((ip, udp)) = packet.split_at_checked(ihl).filter(|(ip, _)| ip.len() >= 20) else {
        return;
    };
    let Some((ports, mut rest)) = udp.split_at_checked(8) else { return };
    let address = |at: usize, port: usize| {
        let bytes: [u8; 4] = [ip[at], ip[at + 1], ip[at + 2], ip[at + 3]];
        let port = u16::from_be_bytes([ports[port], ports[port + 1]]);
        SocketAddr::new(Ipv4Addr::from(bytes).into(), port)
    };
    let (from, to) = (address(12, 0), address(16, 2));
    // Packets that were handed to the system together come by as one.
    while rest.len() > HEADER {
        let (packet, more) = rest.split_at(first_length(rest));
        seen.push(Seen { from, to, packet: packet.to_vec() });
        rest = more;
    }
}

/// A protected packet is one chunk; others travel alone.
fn first_length(packets: &[u8]) -> usize {
    match packets.get(HEADER..HEADER + 4) {
        Some(&[chunk_kind::DTLS, _, high, low]) => {
            let chunk = usize::from(u16::from_be_bytes([high, low])).next_multiple_of(4);
            (HEADER + chunk).min(packets.len())
        }
        _ => packets.len(),
    }
}
