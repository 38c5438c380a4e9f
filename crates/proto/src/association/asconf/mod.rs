//! Addresses that come and go during the association (RFC 5061).
//!
//! [`local`] is what our side wants: the calls of the application, our addresses and where each stands. [`send`] tells the peer,
//! one ASCONF at a time. [`receive`] is what the peer tells us, and [`peer`] what becomes of its addresses and the paths to
//! them.

mod local;
mod peer;
mod receive;
mod send;

pub use local::AddressError;
pub(super) use local::Home;
use local::LocalAddress;
pub(super) use receive::Answering;
use send::{Outstanding, Request};

use core::net::{IpAddr, SocketAddr};
use std::collections::VecDeque;

use crate::ids::{PathId, Tsn};
use crate::time::Time;

/// What an association with dynamic addresses must remember.
#[derive(Debug)]
pub(crate) struct Asconf {
    /// Our addresses.
    locals: Vec<LocalAddress>,
    /// What the peer is to be told.
    queue: VecDeque<Request>,
    /// The ASCONF that waits for its answer: one at a time (section 5.1.1, C1).
    outstanding: Option<Outstanding>,
    /// Serial number of our next ASCONF.
    next_serial: u32,
    /// The number of our next request.
    next_correlation: u32,
    /// T4: `Time::MAX` while no ASCONF is outstanding.
    pub(super) t4: Time,
    /// The peer knows no ASCONF after all, or no such requests.
    refused: bool,
    primary_refused: bool,
    /// Our last address is to go as soon as there is another.
    orphan: Option<IpAddr>,
    /// A HEARTBEAT was answered on a path that may not speak yet: the answer waits.
    held_answer: Option<(PathId, Vec<u8>)>,
    /// Serial number of the peer's latest ASCONF.
    peer_serial: u32,
    /// Answers that the peer may ask for again.
    answers: VecDeque<(u32, Vec<u8>)>,
    /// The peer's wish for a primary address, which is not confirmed yet.
    wanted_primary: Option<IpAddr>,
}

impl Asconf {
    /// Serial numbers begin at the initial TSNs (section 5.1, A2).
    fn new(ours: Tsn, peers: Tsn, locals: Vec<LocalAddress>) -> Self {
        Self {
            locals,
            queue: VecDeque::new(),
            outstanding: None,
            next_serial: ours.0,
            next_correlation: 1,
            t4: Time::MAX,
            refused: false,
            primary_refused: false,
            orphan: None,
            held_answer: None,
            peer_serial: peers.0.wrapping_sub(1),
            answers: VecDeque::new(),
            wanted_primary: None,
        }
    }
}

/// A change of our addresses that must wait until the association is set up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wish {
    Add(SocketAddr),
    Remove(IpAddr),
}
