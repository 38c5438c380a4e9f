//! What the two ends of `forward` say to each other: messages of an association
//! (docs/reference/forward.md).
//!
//! A message is data of a connection ([`ppid::DATA`], the bytes as they are) or a frame
//! ([`ppid::FRAME`]): a type, its fields in network byte order, and nothing behind them. Stream 0
//! has the frames of the association; every other stream carries one connection at a time.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use bytes::{Buf as _, BufMut as _, Bytes};

use super::refusal::Refusal;
use super::spec::{Bind, Listen};
use super::target::Target;
use crate::mirror::words::{Words, WordsError};

/// Of the protocol. Ends of different versions do not understand each other.
pub const VERSION: u16 = 1;

/// Payload protocol identifiers.
pub mod ppid {
    /// Bytes of a connection.
    pub const DATA: u32 = 0x5050_0020;
    /// A frame.
    pub const FRAME: u32 = 0x5050_0021;
}

/// A longer message is no frame, bytes.
pub const LONGEST: usize = 512;

/// The number of a process, by which its peer knows it again after the association broke.
pub type Instance = [u8; 16];

/// Number of a listener that the client asked for.
pub type ListenerId = u32;

/// What a connection is opened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A place that the opener names.
    Place(Target),
    /// What the other end has named for its listener, where `from` connected.
    Listener {
        /// Which one.
        id: ListenerId,
        /// Who connected; `None` at a Unix socket.
        from: Option<SocketAddr>,
    },
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Stream 0, the first of either end.
    Hello {
        /// [`VERSION`].
        version: u16,
        /// Who says it.
        instance: Instance,
        /// Connections that the other end may have open at a time.
        connections: u32,
    },
    /// Stream 0: listen there.
    Listen {
        /// Chosen by who asks.
        id: ListenerId,
        /// Where.
        at: Listen,
    },
    /// Stream 0: it listens, at this port (0 for a Unix socket).
    Listening {
        /// Which one.
        id: ListenerId,
        /// The port.
        port: u16,
    },
    /// Stream 0: it does not listen, or not any more.
    NotListening {
        /// Which one.
        id: ListenerId,
        /// Why.
        why: Refusal,
    },
    /// Stream 0: listen there no more.
    Unlisten {
        /// Which one.
        id: ListenerId,
    },
    /// Stream 0: of the mirror that `doctor` asks for.
    Mirror(Words),
    /// Begins a connection.
    Open {
        /// Bytes that its opener takes.
        credit: u32,
        /// Where to.
        to: Destination,
    },
    /// It is connected.
    Accept {
        /// Bytes that the other end takes.
        credit: u32,
    },
    /// It is not; the last frame of who was asked.
    Refuse(Refusal),
    /// So many bytes more are taken.
    Credit(u32),
    /// No more data comes.
    Fin,
    /// The last frame after an orderly end of both directions.
    End,
    /// The last frame of who breaks the connection off, or who answers that.
    Reset,
}

/// Bytes that are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// More than [`LONGEST`] bytes.
    #[error("a frame of {0} bytes (allowed: {LONGEST})")]
    Long(usize),
    /// It ends too early.
    #[error("a frame of type {0:#04x} that ends too early")]
    Short(u8),
    /// Bytes behind its end.
    #[error("a frame of type {0:#04x} with bytes behind its end")]
    Behind(u8),
    /// No bytes at all.
    #[error("an empty frame")]
    Empty,
    /// Nobody knows it.
    #[error("a frame of the unknown type {0:#04x}")]
    Unknown(u8),
    /// A field has a value that it cannot have.
    #[error("a frame of type {0:#04x} with an odd {1}")]
    Odd(u8, &'static str),
}

mod kind {
    pub(super) const HELLO: u8 = 0x01;
    pub(super) const LISTEN: u8 = 0x02;
    pub(super) const LISTENING: u8 = 0x03;
    pub(super) const NOT_LISTENING: u8 = 0x04;
    pub(super) const UNLISTEN: u8 = 0x05;
    pub(super) const MIRROR: u8 = 0x06;
    pub(super) const OPEN: u8 = 0x10;
    pub(super) const ACCEPT: u8 = 0x11;
    pub(super) const REFUSE: u8 = 0x12;
    pub(super) const CREDIT: u8 = 0x13;
    pub(super) const FIN: u8 = 0x14;
    pub(super) const END: u8 = 0x15;
    pub(super) const RESET: u8 = 0x16;
}

