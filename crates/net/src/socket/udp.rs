//! SCTP in UDP (RFC 6951): batches by GSO and GRO where the system has them.

use std::io::{self, IoSliceMut};

use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};

use super::{Trouble, Watched, queue};
use crate::batch::Batch;

#[derive(Debug)]
pub(super) struct UdpSocket {
    pub(super) io: Watched,
    state: UdpSocketState,
    /// ICMP errors come through the socket's error queue.
    hears_errors: bool,
}

impl UdpSocket {
    /// Takes over a bound socket. To be called within the reactor's runtime.
    pub(super) fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        let hears_errors = state.enable_transport_errors(UdpSockRef::from(&socket)).is_ok();
        Ok(Self { io: Watched::new(socket)?, state, hears_errors })
    }

    pub(super) fn receive(
        &self,
        io: &tokio::net::UdpSocket,
        buffers: &mut [Vec<u8>],
        meta: &mut [RecvMeta],
    ) -> io::Result<usize> {
        // The list of slices lives on the stack: no allocation per call.
        let mut left = buffers.iter_mut();
        let mut slices: [IoSliceMut<'_>; quinn_udp::BATCH_SIZE] = core::array::from_fn(|_| {
            IoSliceMut::new(left.next().map_or(&mut [], Vec::as_mut_slice))
        });
        self.state.recv(UdpSockRef::from(io), &mut slices, meta)
    }

    pub(super) fn send(&self, batch: &Batch) -> io::Result<()> {
        let transmit = Transmit {
            destination: batch.flow.tuple.remote,
            ecn: None,
            contents: &batch.bytes,
            segment_size: Some(batch.segment),
            src_ip: None,
        };
        self.state.try_send(UdpSockRef::from(self.io.socket()), &transmit)
    }

    pub(super) fn segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// As [`queue::next_error`].
    pub(super) fn next_trouble(&self) -> Option<Option<Trouble>> {
        self.hears_errors.then(|| queue::next_error(self.io.socket())).flatten()
    }
}
