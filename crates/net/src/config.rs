//! What an endpoint is told when it is made.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use polypath_policies::profile;
use polypath_proto::FourTuple;
use polypath_proto::config::{AssocConfig, Edmid};
use polypath_proto::protection::KeyManagement;

use crate::capture::Capture;
use crate::interfaces::Follow;
use crate::keys::Keys;
pub use crate::local_address::LocalAddress;
use crate::observer::Observer;
use crate::trace::Trace;

/// The UDP port of SCTP (RFC 6951 section 5.1), and the SCTP port that Polypath's own applications
/// use.
pub const DEFAULT_PORT: u16 = 9899;

/// Settings of an [`Endpoint`](crate::Endpoint): begin with [`Config::client`] or
/// [`Config::server`], and change what differs.
///
/// ```
/// use polypath_net::{Config, Encapsulation, Identity, Tls, Trust};
///
/// let keys = Tls::new(&Identity::generate()?, Trust::anyone());
/// let config = Config::server(["127.0.0.1".parse()?], 7, keys)
///     .encapsulation(Encapsulation::Udp(0))
///     .max_associations(16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct Config {
    /// The addresses to use, and to announce: no other is. At least one.
    pub local: Vec<LocalAddress>,
    /// Our SCTP port; 0: the number of the UDP port if the system chose that, or a random one above
    /// 49151.
    pub port: u16,
    /// How packets travel.
    pub encapsulation: Encapsulation,
    /// The method by which what carries the packets detects errors, for users who know of one below
    /// the sockets (RFC 9653): a tunnel that authenticates, say. Only then associations may spare
    /// the checksum
    /// ([`AssocConfig::zero_checksum`](polypath_proto::config::AssocConfig::zero_checksum)).
    /// `None`: UDP and IP let errors through.
    pub error_detection: Option<Edmid>,
    /// Answer those who connect to us.
    pub accept: bool,
    /// Associations at the same time, at most.
    pub max_associations: usize,
    /// Associations with one address of peers, at most (of IPv6: with one /64). Many hosts may
    /// stand behind one address. Keeps one host from having all of them only where it is below
    /// `max_associations`.
    pub max_associations_per_address: usize,
    /// Settings of associations. Default: the profile `fast`.
    pub assoc: Arc<AssocConfig>,
    /// How keys are agreed on, for all associations whose own settings name no other way
    /// ([`AssocConfig::protection`]). `None`: packets go in plain, see
    /// [`Config::insecure_client`].
    pub protection: Option<Arc<dyn KeyManagement>>,
    /// Kernel buffer asked for per socket and direction, bytes. When the kernel gives less,
    /// [`Endpoint::warnings`](crate::Endpoint::warnings) says so.
    pub socket_buffer: usize,
    /// Where packets are written to as well.
    pub capture: Option<Capture>,
    /// Where associations record what happens in them; it decides on [`AssocConfig::trace`].
    pub trace: Option<Trace>,
    /// Take up addresses that appear on this host, and give up those that vanish; peers are told
    /// where the association can (RFC 5061).
    pub follow: Option<Follow>,
    /// Who sees the endpoint and its associations without using them.
    pub observer: Option<Observer>,
}

/// How packets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encapsulation {
    /// In UDP (RFC 6951), from this local port; 0: any free one, the same for all addresses where
    /// possible.
    Udp(u16),
    /// Directly over IP, protocol 132. Needs the right to open raw sockets.
    Raw,
}

/// Which pairs of our addresses and the peer's become the paths of an association that we open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pairing {
    /// As many addresses here as there: the first with the first, the second with the second, as
    /// disjoint links want it. Otherwise every pair of one address family.
    #[default]
    Auto,
    /// Every pair of one address family.
    Mesh,
}

impl Config {
    /// Settings of an endpoint that opens associations from `addresses`: any UDP port, any SCTP
    /// port. Each agrees on keys with its peer by `keys`, and there is none without.
    pub fn client(addresses: impl IntoIterator<Item = IpAddr>, keys: impl Into<Keys>) -> Self {
        let protection = Some(keys.into().into_inner());
        Self { protection, ..Self::insecure_client(addresses) }
    }

    /// Settings of an endpoint that is connected to, at `addresses`, UDP port 9899 and SCTP port
    /// `port`. Each association agrees on keys with its peer by `keys`, and there is none without.
    pub fn server(
        addresses: impl IntoIterator<Item = IpAddr>,
        port: u16,
        keys: impl Into<Keys>,
    ) -> Self {
        let protection = Some(keys.into().into_inner());
        Self { protection, ..Self::insecure_server(addresses, port) }
    }

    /// Like [`Config::client`], without keys: for peers that have none, which are those that speak
    /// SCTP alone, and for laboratories.
    ///
    /// What it gives up: nobody knows who the peer is; whoever sees packets on any path can read
    /// them, and change, add or redirect them, or end the association.
    pub fn insecure_client(addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        Self {
            local: addresses.into_iter().map(LocalAddress::from).collect(),
            port: 0,
            encapsulation: Encapsulation::Udp(0),
            error_detection: None,
            accept: false,
            max_associations: 1024,
            max_associations_per_address: 512,
            assoc: default_assoc(),
            protection: None,
            socket_buffer: 4 << 20,
            capture: None,
            trace: None,
            follow: None,
            observer: None,
        }
    }