/// The first byte of a place.
mod place {
    pub(super) const NONE: u8 = 0;
    pub(super) const IPV4: u8 = 4;
    pub(super) const IPV6: u8 = 6;
    pub(super) const NAME: u8 = 1;
    pub(super) const UNIX: u8 = 2;
    pub(super) const LISTENER: u8 = 3;
    /// Of listeners: loopback, all addresses, this host's name for itself.
    pub(super) const DEFAULT: u8 = 7;
    pub(super) const ALL: u8 = 8;
    pub(super) const LOCALHOST: u8 = 9;
}

impl Frame {
    /// As a message.
    pub fn to_bytes(&self) -> Bytes {
        let mut out = Vec::with_capacity(32);
        match self {
            Self::Hello { version, instance, connections } => {
                out.put_u8(kind::HELLO);
                out.put_u16(*version);
                out.put_slice(instance);
                out.put_u32(*connections);
            }
            Self::Listen { id, at } => {
                out.put_u8(kind::LISTEN);
                out.put_u32(*id);
                put_listen(&mut out, at);
            }
            Self::Listening { id, port } => {
                out.put_u8(kind::LISTENING);
                out.put_u32(*id);
                out.put_u16(*port);
            }
            Self::NotListening { id, why } => {
                out.put_u8(kind::NOT_LISTENING);
                out.put_u32(*id);
                out.put_u8(why.code());
            }
            Self::Unlisten { id } => {
                out.put_u8(kind::UNLISTEN);
                out.put_u32(*id);
            }
            Self::Mirror(words) => {
                out.put_u8(kind::MIRROR);
                words.put(&mut out);
            }
            Self::Open { credit, to } => {
                out.put_u8(kind::OPEN);
                out.put_u32(*credit);
                put_destination(&mut out, to);
            }
            Self::Accept { credit } => {
                out.put_u8(kind::ACCEPT);
                out.put_u32(*credit);
            }
            Self::Refuse(why) => out.extend([kind::REFUSE, why.code()]),
            Self::Credit(bytes) => {
                out.put_u8(kind::CREDIT);
                out.put_u32(*bytes);
            }
            Self::Fin => out.put_u8(kind::FIN),
            Self::End => out.put_u8(kind::END),
            Self::Reset => out.put_u8(kind::RESET),
        }
        out.into()
    }

    /// A message as a frame.
    ///
    /// # Errors
    /// When it is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FrameError> {
        if bytes.len() > LONGEST {
            return Err(FrameError::Long(bytes.len()));
        }
        let (&kind, rest) = bytes.split_first().ok_or(FrameError::Empty)?;
        let mut fields = Fields { kind, rest };
        let frame = fields.frame()?;
        if fields.rest.is_empty() { Ok(frame) } else { Err(FrameError::Behind(kind)) }
    }

    /// Whether who sends it says nothing more of the connection.
    pub const fn is_last(&self) -> bool {
        matches!(self, Self::Refuse(_) | Self::End | Self::Reset)
    }
}

fn put_address(out: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => {
            out.put_u8(place::IPV4);
            out.put_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.put_u8(place::IPV6);
            out.put_slice(&ip.octets());
        }
    }
    out.put_u16(address.port());
}

/// At most 255 bytes, which the types of what is put see to.
fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let length = u8::try_from(text.len()).unwrap_or(u8::MAX);
    out.put_u8(length);
    out.extend(text.iter().take(length.into()));
}

fn put_path(out: &mut Vec<u8>, path: &Path) {
    use std::os::unix::ffi::OsStrExt as _;
    out.put_u8(place::UNIX);
    put_text(out, path.as_os_str().as_bytes());
}

fn put_destination(out: &mut Vec<u8>, to: &Destination) {
    match to {
        Destination::Place(Target::Address(address)) => put_address(out, *address),
        Destination::Place(Target::Name { host, port }) => {
            out.put_u8(place::NAME);
            put_text(out, host.as_str().as_bytes());
            out.put_u16(*port);
        }
        Destination::Place(Target::Unix(path)) => put_path(out, path),
        Destination::Listener { id, from } => {
            out.put_u8(place::LISTENER);
            out.put_u32(*id);
            match from {
                Some(from) => put_address(out, *from),
                None => out.put_u8(place::NONE),
            }
        }
    }
}

fn put_listen(out: &mut Vec<u8>, at: &Listen) {
    match at {
        Listen::Unix(path) => put_path(out, path),
        Listen::Tcp { bind, port } => {
            match bind {
                Some(Bind::Address(ip)) => return put_address(out, SocketAddr::new(*ip, *port)),
                None => out.put_u8(place::DEFAULT),
                Some(Bind::All) => out.put_u8(place::ALL),
                Some(Bind::Localhost) => out.put_u8(place::LOCALHOST),
            }
            out.put_u16(*port);
        }
    }
}

/// What is left of a frame.
struct Fields<'a> {
    kind: u8,
    rest: &'a [u8],
}

