//! Authenticated chunks (RFC 4895): keys, their derivation, and HMACs over the chunks of a packet.

mod hmac;
mod keys;
mod offer;
mod packet;
mod proof;
mod session;
mod watch;

pub use keys::AuthKeyError;
pub(crate) use offer::{AuthOffer, RANDOM_LEN};
pub(crate) use packet::judge_auth;
pub(crate) use proof::{ADDRESS_CHUNKS, Gate, Proof};
pub(crate) use session::{Auth, AuthFault};
pub(crate) use watch::KeyWatch;

#[cfg(test)]
mod tests;
