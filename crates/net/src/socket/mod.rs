//! The sockets of an endpoint, one per local address: UDP or raw IP behind one face.

mod fragment;
mod open;
mod queue;
mod raw;
mod udp;
mod watched;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd as _;
use std::task::{Context, Poll};

use crate::batch::{Batch, Whole};
pub(crate) use open::{Opened, open_all, open_another};
pub(crate) use queue::Trouble;
pub(crate) use watched::Room;
use watched::Watched;

/// Room for what one call to the kernel may bring.
pub(crate) struct Inbox {
    buffers: Vec<Vec<u8>>,
    meta: Vec<quinn_udp::RecvMeta>,
    filled: usize,
}

/// The largest UDP payload, and the most that the kernel puts together on reception (GRO).
const BUFFER: usize = 65_535;

impl Inbox {
    pub(crate) fn new() -> Self {
        let count = quinn_udp::BATCH_SIZE;
        Self {
            buffers: (0..count).map(|_| vec![0; BUFFER]).collect(),
            meta: vec![quinn_udp::RecvMeta::default(); count],
            filled: 0,
        }
    }

    /// The packets of the last call with their sources, in the order of arrival.
    pub(crate) fn packets(&mut self) -> impl Iterator<Item = (SocketAddr, &mut [u8])> {
        let filled = self.meta.iter().zip(&mut self.buffers).take(self.filled);
        filled.flat_map(|(meta, buffer)| {
            let data = buffer.get_mut(..meta.len).unwrap_or_default();
            data.chunks_mut(meta.stride.max(1)).map(move |packet| (meta.addr, packet))
        })
    }
}

/// A socket at one local address.
#[derive(Debug)]
pub(crate) struct Socket {
    local: SocketAddr,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Udp(udp::UdpSocket),
    Raw(raw::RawSocket),
}

impl Socket {
    /// The address, with the UDP port; 0 without encapsulation.
    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    const fn watched_socket(&self) -> &Watched {
        match &self.kind {
            Kind::Udp(socket) => &socket.io,
            Kind::Raw(socket) => &socket.io,
        }
    }

    /// Whether packets or errors may have arrived; wakes the task when they do.
    pub(crate) fn poll_arrivals(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.kind {
            Kind::Udp(socket) => socket.io.poll_arrivals(cx),
            Kind::Raw(socket) => socket.io.poll_arrivals(cx),
        }
    }

    /// For a socket that is full: what tells when it takes packets again.
    ///
    /// # Errors
    /// For want of descriptors or memory.
    pub(crate) fn writable_room(&self) -> io::Result<Room> {
        Room::of_socket(self.watched_socket())
    }

    /// Takes what has arrived, as much as one call gives. False when there is nothing. An error on
    /// reception is one of a path: its silence will tell.
    pub(crate) fn receive(&self, inbox: &mut Inbox) -> bool {
        let Inbox { buffers, meta, filled } = inbox;
        let received = self.watched_socket().receive_by(|io| match &self.kind {
            Kind::Udp(socket) => socket.receive(io, buffers, meta),
            Kind::Raw(socket) => socket.receive(io, buffers, meta),
        });
        *filled = received.unwrap_or(0);
        received.is_some()
    }

    /// Sends the packets of a batch. [`io::ErrorKind::WouldBlock`]: later.
    pub(crate) fn send(&self, batch: &Batch) -> io::Result<()> {
        let _as_before = match batch.whole {
            Whole::AsUsual => None,
            Whole::Probe => self.keep_whole(),
            Whole::Fragments => Some(self.let_fragment()),
        };
        match &self.kind {
            Kind::Udp(socket) => socket.send(batch),
            Kind::Raw(socket) => socket.send(batch),
        }
    }

    /// Before a probe: Don't Fragment on all packets from now on. A UDP socket has it from the
    /// beginning.
    fn keep_whole(&self) -> Option<fragment::Restore<'_>> {
        if let Kind::Raw(socket) = &self.kind {
            fragment::keep_whole(socket.io.as_fd(), self.local.ip());
        }
        None
    }

    /// For one packet that cannot be made smaller.
    fn let_fragment(&self) -> fragment::Restore<'_> {
        fragment::Restore::allow_fragments(self.watched_socket().as_fd(), self.local.ip())
    }

    /// Packets of one size that one call may carry.
    pub(crate) fn segments(&self) -> usize {
        match &self.kind {
            Kind::Udp(socket) => socket.segments(),
            Kind::Raw(_) => 1,
        }
    }

    /// What routers said of packets that we sent (ICMP), one at a time, if the runtime has seen
    /// that there is something; `Some(None)`: they said nothing of use.
    pub(crate) fn next_trouble(&self) -> Option<Option<Trouble>> {
        self.watched_socket().next_error(|| self.trouble_now())
    }

    /// The same, whatever the runtime has seen: of a packet that was refused a moment ago.
    pub(crate) fn trouble_now(&self) -> Option<Option<Trouble>> {
        match &self.kind {
            Kind::Udp(socket) => socket.next_trouble(),
            Kind::Raw(socket) => socket.next_trouble(),
        }
    }
}

/// Whether this address is one of a link's own, which needs its interface named.
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}
