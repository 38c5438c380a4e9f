//! Ends, resets and refusals of TCP, as they are at either end.

use std::io;
use std::time::Duration;

use polypath_apps::forward::channel::OpenError;
use polypath_apps::forward::refusal::Refusal;
use polypath_apps::forward::relay::Local;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{Pair, Setting, listen, soon};

/// The two ends of a connection that the association carries.
async fn joined(pair: &Pair) -> (TcpStream, TcpStream) {
    let (target, at) = listen().await;
    let (local, here) = listen().await;
    let (channel, there) = tokio::join!(pair.open(at), target.accept());
    let (near, taken) = tokio::join!(TcpStream::connect(here), local.accept());
    let (taken, channel) = (Local::Tcp(taken.unwrap().0), channel.unwrap());
    tokio::spawn(taken.relay(channel));
    (near.unwrap(), there.unwrap().0)
}

#[tokio::test]
async fn each_direction_ends_by_itself() {
    let pair = Pair::new(Setting::default()).await;
    let (mut near, mut far) = joined(&pair).await;
    near.write_all(b"all I have to say").await.unwrap();
    near.shutdown().await.unwrap();
    let mut heard = Vec::new();
    soon(far.read_to_end(&mut heard)).await.unwrap();
    assert_eq!(heard, b"all I have to say");
    far.write_all(&[1; 300_000]).await.unwrap();
    far.shutdown().await.unwrap();
    heard.clear();
    soon(near.read_to_end(&mut heard)).await.unwrap();
    assert_eq!(heard, [1; 300_000]);
    let mux = pair.client.current().unwrap();
    soon(async {
        while mux.connections() != (0, 0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!((pair.server.load(), mux.waiting()), ((1, 0), 0));
}

#[tokio::test]
async fn a_reset_at_one_end_is_a_reset_at_the_other() {
    let pair = Pair::new(Setting::default()).await;
    for first in [true, false] {
        let (near, far) = joined(&pair).await;
        let (breaks, mut hears) = if first { (near, far) } else { (far, near) };
        breaks.set_zero_linger().unwrap();
        drop(breaks);
        let error = soon(hears.read_u8()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{first}");
    }
}

#[tokio::test]
async fn what_is_refused_says_why() {
    let pair = Pair::new(Setting { permit: "127.0.0.1:*".to_owned(), ..Setting::default() }).await;
    let (listener, at) = listen().await;
    drop(listener);
    let refused = pair.open(at).await.unwrap_err();
    assert_eq!(refused, OpenError::Refused(Refusal::Refused));
    let refused = pair.open("127.0.0.2:80".parse().unwrap()).await.unwrap_err();
    assert_eq!(refused, OpenError::Refused(Refusal::NotPermitted));
}

#[tokio::test]
async fn numbers_of_streams_are_used_again() {
    // Three at a time for each side.
    let pair = Pair::new(Setting { streams: 7, ..Setting::default() }).await;
    let (listener, at) = listen().await;
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut byte = [0];
                while stream.read_exact(&mut byte).await.is_ok() {
                    stream.write_all(&byte).await.unwrap();
                }
            });
        }
    });
    for round in 0..200_u32 {
        let channel = loop {
            match pair.open(at).await {
                // The last frames of the one before are under way.
                Err(OpenError::Refused(Refusal::TooMany)) => tokio::task::yield_now().await,
                other => break other.unwrap(),
            }
        };
        let byte = [round as u8];
        assert!(channel.allowance(1).await.is_ok());
        channel.write(bytes::Bytes::copy_from_slice(&byte)).await.unwrap();
        let mut pieces = Default::default();
        assert!(soon(channel.read(&mut pieces)).await.unwrap());
        assert_eq!(pieces[0][..], byte, "round {round}");
        if round % 3 == 0 {
            drop(channel);
            continue;
        }
        channel.finish().await.unwrap();
        pieces.clear();
        assert!(!soon(channel.read(&mut pieces)).await.unwrap());
        channel.close().await;
    }
}

