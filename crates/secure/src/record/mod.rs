//! DTLS 1.3 records of the one form that the DTLS chunk uses (RFC 9147 section 4,
//! draft-ietf-tsvwg-sctp-dtls-chunk section 4.2): sealed, opened, numbered, and each taken once.

mod history;
mod layout;
mod numbers;
mod open;
mod paths;
mod seal;
mod window;

pub(crate) use layout::Record;
pub(crate) use open::{Arrival, Opener};
pub(crate) use paths::Paths;
pub(crate) use seal::Sealer;

use crate::aead::Nonce;

/// Initialization vector and number of a record, put together (RFC 8446 section 5.3). The epoch is
/// no part of it (RFC 9147 section 4): each has keys of its own.
fn nonce(iv: Nonce, number: u64) -> Nonce {
    let mut nonce = iv;
    for (to, from) in nonce.iter_mut().rev().zip(number.to_le_bytes()) {
        *to ^= from;
    }
    nonce
}

#[cfg(test)]
mod tests;
