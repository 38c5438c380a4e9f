//! Peers that do not keep to the protocol: told so, and gone.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use polypath_apps::forward::frame::{Destination, Frame, VERSION, ppid};
use polypath_apps::forward::refusal::Refusal;
use polypath_apps::mirror::words::{NAMED, Words};
use polypath_net::{Association, Closed, Config, Endpoint, SendOptions};

use super::{PORT, Setting, addresses, listen, serve, soon, stack};

struct Liar {
    association: Arc<Association>,
    _endpoints: (Endpoint, Endpoint),
}

impl Liar {
    async fn new() -> Self {
        let [ours, theirs] = addresses();
        let (_server, there) = serve(theirs, &Setting::default());
        let config = Config::insecure_client([ours]).assoc(stack(2001, 2 << 20));
        let here = Endpoint::bind(config).unwrap();
        let association = soon(here.connect(&there.local_addresses(), PORT)).await.unwrap();
        Self { association: Arc::new(association), _endpoints: (here, there) }
    }

    async fn send(&self, stream: u16, ppid: u32, bytes: impl Into<Bytes>) {
        let options = SendOptions { ppid, ..SendOptions::default() };
        let _gone = self.association.send_with(stream, bytes, options).await;
    }

    async fn say(&self, stream: u16, frame: &Frame) {
        self.send(stream, ppid::FRAME, frame.to_bytes()).await;
    }

    async fn hello(self) -> Self {
        let hello = Frame::Hello { version: VERSION, instance: [1; 16], connections: 10 };
        self.say(0, &hello).await;
        self
    }

    /// What the server says at the end.
    async fn farewell(&self) -> String {
        soon(async {
            loop {
                match self.association.recv().await {
                    Ok(Some(_)) => {}
                    Ok(None) => return "a shutdown".to_owned(),
                    Err(Closed::PeerAbort { .. }) => break,
                    Err(other) => return other.to_string(),
                }
            }
            String::from_utf8_lossy(&self.association.abort_reason()).into_owned()
        })
        .await
    }

    /// Opens stream 1 to a listener, and waits until it is through; what it was granted.
    async fn open(&self) -> (tokio::net::TcpListener, tokio::net::TcpStream, u32) {
        let (listener, at) = listen().await;
        let to = Destination::Place(at.to_string().parse().unwrap());
        self.say(1, &Frame::Open { credit: 1000, to }).await;
        let (stream, _) = soon(listener.accept()).await.unwrap();
        loop {
            let message = soon(self.association.recv_stream(1)).await.unwrap().unwrap();
            if let Frame::Accept { credit } = Frame::from_bytes(&message.data).unwrap() {
                return (listener, stream, credit);
            }
        }
    }
}

#[tokio::test]
async fn who_begins_with_something_else_is_told() {
    let liar = Liar::new().await;
    liar.say(0, &Frame::Fin).await;
    assert!(liar.farewell().await.contains("did not say hello"));
    let liar = Liar::new().await;
    liar.say(0, &Frame::Hello { version: 9, instance: [1; 16], connections: 1 }).await;
    assert!(liar.farewell().await.contains("version 9"));
}

#[tokio::test]
async fn what_is_no_frame_ends_the_association() {
    for (stream, id, bytes, told) in [
        (0, ppid::FRAME, &b"\xff"[..], "unknown type 0xff"),
        (0, ppid::DATA, b"x", "on stream 0"),
        (1, ppid::FRAME, b"", "an empty frame"),
        (1, ppid::FRAME, b"\x14", "carries no connection"),
        (1, ppid::DATA, b"x", "carries no connection"),
        (1, 7, b"x", "payload protocol identifier 0x7"),
        (2, ppid::FRAME, b"\x10\0\0\0\x01\x03\0\0\0\0\0", "not its own"),
        (1, ppid::FRAME, b"\x10\0\0\0\0\x03\0\0\0\0\0", "absurd credit"),
    ] {
        let liar = Liar::new().await.hello().await;
        // An empty message cannot be sent; what is nearest to it is.
        let bytes = if bytes.is_empty() { &b"\x16\0"[..] } else { bytes };
        let told = if bytes == b"\x16\0" { "behind its end" } else { told };
        liar.send(stream, id, bytes).await;
        let said = liar.farewell().await;
        assert!(said.contains(told), "{said:?}, not {told:?}");
    }
}

#[tokio::test]
async fn more_than_was_granted_ends_the_association() {
    let liar = Liar::new().await.hello().await;
    let (_listener, _stream, credit) = liar.open().await;
    // Nobody reads; the kernel takes some, and credit comes for that alone.
    for _ in 0..40 {
        liar.send(1, ppid::DATA, vec![0; usize::try_from(credit).unwrap()]).await;
    }
    let said = liar.farewell().await;
    assert!(said.contains("more data than was granted"), "{said}");
}

#[tokio::test]
async fn credit_that_cannot_be_ends_the_association() {
    let liar = Liar::new().await.hello().await;
    let (_listener, _stream, _) = liar.open().await;
    liar.say(1, &Frame::Credit(u32::MAX)).await;
    liar.say(1, &Frame::Credit(u32::MAX)).await;
    assert!(liar.farewell().await.contains("absurd credit"));
}

#[tokio::test]
async fn an_opener_that_answers_itself_or_opens_twice_is_gone() {
    for (frame, told) in [
        (Frame::Accept { credit: 1 }, "an answer to nothing"),
        (Frame::End, "behind its end"),
        (
            Frame::Open { credit: 1, to: Destination::Listener { id: 0, from: None } },
            "which carries one",
        ),
    ] {
        let liar = Liar::new().await.hello().await;
        let (_listener, _stream, _) = liar.open().await;
        liar.say(1, &frame).await;
        let said = liar.farewell().await;
        assert!(said.contains(told), "{said}");
    }
}

/// The next message about a mirror.
async fn hear_of_mirror(liar: &Liar) -> Words {
    loop {
        let message = soon(liar.association.recv()).await.unwrap().unwrap();
        if let Ok(Frame::Mirror(words)) = Frame::from_bytes(&message.data) {
            return words;
        }
    }
}

#[tokio::test]
async fn who_asks_for_mirrors_without_end_has_one_and_nothing_is_sent_to_strangers() {
    let liar = Liar::new().await.hello().await;
    let stranger = Words::Send { socket: 0, cookie: [0; 16] };
    let addresses = vec![IpAddr::from([127, 0, 0, 9]); NAMED];
    let ask = Words::Ask { seconds: u16::MAX, addresses };
    // The server's own words mean nothing to it, and without a mirror nothing is sent.
    for words in [stranger.clone(), Words::Done, Words::Not(Refusal::Failed), ask.clone()] {
        liar.say(0, &Frame::Mirror(words)).await;
    }
    let here = hear_of_mirror(&liar).await;
    assert!(matches!(&here, Words::Here { sockets, .. } if sockets.len() == 2), "{here:?}");
    for _ in 0..200 {
        liar.say(0, &Frame::Mirror(stranger.clone())).await;
        liar.say(0, &Frame::Mirror(ask.clone())).await;
        assert_eq!(hear_of_mirror(&liar).await, Words::Not(Refusal::TooMany));
    }
    liar.say(0, &Frame::Mirror(Words::Done)).await;
    liar.say(0, &Frame::Mirror(ask)).await;
    assert!(matches!(hear_of_mirror(&liar).await, Words::Here { .. }));
}
