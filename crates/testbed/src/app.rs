//! The simulator's applications, on real associations.

use std::time::{Duration, Instant};

use bytes::Bytes;
use polypath_net::{Association, SendError, SendOptions};
use polypath_sim::spec::{AppSpec, BesideSpec, FlowSpec, MessageSpec, ReaderSpec, Refill};
use polypath_sim::{WorldSpec, named_rng};
use tokio::time::{Instant as TokioInstant, sleep_until};

use crate::error::TestbedError;
use crate::messages::Messages;
use crate::meter::Meter;
use crate::pace::{Bursts, send_paced};

/// Refuses what only the simulator can do.
pub(crate) fn check_all(world: &WorldSpec) -> Result<(), TestbedError> {
    world.flows.iter().try_for_each(check_app)
}

fn check_app(flow: &FlowSpec) -> Result<(), TestbedError> {
    let refuse = |what| Err(TestbedError::Unsupported { flow: flow.name.clone(), what });
    match flow.app {
        AppSpec::Saturated { refill: Refill::Contingent, .. } => return refuse("per-stream-share"),
        AppSpec::OnOff { rate: None, .. } => return refuse("app = \"onoff\" without rate"),
        AppSpec::RequestResponse { .. } => return refuse("app = \"request\""),
        _ => {}
    }
    if flow.reader != ReaderSpec::default() {
        return refuse("a slow reader");
    }
    if flow.connect_jitter > 0 || flow.start_jitter > 0 {
        return refuse("jitter");
    }
    Ok(())
}

/// Sends what the flow's application sends, until `meter`'s end or its own. What is left to chance
/// is drawn as the simulator draws it with this seed.
pub(crate) async fn send_messages(
    association: &Association,
    flow: &FlowSpec,
    seed: u64,
    meter: &Meter,
) -> Result<(), SendError> {
    let draws = |what: &str| named_rng(seed, &format!("flow.{}.{what}", flow.name));
    let numbered = |spec: MessageSpec| Messages::new(spec, draws("sizes"));
    match flow.app {
        AppSpec::Saturated { messages, refill } => {
            let streams = messages.streams;
            keep_buffer_full(association, numbered(messages), (refill, streams), meter).await
        }
        AppSpec::File { ref content, messages } => {
            let whole = messages.bytes;
            send_file(association, (content.len(), whole), numbered(messages), meter).await
        }
        AppSpec::ConstantRate { messages, rate } => {
            send_paced(association, &mut numbered(messages), rate, meter).await
        }
        AppSpec::OnOff { messages, rate: Some(rate), on, off } => {
            let mut bursts = Bursts { rate, on, off, draws: draws("app") };
            bursts.send_all(association, &mut numbered(messages), meter).await
        }
        // Refused before.
        AppSpec::OnOff { rate: None, .. } | AppSpec::RequestResponse { .. } => Ok(()),
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

async fn keep_buffer_full(
    association: &Association,
    mut messages: Messages,
    (refill, streams): (Refill, u16),
    meter: &Meter,
) -> Result<(), SendError> {
    let pick = |turn: u16| match refill {
        Refill::LeastUnsent => least_unsent(association, streams, turn),
        Refill::RoundRobin | Refill::Contingent => turn,
    };
    while Instant::now() < meter.end() {
        messages.send_where(association, pick, messages.next_bytes(), meter).await?;
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

/// A file of so many bytes in messages of so many; the last one may be shorter.
async fn send_file(
    association: &Association,
    (bytes, whole): (u64, u32),
    mut messages: Messages,
    meter: &Meter,
) -> Result<(), SendError> {
    let mut left = bytes;
    while left > 0 {
        let size = u32::try_from(left).map_or(whole, |left| left.min(whole));
        messages.send_sized(association, size, meter).await?;
        left -= u64::from(size);
    }
    Ok(())
}
