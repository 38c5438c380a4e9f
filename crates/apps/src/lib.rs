//! Applications over [`polypath_net`]: protocols of their own on top of associations, without a terminal.

#![forbid(unsafe_code)]

pub mod perf;
pub mod place;
pub mod transfer;
