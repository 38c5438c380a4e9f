//! Used cookies: each sets up one association in its life.
//!
//! RFC 9260 would accept a cookie again once the association that it set up is over: replayed, or merely late, it brings back
//! the same tags and TSNs, which old packets fit. So the tags of used cookies are remembered until those cookies are stale.
//!
//! That memory is bounded without a way to fill it up: when it is full, the oldest cookie is forgotten, and from then on all
//! cookies that are no younger count as used. Cookies come into being at a limited rate, that of INIT ACKs, and only who gets these can use
//! them; so the oldest of [`CAPACITY`] used ones is round trips old, and hardly an honest peer needs one that old. One that does hears that
//! its cookie is stale and asks for another.

use std::collections::{BTreeMap, BTreeSet};

use crate::time::{Duration, Time};

/// Cookies remembered, at most, in about 3 MB: at the default rates those of 13 seconds, if they all come from one network (IPv4 /24, IPv6 /48),
/// and of 0.65 seconds, if they come from twenty or more and the processor keeps up. No server that has fewer set-ups in a cookie's life ever
/// forgets one.
pub(crate) const CAPACITY: usize = 1 << 16;

/// Which cookies set up an association. A cookie is known by the tag that it gives us: its association is the only one that
/// had this tag.
#[derive(Debug)]
pub(crate) struct UsedCookies {
    /// Creation of the youngest cookie with this tag.
    by_tag: BTreeMap<u32, Time>,
    /// The same, the oldest first.
    by_age: BTreeSet<(Time, u32)>,
    /// Creation of the youngest cookie that was forgotten before it was stale.
    forgotten: Option<Time>,
    /// The longest life of a cookie.
    life: Duration,
    capacity: usize,
}

/// What may be done with a cookie that is not stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CookieStanding {
    /// It may set an association up.
    Good,
    /// It did so already.
    Used,
    /// It is no younger than one that was forgotten, by this much older.
    TooOld(Duration),
}

impl UsedCookies {
    pub(crate) const fn new(life: Duration, capacity: usize) -> Self {
        Self { by_tag: BTreeMap::new(), by_age: BTreeSet::new(), forgotten: None, life, capacity }
    }

    /// A cookie for our tag `tag`, created at `created`, is not to set an association up any more.
    pub(crate) fn remember(&mut self, now: Time, tag: u32, created: Time) {
        self.drop_stale(now);
        if self.youngest(tag).is_some_and(|known| known >= created) {
            return;
        }
        if let Some(older) = self.by_tag.insert(tag, created) {
            self.by_age.remove(&(older, tag));
        }
        self.by_age.insert((created, tag));
        if self.by_age.len() > self.capacity {
            self.forgotten = self.drop_oldest().max(self.forgotten);
        }
    }

    /// How a cookie for our tag `tag`, created at `created`, stands.
    pub(crate) fn standing(&mut self, now: Time, tag: u32, created: Time) -> CookieStanding {
        self.drop_stale(now);
        if self.by_tag.contains_key(&tag) {
            return CookieStanding::Used;
        }
        match self.forgotten {
            Some(forgotten) if created <= forgotten => {
                CookieStanding::TooOld(forgotten.since(created))
            }
            _ => CookieStanding::Good,
        }
    }

    /// Creation of the youngest cookie for our tag `tag` that is remembered.
    pub(crate) fn youngest(&self, tag: u32) -> Option<Time> {
        self.by_tag.get(&tag).copied()
    }

    fn drop_stale(&mut self, now: Time) {
        while self.by_age.first().is_some_and(|(created, _)| now.since(*created) > self.life) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) -> Option<Time> {
        let (created, tag) = self.by_age.pop_first()?;
        self.by_tag.remove(&tag);
        Some(created)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIFE: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Time {
        Time::from_secs(seconds)
    }

    #[test]
    fn a_used_cookie_is_remembered_as_long_as_it_lives() {
        let mut used = UsedCookies::new(LIFE, 10);
        assert_eq!(used.standing(at(5), 1, at(3)), CookieStanding::Good);
        used.remember(at(5), 1, at(3));
        assert_eq!(used.standing(at(63), 1, at(3)), CookieStanding::Used);
        assert_eq!(used.standing(at(63), 2, at(3)), CookieStanding::Good);
        used.drop_stale(at(64));
        assert!(used.by_tag.is_empty() && used.by_age.is_empty());
    }

    #[test]
    fn the_youngest_cookie_of_a_tag_counts() {
        let mut used = UsedCookies::new(LIFE, 10);
        for created in [3, 9, 6] {
            used.remember(at(10), 1, at(created));
        }
        assert_eq!((used.youngest(1), used.by_age.len()), (Some(at(9)), 1));
        assert_eq!(used.standing(at(69), 1, at(9)), CookieStanding::Used);
    }

    #[test]
    fn a_full_memory_takes_no_cookie_as_old_as_one_it_forgot() {
        let mut used = UsedCookies::new(LIFE, 2);
        for tag in 1..=3 {
            used.remember(at(10), tag, at(tag.into()));
        }
        assert_eq!(used.standing(at(10), 1, at(1)), CookieStanding::TooOld(Duration::ZERO));
        assert_eq!(
            used.standing(at(10), 9, Time::ZERO),
            CookieStanding::TooOld(Duration::from_secs(1))
        );
        assert_eq!(used.standing(at(10), 9, at(2)), CookieStanding::Good);
        // An old one that is used late is the first to go: younger ones remain good.
        used.remember(at(10), 9, Time::ZERO);
        assert_eq!(used.forgotten, Some(at(1)));
    }

    proptest! {
        /// Cookies are made, then used in any order and as often as anybody likes.
        #[test]
        fn no_cookie_is_good_twice_and_the_memory_is_bounded(
            capacity in 0..8usize,
            uses in proptest::collection::vec((0..20u64, 0..12u32, 0..40u64), 0..200),
        ) {
            let mut used = UsedCookies::new(LIFE, capacity);
            let (mut now, mut model) = (at(1000), BTreeSet::new());
            for (pause, tag, age) in uses {
                now += Duration::from_secs(pause);
                // Each tag belongs to one cookie: its age and name say when it was made.
                let created = at(now.as_nanos() / 1_000_000_000 - age);
                let name = tag << 16 | (created.as_nanos() / 1_000_000_000) as u32;
                let standing = used.standing(now, name, created);
                if standing == CookieStanding::Good {
                    prop_assert!(model.insert(name), "{name} was good twice");
                    used.remember(now, name, created);
                }
                prop_assert!(used.by_age.len() <= capacity);
                prop_assert_eq!(used.by_age.len(), used.by_tag.len());
            }
        }

        #[test]
        fn nothing_unused_is_refused_while_there_is_room(
            uses in proptest::collection::vec((0..20u64, 0..500u32, 0..=60u64), 0..50),
        ) {
            let mut used = UsedCookies::new(LIFE, 50);
            let (mut now, mut model) = (at(1000), BTreeSet::new());
            for (pause, tag, age) in uses {
                now += Duration::from_secs(pause);
                let created = at(now.as_nanos() / 1_000_000_000 - age);
                let standing = used.standing(now, tag, created);
                prop_assert!(standing == CookieStanding::Good || model.contains(&tag));
                model.insert(tag);
                used.remember(now, tag, created);
            }
        }
    }
}
