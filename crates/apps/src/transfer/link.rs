//! The association as a transfer uses it: control messages in order on one stream, blocks without
//! order on another, and a watch on a silent peer.

use std::cell::Cell;
use std::time::Duration;

use polypath_net::{
    Association, Bytes, Event, PathId, PathState, SendOptions, Service, StreamNeeds,
};

use super::codec::Message;
use super::{Observer, TransferError};
use crate::stall_line;

const CONTROL: u16 = 0;
const BLOCKS: u16 = 1;

pub(crate) async fn send_message(
    association: &Association,
    message: &Message,
) -> Result<(), TransferError> {
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

/// Signs of life above the association, which lives even if the program behind it does nothing.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    words: Cell<u64>,
    progress: Cell<u64>,
}

impl Pulse {
    /// The peer said something.
    pub(crate) fn note_word(&self) {
        self.words.set(self.words.get() + 1);
    }

    /// The transfer went on.
    pub(crate) fn note_progress(&self) {
        self.progress.set(self.progress.get() + 1);
        self.note_word();
    }
}

/// How many times longer a peer may say that it is working than it may say nothing.
const PATIENCE: u32 = 20;

/// Watches one number.
#[derive(Default)]
struct Still {
    at: u64,
    since: Duration,
}

impl Still {
    /// For how long it has not changed, one step later.
    fn advance_by(&mut self, now: u64, step: Duration) -> Duration {
        self.since = if now == self.at { self.since + step } else { Duration::ZERO };
        self.at = now;
        self.since
    }
}

/// Ends when no packet came from the peer for `limit`, give or take a second, or none of its words,
/// or when it only said for 20 times as long that it is working.
pub(crate) async fn await_silence(
    association: &Association,
    pulse: &Pulse,
    limit: Duration,
) -> TransferError {
    let step = Duration::from_secs(1).min(limit);
    let (mut packets, mut words, mut progress): (Still, Still, Still) = Default::default();
    loop {
        // Steps are counted, not time: while a disk holds this thread up, packets still arrive.
        tokio::time::sleep(step).await;
        let stats = association.stats();
        // What leaves has found room at the peer.
        let sent = stats.data_bytes_sent;
        if packets.advance_by(stats.packets_received, step) >= limit {
            return TransferError::Silent(limit);
        }
        if words.advance_by(pulse.words.get().wrapping_add(sent), step) >= limit {
            return TransferError::Mute(limit);
        }
        if progress.advance_by(pulse.progress.get().wrapping_add(sent), step) >= limit * PATIENCE {
            return TransferError::Mute(limit * PATIENCE);
        }
    }
}

/// Tells the observer what happens to paths. Never ends.
pub(crate) async fn tell_of_paths(association: &Association, observer: &dyn Observer) {
    let mut events = association.events();
    let mut lost: Vec<PathId> = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Event::PathState { path, state: PathState::Inactive } if !lost.contains(&path) => {
                lost.push(path);
                observer.note(&format!("{}: lost", describe_path(association, path)));
            }
            Event::PathState { path, state: PathState::Active } if lost.contains(&path) => {
                lost.retain(|other| *other != path);
                observer.note(&format!("{}: works again", describe_path(association, path)));
            }
            Event::PacketsTooBig { path, mtu } => observer.note(&format!(
                "{}: packets of {mtu} bytes vanish there, smaller ones do not: try a smaller --mtu, such as 1280",
                describe_path(association, path)
            )),
            Event::Stalled { cause, silence } => observer.note(&stall_line(cause, silence)),
            _ => {}
        }
    }
    std::future::pending().await
}

fn describe_path(association: &Association, path: PathId) -> String {
    let paths = association.paths();
    let found = paths.iter().find(|info| info.stats.path == path);
    let addresses = |info: &polypath_net::PathInfo| {
        format!("path {} - {}", info.stats.local.ip(), info.stats.remote.ip())
    };
    found.map_or_else(|| "a path".to_owned(), addresses)
}
