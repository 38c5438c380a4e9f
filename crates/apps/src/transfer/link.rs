//! The association as a transfer uses it: control messages in order on one stream, blocks without order on another, and a watch on a silent peer.

use std::time::Duration;

use polypath_net::{Association, Bytes, SendOptions, Service, StreamNeeds};

use super::TransferError;
use super::codec::Message;

const CONTROL: u16 = 0;
const BLOCKS: u16 = 1;

pub(crate) async fn say(association: &Association, message: &Message) -> Result<(), TransferError> {
    association.send(CONTROL, message.encode()).await?;
    Ok(())
}

pub(crate) async fn say_all(
    association: &Association,
    messages: Vec<Bytes>,
) -> Result<(), TransferError> {
    Ok(association.send_all(CONTROL, messages, SendOptions::default()).await?)
}

pub(crate) async fn push_blocks(
    association: &Association,
    blocks: Vec<Bytes>,
) -> Result<(), TransferError> {
    let options = SendOptions { unordered: true, ..SendOptions::default() };
    // A peer that allows a single stream gets everything on it.
    let stream = BLOCKS.min(association.streams().0.saturating_sub(1));
    Ok(association.send_all(stream, blocks, options).await?)
}

/// What is said about files goes before the blocks that wait.
pub(crate) fn prefer_control(association: &Association) {
    let needs = StreamNeeds { service: Service::LowDelay, ..StreamNeeds::default() };
    // Without the declaration it is slower, not wrong.
    let _ = association.set_stream_needs(CONTROL, needs);
}

/// Ends when no packet came from the peer for `limit`, give or take a second.
pub(crate) async fn silence(association: &Association, limit: Duration) {
    let step = Duration::from_secs(1).min(limit);
    let mut before = association.stats().packets_received;
    let mut silent = Duration::ZERO;
    while silent < limit {
        // Steps are counted, not time: while a disk holds this thread up, packets still arrive.
        tokio::time::sleep(step).await;
        let now = association.stats().packets_received;
        silent = if now == before { silent + step } else { Duration::ZERO };
        before = now;
    }
}
