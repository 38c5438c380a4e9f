//! What stands in capture files.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use polypath_net::{Capture, Endpoint};
use polypath_wire::{ChecksumCheck, Chunk, PacketView, chunk::kind};

use super::{client_config, echo, identity, pair, pinned, server_config};

const TEXT: &[u8] = b"who can read this ";

#[derive(Clone, Default)]
struct File(Arc<Mutex<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A packet of the file, without IPv4 and UDP headers.
struct Captured {
    outbound: bool,
    bytes: Vec<u8>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

impl File {
    /// The enhanced packet blocks (pcapng section 4.3).
    fn packets(&self) -> Vec<Captured> {
        let file = self.0.lock().unwrap();
        let mut packets = Vec::new();
        let mut at = 0;
        while at < file.len() {
            let len = word(&file, at + 4) as usize;
            let block = &file[at..at + len];
            if word(block, 0) == 6 {
                let captured = word(block, 20) as usize;
                let bytes = block[28 + 20 + 8..28 + captured].to_vec();
                let options = &block[28 + captured.next_multiple_of(4)..len - 4];
                packets.push(Captured { outbound: is_outbound(options), bytes });
            }
            at += len;
        }
        packets
    }

    fn says(&self, text: &[u8]) -> bool {
        self.0.lock().unwrap().windows(text.len()).any(|at| at == text)
    }
}

/// Whether the flags of a packet say so.
fn is_outbound(mut options: &[u8]) -> bool {
    while options.len() >= 8 {
        let (code, len) = (options[0], usize::from(options[2]) + 256 * usize::from(options[3]));
        if code == 2 {
            return word(options, 4) & 3 == 2;
        }
        options = &options[4 + len.next_multiple_of(4)..];
    }
    false
}

/// The application's messages in a packet, whole or a part.
fn data(packet: &Captured) -> usize {
    let view = PacketView::parse(&packet.bytes, ChecksumCheck::Verify).expect("a good packet");
    let chunks = view.chunks().filter_map(|raw| raw.unwrap().decode().ok());
    let is_data = |chunk: &Chunk<'_>| match chunk {
        Chunk::Data(data) => data.ppid != 4242,
        Chunk::IData(data) => data.stream.0 != 0 || data.ppid_or_fsn != 4242,
        _ => false,
    };
    chunks.filter(is_data).count()
}

/// What a client's capture has of an association that carried messages there and back.
async fn captured(capture: &Capture, file: &File) -> Vec<Captured> {
    let (ours, theirs) = (identity(), identity());
    let server = Endpoint::bind(server_config(&[2], pinned(&theirs, &ours))).unwrap();
    let client = client_config(&[1], pinned(&ours, &theirs)).capture(capture.clone());
    let client = Endpoint::bind(client).unwrap();
    let (a, b) = pair(&client, &server).await;
    echo(&a, &b, 20).await;
    a.shutdown().await.unwrap();
    drop((a, b));
    client.close().await;
    capture.finish().unwrap();
    file.packets()
}

#[tokio::test]
async fn a_capture_shows_what_was_sealed_and_says_so() {
    let file = File::default();
    let packets = captured(&Capture::new(file.clone()).unwrap(), &file).await;
    let sealed = packets.iter().filter(|p| p.bytes[12] == kind::DTLS).count();
    assert_eq!(sealed, 0, "of {}", packets.len());
    for outbound in [true, false] {
        let there = packets.iter().filter(|p| p.outbound == outbound);
        let count: usize = there.map(data).sum();
        // 200,000 bytes each way.
        assert!((140..400).contains(&count), "{count} chunks, outbound: {outbound}");
    }
    assert!(file.says(TEXT) && file.says(b"were protected (DTLS chunk)"));
}

#[tokio::test]
async fn a_capture_of_the_wire_shows_nothing_of_it() {
    let file = File::default();
    let packets = captured(&Capture::of_wire(file.clone()).unwrap(), &file).await;
    assert_eq!(packets.iter().map(data).sum::<usize>(), 0);
    let first = packets.iter().rposition(|p| p.bytes[12] != kind::DTLS).unwrap();
    assert!(first < 20, "behind set-up all is sealed: {first} of {}", packets.len());
    assert!(packets.len() > 280 && !file.says(TEXT), "{}", packets.len());
}
