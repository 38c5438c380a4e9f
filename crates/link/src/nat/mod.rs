//! Network address and port translation without I/O: the behaviours that RFC 4787 names, told the
//! time, with ports drawn from a seeded generator.
//!
//! A [`Nat`] translates the endpoints of one transport protocol, as ports of UDP and TCP are
//! different things. It looks at no packet: the caller hands in addresses and ports and rewrites
//! its packets with what it gets back.
//!
//! ```
//! use polypath_link::{LinkSeed, Nat, NatConfig, NatVerdict};
//!
//! let config = NatConfig::new("198.51.100.7".parse()?);
//! let mut nat = Nat::new(config, LinkSeed::new(1, 7));
//! let (inside, server) = ("10.0.1.1:5000".parse()?, "203.0.113.5:9899".parse()?);
//! let mapped = nat.translate_outbound(0, inside, server).ok_or("no room")?;
//! assert_eq!(mapped, "198.51.100.7:5000".parse()?);
//! assert_eq!(nat.translate_inbound(1, server, mapped), NatVerdict::Inside(inside));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod table;

use std::net::{IpAddr, SocketAddr};

use rand_chacha::ChaCha12Rng;

use self::table::{Key, Table};
use crate::random::{Stream, up_to};
use crate::{LinkSeed, Nanos};

pub use config::{NatChange, NatConfig, NatConfigError, NatDependence, NatPooling};

/// A box that translates addresses and ports.
#[derive(Debug)]
pub struct Nat {
    config: NatConfig,
    table: Table,
    rng: ChaCha12Rng,
    stats: NatStats,
    /// How many of the scheduled changes are done.
    done: usize,
}

/// What becomes of a packet from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatVerdict {
    /// It goes on to this endpoint inside.
    Inside(SocketAddr),
    /// It is dropped without a word.
    Dropped(NatRefusal),
    /// It is dropped, and its sender hears that the port is unreachable (ICMP).
    Unreachable(NatRefusal),
}

/// Why a packet from outside does not get in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatRefusal {
    /// Nobody inside has this external endpoint.
    Unmapped,
    /// Its owner has not sent to this endpoint outside (RFC 4787 section 5).
    Filtered,
}

/// What a box has counted, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NatStats {
    /// Translated on their way out.
    pub outbound: u64,
    /// Translated on their way in.
    pub inbound: u64,
    /// From outside, for an external endpoint that nobody has.
    pub unmapped: u64,
    /// From outside, of an endpoint that the filter does not let in.
    pub filtered: u64,
    /// From inside, for which there was no room in the table or no external endpoint.
    pub refused: u64,
}

impl Nat {
    /// A box without mappings. `seed` is what its ports are drawn from.
    #[must_use]
    pub fn new(config: NatConfig, seed: LinkSeed) -> Self {
        let table = Table::new(config.capacity);
        let rng = seed.random_stream(Stream::Ports);
        Self { config, table, rng, stats: NatStats::default(), done: 0 }
    }

    /// The source that a packet from `inside` to `outside` has behind the box; `None` if it does
    /// not get out: no room, no external address of its family, or a way back in (hairpin) that is
    /// not allowed. It makes the mapping, renews it, and opens the filter for answers.
    ///
    /// Is `outside` itself an external endpoint ([`Self::is_external`]), the packet turns round in
    /// the box: its way in is then `inbound(now, mapped, outside)`, with the external source that
    /// RFC 4787 section 6 (REQ-9) asks for.
    pub fn translate_outbound(
        &mut self,
        now: Nanos,
        inside: SocketAddr,
        outside: SocketAddr,
    ) -> Option<SocketAddr> {
        self.advance_schedule(now);
        let mapped = self.map_flow(now, inside, outside);
        match mapped {
            Some(_) => self.stats.outbound += 1,
            None => self.stats.refused += 1,
        }
        mapped
    }

    /// What becomes of a packet from `outside` to the external endpoint `mapped`. It renews
    /// nothing: only packets from inside do (RFC 4787 section 4.3, REQ-6).
    pub fn translate_inbound(
        &mut self,
        now: Nanos,
        outside: SocketAddr,
        mapped: SocketAddr,
    ) -> NatVerdict {
        self.advance_schedule(now);
        let from = self.config.filtering.part_of(outside);
        let refusal = match self.table.live_mapping(now, mapped) {
            Some(mapping) if mapping.admits_packet(now, from) => {
                self.stats.inbound += 1;
                return NatVerdict::Inside(mapping.inside());
            }
            Some(_) => NatRefusal::Filtered,
            None => NatRefusal::Unmapped,
        };
        match refusal {
            NatRefusal::Filtered => self.stats.filtered += 1,
            NatRefusal::Unmapped => self.stats.unmapped += 1,
        }
        if self.config.answers {
            NatVerdict::Unreachable(refusal)
        } else {
            NatVerdict::Dropped(refusal)
        }
    }

    /// Carries out the scheduled changes that are due; so do packets either way.
    pub fn advance_schedule(&mut self, now: Nanos) {
        while let Some(&(at, change)) = self.config.schedule.get(self.done)
            && at <= now
        {
            self.done += 1;
            self.apply_change(change);
        }
    }

    /// The external endpoint of what `inside` sends to `outside`, if there is one. It changes
    /// nothing: for ICMP errors, which are no traffic of their own (RFC 5508 section 4).
    #[must_use]
    pub fn mapped_endpoint(
        &self,
        now: Nanos,
        inside: SocketAddr,
        outside: SocketAddr,
    ) -> Option<SocketAddr> {
        let mapped = self.table.find_endpoint((inside, self.config.mapping.part_of(outside)))?;
        self.table.live_mapping(now, mapped).map(|_| mapped)
    }

