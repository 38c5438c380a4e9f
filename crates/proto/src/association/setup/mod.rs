//! Set-up (RFC 9260 section 5): [`open`] is the side that sends INIT, [`accept`] the one that answers,
//! and [`pairing`] says which pairs of addresses become paths.

mod accept;
mod open;
mod pairing;
mod progress;

pub(super) use progress::Setup;
