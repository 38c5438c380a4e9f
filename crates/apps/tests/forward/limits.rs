//! What one client may have: so many connections, so much memory, so many listeners.

use std::time::Duration;

use polypath_apps::forward::channel::OpenError;
use polypath_apps::forward::mux::Limits;
use polypath_apps::forward::refusal::Refusal;

use super::{Pair, Setting, listen, soon};

#[tokio::test]
async fn connections_are_bounded_by_what_the_server_says_and_by_its_memory() {
    for (limits, most) in [
        (Limits { connections: 5, waiting: 1 << 20 }, 5..=5),
        // As many as there are numbers of streams.
        (Limits { connections: 1000, waiting: 64 << 10 }, 50..=50),
    ] {
        let pair = Pair::new(Setting { limits, streams: 101, ..Setting::default() }).await;
        let (listener, at) = listen().await;
        let mut kept = Vec::new();
        let refused = loop {
            match pair.open(at).await {
                Ok(channel) => kept.push((channel, soon(listener.accept()).await.unwrap())),
                Err(error) => break error,
            }
        };
        assert_eq!(refused, OpenError::Refused(Refusal::TooMany));
        assert!(most.contains(&kept.len()), "{} connections", kept.len());
        let mux = pair.client.current().unwrap();
        assert!(mux.waiting() <= limits.waiting);
        kept.pop();
        soon(async {
            while pair.open(at).await.is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn all_clients_together_have_no_more_than_the_server_has() {
    let pair = Pair::new(Setting { connections: 3, ..Setting::default() }).await;
    let (_listener, at) = listen().await;
    let mut kept = Vec::new();
    for _ in 0..3 {
        kept.push(pair.open(at).await.unwrap());
    }
    assert_eq!(pair.open(at).await.unwrap_err(), OpenError::Refused(Refusal::TooMany));
    assert_eq!(pair.server.load(), (1, 3));
}

/// A client may ask for what moves the cursor, as often as it likes.
#[tokio::test]
async fn what_is_told_of_a_client_is_little_and_harmless() {
    let setting = Setting { permit: "127.0.0.1:1".to_owned(), ..Setting::default() };
    let told = setting.told.clone();
    let pair = Pair::new(setting).await;
    for _ in 0..50 {
        let path = polypath_apps::forward::target::Target::unix("/\x1b[2J\n").unwrap();
        let to = polypath_apps::forward::frame::Destination::Place(path);
        let refused = soon(pair.client.open(&to)).await.unwrap_err();
        assert_eq!(refused, OpenError::Refused(Refusal::NotPermitted));
    }
    let told = told.lock().unwrap();
    assert!(told.iter().all(|line| line.chars().all(|c| !c.is_control())), "{told:?}");
    assert!((10..=21).contains(&told.len()), "{} lines", told.len());
}

#[tokio::test]
async fn listeners_are_bounded() {
    let pair = Pair::new(Setting::default()).await;
    let (told, mut news) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..5 {
        pair.client.listen_there(&"0:127.0.0.1:80".parse().unwrap(), told.clone());
    }
    let mut refused = 0;
    for _ in 0..5 {
        match soon(news.recv()).await.unwrap() {
            polypath_apps::forward::client::Remote::Refused(_, why) => {
                assert_eq!(why, Refusal::TooMany);
                refused += 1;
            }
            polypath_apps::forward::client::Remote::Listening(..) => {}
        }
    }
    assert_eq!(refused, 1);
}