    /// Whose packet to `outside` had the external source `mapped`, as an ICMP error from outside
    /// quotes it. It changes nothing.
    #[must_use]
    pub fn inside_endpoint(
        &self,
        now: Nanos,
        mapped: SocketAddr,
        outside: SocketAddr,
    ) -> Option<SocketAddr> {
        let mapping = self.table.live_mapping(now, mapped)?;
        let quoted = mapping.admits_packet(now, self.config.filtering.part_of(outside));
        quoted.then(|| mapping.inside())
    }

    /// Whether the box has this address outside.
    #[must_use]
    pub fn is_external(&self, address: IpAddr) -> bool {
        self.config.external.contains(&address)
    }

    /// How it is set.
    #[must_use]
    pub const fn config(&self) -> &NatConfig {
        &self.config
    }

    /// The counters.
    #[must_use]
    pub const fn stats(&self) -> NatStats {
        self.stats
    }

    /// Does what this change says.
    pub fn apply_change(&mut self, change: NatChange) {
        match change {
            NatChange::Rebind => self.rebind_ports(),
            NatChange::Readdress(external) => self.change_address(external),
            NatChange::Forget => self.forget_mappings(),
        }
    }

    /// Gives every mapping another external port. Its filter stays open for whom it was open;
    /// packets to the old ports find no mapping.
    pub fn rebind_ports(&mut self) {
        for mapping in self.table.take_all() {
            let old = mapping.endpoint();
            // Without another port the mapping is gone.
            if let Some(port) = self.draw_port(old.ip(), old.port(), Some(old)) {
                self.table.put_back(mapping.moved_to(SocketAddr::new(old.ip(), port)));
            }
        }
    }

    /// Makes `external` the only external address of its family. Mappings keep their ports where
    /// these are free there.
    pub fn change_address(&mut self, external: IpAddr) {
        self.config.external.retain(|address| address.is_ipv4() != external.is_ipv4());
        self.config.external.push(external);
        for mapping in self.table.take_all() {
            let old = mapping.endpoint();
            let moved = match old.is_ipv4() == external.is_ipv4() {
                true => self.free_endpoint(external, old.port(), true),
                false => Some(old),
            };
            if let Some(moved) = moved {
                self.table.put_back(mapping.moved_to(moved));
            }
        }
    }

    /// Forgets all mappings, as a box that was switched off and on.
    pub fn forget_mappings(&mut self) {
        drop(self.table.take_all());
    }

    fn map_flow(
        &mut self,
        now: Nanos,
        inside: SocketAddr,
        outside: SocketAddr,
    ) -> Option<SocketAddr> {
        let turns = self.is_external(outside.ip());
        if inside.is_ipv4() != outside.is_ipv4() || (turns && !self.config.hairpin) {
            return None;
        }
        let key = (inside, self.config.mapping.part_of(outside));
        let to = self.config.filtering.part_of(outside);
        self.table.expire_mapping(now, key);
        let found = self.table.find_endpoint(key);
        let known = found.is_some_and(|mapped| self.table.has_permission(mapped, to));
        if !known && !self.table.make_room(now) {
            return None;
        }
        let mapped = match found {
            Some(mapped) => mapped,
            None => self.choose_endpoint(key)?,
        };
        self.table.grant_permission(key, mapped, to, now.saturating_add(self.config.timeout));
        Some(mapped)
    }

    /// An external endpoint that is free (RFC 4787 sections 4.1 and 4.2.1).
    fn choose_endpoint(&mut self, key: Key) -> Option<SocketAddr> {
        let inside = key.0;
        let address = self.choose_address(inside.ip())?;
        self.free_endpoint(address, inside.port(), self.config.preserve_ports)
    }

    /// With paired pooling the external address that this host has already (REQ-2).
    fn choose_address(&mut self, inside: IpAddr) -> Option<IpAddr> {
        let paired = match self.config.pooling {
            NatPooling::Paired => self.table.address_of(inside),
            NatPooling::Arbitrary => None,
        };
        let family = |address: &&IpAddr| address.is_ipv4() == inside.is_ipv4();
        let pool = self.config.external.iter().filter(family);
        let count = pool.clone().count() as u64;
        if paired.is_some() || count == 0 {
            return paired;
        }
        let drawn = up_to(&mut self.rng, count - 1) as usize;
        pool.copied().nth(drawn)
    }

    /// An endpoint of this address, if `keep` is set with this port, that nobody has.
    fn free_endpoint(&mut self, address: IpAddr, port: u16, keep: bool) -> Option<SocketAddr> {
        let kept = SocketAddr::new(address, port);
        if keep && self.table.is_free(kept) {
            return Some(kept);
        }
        let port = self.draw_port(address, port, None)?;
        Some(SocketAddr::new(address, port))
    }

    /// A free port other than that of `avoid`, of the same range as `like`: well-known ones stay so
    /// (RFC 4787 section 4.2.1, REQ-3).
    fn draw_port(&mut self, address: IpAddr, like: u16, avoid: Option<SocketAddr>) -> Option<u16> {
        let (first, last) =
            if like < FIRST_HIGH { (1, FIRST_HIGH - 1) } else { (FIRST_HIGH, u16::MAX) };
        let drawn = first + up_to(&mut self.rng, u64::from(last - first)) as u16;
        (drawn..=last).chain(first..drawn).find(|&port| {
            let endpoint = SocketAddr::new(address, port);
            Some(endpoint) != avoid && self.table.is_free(endpoint)
        })
    }
}

/// Where the well-known ports end.
const FIRST_HIGH: u16 = 1024;
