//! The load: what is sent, and what is made of what arrives.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use polypath_net::{Message, SendOptions};

use super::clock::now_ns;
use super::control::{Inlet, ppid};
use super::error::PerfError;
use super::report::Flow;
use super::run::Run;
use super::spec::Load;

/// A message begins with the sender's time in nanoseconds, or zeros for "not measured"; shorter
/// ones are never measured.
const STAMP: usize = 8;

/// Bytes that are handed over at once, so that the cost of handing over does not count.
const BATCH_BYTES: usize = 64 << 10;
/// Messages that are handed over at once.
const BATCH_MESSAGES: usize = 256;
/// Messages that are taken over at once.
const TAKEN: usize = 1024;

/// A sender with a rate that wakes up this late stamps its messages as if it had been in time: the
/// association's refusal to take them is part of their delay, the timer's coarseness is not.
const PUNCTUAL_NS: u64 = 2_000_000;

/// Lets other tasks of this thread act now and then: calls that never have to wait would starve
/// them.
#[derive(Debug)]
struct Breather {
    last_ns: u64,
}

impl Breather {
    const EVERY_NS: u64 = 1_000_000;

    fn new() -> Self {
        Self { last_ns: now_ns() }
    }

    async fn yield_when_due(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.last_ns) > Self::EVERY_NS {
            self.last_ns = now_ns;
            tokio::task::yield_now().await;
        }
    }
}

fn stamped_message(size: usize, now_ns: u64) -> Bytes {
    let mut message = BytesMut::zeroed(size);
    if let Some(stamp) = message.get_mut(..STAMP) {
        stamp.copy_from_slice(&now_ns.to_be_bytes());
    }
    message.freeze()
}

fn read_stamp(message: &[u8]) -> Option<u64> {
    let stamp = message.first_chunk::<STAMP>().map(|bytes| u64::from_be_bytes(*bytes));
    stamp.filter(|stamp| *stamp != 0)
}

impl Run {
    /// Sends load until its time is over.
    pub(crate) async fn send_load(&self) -> Result<(), PerfError> {
        match self.spec.load {
            _ if self.spec.is_request_response() => self.ask_all().await,
            _ if !self.spec.sends_load(self.client) => Ok(()),
            Load::Rate(rate) => self.send_at(rate).await,
            _ => self.saturate_streams().await,
        }
    }

    fn send_options(&self, ppid: u32) -> SendOptions {
        SendOptions { unordered: self.spec.unordered, ppid, ..SendOptions::default() }
    }

    /// The streams of load in turn, for ever.
    fn cycle_streams(&self) -> impl Iterator<Item = u16> + use<> {
        (1..=self.spec.streams).cycle()
    }

    /// Hands in as much as goes. The first message of every batch is measured.
    async fn saturate_streams(&self) -> Result<(), PerfError> {
        let size = self.spec.size as usize;
        let plain = Bytes::from(vec![0; size]);
        let count = (BATCH_BYTES / size.max(1)).clamp(1, BATCH_MESSAGES);
        let flow = Flow { messages: count as u64, bytes: (count * size) as u64 };
        let mut breather = Breather::new();
        for stream in self.cycle_streams() {
            let now = now_ns();
            if self.is_over(now) {
                break;
            }
            let first = core::iter::once(stamped_message(size, now));
            let batch = first.chain(core::iter::repeat_n(plain.clone(), count - 1));
            self.association.send_all(stream, batch, self.send_options(ppid::LOAD)).await?;
            self.lock_meter().count_sent(stream, flow);
            breather.yield_when_due(now).await;
        }
        Ok(())
    }

    /// Hands in `rate` bit/s, each message when it is due. All are measured.
    async fn send_at(&self, rate: u64) -> Result<(), PerfError> {
        let size = self.spec.size as usize;
        // Picoseconds: at high rates, nanoseconds would add up to another rate.
        let gap = u128::from(self.spec.size) * 8_000_000_000_000 / u128::from(rate.max(1));
        let mut breather = Breather::new();
        let (mut sent, mut stream) = (0_u64, 0);
        loop {
            let now = now_ns();
            if self.is_over(now) {
                return Ok(());
            }
            let elapsed = u128::from(now.saturating_sub(self.start_ns)) * 1000;
            let due = (elapsed / gap.max(1) + 1).saturating_sub(u128::from(sent));
            if due == 0 {
                let next = u128::from(sent) * gap / 1000 - elapsed / 1000;
                let wait = Duration::from_nanos(u64::try_from(next).unwrap_or(u64::MAX).max(1));
                tokio::time::sleep(wait.min(Duration::from_millis(100))).await;
                continue;
            }
            let due = due.min(BATCH_MESSAGES as u128) as usize;
            let first_due = u128::from(sent) * gap / 1000 + u128::from(self.start_ns);
            let first_due = u64::try_from(first_due).unwrap_or(now);
            let when = if now.saturating_sub(first_due) < PUNCTUAL_NS { now } else { first_due };
            let batch = (0..due).map(|_| stamped_message(size, when));
            stream = stream % self.spec.streams + 1;
            self.association.send_all(stream, batch, self.send_options(ppid::LOAD)).await?;
            let flow = Flow { messages: due as u64, bytes: (due * size) as u64 };
            self.lock_meter().count_sent(stream, flow);
            sent += due as u64;
            breather.yield_when_due(now).await;
        }
    }

