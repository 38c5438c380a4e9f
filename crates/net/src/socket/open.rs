//! Opening sockets, and saying plainly why one does not open.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, SockAddr, Type};

use super::{Kind, Socket, is_link_local, raw, udp};
use crate::config::{Config, Encapsulation, LocalAddress};
use crate::error::{BindError, Warning};

/// SCTP's IP protocol number.
const PROTOCOL_SCTP: i32 = 132;

/// What tells that the kernel's SCTP module is loaded.
const KERNEL_SCTP: &str = "/proc/net/sctp";

/// Sockets that are bound, and belong to no runtime yet.
#[derive(Debug)]
pub(crate) struct Opened {
    sockets: Vec<(SocketAddr, Bound)>,
    pub(crate) warnings: Vec<Warning>,
}

#[derive(Debug)]
enum Bound {
    Udp(socket2::Socket),
    Raw(socket2::Socket),
}

impl Opened {
    /// Hands the sockets to the runtime that this is called in.
    pub(crate) fn into_sockets(self) -> io::Result<Vec<Socket>> {
        self.sockets
            .into_iter()
            .map(|(local, bound)| {
                let kind = match bound {
                    Bound::Udp(socket) => Kind::Udp(udp::UdpSocket::new(socket.into())?),
                    Bound::Raw(socket) => {
                        Kind::Raw(raw::RawSocket::new(socket.into(), local.ip())?)
                    }
                };
                Ok(Socket { local, kind })
            })
            .collect()
    }

    /// Where they are bound; ports are 0 without encapsulation.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.sockets.iter().map(|(local, _)| *local).collect()
    }
}

/// Opens a socket for every local address.
pub(crate) fn open_all(config: &Config) -> Result<Opened, BindError> {
    check_config(config)?;
    let mut opened = Opened { sockets: Vec::new(), warnings: Vec::new() };
    // One free port for all addresses where possible: peers guess the port of our other addresses
    // (RFC 6951 section 5.4).
    let mut port = match config.encapsulation {
        Encapsulation::Udp(port) => port,
        Encapsulation::Raw => 0,
    };
    for local in &config.local {
        let (at, bound) = match config.encapsulation {
            Encapsulation::Raw => open_raw(local)?,
            Encapsulation::Udp(0) => match open_udp(local, port) {
                Err(BindError::InUse { .. }) if port != 0 => open_udp(local, 0)?,
                other => other?,
            },
            Encapsulation::Udp(_) => open_udp(local, port)?,
        };
        port = at.port();
        size_buffers(&bound, local.address, config.socket_buffer, &mut opened.warnings)
            .map_err(|source| BindError::Socket { address: local.address, source })?;
        opened.sockets.push((at, bound));
    }
    Ok(opened)
}

/// Opens a socket for one more address of an endpoint with such a configuration, at UDP port `port`
/// where that is free.
pub(crate) fn open_another(
    config: &Config,
    local: &LocalAddress,
    port: u16,
) -> Result<Opened, BindError> {
    let encapsulation = match config.encapsulation {
        Encapsulation::Udp(_) => Encapsulation::Udp(port),
        Encapsulation::Raw => Encapsulation::Raw,
    };
    let one = Config { local: vec![local.clone()], encapsulation, ..config.clone() };
    match open_all(&one) {
        // Only a port that the system chose is one that may differ.
        Err(BindError::InUse { .. }) if config.encapsulation == Encapsulation::Udp(0) => {
            open_all(&Config { encapsulation: Encapsulation::Udp(0), ..one })
        }
        opened => opened,
    }
}

fn check_config(config: &Config) -> Result<(), BindError> {
    if config.local.is_empty() {
        return Err(BindError::NoAddress);
    }
    for (i, local) in config.local.iter().enumerate() {
        let address = local.address;
        if config.local.iter().take(i).any(|other| other.address == address) {
            return Err(BindError::Twice(address));
        }
        if address.is_unspecified() || address.is_multicast() {
            return Err(BindError::NotUnicast(address));
        }
    }
    if config.encapsulation == Encapsulation::Raw && Path::new(KERNEL_SCTP).exists() {
        return Err(BindError::KernelSctp);
    }
    Ok(())
}

