//! One reader that stops holds up no other: without credit for each connection it would stop all,
//! for one receive window serves all streams.

use std::time::Duration;

use bytes::Bytes;
use polypath_apps::forward::channel::Channel;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::{Pair, Setting, listen, soon};

const PIECE: usize = 16 << 10;

/// Writes until it is told to stop, or the connection breaks.
async fn write_for_ever(channel: Channel) {
    let piece = Bytes::from(vec![7; PIECE]);
    while let Ok(allowed) = channel.allowance(PIECE).await {
        if channel.write(piece.slice(..allowed)).await.is_err() {
            return;
        }
    }
}

async fn read_exactly(mut stream: TcpStream, bytes: usize) {
    let mut buffer = vec![0; 64 << 10];
    let mut left = bytes;
    while left > 0 {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "{left} bytes are missing");
        left = left.saturating_sub(read);
    }
}

#[tokio::test]
async fn readers_that_stop_hold_up_no_other() {
    let pair = Pair::new(Setting::default()).await;
    let (listener, at) = listen().await;
    let mut stalled = Vec::new();
    for _ in 0..50 {
        let (channel, accepted) = tokio::join!(pair.open(at), listener.accept());
        tokio::spawn(write_for_ever(channel.unwrap()));
        stalled.push(accepted.unwrap().0);
    }
    // The kernel's buffers, ours, and then nothing more.
    let mut before = 0;
    let settled = async {
        loop {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let now = pair.association.stats().data_bytes_sent;
            if now == before {
                return;
            }
            before = now;
        }
    };
    soon(settled).await;
    let mux = pair.client.current().unwrap();
    assert_eq!(mux.connections(), (50, 0));
    let readers: Vec<_> = {
        let mut all = Vec::new();
        for _ in 0..10 {
            let (channel, accepted) = tokio::join!(pair.open(at), listener.accept());
            tokio::spawn(write_for_ever(channel.unwrap()));
            all.push(tokio::spawn(read_exactly(accepted.unwrap().0, 4 << 20)));
        }
        all
    };
    for reader in readers {
        soon(reader).await.unwrap();
    }
    drop(stalled);
    let all_gone = async {
        while mux.connections() != (0, 0) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon(all_gone).await;
    assert_eq!(mux.waiting(), 0, "what connections had of the pool is back");
    drop(pair.endpoints);
}

/// What was under way to it is dropped, and nobody else notices.
#[tokio::test]
async fn readers_that_go_away_in_the_middle_harm_no_other() {
    let pair = Pair::new(Setting::default()).await;
    let (listener, at) = listen().await;
    for round in 0..30 {
        let (channel, accepted) = tokio::join!(pair.open(at), listener.accept());
        tokio::spawn(write_for_ever(channel.unwrap()));
        let reader = accepted.unwrap().0;
        tokio::time::sleep(Duration::from_millis(round)).await;
        drop(reader);
    }
    let (channel, accepted) = tokio::join!(pair.open(at), listener.accept());
    tokio::spawn(write_for_ever(channel.unwrap()));
    soon(read_exactly(accepted.unwrap().0, 1 << 20)).await;
    assert!(!pair.association.is_closed());
}

#[tokio::test]
async fn a_reader_that_goes_on_gets_all_of_it() {
    let pair = Pair::new(Setting::default()).await;
    let (listener, at) = listen().await;
    let (channel, accepted) = tokio::join!(pair.open(at), listener.accept());
    tokio::spawn(write_for_ever(channel.unwrap()));
    tokio::time::sleep(Duration::from_millis(500)).await;
    soon(read_exactly(accepted.unwrap().0, 20 << 20)).await;
}

#[tokio::test]
async fn a_small_window_is_no_slow_one() {
    let limits = polypath_apps::forward::mux::Limits { connections: 9, waiting: 4 << 10 };
    let pair = Pair::new(Setting { limits, ..Setting::default() }).await;
    let (listener, at) = listen().await;
    let (channel, accepted) = tokio::join!(pair.open(at), listener.accept());
    tokio::spawn(write_for_ever(channel.unwrap()));
    soon(read_exactly(accepted.unwrap().0, 1 << 20)).await;
}
