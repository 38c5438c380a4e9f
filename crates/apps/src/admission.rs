//! Who is let in, and who gives way: places for associations at a server that strangers can reach.
//!
//! Every association takes a [`Place`]. Nobody has them all: there is a share for each [`Source`].
//! Who has not said hello properly is *mute*, and holds its place for [`HELLO`] at most, which
//! [`Door::turn_out_mute`] sees to; where places run out, the oldest mute one gives way to a
//! newcomer, of the source that has the most of them. So handshakes alone keep nobody out: that
//! takes as many sources as there are shares, which all speak the application's protocol.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use polypath_net::Config;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long somebody may be mute.
pub const HELLO: Duration = Duration::from_secs(10);

/// How many places there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// In all.
    pub all: usize,
    /// For one [`Source`]: less than all, or one host could keep everybody out.
    pub per_source: usize,
}

impl Places {
    /// Lets an endpoint take a few associations more than there are places: those who give way need
    /// a moment to go, and who is turned away hears why.
    pub fn bound_config(self, endpoint: Config) -> Config {
        let more = |places: usize| places + (places / 4).max(4);
        endpoint
            .max_associations(more(self.all))
            .max_associations_per_address(more(self.per_source))
    }
}

/// Where associations come from, as far as shares go: an IPv4 address, or 64 bits of an IPv6 one,
/// since one host commonly has all addresses with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source(IpAddr);

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self(v4.into()),
            IpAddr::V6(v6) => {
                Self(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into())
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(v4) => write!(f, "{v4}"),
            IpAddr::V6(v6) => write!(f, "{v6}/64"),
        }
    }
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// Every place is taken by somebody who said hello.
    #[error("all {0} places are taken, try again later")]
    All(usize),
    /// Every place of this source is.
    #[error("{source} has {share} associations here, which is all that one address may have", source = .0, share = .1)]
    Share(Source, usize),
}

/// Why somebody must go before it said hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Dismissed {
    /// It took too long.
    #[error("no greeting within {} s", HELLO.as_secs())]
    Mute,
    /// Somebody else needed its place.
    #[error("it gave way to others before it said hello")]
    GaveWay,
    /// There are no places any more.
    #[error("the server ended before it said hello")]
    Closed,
}

/// Tells somebody who waits to be greeted that it must go.
#[derive(Debug, Default)]
struct Dismissal {
    reason: OnceLock<Dismissed>,
    told: Notify,
}

impl Dismissal {
    /// The first reason stands.
    fn note_reason(&self, reason: Dismissed) {
        let _ = self.reason.set(reason);
        self.told.notify_one();
    }

    async fn await_reason(&self) -> Dismissed {
        loop {
            if let Some(reason) = self.reason.get() {
                return *reason;
            }
            self.told.notified().await;
        }
    }
}

/// Gives out places. Clones are the same door.
#[derive(Clone, Debug)]
pub struct Door(Arc<Mutex<Room>>);

/// Those who are in.
#[derive(Debug)]
struct Room {
    places: Places,
    /// In the order in which they came.
    guests: BTreeMap<u64, Guest>,
    next: u64,
}

#[derive(Debug)]
struct Guest {
    source: Source,
    mute: bool,
    came: Instant,
    dismissal: Arc<Dismissal>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub struct Place {
    door: Door,
    number: u64,
    dismissal: Arc<Dismissal>,
}

impl Door {
    /// All places are free.
    pub fn new(places: Places) -> Self {
        Self(Arc::new(Mutex::new(Room { places, guests: BTreeMap::new(), next: 0 })))
    }

    /// Lets somebody in, for whom a mute one may have to go.
    ///
    /// # Errors
    /// When there is no place, and nobody gives way.
    pub fn admit_guest(&self, from: IpAddr) -> Result<Place, Full> {
        let mut room = self.lock_room();
        let source = from.into();
        room.make_way(source)?;
        let number = room.next;
        room.next += 1;
        let dismissal = Arc::<Dismissal>::default();
        let came = Instant::now();
        let guest = Guest { source, mute: true, came, dismissal: dismissal.clone() };
        room.guests.insert(number, guest);
        drop(room);
        Ok(Place { door: self.clone(), number, dismissal })
    }

