//! What a dialer asks of the network, so that tests bring one of their own.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpStream;

use super::target::HostName;
use crate::place;

/// Names and connections: those of the system, or of a test.
pub trait Network: Send + Sync + 'static {
    /// A connection.
    type Stream: Send + 'static;

    /// The addresses of a name, the best first (RFC 6724). It may go on for long.
    fn look_up(
        &self,
        host: &HostName,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;

    /// Whether this is an address of this host.
    fn is_own(&self, ip: IpAddr) -> bool;

    /// Connects.
    fn connect(&self, to: SocketAddr) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

/// The network of this host.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Network for System {
    type Stream = TcpStream;

    async fn look_up(&self, host: &HostName, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host.as_str(), port)).await?.collect())
    }

    fn is_own(&self, ip: IpAddr) -> bool {
        // Who cannot tell takes every address for its own.
        place::own_addresses().map_or(true, |own| own.contains(&ip))
    }

    async fn connect(&self, to: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(to).await?;
        // What is carried has been delayed already where it was worth it. Without it the
        // connection is slower, and as good.
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::net::{TcpListener, UnixListener};
    use tokio::sync::Semaphore;

    use super::*;
    use crate::forward::dial::{Dialed, Dialer};
    use crate::forward::refusal::Refusal;
    use crate::forward::target::Target;

    #[tokio::test]
    async fn the_system_connects_by_tcp() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (dialer, own) =
            (Dialer::new("anywhere:*".parse().unwrap(), 1), Arc::new(Semaphore::new(1)));
        let named = Target::from_host("localhost", address.port()).unwrap();
        for target in [&named, &Target::Address(address)] {
            let Ok(Dialed::Tcp(stream)) = dialer.dial(target, &own).await else {
                panic!("{target}")
            };
            assert!(stream.nodelay().unwrap(), "{target}");
        }
        drop(listener);
        assert_eq!(dialer.dial(&named, &own).await.unwrap_err(), Refusal::Refused);
    }

    #[test]
    fn the_system_knows_its_own_addresses() {
        assert!(System.is_own([127, 0, 0, 1].into()) && !System.is_own([192, 0, 2, 77].into()));
    }

    #[tokio::test]
    async fn the_system_connects_to_unix_sockets() {
        let folder = tempfile::tempdir().unwrap();
        let [open, none, other] = ["open", "none", "other"].map(|name| folder.path().join(name));
        let _listener = UnixListener::bind(&open).unwrap();
        let permits = format!("unix:{},unix:{}", open.display(), none.display());
        let (dialer, own) = (Dialer::new(permits.parse().unwrap(), 1), Arc::new(Semaphore::new(1)));
        let dial = async |path| dialer.dial(&Target::unix(path).unwrap(), &own).await;
        assert!(matches!(dial(open).await, Ok(Dialed::Unix(_))));
        assert_eq!(dial(none).await.unwrap_err(), Refusal::Refused);
        assert_eq!(dial(other).await.unwrap_err(), Refusal::NotPermitted);
    }
}
