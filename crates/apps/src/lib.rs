//! Applications over [`polypath_net`]: protocols of their own on top of associations, without a
//! terminal.
//!
//! What users write about the two ends becomes addresses ([`place`]), and who they are is kept in
//! files ([`keys`]); [`perf`] measures, [`transfer`] carries files, [`forward`] connections:
//!
//! ```
//! use polypath_apps::place::{self, Ends};
//! use polypath_net::Config;
//!
//! // Addresses of this host: what the routing table says; those of the peer: all that its names
//! // have.
//! let Ends { local, remote, .. } = place::resolve_ends(&[], &[], "127.0.0.1:9899,127.0.0.2")?;
//! assert_eq!(remote.len(), 2);
//! let config = Config::insecure_client([]).local(local);
//! # drop(config);
//! # Ok::<(), place::PlaceError>(())
//! ```
//!
//! # Features
//! - `schema` (off by default): JSON schemas of reports of tests and transfers by `schemars`.

#![forbid(unsafe_code)]

use core::time::Duration;

use polypath_net::Stall;

pub mod admission;
pub mod buffers;
pub mod doctor;
pub mod forward;
pub mod hosts;
pub mod keys;
pub mod mirror;
pub mod paths;
pub mod perf;
pub mod place;
pub mod runtime;
pub mod same_user;
pub mod shown;
pub mod transfer;

/// The line that tells of a stall ([`polypath_net::Event::Stalled`]).
fn stall_line(cause: Stall, silence: Duration) -> String {
    format!("stalled for {:.0} s: {cause}", silence.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_told_in_one_line() {
        let line = stall_line(Stall::PeerReader, Duration::from_millis(5_040));
        assert_eq!(line, "stalled for 5 s: the peer's program does not read");
        let hole = Stall::BlackHole(polypath_net::PathId(1));
        let line = stall_line(hole, Duration::from_secs(5));
        assert!(line.contains("heartbeats are answered on path 1"), "{line}");
    }
}
