//! How do congestion windows change?

pub(crate) mod balia;
pub(crate) mod cmt;
mod couple;
mod coupled;
pub(crate) mod cubic;
pub(crate) mod fixed;
mod hystart;
pub(crate) mod lia;
pub(crate) mod olia;
pub(crate) mod rp_v1;
pub(crate) mod rp_v2;
mod unqueued;

pub use balia::Balia;
pub use couple::Couple;
pub use cubic::{Cubic, CubicRfc};
pub use fixed::FixedWindow;
pub use hystart::HyStart;
pub use lia::Lia;
pub use olia::{Olia, OliaRank};
pub use rp_v1::RpV1;
pub use rp_v2::RpV2;
pub use unqueued::Unqueued;
