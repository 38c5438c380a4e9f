//! Who may send, where anybody may come: places are few, no address has all of them, and who does
//! nothing gives way. Told what happens and how much time passes; nothing is done here.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// What counts as one address: of IPv6, where a host has as many as it likes, the first 64 bits.
pub fn address_prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from(u128::from(v6) & (u128::MAX << 64))),
        v4 => v4,
    }
}

/// Those who have not said yet what they want. There is always room for one more: if need be, one
/// of those goes of whose address there are most.
#[derive(Debug)]
pub struct Hall {
    most: usize,
    /// Number and address; the longest waiting first.
    waiting: VecDeque<(u64, IpAddr)>,
}

impl Hall {
    /// For at most so many, from 1.
    pub const fn new(most: usize) -> Self {
        Self { most, waiting: VecDeque::new() }
    }

    /// Somebody comes; gives the number of the one who has to go.
    pub fn enter_guest(&mut self, number: u64, address: IpAddr) -> Option<u64> {
        self.waiting.push_back((number, address_prefix(address)));
        if self.waiting.len() <= self.most {
            return None;
        }
        let count = |of: &IpAddr| self.waiting.iter().filter(|(_, other)| other == of).count();
        // Of several the first: it has waited longest.
        let most = self.waiting.iter().map(|(_, address)| count(address)).max()?;
        let at = self.waiting.iter().position(|(_, address)| count(address) == most)?;
        self.waiting.remove(at).map(|(number, _)| number)
    }

    /// Somebody has spoken, or is gone. False: he had to go before.
    pub fn leave_hall(&mut self, number: u64) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|(other, _)| *other != number);
        self.waiting.len() < before
    }
}

/// Why somebody gets no place, in words for him.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// All are taken, and everybody is at work.
    #[error("the receiver is busy with other senders: try again later")]
    Full,
    /// His address has its share.
    #[error("the receiver is busy with other senders at this address: try again later")]
    Share,
}

/// Those who send.
#[derive(Debug)]
pub struct SenderPlaces {
    total: usize,
    share: usize,
    /// Who does nothing for so long gives way to others.
    idle: Duration,
    taken: Vec<Taken>,
}

#[derive(Debug)]
struct Taken {
    number: u64,
    address: IpAddr,
    progress: u64,
    idle: Duration,
}

impl SenderPlaces {
    /// So many places, of which one address has at most `share`.
    pub const fn new(total: usize, share: usize, idle: Duration) -> Self {
        Self { total, share, idle, taken: Vec::new() }
    }

    /// Somebody wants a place and gets it; gives the number of the one who has to go for that.
    ///
    /// # Errors
    /// When there is none.
    pub fn take_place(&mut self, number: u64, address: IpAddr) -> Result<Option<u64>, NoPlace> {
        let address = address_prefix(address);
        let neighbours = self.taken.iter().filter(|taken| taken.address == address).count();
        let gone = if neighbours >= self.share {
            Some(self.send_away(|taken| taken.address == address).ok_or(NoPlace::Share)?)
        } else if self.taken.len() >= self.total {
            Some(self.send_away(|_| true).ok_or(NoPlace::Full)?)
        } else {
            None
        };
        self.taken.push(Taken { number, address, progress: 0, idle: Duration::ZERO });
        Ok(gone)
    }

    /// Who has done nothing for longest, of those, if it is too long.
    fn send_away(&mut self, of: impl Fn(&Taken) -> bool) -> Option<u64> {
        let idle = self.taken.iter().filter(|taken| of(taken) && taken.idle >= self.idle);
        let number = idle.max_by_key(|taken| taken.idle)?.number;
        self.leave_place(number);
        Some(number)
    }

    /// Somebody is gone.
    pub fn leave_place(&mut self, number: u64) {
        self.taken.retain(|taken| taken.number != number);
    }

    /// So much time has passed; `progress` says of a number how much it has done until now.
    pub fn pass_time(&mut self, time: Duration, progress: impl Fn(u64) -> u64) {
        for taken in &mut self.taken {
            let now = progress(taken.number);
            taken.idle = if now == taken.progress { taken.idle + time } else { Duration::ZERO };
            taken.progress = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn no_address_has_all_places() {
        let mut places = SenderPlaces::new(4, 2, Duration::from_secs(10));
        assert_eq!(places.take_place(1, ip("10.0.0.1")), Ok(None));
        assert_eq!(places.take_place(2, ip("::ffff:10.0.0.1")), Ok(None));
        assert_eq!(places.take_place(3, ip("10.0.0.1")), Err(NoPlace::Share));
        assert_eq!(places.take_place(4, ip("2001:db8::1")), Ok(None));
        assert_eq!(places.take_place(5, ip("2001:db8::2:0:0:1")), Ok(None));
        assert_eq!(places.take_place(6, ip("2001:db8::9")), Err(NoPlace::Share));
        assert_eq!(places.take_place(7, ip("10.0.0.2")), Err(NoPlace::Full));
        places.leave_place(1);
        assert_eq!(places.take_place(7, ip("10.0.0.2")), Ok(None));
    }

    #[test]
    fn who_does_nothing_gives_way() {
        let mut places = SenderPlaces::new(2, 2, Duration::from_secs(10));
        places.take_place(1, ip("10.0.0.1")).unwrap();
        places.take_place(2, ip("10.0.0.1")).unwrap();
        for second in 1..=10 {
            assert_eq!(places.take_place(3, ip("10.0.0.3")), Err(NoPlace::Full));
            places.pass_time(Duration::from_secs(1), |number| if number == 2 { second } else { 0 });
        }
        assert_eq!(places.take_place(3, ip("10.0.0.3")), Ok(Some(1)));
        assert_eq!(places.take_place(4, ip("10.0.0.3")), Err(NoPlace::Full));
    }

    #[test]
    fn there_is_always_room_to_greet() {
        let mut hall = Hall::new(3);
        assert_eq!(hall.enter_guest(1, ip("10.0.0.1")), None);
        assert_eq!(hall.enter_guest(2, ip("10.0.0.2")), None);
        assert_eq!(hall.enter_guest(3, ip("10.0.0.2")), None);
        assert_eq!(hall.enter_guest(4, ip("10.0.0.3")), Some(2));
        assert!(!hall.leave_hall(2) && hall.leave_hall(3));
        assert_eq!(hall.enter_guest(5, ip("10.0.0.4")), None);
        assert_eq!(hall.enter_guest(6, ip("10.0.0.5")), Some(1));
    }
}
