//! How do congestion windows change?

pub(crate) mod balia;
pub(crate) mod bbr;
mod coupled_increase;
mod coupling_mode;
pub(crate) mod cubic;
pub(crate) mod fixed;
mod hystart;
mod layer;
pub(crate) mod lia;
pub(crate) mod olia;
mod per_path;
pub(crate) mod resource_pooling;
pub(crate) mod rfc9260;
mod unqueued;

pub use balia::Balia;
pub use bbr::{Bbr, BbrState, Beyond as BeyondBbr};
pub use coupling_mode::CouplingMode;
pub use cubic::{Cubic, CubicRfc};
pub use fixed::FixedWindow;
pub use hystart::HyStart;
pub use layer::{Layered, RuleLayer};
pub use lia::Lia;
pub use olia::{Olia, OliaRank};
pub use resource_pooling::{PoolingVersion, ResourcePooling};
pub use unqueued::Unqueued;

use crate::entry::PolicyEntry;

/// Congestion controls, in the order in which lists show them. A new one adds its line here, and
/// its `mod` line above.
pub(crate) const ENTRIES: &[PolicyEntry] = &[
    rfc9260::ENTRY,
    resource_pooling::ENTRY_V1,
    resource_pooling::ENTRY_V2,
    lia::ENTRY,
    olia::ENTRY,
    balia::ENTRY,
    cubic::ENTRY,
    bbr::ENTRY,
    fixed::ENTRY,
];
