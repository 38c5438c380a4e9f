//! What can go wrong, in one line each.

use std::time::Duration;

use polypath_net::{BindError, Closed, ConnectError, SendError};

use super::spec::SpecError;
use crate::admission::Dismissed;

/// Why a test did not happen, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// The endpoint could not be made.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The server was not reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The server did not answer in time.
    #[error("no answer from {remote} within {} s: is `polypath perf -s` running there?", .wait.as_secs_f64())]
    NoAnswer {
        /// Its addresses.
        remote: String,
        /// How long was waited.
        wait: Duration,
    },
    /// The test is not possible.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The server does not take part.
    #[error("the server refused the test: {0}")]
    Refused(String),
    /// The peer does not speak our language.
    #[error("the peer broke the protocol of perf: {0}")]
    Protocol(String),
    /// The association ended.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// Something could not be sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// It did not say hello.
    #[error(transparent)]
    Dismissed(#[from] Dismissed),
    /// The peer vanished.
    #[error("nothing was heard of the peer for {} s", .0.as_secs())]
    Silent(Duration),
    /// It is heard, but neither sends nor takes anything.
    #[error("no load moved for {} s", .0.as_secs())]
    Idle(Duration),
    /// Packets as large as ours vanish on the way.
    #[error(
        "packets of {mtu} bytes do not arrive on any path, smaller ones do (an MTU hole): try --mtu 1280"
    )]
    Hole {
        /// The path MTU in use, bytes.
        mtu: u32,
    },
    /// What was sent did not arrive in reasonable time after the test.
    #[error("the test's last messages or the peer's report did not arrive within {} s", .0.as_secs())]
    Unfinished(Duration),
    /// The user ended it.
    #[error("interrupted")]
    Interrupted,
}

impl PerfError {
    /// The server could not be reached, or is not there.
    pub const fn is_unreachable(&self) -> bool {
        matches!(self, Self::Connect(_) | Self::NoAnswer { .. })
    }

    /// The request itself is at fault.
    pub const fn is_bad_input(&self) -> bool {
        matches!(self, Self::Spec(_) | Self::Bind(_))
    }
}