#[tokio::test]
async fn the_far_end_listens_for_what_was_named_and_nothing_else() {
    let pair = Pair::new(Setting::default()).await;
    let (target, at) = listen().await;
    let (told, mut news) = tokio::sync::mpsc::unbounded_channel();
    let spec = format!("0:127.0.0.1:{}", at.port()).parse().unwrap();
    pair.client.listen_there(&spec, told.clone());
    let port = match soon(news.recv()).await.unwrap() {
        polypath_apps::forward::client::Remote::Listening(_, port) => port,
        other => panic!("{other:?}"),
    };
    let (near, far) = tokio::join!(TcpStream::connect(("127.0.0.1", port)), target.accept());
    let (mut near, mut far) = (near.unwrap(), far.unwrap().0);
    near.write_all(b"x").await.unwrap();
    assert_eq!(soon(far.read_u8()).await.unwrap(), b'x');
    for (at, why) in [
        ("*:0:127.0.0.1:80", Refusal::NotPermitted),
        ("1:127.0.0.1:80", Refusal::NotPermitted),
        (&format!("{port}:127.0.0.1:80")[..], Refusal::Failed),
    ] {
        pair.client.listen_there(&at.parse().unwrap(), told.clone());
        match soon(news.recv()).await.unwrap() {
            polypath_apps::forward::client::Remote::Refused(_, said) => assert_eq!(said, why),
            other => panic!("{at}: {other:?}"),
        }
    }
    // With the association goes the listener.
    pair.association.abort("gone");
    soon(async {
        while TcpListener::bind(("127.0.0.1", port)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// Whoever gives up an association breaks off what it carries: nobody waits for it for ever.
#[tokio::test]
async fn connections_end_with_what_carries_them() {
    let pair = Pair::new(Setting::default()).await;
    let (target, at) = listen().await;
    let (channel, there) = tokio::join!(pair.open(at), target.accept());
    let (channel, _there) = (channel.unwrap(), there.unwrap());
    let reading = tokio::spawn(async move { channel.read(&mut Default::default()).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    pair.carrying.abort();
    assert!(soon(reading).await.unwrap().is_err());
}

/// There is no room to say OPEN, and then nobody wants the connection any more.
#[tokio::test]
async fn who_gives_up_before_it_began_harms_nobody() {
    let pair = Pair::new(Setting::default()).await;
    let (target, at) = listen().await;
    // Fills the send buffer on a stream that carries nothing, for which the server ends it later.
    let (channel, there) = tokio::join!(pair.open(at), target.accept());
    let (channel, _there) = (channel.unwrap(), there.unwrap());
    let full = async {
        while pair.association.try_send(1, vec![0; 1 << 10], Default::default()).is_ok() {}
    };
    full.await;
    let mux = pair.client.current().unwrap();
    let before = mux.connections();
    let to = polypath_apps::forward::frame::Destination::Place(at.to_string().parse().unwrap());
    {
        let opening = core::pin::pin!(mux.open(to));
        let polled = futures_poll(opening);
        assert!(polled.is_pending(), "there is no room");
    }
    assert_eq!(mux.connections(), before, "its number is free again");
    drop(channel);
}

/// Polls once.
fn futures_poll<F: Future>(future: core::pin::Pin<&mut F>) -> core::task::Poll<F::Output> {
    future.poll(&mut core::task::Context::from_waker(core::task::Waker::noop()))
}

/// One that has said all it had, and reads nothing, does not keep a connection whose other end is
/// gone.
#[tokio::test]
async fn a_reader_that_stopped_does_not_keep_what_is_broken() {
    let pair = Pair::new(Setting::default()).await;
    let (mut near, mut far) = joined(&pair).await;
    near.shutdown().await.unwrap();
    assert_eq!(soon(far.read(&mut [0])).await.unwrap(), 0);
    let zeros = vec![0; 64 << 10];
    // Until everything on the way is full.
    while tokio::time::timeout(Duration::from_millis(300), far.write_all(&zeros)).await.is_ok() {}
    far.set_zero_linger().unwrap();
    drop(far);
    let mux = pair.client.current().unwrap();
    soon(async {
        while mux.connections() != (0, 0) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}
