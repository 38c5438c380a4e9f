//! What an association keeps of its protection (draft-ietf-tsvwg-sctp-dtls-chunk): its own state of
//! key management, and the probe that a hint in plain has started.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::handshake::KeyOffer;
use crate::ids::PathId;
use crate::protection::{Protection, ProtectionFailure};
use crate::time::{Duration, Time};

/// The protection of one association.
#[derive(Debug)]
pub(crate) struct ProtectionState {
    /// What our INIT or INIT ACK said.
    pub(crate) offer: KeyOffer,
    /// Present once both ends have said theirs.
    pub(crate) keys: Option<Box<dyn Protection>>,
    /// The application may use the association: its data leaves protected.
    pub(crate) established: bool,
    /// Our first message, as the DATA chunk that goes with the COOKIE ECHO.
    pub(crate) first: Vec<u8>,
    /// The message in it, until it counts as sent.
    pub(crate) first_message: Option<Bytes>,
    /// What an exchange needed is given back once all of it was acknowledged.
    pub(crate) may_shrink: bool,
    /// Messages of the peer that have begun to come.
    pub(crate) coming: u32,
    /// Messages that wait until the stream is between two messages of the application.
    pub(crate) waiting: VecDeque<Bytes>,
    /// Answers to protected heartbeats that came before we could protect anything: the latest of
    /// each path, and what they are.
    pub(crate) answers: Vec<(PathId, Vec<u8>)>,
    /// Why the association ends, once the last message is out.
    pub(crate) failure: Option<Box<ProtectionFailure>>,
    /// Something in plain said that the peer is gone.
    pub(crate) probe: Probe,
    /// The packet that was sealed last, as it was before, where that is kept.
    pub(crate) plain: Vec<u8>,
    /// Packets that came in plain and were dropped for it.
    pub(crate) dropped_unprotected: u64,
}

impl ProtectionState {
    pub(crate) fn new(offer: KeyOffer) -> Self {
        Self {
            offer,
            keys: None,
            established: false,
            first: Vec::new(),
            first_message: None,
            may_shrink: false,
            coming: 0,
            waiting: VecDeque::new(),
            answers: Vec::new(),
            failure: None,
            probe: Probe::default(),
            plain: Vec::new(),
            dropped_unprotected: 0,
        }
    }

    /// When something is to be done.
    pub(crate) fn timer(&self) -> Time {
        let keys = self.keys.as_ref().map_or(Time::MAX, |keys| keys.next_timeout());
        keys.min(self.probe.timer())
    }
}

/// The probe that a hint starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// Without a protected packet before this, the peer is gone.
    pub(crate) deadline: Time,
    /// The paths are asked again: a loss or two shall not end an association for a stranger.
    pub(crate) next: Time,
    /// Between two askings.
    pub(crate) interval: Duration,
    /// No other probe before.
    pub(crate) pause_until: Time,
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            deadline: Time::MAX,
            next: Time::MAX,
            interval: Duration::ZERO,
            pause_until: Time::ZERO,
        }
    }
}

impl Probe {
    pub(crate) fn timer(&self) -> Time {
        self.deadline.min(self.next)
    }

    /// A packet of the peer was opened.
    pub(crate) const fn answered(&mut self) {
        (self.deadline, self.next) = (Time::MAX, Time::MAX);
    }
}
