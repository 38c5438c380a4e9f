//! The messages of an application: their numbers, sizes and streams.

use std::future::{Future as _, poll_fn};
use std::task::Poll;

use bytes::{BufMut as _, Bytes, BytesMut};
use polypath_net::{Association, SendError, SendOptions};
use polypath_proto::rng::Rng;
use polypath_sim::spec::MessageSpec;

use crate::meter::{Meter, NUMBER_BYTES};

/// Numbers messages, draws their sizes and takes streams in turn.
pub(crate) struct Messages {
    spec: MessageSpec,
    sizes: Rng,
    sent: u64,
    next_bytes: u32,
    turn: u16,
}

impl Messages {
    /// Sizes that vary are drawn from `sizes`, in the order in which the simulator draws them.
    pub(crate) fn new(spec: MessageSpec, sizes: Rng) -> Self {
        let mut messages = Self { spec, sizes, sent: 0, next_bytes: spec.bytes, turn: 0 };
        messages.draw_size();
        messages
    }

    /// Payload bytes of the next message.
    pub(crate) fn next_bytes(&self) -> u32 {
        self.next_bytes
    }

    /// Sends the next message on the stream whose turn it is.
    pub(crate) async fn send_next(
        &mut self,
        association: &Association,
        meter: &Meter,
    ) -> Result<(), SendError> {
        self.send_sized(association, self.next_bytes, meter).await
    }

    /// Sends a message of `bytes` on the stream whose turn it is.
    pub(crate) async fn send_sized(
        &mut self,
        association: &Association,
        bytes: u32,
        meter: &Meter,
    ) -> Result<(), SendError> {
        self.send_where(association, |turn| turn, bytes, meter).await
    }

    /// Sends a message of `bytes` on the stream that `pick` names of the one whose turn it is; the
    /// streams behind it are next.
    pub(crate) async fn send_where(
        &mut self,
        association: &Association,
        pick: impl Fn(u16) -> u16,
        bytes: u32,
        meter: &Meter,
    ) -> Result<(), SendError> {
        let options = SendOptions { unordered: self.spec.unordered, ..SendOptions::default() };
        let (turn, data) = (self.turn, numbered_payload(self.sent, bytes as usize));
        let stream = send_once_picked(association, || pick(turn), &data, options).await?;
        meter.note_accepted();
        self.sent += 1;
        self.turn = (stream + 1) % self.spec.streams.max(1);
        self.draw_size();
        Ok(())
    }

    /// Log-uniform, as [`MessageSpec::most_bytes`] says.
    fn draw_size(&mut self) {
        let Some(most) = self.spec.most_bytes else { return };
        let least = self.spec.bytes;
        let ratio = f64::from(most) / f64::from(least.max(1));
        let drawn = (f64::from(least) * ratio.powf(self.sizes.unit())).round() as u32;
        self.next_bytes = drawn.clamp(least, most.max(least));
    }
}

/// Sends on the stream that `pick` names at the moment when there is room: which one that is can
/// change while the buffer is full. Gives the stream.
async fn send_once_picked(
    association: &Association,
    pick: impl Fn() -> u16,
    data: &Bytes,
    options: SendOptions,
) -> Result<u16, SendError> {
    let mut waiting = None;
    poll_fn(|cx| {
        let stream = pick();
        let mut attempt = Box::pin(association.send_with(stream, data.clone(), options));
        let sent = attempt.as_mut().poll(cx);
        // The attempt before goes only now: room that came in between has woken one of them.
        drop(waiting.replace(attempt));
        match sent {
            Poll::Ready(sent) => Poll::Ready(sent.map(|_| stream)),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

fn numbered_payload(number: u64, bytes: usize) -> Bytes {
    let mut data = BytesMut::with_capacity(bytes.max(NUMBER_BYTES));
    data.put_u64(number);
    data.resize(bytes, 0);
    data.freeze()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::Ipv4Addr;

    use polypath_net::{Config, Encapsulation, Endpoint};
    use polypath_proto::config::AssocConfig;

    use super::*;

    #[test]
    fn messages_carry_their_number_as_far_as_they_have_room() {
        assert_eq!(&numbered_payload(5, 10)[..], [0, 0, 0, 0, 0, 0, 0, 5, 0, 0]);
        assert_eq!(numbered_payload(5, 3).len(), 3);
    }

    #[test]
    fn sizes_that_vary_are_between_their_ends() {
        let spec = MessageSpec { bytes: 100, most_bytes: Some(10_000), ..MessageSpec::default() };
        let mut messages = Messages::new(spec, Rng::from_u64(1));
        let drawn: Vec<u32> = (0..1_000)
            .map(|_| {
                messages.draw_size();
                messages.next_bytes()
            })
            .collect();
        assert!(drawn.iter().all(|size| (100..=10_000).contains(size)));
        let small = drawn.iter().filter(|size| **size < 1_000).count();
        assert!((400..600).contains(&small), "half are below the geometric mean: {small}");
    }

    #[tokio::test]
    async fn a_message_that_waits_for_room_goes_on_the_stream_that_is_named_by_then() {
        let here = || [Ipv4Addr::LOCALHOST.into()];
        let small = || AssocConfig { send_buffer: 1 << 14, ..AssocConfig::default() };
        let server = Config::insecure_server(here(), 5000).encapsulation(Encapsulation::Udp(0));
        let server = Endpoint::bind(server).unwrap();
        let client = Endpoint::bind(Config::insecure_client(here()).assoc(small())).unwrap();
        let there = server.local_addresses();
        let (near, far) = tokio::join!(client.connect(&there, 5000), server.accept());
        let (near, far) = (near.unwrap(), far.unwrap());
        let data = Bytes::from(vec![0; 1_000]);
        let asked = Cell::new(0);
        // Whoever is asked again says something else.
        let pick = || u16::from(asked.replace(asked.get() + 1) > 0);
        let sending = async {
            loop {
                asked.set(0);
                let options = SendOptions::default();
                let stream = send_once_picked(&near, pick, &data, options).await.unwrap();
                assert_eq!(stream, u16::from(asked.get() > 1));
                if stream == 1 {
                    return;
                }
            }
        };
        let reading = async { while far.recv().await.is_ok() {} };
        tokio::select! {
            () = sending => {}
            () = reading => unreachable!("the association stands"),
        }
    }
}
