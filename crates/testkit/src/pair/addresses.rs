//! Ports and addresses of both ends, and the paths between them.

use core::net::{IpAddr, SocketAddr};

use polypath_proto::FourTuple;
use polypath_proto::config::{EndpointConfig, PathPairing};

/// The client's SCTP port.
pub const CLIENT_PORT: u16 = 5001;
/// The server's SCTP port.
pub const SERVER_PORT: u16 = 9;

/// Settings of an endpoint.
pub fn endpoint(port: u16, addresses: &[IpAddr]) -> EndpointConfig {
    EndpointConfig {
        port,
        addresses: addresses.to_vec(),
        pairing: PathPairing::Index,
        ..EndpointConfig::default()
    }
}

/// An address.
pub fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// A pair of addresses, without UDP ports.
pub fn tuple(local: &str, remote: &str) -> FourTuple {
    FourTuple { local: SocketAddr::new(ip(local), 0), remote: SocketAddr::new(ip(remote), 0) }
}

/// The path as its other end sees it.
pub const fn reverse_tuple(tuple: FourTuple) -> FourTuple {
    FourTuple { local: tuple.remote, remote: tuple.local }
}

/// The client's addresses.
pub fn client_addresses() -> [IpAddr; 2] {
    [ip("10.0.0.1"), ip("10.0.1.1")]
}

/// The server's addresses.
pub fn server_addresses() -> [IpAddr; 2] {
    [ip("10.0.0.2"), ip("10.0.1.2")]
}

/// The client's paths, as the client sees them.
pub fn client_paths() -> [FourTuple; 2] {
    [tuple("10.0.0.1", "10.0.0.2"), tuple("10.0.1.1", "10.0.1.2")]
}

/// The first path as the server sees it.
pub fn at_server() -> FourTuple {
    reverse_tuple(client_paths()[0])
}
