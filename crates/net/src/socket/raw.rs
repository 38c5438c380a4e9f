//! SCTP directly over IP, protocol 132.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd as _;

use nix::sys::socket::{MsgFlags, SockaddrStorage, sendto, setsockopt, sockopt};
use quinn_udp::RecvMeta;

use super::{Trouble, Watched, queue};
use crate::batch::Batch;

#[derive(Debug)]
pub(super) struct RawSocket {
    /// A raw IP socket, not a UDP one: the calls that send and receive are the same.
    pub(super) io: Watched,
    /// The address that it is bound to.
    local: IpAddr,
    /// ICMP errors come through the socket's error queue.
    hears_errors: bool,
}

impl RawSocket {
    /// Takes over a bound, non-blocking socket. To be called within the reactor's runtime.
    pub(super) fn new(socket: std::net::UdpSocket, local: IpAddr) -> io::Result<Self> {
        let hears_errors = match local {
            IpAddr::V4(_) => setsockopt(&socket, sockopt::Ipv4RecvErr, &true),
            IpAddr::V6(_) => setsockopt(&socket, sockopt::Ipv6RecvErr, &true),
        };
        let hears_errors = hears_errors.is_ok();
        Ok(Self { io: Watched::new(socket)?, local, hears_errors })
    }

    pub(super) fn receive(
        &self,
        io: &tokio::net::UdpSocket,
        buffers: &mut [Vec<u8>],
        meta: &mut [RecvMeta],
    ) -> io::Result<usize> {
        let mut filled = 0;
        for (buffer, meta) in buffers.iter_mut().zip(meta) {
            match io.try_recv_from(buffer) {
                Ok((len, from)) => {
                    let len = self.strip_header(buffer, len);
                    (meta.addr, meta.len, meta.stride) = (without_port(from), len, len);
                    filled += 1;
                }
                // What is amiss shows again, or is in the error queue.
                Err(_) if filled > 0 => break,
                Err(e) => return Err(e),
            }
        }
        Ok(filled)
    }

    /// IPv4 raw sockets deliver the IP header, IPv6 ones do not (RFC 3542 section 3).
    fn strip_header(&self, buffer: &mut [u8], len: usize) -> usize {
        if self.local.is_ipv6() {
            return len;
        }
        let header = usize::from(buffer.first().copied().unwrap_or(0) & 0xf) * 4;
        let header = header.min(len);
        buffer.copy_within(header..len, 0);
        len - header
    }

    pub(super) fn send(&self, batch: &Batch) -> io::Result<()> {
        let to = SockaddrStorage::from(batch.flow.tuple.remote);
        let fd = self.io.socket().as_raw_fd();
        sendto(fd, &batch.bytes, &to, MsgFlags::empty())?;
        Ok(())
    }

    /// As [`queue::next_error`].
    pub(super) fn next_trouble(&self) -> Option<Option<Trouble>> {
        let entry = self.hears_errors.then(|| queue::next_error(self.io.socket())).flatten()?;
        Some(entry.map(|mut trouble| {
            trouble.remote = without_port(trouble.remote);
            trouble
        }))
    }
}

/// The system puts the protocol's number where ports are.
fn without_port(mut address: SocketAddr) -> SocketAddr {
    address.set_port(0);
    address
}
