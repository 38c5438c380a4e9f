//! What lies between two hosts, path by path: whether each carries, and what address translators,
//! firewalls, routers and this host's own settings do to it.
//!
//! [`named_paths`] makes paths of what the user wrote; [`examine`] looks at one of them, by an
//! association over it alone and a [mirror](crate::mirror) at its far end; [`advise`] says in a
//! line each what was found, and what to do.

mod advice;
mod directly;
mod echo;
mod ecn;
mod elsewhere;
mod examine;
mod here;
mod lifetime;
mod mtu;
mod named;
mod nat;
mod opened;
mod reflected;
mod report;
mod route;
mod setup;
mod visit;

pub use advice::advise;
pub use examine::examine;
pub use here::advise_host;
pub use lifetime::LONGEST as LONGEST_WAIT;
pub use named::{NamedPath, named_paths};
pub use report::{
    About, Dependence, Directly, Ecn, Finding, Lifetime, Mark, Marks, Mtu, Nat, Passage,
    PathReport, State,
};
pub use setup::{Explain, Setup};
