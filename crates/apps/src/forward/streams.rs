//! Which stream carries which connection, and when its number is free again.
//!
//! A connection has the stream of one number in either direction. The side that opens it chooses
//! the number: the client odd ones, the server even ones, so that they never meet. Each side says
//! one last frame ([`Frame::is_last`](super::frame::Frame::is_last)); when both have been said, the
//! number is free. Streams keep the order of their messages, so what is said under a number
//! afterwards belongs to the next connection, and nothing of the last one can come any more.

use std::collections::{BTreeMap, BTreeSet};

/// Which end of the association this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It opened the association.
    Client,
    /// The association was opened to it.
    Server,
}

/// The streams of an association with what belongs to each, `T`.
#[derive(Debug)]
pub struct Streams<T> {
    side: Side,
    /// Stream numbers end below this.
    end: u16,
    used: BTreeMap<u16, Used<T>>,
    /// The least number of ours that was never used, and those that were and are free.
    fresh: u16,
    freed: BTreeSet<u16>,
    /// Connections that we opened, and that the peer did, which are not over.
    ours: usize,
    theirs: usize,
}

#[derive(Debug)]
struct Used<T> {
    what: T,
    we_ended: bool,
    they_ended: bool,
}

/// A peer that does what the protocol does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamFault {
    /// Something for a connection that there is not.
    #[error("something on stream {0}, which carries no connection")]
    NoConnection(u16),
    /// Something behind its last frame.
    #[error("something behind the last frame on stream {0}")]
    AfterLast(u16),
    /// It opens a connection under a number that is not free.
    #[error("a connection opened on stream {0}, which carries one")]
    InUse(u16),
    /// It opens a connection under a number of ours, or one that there is not.
    #[error("a connection opened on stream {0}, which is not its own")]
    NotTheirs(u16),
}

impl<T> Streams<T> {
    /// Of an association with streams below `end`.
    pub fn new(side: Side, end: u16) -> Self {
        let fresh = match side {
            Side::Client => 1,
            Side::Server => 2,
        };
        let (used, freed) = (BTreeMap::new(), BTreeSet::new());
        Self { side, end, used, fresh, freed, ours: 0, theirs: 0 }
    }

    /// Connections that are not over: ours, and the peer's.
    pub const fn counts(&self) -> (usize, usize) {
        (self.ours, self.theirs)
    }

    /// Begins a connection of ours; `None` when all numbers are taken.
    pub fn open(&mut self, what: T) -> Option<u16> {
        let number = match self.freed.pop_first() {
            Some(number) => number,
            None if self.fresh < self.end => {
                self.fresh += 2;
                self.fresh - 2
            }
            None => return None,
        };
        self.ours += 1;
        self.used.insert(number, Used { what, we_ended: false, they_ended: false });
        Some(number)
    }

    const fn is_ours(&self, number: u16) -> bool {
        (number % 2 == 1) == matches!(self.side, Side::Client)
    }

    /// The peer begins one.
    ///
    /// # Errors
    /// When the number is not its to use.
    pub fn opened(&mut self, number: u16, what: T) -> Result<(), StreamFault> {
        if number == 0 || number >= self.end || self.is_ours(number) {
            return Err(StreamFault::NotTheirs(number));
        }
        if self.used.contains_key(&number) {
            return Err(StreamFault::InUse(number));
        }
        self.theirs += 1;
        self.used.insert(number, Used { what, we_ended: false, they_ended: false });
        Ok(())
    }

    /// What belongs to a stream on which the peer says something; with `None` if we ended it, and
    /// it does not know yet.
    ///
    /// # Errors
    /// When it has nothing to say there.
    pub fn hear(&self, number: u16) -> Result<Option<&T>, StreamFault> {
        let used = self.used.get(&number).ok_or(StreamFault::NoConnection(number))?;
        match used {
            used if used.they_ended => Err(StreamFault::AfterLast(number)),
            used if used.we_ended => Ok(None),
            used => Ok(Some(&used.what)),
        }
    }

    /// Our last frame has been sent.
    pub fn we_ended(&mut self, number: u16) {
        if let Some(used) = self.used.get_mut(&number) {
            used.we_ended = true;
        }
        self.free(number);
    }

    /// The peer's last frame has come.
    pub fn they_ended(&mut self, number: u16) {
        if let Some(used) = self.used.get_mut(&number) {
            used.they_ended = true;
        }
        self.free(number);
    }

