//! A socket that the reactor's runtime watches.

use std::future::Future;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Errors in a row after which a socket is left alone until something new happens to it. Each ICMP
/// message leaves one behind for the next call, beside its entry in the error queue; a flood of
/// them shall not hide what arrived.
const ERRORS_IN_A_ROW: usize = 8;

/// A UDP or raw IP socket. The runtime tells when packets, and when errors, have arrived; who wants
/// to send waits by means of a [`Room`].
pub(super) struct Watched {
    io: Arc<UdpSocket>,
    /// Ends when the error queue has something. It stays registered from one wait to the next.
    errors: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.io.fmt(f)
    }
}

impl Watched {
    /// Takes over a bound, non-blocking socket. To be called within the reactor's runtime.
    pub(super) fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        let io = Arc::new(UdpSocket::from_std(socket)?);
        let errors = Box::pin(watch_errors(io.clone()));
        Ok(Self { io, errors })
    }

    pub(super) fn socket(&self) -> &UdpSocket {
        &self.io
    }

    /// Whether packets or errors may have arrived; wakes the task when they do.
    pub(super) fn poll_arrivals(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let readable = self.io.poll_recv_ready(cx).is_ready();
        let in_error = self.errors.as_mut().poll(cx).is_ready();
        if in_error {
            self.errors = Box::pin(watch_errors(self.io.clone()));
        }
        if readable | in_error { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Receives by `call`, past errors that are not about what has arrived. `None` when there is
    /// nothing.
    pub(super) fn receive_by(
        &self,
        mut call: impl FnMut(&UdpSocket) -> io::Result<usize>,
    ) -> Option<usize> {
        let received = self.io.try_io(Interest::READABLE, || {
            for _ in 0..ERRORS_IN_A_ROW {
                match call(&self.io) {
                    Err(e) if e.kind() != io::ErrorKind::WouldBlock => {}
                    other => return other,
                }
            }
            // As if there were nothing: the next packet, or the next error, makes it ready again.
            Err(io::ErrorKind::WouldBlock.into())
        });
        received.ok()
    }

    /// The next entry of the error queue by `call`, which says `None` when it is empty.
    pub(super) fn next_error<T>(&self, call: impl FnOnce() -> Option<T>) -> Option<T> {
        let next = || call().ok_or_else(|| io::ErrorKind::WouldBlock.into());
        self.io.try_io(Interest::ERROR, next).ok()
    }
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

async fn watch_errors(io: Arc<UdpSocket>) {
    // It fails when the runtime ends.
    let _ = io.ready(Interest::ERROR).await;
}

/// Waits until a full socket takes packets again. A registration of its own, made anew each time:
/// epoll shows a queued error as the end of writing, and the runtime never forgets an end.
#[derive(Debug)]
pub(crate) struct Room(UdpSocket);

impl Room {
    pub(super) fn of_socket(socket: &impl AsFd) -> io::Result<Self> {
        UdpSocket::from_std(socket.as_fd().try_clone_to_owned()?.into()).map(Self)
    }

    /// Whether packets may be sent; wakes the task when they may.
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll_send_ready(cx).map(drop)
    }
}
