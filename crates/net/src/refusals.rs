//! Peers that were not let in.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;

use crate::error::Closed;

/// Those that are kept until somebody asks: strangers shall not fill the memory.
const KEPT: usize = 64;

/// A peer that connected and was not let in, because no keys could be agreed on with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// Where it was.
    pub remote: SocketAddr,
    /// Why: [`Closed::Unprotected`] has the key of one that is not known.
    pub reason: Closed,
    /// So many before it are not told of, because nobody asked in time.
    pub missed: u64,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was not let in: {}", self.remote, self.reason)
    }
}

/// The latest of them.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    latest: VecDeque<(SocketAddr, Closed)>,
    missed: u64,
    count: u64,
}

impl Refusals {
    pub(crate) fn note(&mut self, remote: SocketAddr, reason: Closed) {
        self.count += 1;
        if self.latest.len() == KEPT {
            self.latest.pop_front();
            self.missed += 1;
        }
        self.latest.push_back((remote, reason));
    }

    /// The oldest that is kept.
    pub(crate) fn pop(&mut self) -> Option<Refusal> {
        let (remote, reason) = self.latest.pop_front()?;
        Some(Refusal { remote, reason, missed: core::mem::take(&mut self.missed) })
    }

    /// All there were.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_and_the_others_counted() {
        let mut refusals = Refusals::default();
        for port in 0..1000 {
            refusals.note(([192, 0, 2, 1], port).into(), Closed::LocalAbort);
        }
        assert_eq!((refusals.latest.len(), refusals.count()), (KEPT, 1000));
        let first = refusals.pop().unwrap();
        assert_eq!((first.remote.port(), first.missed), (936, 936));
        assert_eq!(refusals.pop().unwrap().missed, 0);
    }
}
