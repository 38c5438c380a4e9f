//! How many mirrors the clients of one source have.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::admission::Source;

/// Who has how many. Clones are the same ones.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    most: usize,
    taken: Arc<Mutex<BTreeMap<Source, usize>>>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    source: Source,
    shares: Shares,
}

impl Shares {
    /// Each source may have so many.
    pub(super) fn new(most: usize) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// One for a client at this address; `None`: its source has all that it may have.
    pub(super) fn take(&self, client: IpAddr) -> Option<Share> {
        let source = Source::from(client);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.get(&source).copied().unwrap_or(0);
        if count >= self.most {
            return None;
        }
        taken.insert(source, count + 1);
        Some(Share { source, shares: self.clone() })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.source) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(taken.remove(&self.source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_source_has_more_than_its_share() {
        let shares = Shares::new(2);
        let [here, there] = [[192, 0, 2, 1], [192, 0, 2, 2]].map(IpAddr::from);
        let first = shares.take(here).unwrap();
        let second = shares.take(here);
        assert!(second.is_some() && shares.take(here).is_none() && shares.take(there).is_some());
        drop(first);
        assert!(shares.take(here).is_some());
        drop(second);
        assert!(shares.taken.lock().unwrap().is_empty(), "what nobody has is forgotten");
    }

    #[test]
    fn all_addresses_of_an_ipv6_network_share() {
        let shares = Shares::new(1);
        let [one, other, far] = ["2001:db8::1", "2001:db8::2:3", "2001:db8:0:1::1"]
            .map(|text| text.parse::<IpAddr>().unwrap());
        let _taken = shares.take(one).unwrap();
        assert!(shares.take(other).is_none() && shares.take(far).is_some());
    }
}
