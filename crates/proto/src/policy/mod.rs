//! The policy traits: where research happens.
//!
//! A policy sees views ([`crate::view`]), answers with values and owns only its own state. It never touches the
//! association. Each implementation is one file; RFC 9260's own behaviour lives here as the default, everything
//! else in `polypath-policies`.

mod buffer;
mod classic;
mod congestion;
mod path_scheduler;
mod retransmission;
mod stream_scheduler;

pub use buffer::{BufferPolicy, SharedBuffer};
pub use classic::{ClassicCc, Cut, CwndStep, PathWindow, Rfc9260Rule, WindowRule};
pub use congestion::{AckedInfo, CongestionControl, LossInfo};
pub use path_scheduler::{PathChange, PathPick, PathScheduler, PrimaryPath, Trigger};
pub use retransmission::{RetransmissionPolicy, Rfc9260Retransmission, RtxPick};
pub use stream_scheduler::{FirstCome, MessageInfo, StreamParam, StreamQueues, StreamScheduler};

use core::fmt;

use crate::config::CcConfig;
use crate::rng::Rng;

/// What every policy is.
pub trait Policy: Send + fmt::Debug {
    /// Its name, as scenario files and the command line write it.
    fn name(&self) -> &'static str;

    /// Its inner state as named numbers, for traces. Empty where there is none worth showing.
    fn state(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// The policies of one association.
#[derive(Debug)]
pub struct PolicySet {
    /// Which path carries the next new data.
    pub path_scheduler: Box<dyn PathScheduler>,
    /// Which stream's message is next.
    pub stream_scheduler: Box<dyn StreamScheduler>,
    /// Which path carries a retransmission.
    pub retransmission: Box<dyn RetransmissionPolicy>,
    /// Whether a path may take more of the buffers.
    pub buffer: Box<dyn BufferPolicy>,
    /// The congestion windows of all paths.
    pub congestion: Box<dyn CongestionControl>,
}

impl PolicySet {
    /// RFC 9260 without extensions: one path at a time.
    pub fn rfc9260(cc: &CcConfig) -> Self {
        Self {
            path_scheduler: Box::new(PrimaryPath),
            stream_scheduler: Box::new(FirstCome),
            retransmission: Box::new(Rfc9260Retransmission),
            buffer: Box::new(SharedBuffer),
            congestion: Box::new(ClassicCc::new(Rfc9260Rule, cc.clone())),
        }
    }
}

/// Makes the policies of each new association. One factory serves many associations, so it holds settings, not state.
pub trait PolicyFactory: Send + Sync + fmt::Debug {
    /// A fresh set. `rng` is the association's: policies that break ties at random fork it.
    fn build(&self, cc: &CcConfig, rng: &mut Rng) -> PolicySet;
}

/// The factory of [`PolicySet::rfc9260`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Rfc9260Policies;

impl PolicyFactory for Rfc9260Policies {
    fn build(&self, cc: &CcConfig, _rng: &mut Rng) -> PolicySet {
        PolicySet::rfc9260(cc)
    }
}
