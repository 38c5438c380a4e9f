//! Polypath against usrsctp, a stack that others wrote: our side of the conversation, and the
//! matrix of conversations.
//!
//! The other side is `peer.c`; both take the same options and print the same JSON.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "conversations over sockets take place in real time"
)]

pub mod ledger;
pub mod matrix;
pub mod message;
pub mod peer;
