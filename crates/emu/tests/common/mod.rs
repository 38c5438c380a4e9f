//! What the tests with boxes share.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use polypath_emu::{Emulation, Error, Namespace, NetworkSpec};

/// For what comes.
pub(crate) const WAIT: Duration = Duration::from_secs(5);
/// For what does not.
pub(crate) const SHORT: Duration = Duration::from_millis(100);

/// Whatever this returned, or nothing without root.
pub(crate) fn or_skip<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error @ (Error::NotRoot | Error::Missing { .. })) => {
            let required = std::env::var_os("POLYPATH_REQUIRE_ROOT").is_some_and(|v| v == "1");
            assert!(!required, "{error}");
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The network, or nothing without root.
pub(crate) fn build(spec: NetworkSpec) -> Option<Emulation> {
    or_skip(Emulation::build(spec))
}

pub(crate) fn socket(namespace: &Namespace, address: IpAddr, port: u16) -> UdpSocket {
    namespace.run(|| UdpSocket::bind((address, port)).unwrap()).unwrap()
}

/// Where the next packet came from; `None` if none did.
pub(crate) fn receive(socket: &UdpSocket, wait: Duration) -> Option<SocketAddr> {
    socket.set_read_timeout(Some(wait)).unwrap();
    socket.recv_from(&mut [0; 100]).ok().map(|(_, from)| from)
}