impl Fields<'_> {
    fn frame(&mut self) -> Result<Frame, FrameError> {
        Ok(match self.kind {
            kind::HELLO => Frame::Hello {
                version: self.u16()?,
                instance: self.array()?,
                connections: self.u32()?,
            },
            kind::LISTEN => Frame::Listen { id: self.u32()?, at: self.listen()? },
            kind::LISTENING => Frame::Listening { id: self.u32()?, port: self.u16()? },
            kind::NOT_LISTENING => {
                Frame::NotListening { id: self.u32()?, why: Refusal::from_code(self.u8()?) }
            }
            kind::UNLISTEN => Frame::Unlisten { id: self.u32()? },
            kind::MIRROR => Frame::Mirror(self.mirror()?),
            kind::OPEN => Frame::Open { credit: self.u32()?, to: self.destination()? },
            kind::ACCEPT => Frame::Accept { credit: self.u32()? },
            kind::REFUSE => Frame::Refuse(Refusal::from_code(self.u8()?)),
            kind::CREDIT => Frame::Credit(self.u32()?),
            kind::FIN => Frame::Fin,
            kind::END => Frame::End,
            kind::RESET => Frame::Reset,
            other => return Err(FrameError::Unknown(other)),
        })
    }

    fn mirror(&mut self) -> Result<Words, FrameError> {
        Words::take(&mut self.rest).map_err(|error| match error {
            WordsError::Short => FrameError::Short(self.kind),
            WordsError::Odd(field) => self.odd(field),
        })
    }

    fn destination(&mut self) -> Result<Destination, FrameError> {
        let target = match self.u8()? {
            place::LISTENER => {
                let id = self.u32()?;
                let from = match self.u8()? {
                    place::NONE => None,
                    family => Some(self.address(family)?),
                };
                return Ok(Destination::Listener { id, from });
            }
            place::NAME => {
                let host = std::str::from_utf8(self.text()?).map(str::to_owned);
                let host = host.map_err(|_| self.odd("name"))?;
                let target = Target::from_host(&host, self.u16()?).map_err(|_| self.odd("name"))?;
                // An address in the dress of a name would pass where only names may.
                if !matches!(target, Target::Name { .. }) {
                    return Err(self.odd("name"));
                }
                target
            }
            place::UNIX => self.path()?,
            family => {
                let address = self.address(family)?;
                Target::from_host(&address.ip().to_string(), address.port())
                    .map_err(|_| self.odd("port"))?
            }
        };
        Ok(Destination::Place(target))
    }

    fn listen(&mut self) -> Result<Listen, FrameError> {
        let bind = match self.u8()? {
            place::UNIX => {
                let Target::Unix(path) = self.path()? else { return Err(self.odd("path")) };
                return Ok(Listen::Unix(path));
            }
            place::DEFAULT => None,
            place::ALL => Some(Bind::All),
            place::LOCALHOST => Some(Bind::Localhost),
            family => {
                let address = self.address(family)?;
                let bind = Some(Bind::Address(address.ip()));
                return Ok(Listen::Tcp { bind, port: address.port() });
            }
        };
        Ok(Listen::Tcp { bind, port: self.u16()? })
    }

    fn path(&mut self) -> Result<Target, FrameError> {
        use std::os::unix::ffi::OsStrExt as _;
        let path = Path::new(std::ffi::OsStr::from_bytes(self.text()?)).to_owned();
        Target::unix(path).map_err(|_| self.odd("path"))
    }

    fn address(&mut self, family: u8) -> Result<SocketAddr, FrameError> {
        let ip = match family {
            place::IPV4 => Ipv4Addr::from(self.array::<4>()?).into(),
            place::IPV6 => IpAddr::V6(Ipv6Addr::from(self.array::<16>()?)).to_canonical(),
            _ => return Err(self.odd("kind of place")),
        };
        Ok(SocketAddr::new(ip, self.u16()?))
    }

    fn text(&mut self) -> Result<&[u8], FrameError> {
        let length = usize::from(self.u8()?);
        let (text, rest) =
            self.rest.split_at_checked(length).ok_or(FrameError::Short(self.kind))?;
        self.rest = rest;
        Ok(text)
    }

    const fn odd(&self, field: &'static str) -> FrameError {
        FrameError::Odd(self.kind, field)
    }

    fn u8(&mut self) -> Result<u8, FrameError> {
        self.rest.try_get_u8().map_err(|_| FrameError::Short(self.kind))
    }

    fn u16(&mut self) -> Result<u16, FrameError> {
        self.rest.try_get_u16().map_err(|_| FrameError::Short(self.kind))
    }

    fn u32(&mut self) -> Result<u32, FrameError> {
        self.rest.try_get_u32().map_err(|_| FrameError::Short(self.kind))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(FrameError::Short(self.kind))?;
        self.rest = rest;
        Ok(*array)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(text: &str) -> Destination {
        Destination::Place(text.parse().unwrap())
    }

    fn frames() -> Vec<Frame> {
        let from = Some("[2001:db8::1]:9".parse().unwrap());
        let mut frames = vec![
            Frame::Hello { version: VERSION, instance: [7; 16], connections: 1024 },
            Frame::Listening { id: 1, port: 80 },
            Frame::NotListening { id: 2, why: Refusal::NotPermitted },
            Frame::Unlisten { id: 3 },
            Frame::Mirror(Words::Ask { seconds: 20, addresses: Vec::new() }),
            Frame::Mirror(Words::Send { socket: 1, cookie: [6; 16] }),
            Frame::Open { credit: 1, to: Destination::Listener { id: 5, from } },
            Frame::Open { credit: 1, to: Destination::Listener { id: 5, from: None } },
            Frame::Accept { credit: u32::MAX },
            Frame::Refuse(Refusal::Refused),
            Frame::Credit(65_536),
            Frame::Fin,
            Frame::End,
            Frame::Reset,
        ];
        for to in ["db:5432", "192.0.2.1:80", "[2001:db8::1]:443", "unix:/run/a"] {
            frames.push(Frame::Open { credit: 9, to: place(to) });
        }
        let listeners = [
            Listen::Tcp { bind: None, port: 1080 },
            Listen::Tcp { bind: Some(Bind::All), port: 0 },
            Listen::Tcp { bind: Some(Bind::Localhost), port: 1 },
            Listen::Tcp { bind: Some(Bind::Address([192, 0, 2, 1].into())), port: 2 },
            Listen::Unix("/run/b".into()),
        ];
        frames.extend(listeners.into_iter().map(|at| Frame::Listen { id: 8, at }));
        frames
    }

    #[test]
    fn frames_survive_the_way() {
        for frame in frames() {
            let bytes = frame.to_bytes();
            assert_eq!(Frame::from_bytes(&bytes).as_ref(), Ok(&frame), "{bytes:02x?}");
            for end in 0..bytes.len() {
                assert!(Frame::from_bytes(&bytes[..end]).is_err(), "{frame:?} cut at {end}");
            }
            let longer = [&bytes[..], &[0]].concat();
            assert!(Frame::from_bytes(&longer).is_err(), "{frame:?}");
        }
    }

    /// As docs/reference/forward.md has it.
    #[test]
    fn frames_look_as_the_reference_says() {
        let bytes = |frame: Frame| frame.to_bytes().to_vec();
        let open = Frame::Open { credit: 65_536, to: place("db:5432") };
        assert_eq!(bytes(open), [0x10, 0, 1, 0, 0, 1, 2, b'd', b'b', 0x15, 0x38]);
        let open = Frame::Open { credit: 1, to: place("192.0.2.1:80") };
        assert_eq!(bytes(open), [0x10, 0, 0, 0, 1, 4, 192, 0, 2, 1, 0, 80]);
        assert_eq!(bytes(Frame::Refuse(Refusal::NotPermitted)), [0x12, 1]);
        assert_eq!(bytes(Frame::Credit(2)), [0x13, 0, 0, 0, 2]);
        assert_eq!([Frame::Fin, Frame::End, Frame::Reset].map(bytes), [[0x14], [0x15], [0x16]]);
    }

    #[test]
    fn names_that_are_addresses_are_no_names() {
        for name in ["127.0.0.1", "::1", "127.1", "0x7f000001"] {
            let mut bytes = vec![0x10, 0, 0, 0, 1, 1, name.len() as u8];
            bytes.extend(name.bytes().chain([0, 80]));
            assert_eq!(Frame::from_bytes(&bytes), Err(FrameError::Odd(0x10, "name")), "{name}");
        }
        let mapped = [&[0x10, 0, 0, 0, 1, 6][..], &[0; 10], &[255, 255, 127, 0, 0, 1, 0, 80]];
        let frame = Frame::from_bytes(&mapped.concat()).unwrap();
        assert_eq!(frame, Frame::Open { credit: 1, to: place("127.0.0.1:80") });
    }

    proptest! {
        #[test]
        fn no_bytes_panic_and_what_is_read_is_written_alike(
            bytes in proptest::collection::vec(any::<u8>(), 0..600),
            kind in 0u8..0x18,
        ) {
            let typed = [&[kind][..], &bytes].concat();
            for bytes in [&bytes[..], &typed] {
                if let Ok(frame) = Frame::from_bytes(bytes) {
                    prop_assert_eq!(Frame::from_bytes(&frame.to_bytes()), Ok(frame));
                }
            }
        }
    }
}
