//! The sending half: send queues, chunks in flight, what SACKs and timeouts do to them.
//!
//! [`Sender`] (`sending_half`) owns the parts: `send_queue` holds what is unsent, [`outstanding`]
//! what is in flight and everything that depends on it, [`recovery`] decides what is lost and how a
//! path reacts, `copy_queue` keeps what goes out on a second path, `forward_tsn` what the peer is
//! told to skip. `sack` holds the order of operations on a SACK.

mod abandon;
mod copy;
mod copy_queue;
mod explicit_eor;
mod forward_tsn;
mod gap_blocks;
mod lists;
mod memory;
mod ns2_sack;
mod ns2_watch;
mod numbers;
mod outstanding;
mod partial_reliability;
mod path_removal;
mod path_silence_detector;
mod recovery;
mod reneging;
mod retransmit;
mod room;
mod sack;
mod sack_outcome;
mod send_error;
mod send_options;
mod send_queue;
mod sending_half;
mod stream_reset;
#[cfg(test)]
mod tests;
mod types;
mod waits;

pub(crate) use outstanding::OutstandingQueue;
pub(crate) use recovery::ProbeTimer;
pub(crate) use sack_outcome::{SackInfo, SackOutcome, SackVerdict};
pub use send_options::{Reliability, SendError, SendOptions};
pub(crate) use sending_half::Sender;
pub(crate) use types::{AbandonedMessage, ChunkInFlight, Losses, NewChunk};
