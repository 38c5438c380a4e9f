//! What came for one connection and was not read yet.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use tokio::sync::Notify;

use super::credit::{Absurd, Allowance, Excess, Window};
use super::refusal::Refusal;

/// Smaller pieces are copied together: a byte would otherwise hold the packet that it came in.
const SMALL: usize = 4 << 10;
/// Pieces are copied together up to this, bytes.
const JOINED: usize = 16 << 10;

/// Pieces of data, in order.
pub(super) type Pieces = VecDeque<Bytes>;

/// Between the task that takes messages out of the association and the one of the connection.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    inner: Mutex<Inner>,
    /// There is something to read, or an answer, or an end.
    pub(super) news: Notify,
    /// The peer takes more, or nothing ever again.
    pub(super) room: Notify,
    /// It is broken off.
    pub(super) end: Notify,
}

/// What the lock protects.
#[derive(Debug, Default)]
pub(super) struct Inner {
    /// What the peer said to our OPEN.
    pub(super) answer: Option<Result<(), Refusal>>,
    /// The connection is through, and data may come.
    pub(super) open: bool,
    waiting: Pieces,
    tail: BytesMut,
    /// What the peer may send; `None` before it may, and after the end.
    pub(super) window: Option<Window>,
    /// What it takes.
    pub(super) allowance: Allowance,
    /// It sends no more data.
    pub(super) fin: bool,
    /// It is over, and not in order.
    pub(super) broken: bool,
    /// Nobody here reads it any more: what was under way is dropped.
    given_up: bool,
}

/// A peer that breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error(transparent)]
    Excess(#[from] Excess),
    #[error(transparent)]
    Absurd(#[from] Absurd),
    #[error("data before the connection is through, behind its end, or of no bytes")]
    Untimely,
    #[error("an answer to nothing")]
    NoQuestion,
}

impl Inbox {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing works any more.
    pub(super) fn break_off(&self) {
        self.lock().broken = true;
        self.news.notify_one();
        self.room.notify_one();
        self.end.notify_one();
    }

    /// Nobody reads it any more; gives the window back.
    pub(super) fn give_up(&self) -> Option<Window> {
        let mut inner = self.lock();
        inner.given_up = true;
        inner.window.take()
    }

    pub(super) fn put_data(&self, data: Bytes) -> Result<(), Fault> {
        self.lock().put_data(data)?;
        self.news.notify_one();
        Ok(())
    }

    pub(super) fn put_credit(&self, bytes: u32) -> Result<(), Fault> {
        self.lock().allowance.add(bytes)?;
        self.room.notify_one();
        Ok(())
    }

    pub(super) fn put_fin(&self) -> Result<(), Fault> {
        let mut inner = self.lock();
        if !inner.given_up && !inner.open || core::mem::replace(&mut inner.fin, true) {
            return Err(Fault::Untimely);
        }
        drop(inner);
        self.news.notify_one();
        Ok(())
    }

    /// An answer to our OPEN.
    pub(super) fn put_answer(&self, answer: Result<u32, Refusal>) -> Result<(), Fault> {
        let mut inner = self.lock();
        if inner.open || inner.answer.is_some() {
            return Err(Fault::NoQuestion);
        }
        if let Ok(credit) = answer {
            inner.allowance.add(credit)?;
            inner.open = true;
        }
        inner.answer = Some(answer.map(drop));
        drop(inner);
        self.news.notify_one();
        Ok(())
    }
}

impl Inner {
    fn put_data(&mut self, data: Bytes) -> Result<(), Fault> {
        if self.given_up {
            return Ok(());
        }
        if !self.open || self.fin || data.is_empty() {
            return Err(Fault::Untimely);
        }
        let window = self.window.as_mut().ok_or(Fault::Untimely)?;
        window.receive(data.len() as u64)?;
        if data.len() >= SMALL || self.tail.len() + data.len() > JOINED {
            self.flush_tail();
        }
        if data.len() >= SMALL {
            self.waiting.push_back(data);
        } else {
            self.tail.extend_from_slice(&data);
        }
        Ok(())
    }

    fn flush_tail(&mut self) {
        if !self.tail.is_empty() {
            self.waiting.push_back(self.tail.split().freeze());
        }
    }

    /// Moves all that came into `pieces`, which is empty.
    pub(super) fn take_all(&mut self, pieces: &mut Pieces) {
        self.flush_tail();
        core::mem::swap(&mut self.waiting, pieces);
    }
}

#[cfg(test)]
mod tests {
    use super::super::credit::Pool;
    use super::*;

    fn open(pool: &mut Pool) -> Inbox {
        let inbox = Inbox::default();
        inbox.lock().window = pool.open(tokio::time::Instant::now());
        inbox.put_answer(Ok(10)).unwrap();
        inbox
    }

    #[test]
    fn what_comes_untimely_is_a_fault() {
        let mut pool = Pool::new(1 << 20, 5);
        let inbox = Inbox::default();
        let byte = || Bytes::from_static(b"x");
        assert_eq!(inbox.put_data(byte()), Err(Fault::Untimely));
        assert_eq!(inbox.put_fin(), Err(Fault::Untimely));
        let inbox = open(&mut pool);
        assert_eq!(inbox.put_answer(Ok(1)), Err(Fault::NoQuestion));
        assert_eq!(inbox.put_data(Bytes::new()), Err(Fault::Untimely));
        assert_eq!(inbox.put_credit(0), Err(Fault::Absurd(Absurd)));
        inbox.put_data(byte()).unwrap();
        inbox.put_fin().unwrap();
        assert_eq!(inbox.put_data(byte()), Err(Fault::Untimely));
        assert_eq!(inbox.put_fin(), Err(Fault::Untimely));
    }

    /// The peer does not know yet, and has done nothing wrong.
    #[test]
    fn what_comes_after_nobody_reads_any_more_is_dropped() {
        for is_open in [true, false] {
            let mut pool = Pool::new(1 << 20, 5);
            let inbox = if is_open { open(&mut pool) } else { Inbox::default() };
            assert_eq!(inbox.give_up().is_some(), is_open);
            let data = || Bytes::from(vec![0; 100_000]);
            assert_eq!([inbox.put_data(data()), inbox.put_data(data())], [Ok(()), Ok(())]);
            assert_eq!((inbox.put_credit(1), inbox.put_fin()), (Ok(()), Ok(())));
            let mut pieces = Pieces::new();
            inbox.lock().take_all(&mut pieces);
            assert!(pieces.is_empty());
        }
    }

    #[test]
    fn small_pieces_hold_no_packets_and_the_order_stays() {
        let inbox = open(&mut Pool::new(1 << 20, 5));
        let packet = Bytes::from(vec![7; 1400]);
        (0..1000).for_each(|n| inbox.put_data(packet.slice(n..n + 1)).unwrap());
        inbox.put_data(Bytes::from(vec![8; 5000])).unwrap();
        inbox.put_data(Bytes::from_static(b"end")).unwrap();
        let mut all = VecDeque::new();
        inbox.lock().take_all(&mut all);
        let lengths: Vec<_> = all.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [1000, 5000, 3]);
        all.clear();
        inbox.lock().take_all(&mut all);
        assert!(all.is_empty());
    }

    #[test]
    fn a_windowful_is_all_that_waits() {
        let inbox = open(&mut Pool::new(1 << 20, 5));
        let piece = Bytes::from(vec![0; 16 << 10]);
        let taken = (0..100).take_while(|_| inbox.put_data(piece.clone()).is_ok()).count();
        assert_eq!(taken, 4);
        assert_eq!(inbox.put_data(piece), Err(Fault::Excess(Excess)));
    }
}
