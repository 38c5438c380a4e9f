//! A mirror for packets: it tells a client what became of its UDP packets on the way, so that
//! `polypath doctor` finds out what address translators, firewalls and routers do to them.
//!
//! A client asks for one over an association ([`words`]); the server then opens a few UDP sockets
//! for a while ([`host`]) and answers probes that carry a secret token: each by one packet, smaller
//! than the probe, that tells its source and ECN field. On request it sends one packet from each
//! socket to an address at which the client has received an answer, and to no other. Probes from
//! another address than the client's association are not answered: the client is told of them over
//! the association. docs/reference/forward.md has the bytes.

mod elsewhere;
pub mod host;
pub(crate) mod probe;
mod proven;
mod share;
pub(crate) mod socket;
pub mod words;
