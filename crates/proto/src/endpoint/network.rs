//! How many replies each network gets, whoever claims to be there.
//!
//! A table of fixed size counts them. A network has two buckets in it, which a hash with a secret
//! key names, shares each with others, and gets a reply while one of them holds a token. Nobody can
//! tell whom he shares a bucket with; and who empties some (it takes a whole network's replies to
//! empty two) keeps from its replies only the few networks that have both theirs among them: with x
//! of all buckets empty, x^2 of all networks.
//!
//! There is a table only when strangers are many: as long as all replies together are no more than
//! one network may have, one bucket does.

use core::hash::Hasher as _;
use core::net::IpAddr;

use siphasher::sip::SipHasher13;

use super::rate::{Bucket, Keep, Rate};
use crate::time::{Duration, Time};

/// Buckets in a row of the table; there are two rows, 16 KiB.
const BUCKETS: usize = 1024;

/// After so long without replies all buckets are full.
const QUIET: Duration = Duration::from_secs(1);

/// The replies to all networks.
#[derive(Debug)]
pub(super) struct Networks {
    key: [u8; 16],
    rate: Rate,
    /// Of all networks together, while there is no table.
    common: Bucket,
    table: Option<Table>,
}

#[derive(Debug)]
struct Table {
    buckets: Box<[Bucket]>,
    used: Time,
}

impl Networks {
    /// `per_second` replies to each; `key` is secret.
    pub(super) const fn new(per_second: u32, key: [u8; 16]) -> Self {
        Self { key, rate: Rate::new(per_second), common: Bucket::FULL, table: None }
    }

    /// Takes a token of the network of `address`, if it has one.
    pub(super) fn allow(&mut self, now: Time, address: IpAddr, keep: Keep) -> bool {
        let rate = self.rate;
        if self.table.as_ref().is_some_and(|table| now.since(table.used) >= QUIET) {
            (self.table, self.common) = (None, Bucket::FULL);
        }
        if self.table.is_none() && self.common.has(now, rate, keep) {
            self.common.take(now, rate);
            return true;
        }
        let places = self.places(address);
        // Any of them may have had all replies so far: none gets as many at once again.
        let table = self.table.get_or_insert_with(|| Table {
            buckets: vec![Bucket::with_a_quarter(now); 2 * BUCKETS].into_boxed_slice(),
            used: now,
        });
        table.used = table.used.max(now);
        let has = |place: &usize| table.buckets[*place].has(now, rate, keep);
        let allowed = places.iter().any(has);
        if allowed {
            places.iter().for_each(|&place| table.buckets[place].take(now, rate));
        }
        allowed
    }

    /// Where the table counts replies to `address`: a bucket in each row.
    fn places(&self, address: IpAddr) -> [usize; 2] {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        match address.to_canonical() {
            IpAddr::V4(address) => hasher.write(&address.octets()[..3]),
            IpAddr::V6(address) => hasher.write(&address.octets()[..6]),
        }
        let hash = hasher.finish() as usize;
        [hash % BUCKETS, BUCKETS + (hash / BUCKETS) % BUCKETS]
    }
}

#[cfg(test)]
mod tests {
    use core::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn host(network: u32, host: u8) -> IpAddr {
        Ipv4Addr::from((network << 8) + u32::from(host)).into()
    }

    /// Of `count` requests at the same time from hosts of a network, how many are answered.
    fn allowed(networks: &mut Networks, at: Time, network: u32, count: u32) -> usize {
        let mut allow = |i| networks.allow(at, host(network, i as u8), Keep::Nothing);
        (0..count).filter(|i| allow(*i)).count()
    }

    #[test]
    fn a_network_gets_its_rate_and_others_theirs() {
        let mut networks = Networks::new(100, [7; 16]);
        assert_eq!(allowed(&mut networks, Time::ZERO, 1, 99), 99);
        assert!(networks.table.is_none());
        let second = allowed(&mut networks, Time::ZERO, 1, 1000);
        assert_eq!(second, 1 + 25, "a quarter more when the table is made");
        assert_eq!(allowed(&mut networks, Time::ZERO, 2, 1000), 25);
        assert_eq!(allowed(&mut networks, Time::from_millis(500), 2, 1000), 50);
        // Ten seconds of more than it may have.
        let during = (0..10_000).map(|ms| Time::from_millis(500 + ms));
        let sum: usize = during.map(|at| allowed(&mut networks, at, 2, 3)).sum();
        assert!((990..=1_010).contains(&sum), "{sum}");
    }

    #[test]
    fn a_quiet_second_takes_the_table_away() {
        let mut networks = Networks::new(100, [7; 16]);
        allowed(&mut networks, Time::from_secs(1), 1, 1000);
        assert!(networks.table.is_some());
        assert_eq!(allowed(&mut networks, Time::from_millis(1_999), 1, 1), 1);
        assert_eq!(allowed(&mut networks, Time::from_millis(2_999), 1, 1), 1);
        assert!(networks.table.is_none());
    }

    #[test]
    fn who_empties_buckets_hits_few_others() {
        let mut networks = Networks::new(1000, [9; 16]);
        let now = Time::from_secs(1);
        // A hundred networks take all they can get: a tenth of each row, a hundredth of all pairs.
        for network in 0..100 {
            allowed(&mut networks, now, network, 2000);
        }
        let starved = (1000..11_000).filter(|n| allowed(&mut networks, now, *n, 1) == 0).count();
        assert!((20..300).contains(&starved), "{starved} of 10000");
    }

    #[test]
    fn a_network_is_24_bits_of_ipv4_and_48_of_ipv6() {
        let networks = Networks::new(1, [1; 16]);
        let v6 = |a: u16, b: u16| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, a, b, 0, 0, 0, 1));
        assert_eq!(networks.places(host(5, 1)), networks.places(host(5, 255)));
        assert_ne!(networks.places(host(5, 1)), networks.places(host(6, 1)));
        assert_eq!(networks.places(v6(1, 1)), networks.places(v6(1, 2)));
        assert_ne!(networks.places(v6(1, 1)), networks.places(v6(2, 1)));
        let mapped = Ipv4Addr::new(0, 0, 5, 1).to_ipv6_mapped();
        assert_eq!(networks.places(mapped.into()), networks.places(host(5, 1)));
        let other = Networks::new(1, [2; 16]);
        assert_ne!(networks.places(host(5, 1)), other.places(host(5, 1)), "by the key");
    }
}
