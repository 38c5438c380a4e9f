//! Credit of connections: how many bytes each may have under way to a reader, so that one that
//! stops holds up no other.
//!
//! All streams of an association share one receive window. So what arrives is taken out at once and
//! waits here, and each connection may send only what its [`Window`] granted. Windows grow with the
//! bandwidth-delay product, as receive buffers of TCP do, out of one [`Pool`]: the sum of all is
//! never above it, whatever peers do.

use std::time::Duration;

use tokio::time::Instant;

/// What a window begins with, bytes, where there is plenty.
pub const INITIAL: u32 = 64 << 10;

/// What a window has at least, bytes, where there is enough for all.
pub const LEAST: u32 = 2 << 10;

/// Bytes that the windows of an association may have in all.
#[derive(Debug)]
pub struct Pool {
    total: u64,
    taken: u64,
    /// Connections that may still come, and what is kept for each of them.
    to_come: u64,
    least: u64,
}

impl Pool {
    /// For up to `most` connections, all of it free.
    pub fn new(total: u64, most: u64) -> Self {
        // At least half is there for whoever is there.
        let least = (total / 2 / most.max(1)).clamp(1, LEAST.into());
        Self { total, taken: 0, to_come: most, least }
    }

    /// Bytes that windows have.
    pub const fn taken(&self) -> u64 {
        self.taken
    }

    /// What nobody has, and nobody to come is sure to get.
    const fn spare(&self) -> u64 {
        self.total.saturating_sub(self.taken).saturating_sub(self.least * self.to_come)
    }

    /// A window to begin with; `None` where there are as many as there may be.
    pub fn open(&mut self, now: Instant) -> Option<Window> {
        self.to_come = self.to_come.checked_sub(1)?;
        // Newcomers find something as long as each takes a share of what is left.
        let size = u64::from(INITIAL).min(self.spare() / 8).max(self.least);
        self.taken += size;
        Some(Window { size, granted: size, unread: 0, since: now, consumed: 0 })
    }

    /// As much as `window` may grow by: one connection takes at most two thirds of what is left.
    fn growth(&self, window: u64) -> u64 {
        let most = 2 * self.spare().saturating_sub(window / 2) / 3;
        window.min(most)
    }
}

/// A peer that sends more than it was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more data than was granted")]
pub struct Excess;

/// What one connection may have under way to this end.
#[derive(Debug)]
pub struct Window {
    /// Bytes taken from the pool.
    size: u64,
    /// Bytes that the peer may still send.
    granted: u64,
    /// Bytes that came, and that the reader has not taken.
    unread: u64,
    /// When a windowful began to be read, and how much of it was.
    since: Instant,
    consumed: u64,
}

impl Window {
    /// Bytes that it may have under way and unread.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Data of the peer.
    ///
    /// # Errors
    /// When there is more than was granted.
    pub fn receive(&mut self, bytes: u64) -> Result<(), Excess> {
        self.granted = self.granted.checked_sub(bytes).ok_or(Excess)?;
        self.unread += bytes;
        Ok(())
    }

    /// The reader took `bytes`; what to grant the peer now, if it is worth telling. `rtt`: of the
    /// slowest path.
    pub fn consume(
        &mut self,
        pool: &mut Pool,
        bytes: u64,
        now: Instant,
        rtt: Duration,
    ) -> Option<u32> {
        self.unread = self.unread.saturating_sub(bytes);
        self.consumed += bytes;
        if self.consumed >= self.size {
            self.resize(pool, now, rtt);
        }
        // As TCP does (RFC 9293 section 3.8.6.2.2), no small steps.
        let grant = self.size.saturating_sub(self.granted + self.unread);
        if grant < self.size / 4 {
            return None;
        }
        self.granted += grant;
        Some(u32::try_from(grant).unwrap_or(u32::MAX))
    }

    /// After a windowful: if it took but two round trips, the window is what limits the peer, or
    /// nearly so; if it took many, it is more than is needed.
    fn resize(&mut self, pool: &mut Pool, now: Instant, rtt: Duration) {
        let took = now.saturating_duration_since(self.since);
        (self.since, self.consumed) = (now, 0);
        if took <= 2 * rtt {
            let more = pool.growth(self.size);
            (self.size, pool.taken) = (self.size + more, pool.taken + more);
        } else if took > 16 * rtt {
            self.shrink(pool);
        }
    }

    /// Gives half back, but nothing that the peer was granted already.
    fn shrink(&mut self, pool: &mut Pool) {
        let kept = (self.size / 2).max(INITIAL.into()).max(self.granted + self.unread);
        let kept = kept.min(self.size);
        let less = self.size - kept;
        (self.size, pool.taken) = (self.size - less, pool.taken.saturating_sub(less));
    }

    /// The connection is over.
    pub fn close(self, pool: &mut Pool) {
        pool.taken = pool.taken.saturating_sub(self.size);
        pool.to_come += 1;
    }
}

/// What a peer granted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allowance(u64);

/// More than any window has, bytes: a peer that grants more cannot count.
const ABSURD: u64 = 1 << 32;

/// A peer that grants more than anybody could use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an absurd credit")]
pub struct Absurd;

