//! SCTP in UDP (RFC 6951): batches by GSO and GRO where the system has them.

use std::io::{self, IoSliceMut};

use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};

use super::{Trouble, queue};
use crate::batch::Batch;

#[derive(Debug)]
pub(super) struct UdpSocket {
    pub(super) io: tokio::net::UdpSocket,
    state: UdpSocketState,
    /// ICMP errors come through the socket's error queue.
    hears_errors: bool,
}

impl UdpSocket {
    /// Takes over a bound socket. To be called within the reactor's runtime.
    pub(super) fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        let hears_errors = state.enable_transport_errors(UdpSockRef::from(&socket)).is_ok();
        Ok(Self { io: tokio::net::UdpSocket::from_std(socket)?, state, hears_errors })
    }

    pub(super) fn receive(
        &self,
        buffers: &mut [Vec<u8>],
        meta: &mut [RecvMeta],
    ) -> io::Result<usize> {
        // The list of slices lives on the stack: no allocation per call.
        let mut left = buffers.iter_mut();
        let mut slices: [IoSliceMut<'_>; quinn_udp::BATCH_SIZE] = core::array::from_fn(|_| {
            IoSliceMut::new(left.next().map_or(&mut [], Vec::as_mut_slice))
        });
        self.state.recv(UdpSockRef::from(&self.io), &mut slices, meta)
    }

    pub(super) fn send(&self, batch: &Batch) -> io::Result<()> {
        let transmit = Transmit {
            destination: batch.tuple.remote,
            ecn: None,
            contents: &batch.bytes,
            segment_size: Some(batch.segment),
            src_ip: None,
        };
        self.state.try_send(UdpSockRef::from(&self.io), &transmit)
    }

    pub(super) fn segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// The oldest entry of the socket's error queue.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.hears_errors.then(|| queue::next(&self.io)).flatten()
    }
}
