//! The room for waiting packets and who gets in.
//!
//! Every limit counts packets that wait and not the one in transmission: a packet that finds the
//! transmitter idle always gets in.

use rand_chacha::ChaCha12Rng;

use crate::arrival::Arrival;
use crate::random::Stream;
use crate::red::{Red, RedConfig};
use crate::{DropReason, LinkSeed};

/// The room for packets that wait for the transmitter; the packet in transmission has left it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Queue {
    /// No limit.
    #[default]
    Unlimited,
    /// At most so many packets wait. (ns-2's `queue-limit L` lets only `L - 1` wait.)
    DropTailPackets(u32),
    /// At most so many bytes wait.
    DropTailBytes(u64),
    /// Random early detection.
    Red(RedConfig),
}

/// Decides who gets in.
#[derive(Debug)]
pub(crate) enum Admission {
    Unlimited,
    Packets(u64),
    Bytes(u64),
    Red(Box<(Red, ChaCha12Rng)>),
}

impl Admission {
    pub(crate) fn new(queue: Queue, seed: LinkSeed) -> Self {
        match queue {
            Queue::Unlimited => Self::Unlimited,
            Queue::DropTailPackets(limit) => Self::Packets(limit.into()),
            Queue::DropTailBytes(limit) => Self::Bytes(limit),
            Queue::Red(config) => {
                Self::Red(Box::new((Red::new(config), seed.random_stream(Stream::Red))))
            }
        }
    }

    /// Why the arriving packet does not get in, if it does not.
    pub(crate) fn refuse_packet(&mut self, arrival: Arrival) -> Option<DropReason> {
        let busy = arrival.idle.is_none();
        let full = match self {
            Self::Unlimited => false,
            Self::Packets(limit) => busy && arrival.waiting.packets >= *limit,
            Self::Bytes(limit) => {
                busy && arrival.waiting.bytes.saturating_add(arrival.size.into()) > *limit
            }
            Self::Red(red) => {
                let (red, rng) = red.as_mut();
                return red.refuse_packet(arrival, rng);
            }
        };
        full.then_some(DropReason::QueueFull)
    }
}