    /// Like [`Config::server`], without keys, which gives up what [`Config::insecure_client`] says:
    /// whoever connects is let in, and peers that demand keys are not understood.
    pub fn insecure_server(addresses: impl IntoIterator<Item = IpAddr>, port: u16) -> Self {
        Self {
            port,
            encapsulation: Encapsulation::Udp(DEFAULT_PORT),
            accept: true,
            ..Self::insecure_client(addresses)
        }
    }

    /// The addresses to use in place of those that were named first, with their devices.
    pub fn local(mut self, addresses: impl IntoIterator<Item = LocalAddress>) -> Self {
        self.local = addresses.into_iter().collect();
        self
    }

    /// Our SCTP port.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// How packets travel.
    pub fn encapsulation(mut self, encapsulation: Encapsulation) -> Self {
        self.encapsulation = encapsulation;
        self
    }

    /// How what carries the packets detects errors (RFC 9653).
    pub fn error_detection(mut self, method: impl Into<Option<Edmid>>) -> Self {
        self.error_detection = method.into();
        self
    }

    /// Whether those who connect to us are answered.
    pub fn accept(mut self, accept: bool) -> Self {
        self.accept = accept;
        self
    }

    /// Associations at the same time, at most.
    pub fn max_associations(mut self, most: usize) -> Self {
        self.max_associations = most;
        self
    }

    /// Associations with one address of peers, at most.
    pub fn max_associations_per_address(mut self, most: usize) -> Self {
        self.max_associations_per_address = most;
        self
    }

    /// Settings of associations, as [`AssocBuilder`](polypath_policies::AssocBuilder) makes them.
    pub fn assoc(mut self, settings: impl Into<Arc<AssocConfig>>) -> Self {
        self.assoc = settings.into();
        self
    }

    /// Kernel buffer asked for per socket and direction, bytes.
    pub fn socket_buffer(mut self, bytes: usize) -> Self {
        self.socket_buffer = bytes;
        self
    }

    /// Where packets are written to as well.
    pub fn capture(mut self, capture: impl Into<Option<Capture>>) -> Self {
        self.capture = capture.into();
        self
    }

    /// Where associations record what happens in them.
    pub fn trace(mut self, trace: impl Into<Option<Trace>>) -> Self {
        self.trace = trace.into();
        self
    }

    /// Addresses that come and go on this host are taken up and given up.
    pub fn follow(mut self, follow: impl Into<Option<Follow>>) -> Self {
        self.follow = follow.into();
        self
    }

    /// Who sees the endpoint and its associations without using them.
    pub fn observer(mut self, observer: impl Into<Option<Observer>>) -> Self {
        self.observer = observer.into();
        self
    }
}

fn default_assoc() -> Arc<AssocConfig> {
    profile::fast_config().unwrap_or_default()
}

impl Pairing {
    /// The pairs (local, remote).
    pub fn pair_addresses(self, local: &[SocketAddr], remote: &[SocketAddr]) -> Vec<FourTuple> {
        let one_family = |t: &FourTuple| t.local.is_ipv4() == t.remote.is_ipv4();
        let zipped: Vec<_> =
            local.iter().zip(remote).map(|(&local, &remote)| FourTuple { local, remote }).collect();
        if self == Self::Auto && local.len() == remote.len() && zipped.iter().all(one_family) {
            return zipped;
        }
        let mesh = local
            .iter()
            .flat_map(|&local| remote.iter().map(move |&remote| FourTuple { local, remote }));
        mesh.filter(one_family).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|a| a.parse().unwrap()).collect()
    }

    fn shown(pairing: Pairing, local: &[&str], remote: &[&str]) -> Vec<String> {
        let pairs = pairing.pair_addresses(&addresses(local), &addresses(remote));
        pairs.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn equal_numbers_are_paired_in_turn_and_others_crosswise() {
        let (a, b) = (["10.0.0.1:1", "10.0.1.1:1"], ["10.0.0.2:9", "10.0.1.2:9"]);
        let straight = ["10.0.0.1:1 -> 10.0.0.2:9", "10.0.1.1:1 -> 10.0.1.2:9"];
        assert_eq!(shown(Pairing::Auto, &a, &b), straight);
        assert_eq!(shown(Pairing::Mesh, &a, &b).len(), 4);
        let one = ["10.0.0.1:1 -> 10.0.0.2:9", "10.0.1.1:1 -> 10.0.0.2:9"];
        assert_eq!(shown(Pairing::Auto, &a, &b[..1]), one);
    }

    #[test]
    fn families_do_not_mix() {
        let (a, b) = (["10.0.0.1:1", "[fd00::1]:1"], ["[fd00::2]:9", "10.0.0.2:9"]);
        let paths = ["10.0.0.1:1 -> 10.0.0.2:9", "[fd00::1]:1 -> [fd00::2]:9"];
        assert_eq!(shown(Pairing::Auto, &a, &b), paths);
        assert!(shown(Pairing::Auto, &a[..1], &b[..1]).is_empty());
    }
}
