//! Where connections of a host are taken: TCP ports and Unix sockets.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, UnixListener};

use super::relay::Local;
use super::spec::Listen;

/// Connections that wait to be taken, at most.
const BACKLOG: u32 = 1024;
/// Without descriptors one tries again.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(100);

/// What listens, at one place of [`Listen`].
#[derive(Debug)]
pub struct Listener {
    tcp: Vec<TcpListener>,
    unix: Option<UnixAt>,
}

/// A Unix socket with its name, which goes with it.
#[derive(Debug)]
struct UnixAt {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for UnixAt {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_file(&self.path);
    }
}

impl Listener {
    /// Listens there. Of `localhost` and of all addresses those that this host has will do.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn bind(at: &Listen) -> io::Result<Self> {
        if let Listen::Unix(path) = at {
            let unix = Some(bind_unix(path)?);
            return Ok(Self { tcp: Vec::new(), unix });
        }
        let mut tcp: Vec<TcpListener> = Vec::new();
        let mut trouble = None;
        for mut address in at.addresses() {
            // Port 0 is the system's choice once.
            if let Some(first) = tcp.first() {
                address.set_port(first.local_addr()?.port());
            }
            match bind_tcp(address) {
                Ok(listener) => tcp.push(listener),
                Err(error) => drop(trouble.get_or_insert(error)),
            }
        }
        match trouble {
            Some(error) if tcp.is_empty() || error.kind() == io::ErrorKind::AddrInUse => Err(error),
            _ => Ok(Self { tcp, unix: None }),
        }
    }

    /// The TCP port; 0 of a Unix socket.
    pub fn port(&self) -> u16 {
        let first = self.tcp.first().and_then(|listener| listener.local_addr().ok());
        first.map_or(0, |at| at.port())
    }

    /// Where it listens, for people.
    pub fn describe(&self) -> String {
        let tcp = self.tcp.iter().filter_map(|listener| listener.local_addr().ok());
        let unix = self
            .unix
            .iter()
            .map(|unix| crate::shown::escape_text(&unix.path.display().to_string()));
        let all: Vec<String> = tcp.map(|at| at.to_string()).chain(unix).collect();
        all.join(" and ")
    }

    /// The next connection, and where it comes from. Cancel-safe.
    pub async fn accept(&self) -> (Local, Option<SocketAddr>) {
        loop {
            let accepted = match (&self.unix, &self.tcp[..]) {
                (Some(unix), _) => {
                    unix.listener.accept().await.map(|(stream, _)| (stream.into(), None))
                }
                (None, [first]) => accept_tcp(first).await,
                (None, [first, second, ..]) => tokio::select! {
                    accepted = accept_tcp(first) => accepted,
                    accepted = accept_tcp(second) => accepted,
                },
                (None, []) => core::future::pending().await,
            };
            match accepted {
                Ok(accepted) => return accepted,
                // A connection that is gone again, or no descriptor for it.
                Err(error) if is_shortage(&error) => {
                    tokio::time::sleep(OUT_OF_DESCRIPTORS).await;
                }
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }
}

fn is_shortage(error: &io::Error) -> bool {
    use nix::errno::Errno;
    let short = [Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS, Errno::ENOMEM];
    short.iter().any(|errno| error.raw_os_error() == Some(*errno as i32))
}

async fn accept_tcp(listener: &TcpListener) -> io::Result<(Local, Option<SocketAddr>)> {
    let (stream, from) = listener.accept().await?;
    Ok((stream.into(), Some(from)))
}

fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => {
            let socket = TcpSocket::new_v6()?;
            // IPv4 has a socket of its own.
            socket2::SockRef::from(&socket).set_only_v6(true)?;
            socket
        }
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A socket that is left over from a process that is gone is replaced; one that is in use, and any
/// other file, is not.
fn bind_unix(path: &Path) -> io::Result<UnixAt> {
    let bind = || UnixListener::bind(path);
    let listener = match bind() {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left_over(path) => {
            std::fs::remove_file(path)?;
            bind()
        }
        other => other,
    }?;
    Ok(UnixAt { listener, path: path.to_owned() })
}

fn is_left_over(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|m| m.file_type().is_socket());
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && std::os::unix::net::UnixStream::connect(path).err().is_some_and(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn loopback_is_both_families_with_one_port() {
        let listener = Listener::bind(&Listen::Tcp { bind: None, port: 0 }).unwrap();
        let port = listener.port();
        assert_ne!(port, 0);
        assert!(listener.describe().starts_with(&format!("127.0.0.1:{port}")));
        let connect = tokio::net::TcpStream::connect(("127.0.0.1", port));
        let (connected, (_, from)) = tokio::join!(connect, listener.accept());
        assert_eq!(from, Some(connected.unwrap().local_addr().unwrap()));
        let again = Listener::bind(&Listen::Tcp { bind: None, port }).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AddrInUse);
    }

    #[tokio::test]
    async fn unix_sockets_replace_what_is_left_over_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let at = Listen::Unix(path.clone());
        let listener = Listener::bind(&at).unwrap();
        assert_eq!(Listener::bind(&at).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        assert!(!path.exists());
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "left over");
        drop(Listener::bind(&at).unwrap());
        std::fs::write(&path, "precious").unwrap();
        assert!(Listener::bind(&at).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }
}
