//! Extensions of RFC 9260 that most packets have nothing to do with. Each one is an object with its
//! own state; the association calls it at named points and lends it what it needs.

pub(crate) mod asconf;
pub(crate) mod buffer_tuning;
mod context;
pub(crate) mod protection;
pub(crate) mod reconfig;

pub(crate) use context::Context;
