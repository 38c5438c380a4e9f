//! What an endpoint writes down: its associations, and little of anybody else.

mod common;

use std::net::UdpSocket;
use std::time::Duration;

use common::{File, HERE, PORT};
use polypath_net::{Capture, Config, Encapsulation, Endpoint};

/// Blocks of one type (pcapng section 3.1).
fn blocks(file: &File, kind: u32) -> usize {
    let bytes = file.bytes();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut at = 0;
    let mut count = 0;
    while at < bytes.len() {
        count += usize::from(word(at) == kind);
        at += word(at + 4) as usize;
    }
    count
}

fn server(capture: &Capture) -> Endpoint {
    let config = Config::insecure_server([HERE], PORT)
        .encapsulation(Encapsulation::Udp(0))
        .capture(Some(capture.clone()));
    Endpoint::bind(config).unwrap()
}

/// Sends a megabyte from a client to the server.
async fn transfer(server: &Endpoint) {
    let client = Endpoint::bind(Config::insecure_client([HERE])).unwrap();
    let there = server.local_addresses();
    let (a, b) = tokio::join!(client.connect(&there, PORT), server.accept());
    let (a, b) = (a.unwrap(), b.unwrap());
    let sending = async {
        for _ in 0..16 {
            a.send(0, vec![7; 64 << 10]).await.unwrap();
        }
    };
    let reading = async {
        for _ in 0..16 {
            assert_eq!(b.recv().await.unwrap().unwrap().data.len(), 64 << 10);
        }
    };
    let both = async { tokio::join!(sending, reading) };
    tokio::time::timeout(Duration::from_secs(30), both).await.unwrap();
    a.abort("done");
    b.closed().await;
}

#[tokio::test]
async fn strangers_get_no_interfaces_of_their_own() {
    let file = File::new(usize::MAX);
    let capture = Capture::new(file.clone()).unwrap();
    let server = server(&capture);
    let there = server.local_addresses()[0];
    let junk = [0_u8; 40];
    let before = server.stats().packets_received;
    for _ in 0..300 {
        UdpSocket::bind((HERE, 0)).unwrap().send_to(&junk, there).unwrap();
    }
    transfer(&server).await;
    assert!(server.stats().packets_received - before > 300);
    server.close().await;
    capture.finish().unwrap();
    // One of the client's path, and one of all strangers together.
    assert_eq!(blocks(&file, 1), 2);
    assert!(blocks(&file, 6) > 300 + 16 * 45, "{} packets", blocks(&file, 6));
}

#[tokio::test]
async fn a_full_disk_ends_the_capture_and_not_the_transfer() {
    let file = File::new(20_000);
    let capture = Capture::new(file.clone()).unwrap();
    let server = server(&capture);
    transfer(&server).await;
    server.close().await;
    let error = capture.finish().unwrap_err().to_string();
    assert!(error.starts_with("pcapng output: "), "{error}");
    assert!(capture.finish().is_ok(), "it is said once");
}
