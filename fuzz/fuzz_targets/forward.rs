//! What strangers say to `forward` and `serve`: frames, and requests of SOCKS clients. What is read as a frame is written alike; what
//! is read of a client ends where the request does.

#![no_main]

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use libfuzzer_sys::fuzz_target;
use polypath_apps::forward::frame::Frame;
use polypath_apps::forward::socks;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A client that says these bytes, and listens to nothing.
struct Client<'a>(&'a [u8]);

impl AsyncRead for Client<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let (now, later) = self.0.split_at(self.0.len().min(buf.remaining()));
        buf.put_slice(now);
        self.0 = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Client<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<std::io::Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(frame) = Frame::from_bytes(bytes) {
        assert_eq!(Frame::from_bytes(&frame.to_bytes()), Ok(frame));
    }
    let mut client = Client(bytes);
    let request = pin!(socks::read_request(&mut client)).poll(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(request) = request else { panic!("nothing to wait for") };
    if let Ok(request) = request {
        let read = bytes.len() - client.0.len();
        let again = pin!(socks::read_request(&mut Client(&bytes[..read]))).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(again, Poll::Ready(Ok(again)) if again.target == request.target));
    }
});