fn open_udp(local: &LocalAddress, port: u16) -> Result<(SocketAddr, Bound), BindError> {
    let socket = new_socket(local, Type::DGRAM, Protocol::UDP, "opening a UDP socket", "")?;
    bind_socket(&socket, local, port)?;
    let at = socket.local_addr().ok().and_then(|a| a.as_socket());
    Ok((at.unwrap_or(SocketAddr::new(local.address, port)), Bound::Udp(socket)))
}

fn open_raw(local: &LocalAddress) -> Result<(SocketAddr, Bound), BindError> {
    let protocol = Protocol::from(PROTOCOL_SCTP);
    let what = "opening a raw IP socket";
    let hint = "run as root or with CAP_NET_RAW, or use UDP encapsulation";
    let socket = new_socket(local, Type::RAW, protocol, what, hint)?;
    bind_socket(&socket, local, 0)?;
    Ok((SocketAddr::new(local.address, 0), Bound::Raw(socket)))
}

fn new_socket(
    local: &LocalAddress,
    kind: Type,
    protocol: Protocol,
    what: &'static str,
    hint: &'static str,
) -> Result<socket2::Socket, BindError> {
    let address = local.address;
    let fail = |source: io::Error| match source.kind() {
        io::ErrorKind::PermissionDenied => BindError::Permission { address, what, hint },
        _ => BindError::Socket { address, source },
    };
    let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = socket2::Socket::new(domain, kind, Some(protocol)).map_err(fail)?;
    socket.set_nonblocking(true).map_err(fail)?;
    // Raw sockets know no other way, and refuse to be told.
    if address.is_ipv6() && kind == Type::DGRAM {
        socket.set_only_v6(true).map_err(fail)?;
    }
    if let Some(device) = &local.device {
        bind_device(&socket, address, device)?;
    }
    Ok(socket)
}

fn bind_device(socket: &socket2::Socket, address: IpAddr, device: &str) -> Result<(), BindError> {
    socket.bind_device(Some(device.as_bytes())).map_err(|source| match source.kind() {
        io::ErrorKind::PermissionDenied => BindError::Permission {
            address,
            what: "binding to a network device",
            hint: "run as root or with CAP_NET_RAW, or give the address alone",
        },
        _ if source.raw_os_error() == Some(Errno::ENODEV as i32) => {
            BindError::NoDevice { address, device: device.to_owned() }
        }
        _ => BindError::Socket { address, source },
    })
}

fn bind_socket(socket: &socket2::Socket, local: &LocalAddress, port: u16) -> Result<(), BindError> {
    let address = local.address;
    let mut at = SocketAddr::new(address, port);
    if let (SocketAddr::V6(v6), Some(device)) = (&mut at, &local.device)
        && is_link_local(address)
    {
        v6.set_scope_id(nix::net::if_::if_nametoindex(device.as_str()).unwrap_or(0));
    }
    socket.bind(&SockAddr::from(at)).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse { address, port },
        io::ErrorKind::AddrNotAvailable => BindError::NotOurs(address),
        io::ErrorKind::PermissionDenied => BindError::Permission {
            address,
            what: "binding the port",
            hint: "ports below 1024 need root or CAP_NET_BIND_SERVICE",
        },
        _ => BindError::Socket { address, source },
    })
}

/// Asks for large buffers: a burst that the process is too slow for is lost otherwise.
fn size_buffers(
    bound: &Bound,
    address: IpAddr,
    wanted: usize,
    warnings: &mut Vec<Warning>,
) -> io::Result<()> {
    let (Bound::Udp(socket) | Bound::Raw(socket)) = bound;
    socket.set_send_buffer_size(wanted)?;
    socket.set_recv_buffer_size(wanted)?;
    // Linux counts twice what was asked for, its own overhead included, and reports that.
    if socket.send_buffer_size()? < wanted * 2 {
        let _ = setsockopt(socket, sockopt::SndBufForce, &wanted);
    }
    if socket.recv_buffer_size()? < wanted * 2 {
        let _ = setsockopt(socket, sockopt::RcvBufForce, &wanted);
    }
    let granted = [
        ("send", socket.send_buffer_size()?, "net.core.wmem_max"),
        ("receive", socket.recv_buffer_size()?, "net.core.rmem_max"),
    ];
    for (direction, counted, sysctl) in granted {
        let given = if cfg!(target_os = "linux") { counted / 2 } else { counted };
        if given < wanted {
            warnings.push(Warning::SmallBuffer { address, direction, wanted, given, sysctl });
        }
    }
    Ok(())
}
