//! What an endpoint writes down: its associations, and little of anybody else.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polypath_net::{Capture, Config, Encapsulation, Endpoint};

const PORT: u16 = 5000;
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A file that is full after so many bytes.
#[derive(Clone)]
struct File {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: usize,
}

impl File {
    fn new(room: usize) -> Self {
        Self { bytes: Arc::default(), room }
    }

    /// Blocks of one type (pcapng section 3.1).
    fn blocks(&self, kind: u32) -> usize {
        let bytes = self.bytes.lock().unwrap();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let mut at = 0;
        let mut count = 0;
        while at < bytes.len() {
            count += usize::from(word(at) == kind);
            at += word(at + 4) as usize;
        }
        count
    }
}

impl Write for File {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut bytes = self.bytes.lock().unwrap();
        if bytes.len() + data.len() > self.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        bytes.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
    assert_eq!(file.blocks(1), 2);
    assert!(file.blocks(6) > 300 + 16 * 45, "{} packets", file.blocks(6));
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