    /// Takes the places of those who are mute for [`HELLO`]; never ends. To be awaited anew after
    /// somebody [came in](Self::admit_guest). One timer for all: a timer for each would be a good
    /// part of what a mute one costs.
    pub async fn turn_out_mute(&self) {
        loop {
            let oldest = self.lock_room().oldest_mute_came();
            let Some(came) = oldest else { return std::future::pending().await };
            tokio::time::sleep_until(came + HELLO).await;
            let now = Instant::now();
            self.lock_room().dismiss_mute(Dismissed::Mute, |guest| guest.came + HELLO <= now);
        }
    }

    /// Takes the places of all who are mute.
    pub fn dismiss_mute(&self) {
        self.lock_room().dismiss_mute(Dismissed::Closed, |_| true);
    }

    fn lock_room(&self) -> MutexGuard<'_, Room> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// Sees to it that a newcomer from `source` has a place.
    fn make_way(&mut self, source: Source) -> Result<(), Full> {
        let Places { all, per_source } = self.places;
        let theirs = self.guests.values().filter(|guest| guest.source == source).count();
        let (who, full) = if theirs >= per_source {
            (self.oldest_mute(source), Full::Share(source, per_source))
        } else if self.guests.len() >= all {
            (self.most_mute().and_then(|source| self.oldest_mute(source)), Full::All(all))
        } else {
            return Ok(());
        };
        let guest = who.and_then(|number| self.guests.remove(&number)).ok_or(full)?;
        guest.dismissal.note_reason(Dismissed::GaveWay);
        Ok(())
    }

    /// Takes the places of mute ones.
    fn dismiss_mute(&mut self, reason: Dismissed, which: impl Fn(&Guest) -> bool) {
        self.guests.retain(|_, guest| {
            let goes = guest.mute && which(guest);
            if goes {
                guest.dismissal.note_reason(reason);
            }
            !goes
        });
    }

    fn oldest_mute_came(&self) -> Option<Instant> {
        self.guests.values().find(|guest| guest.mute).map(|guest| guest.came)
    }

    fn mute_places(&self) -> impl Iterator<Item = (u64, Source)> {
        let mute = self.guests.iter().filter(|(_, guest)| guest.mute);
        mute.map(|(&number, guest)| (number, guest.source))
    }

    fn oldest_mute(&self, of: Source) -> Option<u64> {
        self.mute_places().find(|(_, source)| *source == of).map(|(number, _)| number)
    }

    /// The source with the most mute ones; of several the one whose oldest came first.
    fn most_mute(&self) -> Option<Source> {
        let mut count = BTreeMap::<Source, (usize, u64)>::new();
        for (number, source) in self.mute_places() {
            count.entry(source).or_insert((0, number)).0 += 1;
        }
        let most = count.into_iter().max_by_key(|(_, (n, first))| (*n, core::cmp::Reverse(*first)));
        most.map(|(source, _)| source)
    }
}

impl Place {
    /// Waits for the first words: no longer than the place is theirs. Whoever speaks properly gets
    /// to [`keep`](Self::keep_place) it.
    ///
    /// # Errors
    /// When they do not come.
    pub async fn await_greeting<T>(
        &self,
        words: Pin<&mut impl Future<Output = T>>,
    ) -> Result<T, Dismissed> {
        tokio::select! {
            biased;
            reason = self.dismissal.await_reason() => Err(reason),
            words = words => Ok(words),
        }
    }

