//! What an observer injects who knows an association's addresses, ports, tag and first TSNs, and
//! what he replays.

use std::net::SocketAddr;

use polypath_testkit::packet::PacketBuilder;
use polypath_wire::chunk::kind as chunk_kind;

use crate::kind::Kind;
use crate::observer::{Observer, Seen};
use crate::packets::frame_sctp;
use crate::serve::PORT;

/// What he knows of an association.
#[derive(Clone, Debug)]
pub struct Insight {
    /// The client's address.
    pub client: SocketAddr,
    /// The client's SCTP port.
    pub port: u16,
    /// The verification tag of packets to the victim.
    pub tag: u32,
    /// The client's first TSN.
    pub client_tsn: u32,
    /// The victim's.
    pub victim_tsn: u32,
}

impl Insight {
    /// Of the association that is being set up before two observers: one sees what comes to the
    /// victim, the other what comes to the client.
    ///
    /// # Panics
    /// When none is.
    pub fn gain(at_victim: &mut Observer, at_client: &mut Observer) -> Self {
        let init = at_victim.await_kind(chunk_kind::INIT);
        let ack = at_client.await_kind(chunk_kind::INIT_ACK);
        let protected = at_victim.await_kind(chunk_kind::DTLS);
        Self {
            client: protected.from,
            port: init.port(),
            tag: protected.tag(),
            client_tsn: init.initial_tsn(),
            victim_tsn: ack.initial_tsn(),
        }
    }

    /// Packet `n` with what `injection` makes, as if the client had sent it.
    pub fn inject(&self, injection: Injection, n: u32) -> Vec<u8> {
        let (kind, flags, value) = injection(self, n);
        let packet = PacketBuilder::new(self.port, PORT, self.tag);
        let packet = packet.push_raw(kind, flags, &value).build();
        frame_sctp(Kind::COMMON, self.client, &packet)
    }
}

/// A chunk's type, flags and value.
pub type Injection = fn(&Insight, u32) -> (u8, u8, Vec<u8>);

/// Chunks that would end, hinder or change an association if they were believed.
pub const INJECTIONS: [(&str, Injection); 9] = [
    ("ABORT", |_, n| (chunk_kind::ABORT, (n % 2) as u8, Vec::new())),
    ("SHUTDOWN COMPLETE", |_, n| (chunk_kind::SHUTDOWN_COMPLETE, (n % 2) as u8, Vec::new())),
    ("SHUTDOWN", |known, n| {
        (chunk_kind::SHUTDOWN, 0, known.victim_tsn.wrapping_add(n).to_be_bytes().to_vec())
    }),
    ("DATA", |known, n| (chunk_kind::DATA, 3, data(known.client_tsn.wrapping_add(n)))),
    ("SACK", |known, n| (chunk_kind::SACK, 0, sack(known.victim_tsn.wrapping_add(n)))),
    ("FORWARD TSN", |known, n| {
        let ahead = known.client_tsn.wrapping_add(n.wrapping_mul(100));
        (chunk_kind::FORWARD_TSN, 0, ahead.to_be_bytes().to_vec())
    }),
    ("HEARTBEAT", |_, n| (chunk_kind::HEARTBEAT, 0, heartbeat(n))),
    ("ASCONF", |_, n| (chunk_kind::ASCONF, 0, asconf(n))),
    ("DTLS", |_, n| (chunk_kind::DTLS, 0, n.wrapping_mul(0x9e37_79b9).to_be_bytes().repeat(20))),
];

fn data(tsn: u32) -> Vec<u8> {
    let mut value = tsn.to_be_bytes().to_vec();
    value.extend([0; 8]);
    value.extend(b"slipped in");
    value
}

/// Everything arrived, and there is no room left.
fn sack(cumulative: u32) -> Vec<u8> {
    [cumulative.to_be_bytes(), [0; 4], [0; 4]].concat()
}

fn heartbeat(n: u32) -> Vec<u8> {
    [[0, 1, 0, 12], n.to_be_bytes(), [7; 4]].concat()
}

/// "I have another address, too: a stranger's."
fn asconf(n: u32) -> Vec<u8> {
    let mut value = n.to_be_bytes().to_vec();
    value.extend([0, 5, 0, 8, 10, 0, 1, 1]);
    value.extend([0xc0, 1, 0, 16]);
    value.extend(n.to_be_bytes());
    value.extend([0, 5, 0, 8, 100, 64, 1, 1]);
    value
}

/// A packet of the client once more, from `from`.
pub fn replay(seen: &Seen, from: SocketAddr) -> Vec<u8> {
    frame_sctp(Kind::COMMON, from, &seen.packet)
}
