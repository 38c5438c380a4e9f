//! One direction of a path, with everything that can go wrong on it.

use polypath_proto::rng::Rng;
use polypath_proto::time::Duration;

/// Settings of one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Propagation delay.
    pub delay: Duration,
    /// Additional delay, uniform from zero: packets overtake each other.
    pub jitter: Duration,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Probability that it arrives twice.
    pub duplicate: f64,
    /// Probability that some of its bits flip.
    pub corrupt: f64,
    /// Not cut.
    pub up: bool,
    /// So many packets are lost for certain.
    pub drop_next: u32,
    /// So many packets are late by ten delays.
    pub late_next: u32,
    /// So many packets arrive twice for certain.
    pub twice_next: u32,
    /// The largest IP packet that it carries whole, bytes.
    pub mtu: u32,
    /// What becomes of a larger one that must not be fragmented.
    pub oversize: Oversize,
}

/// What becomes of packets that are too large for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oversize {
    /// They vanish without a word.
    Vanish,
    /// They vanish, and the router says so, with the size that fits if the flag is set.
    Told(bool),
    /// The sender's own interface refuses them.
    Refused,
}

/// Bytes of an IPv4 header, which is what worlds run over.
pub(super) const IP_HEADER: usize = 20;

impl Link {
    /// A perfect link.
    pub const fn new(delay: Duration) -> Self {
        Self {
            delay,
            jitter: Duration::ZERO,
            loss: 0.0,
            duplicate: 0.0,
            corrupt: 0.0,
            up: true,
            drop_next: 0,
            late_next: 0,
            twice_next: 0,
            mtu: u32::MAX,
            oversize: Oversize::Vanish,
        }
    }

    /// Nothing goes wrong from now on.
    pub const fn heal_faults(&mut self) {
        *self = Self::new(self.delay);
    }

    /// Whether an SCTP packet of `len` bytes passes unfragmented.
    pub(super) const fn may_carry(&self, len: usize) -> bool {
        len + IP_HEADER <= self.mtu as usize
    }

    /// What happens to the next packet: one delay per copy that arrives.
    pub(super) fn carry_packet(&mut self, rng: &mut Rng) -> Copies {
        if !self.up || take_one(&mut self.drop_next) || rng.unit() < self.loss {
            return Copies([None, None]);
        }
        let twice = take_one(&mut self.twice_next) || rng.unit() < self.duplicate;
        let late = take_one(&mut self.late_next);
        let mut copy = || {
            let extra = self.jitter.mul_f64(rng.unit());
            let delay = self.delay + extra + if late { self.delay * 10 } else { Duration::ZERO };
            Carried { delay, corrupt: rng.unit() < self.corrupt }
        };
        let first = copy();
        Copies([Some(first), twice.then(copy)])
    }
}

fn take_one(left: &mut u32) -> bool {
    let any = *left > 0;
    *left = left.saturating_sub(1);
    any
}

/// The copies of a packet that arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copies(pub(super) [Option<Carried>; 2]);

/// One copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    pub(super) delay: Duration,
    pub(super) corrupt: bool,
}

/// Flips one to four bits.
pub fn flip_bits(packet: &mut [u8], rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(packet.len());
        if let Some(byte) = packet.get_mut(at) {
            *byte ^= 1 << rng.below(8);
        }
    }
}
