//! What a policy says of itself, and how it is made.

use polypath_proto::config::CcConfig;
use polypath_proto::policy::{
    BufferPolicy, CongestionControl, PathScheduler, RetransmissionPolicy, StreamScheduler,
};
use polypath_proto::rng::Rng;

use crate::error::PolicyError;
use crate::kind::PolicyKind;
use crate::option::OptionEntry;
use crate::options::Options;

/// Makes one policy for one association, from settings that were checked. The generator is the
/// policy's own.
pub type Recipe<P> = Box<dyn Fn(&CcConfig, &mut Rng) -> Box<P> + Send + Sync>;

/// Checks the options and makes the recipe.
pub type Configure<P> = fn(&Options<'_>) -> Result<Recipe<P>, PolicyError>;

/// A policy that has a name.
#[derive(Clone, Copy, Debug)]
pub struct PolicyEntry {
    /// Which question it answers.
    pub kind: PolicyKind,
    /// Its name, unique within its kind.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it was defined.
    pub source: &'static str,
    /// The options that it understands.
    pub options: &'static [OptionEntry],
    /// The options without which it cannot be made; without such, its name alone is enough.
    pub needs: &'static [&'static str],
    pub(crate) make: Make,
}

/// The options of a policy into its recipe, by kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Make {
    PathScheduler(Configure<dyn PathScheduler>),
    StreamScheduler(Configure<dyn StreamScheduler>),
    Retransmission(Configure<dyn RetransmissionPolicy>),
    Buffer(Configure<dyn BufferPolicy>),
    Congestion(Configure<dyn CongestionControl>),
}

impl PolicyEntry {
    /// A path scheduler.
    pub const fn path_scheduler(
        name: &'static str,
        configure: Configure<dyn PathScheduler>,
    ) -> Self {
        Self::new(PolicyKind::PathScheduler, name, Make::PathScheduler(configure))
    }

    /// A stream scheduler.
    pub const fn stream_scheduler(
        name: &'static str,
        configure: Configure<dyn StreamScheduler>,
    ) -> Self {
        Self::new(PolicyKind::StreamScheduler, name, Make::StreamScheduler(configure))
    }

    /// A retransmission policy.
    pub const fn retransmission(
        name: &'static str,
        configure: Configure<dyn RetransmissionPolicy>,
    ) -> Self {
        Self::new(PolicyKind::Retransmission, name, Make::Retransmission(configure))
    }

    /// A buffer policy.
    pub const fn buffer(name: &'static str, configure: Configure<dyn BufferPolicy>) -> Self {
        Self::new(PolicyKind::Buffer, name, Make::Buffer(configure))
    }

    /// A congestion control.
    pub const fn congestion(
        name: &'static str,
        configure: Configure<dyn CongestionControl>,
    ) -> Self {
        Self::new(PolicyKind::Congestion, name, Make::Congestion(configure))
    }

    const fn new(kind: PolicyKind, name: &'static str, make: Make) -> Self {
        Self { kind, name, summary: "", source: "", options: &[], needs: &[], make }
    }

    /// The same with a line that says what it does.
    #[must_use]
    pub const fn summary(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    /// The same with the place where it was defined.
    #[must_use]
    pub const fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    /// The same with options.
    #[must_use]
    pub const fn options(mut self, options: &'static [OptionEntry]) -> Self {
        self.options = options;
        self
    }

    /// The same with options that must be given.
    #[must_use]
    pub const fn needs(mut self, options: &'static [&'static str]) -> Self {
        self.needs = options;
        self
    }
}
