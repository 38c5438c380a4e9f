//! `forward` and `serve`: connections of TCP and Unix sockets as streams of one association, over
//! all paths, as `ssh -L`, `-R` and `-D` carry them over one.
//!
//! What goes over the association is in [`frame`] (docs/reference/forward.md). A [`mux::Mux`] joins
//! many [`channel::Channel`]s to one association; [`client::Client`] and [`server::Server`] are its
//! two ends.

pub mod channel;
pub mod client;
pub mod credit;
pub mod dial;
pub mod frame;
pub mod global;
pub mod hello;
mod hub;
mod inbox;
pub mod join;
pub mod listen;
mod meet;
pub mod mux;
mod network;
mod pattern;
pub mod permit;
mod race;
pub mod refusal;
pub mod relay;
pub mod server;
pub mod service;
pub mod socks;
pub mod spec;
pub mod streams;
pub mod target;
pub mod watch;
