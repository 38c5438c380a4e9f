//! How do congestion windows change?

pub(crate) mod cmt;
mod coupled;
pub(crate) mod fixed;
pub(crate) mod rp_v1;
pub(crate) mod rp_v2;

pub use fixed::FixedWindow;
pub use rp_v1::RpV1;
pub use rp_v2::RpV2;
