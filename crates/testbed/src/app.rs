//! The simulator's applications, on real associations.

use std::time::{Duration, Instant};

use bytes::{BufMut as _, Bytes, BytesMut};
use polypath_net::{Association, SendError, SendOptions};
use polypath_sim::WorldSpec;
use polypath_sim::spec::{AppSpec, BesideSpec, FlowSpec, MessageSpec, Refill};
use tokio::time::{Instant as TokioInstant, sleep_until};

use crate::error::TestbedError;
use crate::meter::{Meter, NUMBER_BYTES};

/// Refuses what only the simulator can do.
pub(crate) fn check_all(world: &WorldSpec) -> Result<(), TestbedError> {
    world.flows.iter().try_for_each(check)
}

fn check(flow: &FlowSpec) -> Result<(), TestbedError> {
    let refuse = |what| Err(TestbedError::Unsupported { flow: flow.name.clone(), what });
    match flow.app {
        AppSpec::Saturated { refill: Refill::Contingent, .. } => return refuse("per-stream-share"),
        AppSpec::OnOff { .. } => return refuse("app = \"onoff\""),
        AppSpec::RequestResponse { .. } => return refuse("app = \"request\""),
        _ => {}
    }
    if flow.reader != polypath_sim::spec::ReaderSpec::default() {
        return refuse("a slow reader");
    }
    if flow.connect_jitter > 0 || flow.start_jitter > 0 {
        return refuse("jitter");
    }
    Ok(())
}

/// Sends what the flow's application sends, until `meter`'s end or its own.
pub(crate) async fn send(
    association: &Association,
    app: &AppSpec,
    meter: &Meter,
) -> Result<(), SendError> {
    match app {
        AppSpec::Saturated { messages, refill } => {
            saturate(association, *messages, *refill, meter).await
        }
        AppSpec::File { content, messages } => {
            send_file(association, content.len(), *messages, meter).await
        }
        AppSpec::ConstantRate { messages, rate } => {
            let gap = u64::from(messages.bytes) as f64 * 8.0 / (*rate).max(1) as f64;
            send_paced(association, *messages, gap, meter).await
        }
        // Refused before.
        AppSpec::OnOff { .. } | AppSpec::RequestResponse { .. } => Ok(()),
    }
}

/// Messages at a fixed interval on stream `stream`; they are not measured.
pub(crate) async fn send_beside(
    association: &Association,
    spec: BesideSpec,
    stream: u16,
    until: Instant,
) -> Result<(), SendError> {
    let options = SendOptions { unordered: spec.unordered, ..SendOptions::default() };
    let (begin, gap) = (Instant::now(), Duration::from_nanos(spec.every));
    let mut due = begin;
    while due < until {
        sleep_until(TokioInstant::from_std(due)).await;
        // Without a number: it is not measured.
        let data = Bytes::from(vec![u8::MAX; spec.bytes as usize]);
        association.send_with(stream, data, options).await?;
        due += gap;
    }
    Ok(())
}

async fn saturate(
    association: &Association,
    spec: MessageSpec,
    refill: Refill,
    meter: &Meter,
) -> Result<(), SendError> {
    let mut messages = Messages::new(spec);
    while Instant::now() < meter.end() {
        let stream = match refill {
            Refill::LeastUnsent => least_unsent(association, spec.streams, messages.turn),
            Refill::RoundRobin | Refill::Contingent => messages.turn,
        };
        messages.send(association, stream, spec.bytes, meter).await?;
    }
    Ok(())
}

/// The stream with the fewest unsent bytes; of equal ones the first from `turn` on.
fn least_unsent(association: &Association, streams: u16, turn: u16) -> u16 {
    let info = association.sender_queue_info();
    let unsent = |stream: u16| {
        let found = info.streams.iter().find(|known| known.stream.0 == stream);
        found.map_or(0, |known| known.unsent_bytes)
    };
    let streams = (0..streams).map(|n| (turn + n) % streams);
    streams.min_by_key(|&stream| unsent(stream)).unwrap_or(0)
}

async fn send_file(
    association: &Association,
    bytes: u64,
    spec: MessageSpec,
    meter: &Meter,
) -> Result<(), SendError> {
    let (mut messages, mut left) = (Messages::new(spec), bytes);
    while left > 0 {
        let size = u32::try_from(left).map_or(spec.bytes, |left| left.min(spec.bytes));
        messages.send(association, messages.turn, size, meter).await?;
        left -= u64::from(size);
    }
    Ok(())
}

async fn send_paced(
    association: &Association,
    spec: MessageSpec,
    gap: f64,
    meter: &Meter,
) -> Result<(), SendError> {
    let (mut messages, begin) = (Messages::new(spec), Instant::now());
    loop {
        let due = begin + Duration::from_secs_f64(messages.sent as f64 * gap);
        if due >= meter.end() {
            return Ok(());
        }
        sleep_until(TokioInstant::from_std(due)).await;
        messages.send(association, messages.turn, spec.bytes, meter).await?;
    }
}

/// Numbers messages and takes streams in turn.
struct Messages {
    spec: MessageSpec,
    sent: u64,
    turn: u16,
}

impl Messages {
    fn new(spec: MessageSpec) -> Self {
        Self { spec, sent: 0, turn: 0 }
    }

    async fn send(
        &mut self,
        association: &Association,
        stream: u16,
        bytes: u32,
        meter: &Meter,
    ) -> Result<(), SendError> {
        let options = SendOptions { unordered: self.spec.unordered, ..SendOptions::default() };
        association.send_with(stream, numbered(self.sent, bytes as usize), options).await?;
        meter.accepted();
        self.sent += 1;
        self.turn = (stream + 1) % self.spec.streams.max(1);
        Ok(())
    }
}

fn numbered(number: u64, bytes: usize) -> Bytes {
    let mut data = BytesMut::with_capacity(bytes.max(NUMBER_BYTES));
    data.put_u64(number);
    data.resize(bytes, 0);
    data.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_carry_their_number_as_far_as_they_have_room() {
        assert_eq!(&numbered(5, 10)[..], [0, 0, 0, 0, 0, 0, 0, 5, 0, 0]);
        assert_eq!(numbered(5, 3).len(), 3);
    }
}