    /// We did not begin the connection after all: the peer heard nothing of it.
    pub fn withdraw(&mut self, number: u16) {
        if self.is_ours(number) && self.used.remove(&number).is_some() {
            self.ours -= 1;
            self.freed.insert(number);
        }
    }

    fn free(&mut self, number: u16) {
        if self.used.get(&number).is_some_and(|used| used.we_ended && used.they_ended) {
            self.used.remove(&number);
            if self.is_ours(number) {
                self.ours -= 1;
                self.freed.insert(number);
            } else {
                self.theirs -= 1;
            }
        }
    }

    /// All that are not over.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.used.values().map(|used| &used.what)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn either_side_has_numbers_of_its_own_and_uses_them_again() {
        let mut client = Streams::new(Side::Client, 6);
        let mut server = Streams::new(Side::Server, 6);
        assert_eq!(
            [client.open(()), client.open(()), client.open(())],
            [Some(1), Some(3), Some(5)]
        );
        assert_eq!(client.open(()), None);
        assert_eq!([server.open(()), server.open(()), server.open(())], [Some(2), Some(4), None]);
        client.we_ended(3);
        assert_eq!(client.open(()), None, "the peer may still say something there");
        assert_eq!(client.hear(3), Ok(None));
        client.they_ended(3);
        assert_eq!(client.open(()), Some(3));
    }

    #[test]
    fn what_did_not_begin_leaves_no_trace() {
        let mut client = Streams::new(Side::Client, 6);
        assert_eq!(client.open(()), Some(1));
        client.withdraw(1);
        assert_eq!((client.counts(), client.open(())), ((0, 0), Some(1)));
        client.withdraw(2);
        assert_eq!(client.counts(), (1, 0), "not ours");
    }

    #[test]
    fn a_peer_keeps_to_its_numbers() {
        let mut server = Streams::new(Side::Server, 6);
        for wrong in [0, 2, 6, 7] {
            assert_eq!(server.opened(wrong, ()), Err(StreamFault::NotTheirs(wrong)));
        }
        server.opened(1, ()).unwrap();
        assert_eq!(server.opened(1, ()), Err(StreamFault::InUse(1)));
        assert_eq!(server.hear(3), Err(StreamFault::NoConnection(3)));
        server.they_ended(1);
        assert_eq!(server.hear(1), Err(StreamFault::AfterLast(1)));
        assert_eq!(server.opened(1, ()), Err(StreamFault::InUse(1)));
        server.we_ended(1);
        server.opened(1, ()).unwrap();
        assert_eq!(server.counts(), (0, 1));
    }

    /// What either side says of a connection, in order.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Said {
        Open(u32),
        Last(u32),
    }

    proptest! {
        /// Two sides that open and end at random, with messages under way for a while: none is ever
        /// taken for one of another connection.
        #[test]
        fn connections_of_one_number_are_never_mixed_up(
            steps in proptest::collection::vec((any::<bool>(), 0u8..4, 0usize..8), 1..300),
        ) {
            let mut ends = [Streams::new(Side::Client, 8), Streams::new(Side::Server, 8)];
            let mut under_way: [BTreeMap<u16, Vec<Said>>; 2] = Default::default();
            let mut next = 0;
            for (first, what, which) in steps {
                let (me, you) = (usize::from(first), usize::from(!first));
                match what {
                    0 => if let Some(number) = ends[me].open(next) {
                        under_way[you].entry(number).or_default().push(Said::Open(next));
                        next += 1;
                    },
                    1 => {
                        let alive = |(number, used): (&u16, &Used<u32>)| {
                            (!used.we_ended).then_some((*number, used.what))
                        };
                        let open: Vec<_> = ends[me].used.iter().filter_map(alive).collect();
                        if let Some((number, id)) = open.get(which).copied() {
                            ends[me].we_ended(number);
                            under_way[you].entry(number).or_default().push(Said::Last(id));
                        }
                    }
                    _ => {
                        let number = which as u16;
                        let queue = under_way[me].entry(number).or_default();
                        if queue.is_empty() { continue }
                        match queue.remove(0) {
                            Said::Open(id) => prop_assert_eq!(ends[me].opened(number, id), Ok(())),
                            Said::Last(id) => {
                                let heard = ends[me].hear(number).map(Option::<&u32>::copied);
                                prop_assert!(matches!(heard, Ok(None)) || heard == Ok(Some(id)));
                                ends[me].they_ended(number);
                            }
                        }
                    }
                }
            }
        }
    }
}
