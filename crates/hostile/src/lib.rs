//! Attacks on real sockets: a second floor above the hostile worlds of `polypath-testkit`, which
//! attack the core. Tests only.
//!
//! A [`Field`] is three network namespaces: a victim, an honest client, and an attacker whose
//! packets have any source he likes. The [`Victim`] is a process of its own, so that what an attack
//! costs it can be read: descriptors, threads, memory, processor time ([`Usage`]). What strangers
//! send is in [`packets`]; [`Source`] sends it, once or as a flood. An [`Observer`] sees packets of
//! others, and what he makes of them is an [`Insight`]. An attack is a few lines:
//!
//! ```no_run
//! use std::time::Duration;
//! use polypath_hostile::{Field, Kind, Victim, packets};
//!
//! # fn main() {
//! let Some(field) = Field::build() else { return }; // not root
//! for kind in Kind::ALL {
//!     let victim = Victim::start(&field, kind);
//!     let mut source = field.source(kind);
//!     source.flood_victim(10_000, Duration::from_secs(1), |n| packets::init(kind, n));
//!     assert_eq!(victim.honest_set_ups(&field, 5), 5);
//! }
//! # }
//! ```
//!
//! [`Nat`] is another field: two clients behind one address translator, made with nft, and a victim
//! outside. All of it needs root, and the programs `ip` (iproute2) and, for address translation,
//! `nft` (nftables); without them tests say that they are skipped, and fail where
//! POLYPATH_REQUIRE_ROOT=1 says that they must not be. Namespaces vanish with the process, however
//! it ends.

#![expect(clippy::disallowed_types, reason = "it drives the real world, and owns the clock")]

mod field;
mod honest;
mod insider;
mod kind;
mod meter;
mod nat;
mod observer;
pub mod packets;
mod peer;
mod runtime;
mod serve;
mod source;
mod victim;
mod wires;

pub use field::Field;
pub use honest::{Pace, exchange_messages, receive_all, transfer_for};
pub use insider::{INJECTIONS, Injection, Insight, replay};
pub use kind::Kind;
pub use meter::Usage;
pub use nat::{Nat, NatKind, run_nft};
pub use observer::{Observer, Seen};
pub use peer::{Copies, Peers};
pub use serve::{CLOSED, PORT, PROTECTED, answer_to, serve};
pub use source::{Flood, Source};
pub use victim::Victim;
