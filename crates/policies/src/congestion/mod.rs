//! How do congestion windows change?

pub(crate) mod balia;
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
pub use coupling_mode::CouplingMode;
pub use cubic::{Cubic, CubicRfc};
pub use fixed::FixedWindow;
pub use hystart::HyStart;
pub use layer::{Layered, RuleLayer};
pub use lia::Lia;
pub use olia::{Olia, OliaRank};
pub use resource_pooling::{PoolingVersion, ResourcePooling};
pub use unqueued::Unqueued;
