//! Where attacks take place.

use std::fs;
use std::net::IpAddr;

use polypath_emu::for_tests::or_skip;
use polypath_emu::{Error, Namespace};
use polypath_net::Endpoint;

use crate::honest;
use crate::kind::{ATTACKER_WIRE, CLIENT_WIRE, Kind, SECOND_WIRE};
use crate::source::Source;
use crate::wires::{self, End};

/// A victim, an honest client and an attacker. The victim is connected to each of them, to the
/// client twice.
#[derive(Debug)]
pub struct Field {
    /// The honest client's namespace.
    pub client: Namespace,
    /// The victim's.
    pub victim: Namespace,
    attacker: Namespace,
}

impl Field {
    /// Makes the namespaces. `None`: it takes root, or a program that is missing, and may be
    /// skipped.
    ///
    /// # Panics
    /// When POLYPATH_REQUIRE_ROOT=1 says that it must not be skipped, or the kernel refuses.
    pub fn build() -> Option<Self> {
        or_skip(Self::try_build())
    }

    fn try_build() -> Result<Self, Error> {
        let field = Self {
            client: Namespace::new()?,
            victim: Namespace::new()?,
            attacker: Namespace::new()?,
        };
        let Self { client, victim, attacker } = &field;
        [client, victim, attacker].into_iter().try_for_each(wires::set_up)?;
        let wires = [(CLIENT_WIRE, client), (SECOND_WIRE, client), (ATTACKER_WIRE, attacker)];
        for ((device, here, there), host) in wires {
            let here = End { host: victim, device, addresses: &here };
            wires::connect_hosts(&here, &End { host, device, addresses: &there })?;
        }
        // What the victim answers strangers goes to the attacker, who drops it.
        wires::default_route(victim, &ATTACKER_WIRE.2)?;
        wires::default_route(attacker, &ATTACKER_WIRE.1)?;
        Ok(field)
    }

    /// The victim's and the client's addresses on both wires between them, IPv4.
    pub fn two_paths() -> ([IpAddr; 2], [IpAddr; 2]) {
        ([CLIENT_WIRE.1[0], SECOND_WIRE.1[0]], [CLIENT_WIRE.2[0], SECOND_WIRE.2[0]])
    }

    /// The devices of both wires between victim and client, at either host.
    pub const DEVICES: [&'static str; 2] = [CLIENT_WIRE.0, SECOND_WIRE.0];

    /// Bytes that the victim received from the attacker's wire, and sent there, with 14 bytes of
    /// Ethernet header for each packet.
    ///
    /// # Panics
    /// When /proc is not Linux's.
    pub fn hostile_bytes(&self) -> (u64, u64) {
        let read = || fs::read_to_string("/proc/thread-self/net/dev");
        let text = self.victim.run(read).and_then(|read| read).expect("/proc/net/dev");
        let line = text.lines().find_map(|line| line.trim().strip_prefix(ATTACKER_WIRE.0));
        let numbers = line.and_then(|line| line.strip_prefix(':')).unwrap_or_default();
        let numbers: Vec<u64> = numbers.split_whitespace().flat_map(str::parse).collect();
        (numbers.first().copied().unwrap_or(0), numbers.get(8).copied().unwrap_or(0))
    }

    /// An honest client of protected associations, with an address on each wire.
    ///
    /// # Panics
    /// When the system refuses sockets.
    pub fn protected_client(&self) -> Endpoint {
        honest::protected_client(&self.client, &Self::two_paths().1)
    }

    /// What sends the attacker's packets to the victim.
    ///
    /// # Panics
    /// When the system refuses raw sockets.
    pub fn source(&self, kind: Kind) -> Source {
        Source::open(&self.attacker, kind.victim())
    }
}
