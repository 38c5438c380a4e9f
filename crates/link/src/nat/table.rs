//! The mappings of a box, found from either side, and bounded.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use crate::Nanos;

/// What of an endpoint outside matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Nothing,
    Address(IpAddr),
    Endpoint(SocketAddr),
}

/// Whose packets have one external endpoint: those of an endpoint inside, to such endpoints
/// outside.
pub(super) type Key = (SocketAddr, Part);

/// All mappings. What has expired is taken out when somebody looks for it, or when room is needed.
#[derive(Debug)]
pub(super) struct Table {
    /// External endpoints.
    by_key: BTreeMap<Key, SocketAddr>,
    by_endpoint: BTreeMap<SocketAddr, Mapping>,
    /// What filters let in, of all mappings.
    entries: usize,
    capacity: usize,
    /// Nothing expires before.
    earliest: Nanos,
}

/// An external endpoint that is somebody's.
#[derive(Debug)]
pub(super) struct Mapping {
    key: Key,
    endpoint: SocketAddr,
    /// Whom its filter lets in, and until when.
    admitted: BTreeMap<Part, Nanos>,
    /// When it expires, with the last of them.
    until: Nanos,
}

impl Mapping {
    pub(super) const fn inside(&self) -> SocketAddr {
        self.key.0
    }

    pub(super) const fn endpoint(&self) -> SocketAddr {
        self.endpoint
    }

    pub(super) fn admits_packet(&self, now: Nanos, from: Part) -> bool {
        self.admitted.get(&from).is_some_and(|&until| now < until)
    }

    pub(super) fn moved_to(self, endpoint: SocketAddr) -> Self {
        Self { endpoint, ..self }
    }

    fn is_alive(&self, now: Nanos) -> bool {
        now < self.until
    }
}

impl Table {
    pub(super) const fn new(capacity: usize) -> Self {
        Self {
            by_key: BTreeMap::new(),
            by_endpoint: BTreeMap::new(),
            entries: 0,
            capacity,
            earliest: Nanos::MAX,
        }
    }

    /// The external endpoint of these packets.
    pub(super) fn find_endpoint(&self, key: Key) -> Option<SocketAddr> {
        self.by_key.get(&key).copied()
    }

    /// The mapping with this external endpoint, unless it has expired.
    pub(super) fn live_mapping(&self, now: Nanos, endpoint: SocketAddr) -> Option<&Mapping> {
        self.by_endpoint.get(&endpoint).filter(|mapping| mapping.is_alive(now))
    }

    /// Whether the filter of a mapping has an entry for this, be it expired.
    pub(super) fn has_permission(&self, endpoint: SocketAddr, to: Part) -> bool {
        self.by_endpoint.get(&endpoint).is_some_and(|mapping| mapping.admitted.contains_key(&to))
    }

    pub(super) fn is_free(&self, endpoint: SocketAddr) -> bool {
        !self.by_endpoint.contains_key(&endpoint)
    }

    /// The external address of some mapping of a host inside.
    pub(super) fn address_of(&self, inside: IpAddr) -> Option<IpAddr> {
        let from = (SocketAddr::new(inside, 0), Part::Nothing);
        let (key, endpoint) = self.by_key.range(from..).next()?;
        (key.0.ip() == inside).then(|| endpoint.ip())
    }

    /// Takes a mapping out if it has expired.
    pub(super) fn expire_mapping(&mut self, now: Nanos, key: Key) {
        let Some(endpoint) = self.find_endpoint(key) else { return };
        if self.live_mapping(now, endpoint).is_none() {
            self.remove_mapping(endpoint);
        }
    }

    /// Whether one more entry fits; takes out what has expired if it must.
    pub(super) fn make_room(&mut self, now: Nanos) -> bool {
        if self.entries >= self.capacity && now >= self.earliest {
            self.sweep_expired(now);
        }
        self.entries < self.capacity
    }

    /// Lets packets from there in until then.
    pub(super) fn grant_permission(
        &mut self,
        key: Key,
        endpoint: SocketAddr,
        from: Part,
        until: Nanos,
    ) {
        let new = || Mapping { key, endpoint, admitted: BTreeMap::new(), until };
        let mapping = self.by_endpoint.entry(endpoint).or_insert_with(new);
        mapping.until = mapping.until.max(until);
        self.entries += usize::from(mapping.admitted.insert(from, until).is_none());
        self.by_key.insert(key, endpoint);
        self.earliest = self.earliest.min(until);
    }

    /// Takes all mappings out.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Mapping> + use<> {
        self.by_key.clear();
        self.entries = 0;
        std::mem::take(&mut self.by_endpoint).into_values()
    }

    /// Puts one back that was taken out.
    pub(super) fn put_back(&mut self, mapping: Mapping) {
        self.entries += mapping.admitted.len();
        self.by_key.insert(mapping.key, mapping.endpoint);
        self.by_endpoint.insert(mapping.endpoint, mapping);
    }

    fn remove_mapping(&mut self, endpoint: SocketAddr) {
        if let Some(mapping) = self.by_endpoint.remove(&endpoint) {
            self.entries -= mapping.admitted.len();
            self.by_key.remove(&mapping.key);
        }
    }

    /// Takes out all that has expired.
    fn sweep_expired(&mut self, now: Nanos) {
        let Self { by_key, by_endpoint, entries, earliest, .. } = self;
        (*entries, *earliest) = (0, Nanos::MAX);
        by_endpoint.retain(|_, mapping| {
            mapping.admitted.retain(|_, until| now < *until);
            *entries += mapping.admitted.len();
            *earliest = mapping.admitted.values().fold(*earliest, |least, &until| least.min(until));
            if mapping.admitted.is_empty() {
                by_key.remove(&mapping.key);
            }
            !mapping.admitted.is_empty()
        });
    }
}