impl Allowance {
    /// The peer takes `bytes` more.
    ///
    /// # Errors
    /// When that makes no sense.
    pub fn add(&mut self, bytes: u32) -> Result<(), Absurd> {
        let sum = self.0 + u64::from(bytes);
        if bytes == 0 || sum >= ABSURD {
            return Err(Absurd);
        }
        self.0 = sum;
        Ok(())
    }

    /// Takes up to `most` bytes of it.
    pub fn take(&mut self, most: usize) -> usize {
        let taken = usize::try_from(self.0).unwrap_or(usize::MAX).min(most);
        self.0 -= taken as u64;
        taken
    }

    /// What is left.
    pub const fn left(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RTT: Duration = Duration::from_millis(40);
    const MIB: u64 = 1 << 20;

    /// Reads `bytes` of a windowful that arrives whole; what is granted.
    fn read(window: &mut Window, pool: &mut Pool, bytes: u64, now: Instant) -> Option<u32> {
        window.receive(bytes).unwrap();
        window.consume(pool, bytes, now, RTT)
    }

    #[test]
    fn a_busy_window_grows_up_to_two_thirds_and_a_slow_one_shrinks_again() {
        let mut pool = Pool::new(8 * MIB, 10);
        let mut now = Instant::now();
        let mut window = pool.open(now).unwrap();
        let mut sizes = vec![window.size()];
        for _ in 0..12 {
            now += RTT;
            let bytes = window.size();
            read(&mut window, &mut pool, bytes, now).unwrap();
            sizes.push(window.size());
        }
        assert!(sizes.windows(2).all(|pair| pair[0] <= pair[1]), "{sizes:?}");
        assert_eq!(sizes[..4], [64 << 10, 128 << 10, 256 << 10, 512 << 10]);
        let most = *sizes.last().unwrap();
        assert!((4 * MIB..=8 * MIB * 2 / 3).contains(&most), "{most}");
        for _ in 0..9 {
            now += 20 * RTT;
            let bytes = window.granted;
            read(&mut window, &mut pool, bytes, now);
        }
        assert!(window.size() <= u64::from(2 * INITIAL), "{}", window.size());
        assert_eq!(pool.taken(), window.size());
        window.close(&mut pool);
        assert_eq!(pool.taken(), 0);
    }

    #[test]
    fn newcomers_find_something_beside_the_busiest() {
        let mut pool = Pool::new(MIB, 500);
        let mut now = Instant::now();
        let mut busy = pool.open(now).unwrap();
        for _ in 0..20 {
            now += RTT;
            let bytes = busy.granted;
            read(&mut busy, &mut pool, bytes, now);
        }
        assert!(busy.size() > MIB / 4, "{}", busy.size());
        let windows: Vec<_> = (0..1000).map_while(|_| pool.open(now)).collect();
        assert_eq!(windows.len(), 499);
        assert!(windows[0].size() > windows[99].size());
        assert!(windows[498].size() >= 1 << 10 && pool.taken() <= MIB);
    }

    #[test]
    fn a_reader_that_stops_keeps_its_windowful_and_no_more() {
        let mut pool = Pool::new(MIB, 5);
        let mut window = pool.open(Instant::now()).unwrap();
        window.receive(INITIAL.into()).unwrap();
        assert_eq!(window.receive(1), Err(Excess));
        let few = u64::from(INITIAL / 4) - 1;
        assert_eq!(window.consume(&mut pool, few, Instant::now(), RTT), None);
        let granted = window.consume(&mut pool, 1, Instant::now(), RTT);
        assert_eq!(granted, Some(INITIAL / 4));
    }

    #[test]
    fn absurd_credit_is_told() {
        let mut allowance = Allowance::default();
        allowance.add(u32::MAX).unwrap();
        assert_eq!((allowance.add(0), allowance.add(2)), (Err(Absurd), Err(Absurd)));
        assert_eq!(allowance.take(10), 10);
        assert_eq!(allowance.left(), u64::from(u32::MAX) - 10);
    }

    proptest! {
        /// Whatever connections do, windows have what they say, and never more than the pool.
        #[test]
        fn the_pool_is_never_overdrawn(
            total in 4096u64..MIB,
            steps in proptest::collection::vec((0usize..6, 0u64..200_000, 0u64..500), 1..200),
        ) {
            let mut pool = Pool::new(total, 5);
            let mut now = Instant::now();
            let mut windows: Vec<Window> = Vec::new();
            for (who, bytes, ms) in steps {
                now += Duration::from_millis(ms);
                match windows.get_mut(who) {
                    None => windows.extend(pool.open(now)),
                    Some(window) if bytes % 7 == 0 => {
                        let unread = window.unread;
                        window.consume(&mut pool, unread, now, RTT);
                    }
                    Some(_) if bytes % 11 == 0 => windows.swap_remove(who).close(&mut pool),
                    Some(window) => {
                        let fits = bytes <= window.granted;
                        prop_assert_eq!(window.receive(bytes).is_ok(), fits);
                    }
                }
                let sum: u64 = windows.iter().map(Window::size).sum();
                prop_assert_eq!(sum, pool.taken());
                prop_assert!(sum <= total);
                for window in &windows {
                    prop_assert!(window.granted + window.unread <= window.size);
                }
            }
        }
    }
}