    /// Sends the first request of every stream; the rest follows from the responses.
    async fn ask_all(&self) -> Result<(), PerfError> {
        if self.client {
            for stream in 1..=self.spec.streams {
                self.send_requests(stream).await?;
            }
        }
        Ok(())
    }

    async fn send_requests(&self, stream: u16) -> Result<(), PerfError> {
        self.note_asked(stream, now_ns());
        self.send_one(stream, self.spec.size, ppid::REQUEST).await
    }

    async fn send_one(&self, stream: u16, size: u32, ppid: u32) -> Result<(), PerfError> {
        let message = BytesMut::zeroed(size as usize).freeze();
        self.association.send_with(stream, message, self.send_options(ppid)).await?;
        self.lock_meter().count_sent(stream, Flow { messages: 1, bytes: size.into() });
        Ok(())
    }

    /// Takes in everything that arrives; returns when the association is over, or the peer odd.
    pub(crate) async fn receive_messages(&self, inlet: &Inlet) -> PerfError {
        // It grows with what comes: many may wait for little.
        let mut messages = Vec::new();
        let mut breather = Breather::new();
        loop {
            match self.association.recv_many(&mut messages, TAKEN).await {
                Ok(0) => return polypath_net::Closed::Shutdown.into(),
                Ok(_) => {}
                Err(error) => return error.into(),
            }
            let now = now_ns();
            self.count_load(&messages, now);
            for message in messages.drain(..) {
                if message.ppid != ppid::LOAD
                    && let Err(error) = self.handle_message(message, inlet, now).await
                {
                    return error;
                }
            }
            self.progress.notify_waiters();
            breather.yield_when_due(now).await;
        }
    }

    /// Counts load.
    fn count_load(&self, messages: &[Message], now: u64) {
        let mut meter = self.lock_meter();
        for message in messages {
            if Inlet::is_control(message) || message.ppid == ppid::RESPONSE {
                continue;
            }
            let sent = read_stamp(&message.data).filter(|_| message.ppid == ppid::LOAD);
            let delay = sent.map(|sent| {
                let sent = sent.saturating_add_signed(self.correction_ns);
                now.saturating_sub(sent)
            });
            meter.count_received(message.stream.0, message.data.len() as u64, delay);
        }
    }

    /// Deals with what is not load.
    async fn handle_message(
        &self,
        message: Message,
        inlet: &Inlet,
        now: u64,
    ) -> Result<(), PerfError> {
        let stream = message.stream.0;
        match (message.ppid, self.spec.load) {
            _ if Inlet::is_control(&message) => inlet.take_control(message),
            (ppid::REQUEST, Load::RequestResponse(size)) if !self.client => {
                self.send_one(stream, size, ppid::RESPONSE).await
            }
            (ppid::RESPONSE, Load::RequestResponse(_)) if self.client => {
                let Some(asked) = self.take_asked(stream) else {
                    return Err(PerfError::Protocol("a response without a request".to_owned()));
                };
                let took = now.saturating_sub(asked);
                self.lock_meter().count_received(stream, message.data.len() as u64, Some(took));
                if self.is_over(now_ns()) { Ok(()) } else { self.send_requests(stream).await }
            }
            (other, _) => {
                Err(PerfError::Protocol(format!("{other:#x} on stream {stream} was not agreed")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_come_back_where_there_is_room() {
        assert_eq!(read_stamp(&stamped_message(100, 77)), Some(77));
        assert_eq!(read_stamp(&stamped_message(8, u64::MAX)), Some(u64::MAX));
        assert_eq!(read_stamp(&stamped_message(7, 77)), None);
        assert_eq!(read_stamp(&stamped_message(100, 0)), None);
        assert_eq!(read_stamp(&[]), None);
    }
}