    /// The hello was a proper one: from now on the place is taken, as long as this lives. False: it
    /// is too late, somebody else has it.
    pub fn keep_place(&self) -> bool {
        let mut room = self.door.lock_room();
        let guest = room.guests.get_mut(&self.number);
        guest.map(|guest| guest.mute = false).is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.door.lock_room().guests.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;

    use super::*;

    const PLACES: Places = Places { all: 8, per_source: 4 };

    fn ip(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn enter(door: &Door, from: u8, proper: bool) -> Place {
        let place = door.admit_guest(ip(from)).unwrap();
        assert!(!proper || place.keep_place());
        place
    }

    fn gave_way(place: &Place) -> bool {
        !place.door.lock_room().guests.contains_key(&place.number)
    }

    #[test]
    fn one_source_has_its_share_and_no_more() {
        let door = Door::new(PLACES);
        let mut first: Vec<_> = (0..4).map(|_| enter(&door, 1, true)).collect();
        let refused = door.admit_guest(ip(1)).unwrap_err();
        assert_eq!(refused, Full::Share(ip(1).into(), 4));
        assert!(refused.to_string().starts_with("192.0.2.1 has 4"), "{refused}");
        let _others: Vec<_> = (2..6).map(|from| enter(&door, from, true)).collect();
        assert_eq!(door.admit_guest(ip(9)).unwrap_err(), Full::All(8));
        first.pop();
        assert!(door.admit_guest(ip(1)).is_ok());
    }

    #[test]
    fn a_share_is_of_64_bits_of_ipv6() {
        let source = |text: &str| Source::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:0:0:2"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_eq!(source("2001:db8::1").to_string(), "2001:db8::/64");
    }

    #[test]
    fn the_oldest_mute_one_of_whoever_has_the_most_gives_way() {
        let door = Door::new(PLACES);
        let lone = enter(&door, 1, false);
        let crowd: Vec<_> = (0..4).map(|i| enter(&door, 2, i == 0)).collect();
        let _rest: Vec<_> = (3..6).map(|from| enter(&door, from, true)).collect();
        // Of the crowd's three mute ones two may go before the lone one, which is older, is next.
        let mut newcomers = vec![enter(&door, 7, true), enter(&door, 8, true)];
        assert_eq!(crowd.iter().map(gave_way).collect::<Vec<_>>(), [false, true, true, false]);
        assert!(!gave_way(&lone) && lone.keep_place());
        newcomers.push(enter(&door, 9, true));
        assert!(gave_way(&crowd[3]) && !crowd[3].keep_place());
        assert_eq!(door.admit_guest(ip(10)).unwrap_err(), Full::All(8));
    }

    #[test]
    fn within_a_share_the_mute_give_way_too() {
        let door = Door::new(PLACES);
        let mute: Vec<_> = (0..4).map(|_| enter(&door, 1, false)).collect();
        let _newcomer = enter(&door, 1, false);
        assert!(gave_way(&mute[0]) && !gave_way(&mute[1]));
        drop(mute);
        assert_eq!(door.lock_room().guests.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_goes_after_ten_seconds() {
        let door = Door::new(PLACES);
        let place = enter(&door, 1, false);
        let began = Instant::now();
        assert_eq!(greeted(&door, &place, pending::<()>()).await, Err(Dismissed::Mute));
        assert_eq!(began.elapsed(), HELLO);
        let place = enter(&door, 1, false);
        let late = tokio::time::sleep(HELLO - Duration::from_millis(1));
        assert_eq!(greeted(&door, &place, late).await, Ok(()));
        assert!(place.keep_place());
    }

    /// What comes of waiting for `words`, where the door is looked after.
    async fn greeted<T>(
        door: &Door,
        place: &Place,
        words: impl Future<Output = T>,
    ) -> Result<T, Dismissed> {
        tokio::select! {
            greeting = async { place.await_greeting(pin!(words)).await } => greeting,
            () = door.turn_out_mute() => unreachable!("it never ends"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_said_hello_is_not_turned_out() {
        let door = Door::new(PLACES);
        let (proper, mute) = (enter(&door, 1, true), enter(&door, 1, false));
        let watched = tokio::time::timeout(2 * HELLO, door.turn_out_mute());
        assert!(watched.await.is_err());
        assert!(!gave_way(&proper) && gave_way(&mute));
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_mute_goes_when_the_server_ends() {
        let door = Door::new(PLACES);
        let (proper, mute) = (enter(&door, 1, true), enter(&door, 1, false));
        door.dismiss_mute();
        let words = pin!(pending::<()>());
        assert_eq!(mute.await_greeting(words).await, Err(Dismissed::Closed));
        assert!(!gave_way(&proper));
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_way_goes_at_once() {
        let door = Door::new(Places { all: 1, per_source: 1 });
        let place = enter(&door, 1, false);
        let began = Instant::now();
        let words = pin!(pending::<()>());
        let (waited, newcomer) =
            tokio::join!(place.await_greeting(words), async { door.admit_guest(ip(2)) });
        assert_eq!((waited, began.elapsed()), (Err(Dismissed::GaveWay), Duration::ZERO));
        assert!(newcomer.unwrap().keep_place() && !place.keep_place());
    }

    #[test]
    fn an_endpoint_takes_more_than_there_are_places() {
        let config = PLACES.bound_config(Config::insecure_server([ip(1)], 1));
        assert_eq!((config.max_associations, config.max_associations_per_address), (12, 8));
    }
}
