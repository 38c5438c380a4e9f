//! The policies of one association, and who makes them.

use core::fmt;

use super::buffer::{BufferPolicy, SharedBuffer};
use super::classic::{ClassicCc, Rfc9260Rule};
use super::congestion::CongestionControl;
use super::congestion_config::CcConfig;
use super::path_scheduler::{PathScheduler, PrimaryPath};
use super::retransmission::{RetransmissionPolicy, Rfc9260Retransmission};
use super::stream_scheduler::{FirstCome, StreamScheduler};
use crate::rng::Rng;

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
