//! Hosts behind boxes that translate their addresses (RFC 4787, RFC 6951).

mod guesses;
mod neighbours;
mod rebinding;
mod uplinks;
mod world;
