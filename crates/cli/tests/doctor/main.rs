//! `polypath doctor` finds what is wrong with a network, one fault after the other: real commands
//! in namespaces. They need root, `ip` and `nft`; without them they say that they are skipped, and
//! fail where POLYPATH_REQUIRE_ROOT=1 says that they must not be.

mod faults;
mod identity;
mod nats;
mod sizes;
mod stage;
