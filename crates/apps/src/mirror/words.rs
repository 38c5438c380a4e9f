//! What client and server say of a mirror over their association: the fields of one frame of
//! `forward`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bytes::{Buf as _, BufMut as _};

use crate::forward::refusal::Refusal;

/// Sockets of a mirror, at most: two ports at one address, and one at another address.
pub const SOCKETS: usize = 3;
/// A mirror lasts so long at most, seconds.
pub const LONGEST: u16 = 330;
/// Addresses of the server that a client names, at most.
pub const NAMED: usize = 16;

/// A secret of one mirror, which its client's probes carry.
pub type Token = [u8; 16];
/// What a mirror gives to each address that it answers: who has it has received the answer.
pub type Cookie = [u8; 16];

/// Where a socket of a mirror is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MirrorSocket {
    /// `None`: at the address at which the client reached the server, which a translator in front
    /// of it may hide from the server.
    pub address: Option<IpAddr>,
    /// Its UDP port.
    pub port: u16,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Words {
    /// The client wants a mirror for so long.
    Ask {
        /// At most [`LONGEST`].
        seconds: u16,
        /// Addresses of the server to which the client may send beside the one that it reached: at
        /// most [`NAMED`].
        addresses: Vec<IpAddr>,
    },
    /// Here it is.
    Here {
        /// For probes.
        token: Token,
        /// Where the server sees the association come from.
        seen: SocketAddr,
        /// Its sockets: one to [`SOCKETS`].
        sockets: Vec<MirrorSocket>,
    },
    /// There is none.
    Not(Refusal),
    /// Send one packet from a socket to the address that has been given this cookie.
    Send {
        /// Which socket, as [`Words::Here`] lists them.
        socket: u8,
        /// Of the address.
        cookie: Cookie,
    },
    /// The client needs it no more.
    Done,
    /// A probe came from another address than the client's association: it is not answered.
    Elsewhere {
        /// To which socket it came, as [`Words::Here`] lists them.
        socket: u8,
        /// Of the probe.
        nonce: [u8; 8],
        /// From where it came.
        source: SocketAddr,
    },
}

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordsError {
    /// They end too early.
    Short,
    /// A field has a value that it cannot have.
    Odd(&'static str),
}

mod kind {
    pub(super) const ASK: u8 = 1;
    pub(super) const HERE: u8 = 2;
    pub(super) const NOT: u8 = 3;
    pub(super) const SEND: u8 = 4;
    pub(super) const DONE: u8 = 5;
    pub(super) const ELSEWHERE: u8 = 6;
}

impl Words {
    /// Appends the bytes.
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ask { seconds, addresses } => {
                out.put_u8(kind::ASK);
                out.put_u16(*seconds);
                out.put_u8(u8::try_from(addresses.len()).unwrap_or(u8::MAX));
                addresses.iter().for_each(|address| put_ip(out, Some(*address)));
            }
            Self::Here { token, seen, sockets } => {
                out.put_u8(kind::HERE);
                out.put_slice(token);
                put_place(out, *seen);
                out.put_u8(u8::try_from(sockets.len()).unwrap_or(u8::MAX));
                for socket in sockets {
                    put_ip(out, socket.address);
                    out.put_u16(socket.port);
                }
            }
            Self::Not(why) => out.extend([kind::NOT, why.code()]),
            Self::Send { socket, cookie } => {
                out.extend([kind::SEND, *socket]);
                out.put_slice(cookie);
            }
            Self::Done => out.put_u8(kind::DONE),
            Self::Elsewhere { socket, nonce, source } => {
                out.extend([kind::ELSEWHERE, *socket]);
                out.put_slice(nonce);
                put_place(out, *source);
            }
        }
    }

    /// Takes a message off the front of `rest`.
    ///
    /// # Errors
    /// When there is none.
    pub fn take(rest: &mut &[u8]) -> Result<Self, WordsError> {
        Ok(match take_u8(rest)? {
            kind::ASK => Self::Ask { seconds: take_u16(rest)?, addresses: take_named(rest)? },
            kind::HERE => {
                let token = take_array(rest)?;
                let seen = take_place(rest)?;
                let count = usize::from(take_u8(rest)?);
                if !(1..=SOCKETS).contains(&count) {
                    return Err(WordsError::Odd("number of sockets"));
                }
                let sockets = (0..count).map(|_| take_socket(rest)).collect::<Result<_, _>>()?;
                Self::Here { token, seen, sockets }
            }
            kind::NOT => Self::Not(Refusal::from_code(take_u8(rest)?)),
            kind::SEND => Self::Send { socket: take_u8(rest)?, cookie: take_array(rest)? },
            kind::DONE => Self::Done,
            kind::ELSEWHERE => Self::Elsewhere {
                socket: take_u8(rest)?,
                nonce: take_array(rest)?,
                source: take_place(rest)?,
            },
            _ => return Err(WordsError::Odd("kind of message")),
        })
    }
}

fn put_place(out: &mut Vec<u8>, at: SocketAddr) {
    put_ip(out, Some(at.ip()));
    out.put_u16(at.port());
}

fn put_ip(out: &mut Vec<u8>, ip: Option<IpAddr>) {
    match ip {
        None => out.put_u8(0),
        Some(IpAddr::V4(ip)) => {
            out.put_u8(4);
            out.put_slice(&ip.octets());
        }
        Some(IpAddr::V6(ip)) => {
            out.put_u8(6);
            out.put_slice(&ip.octets());
        }
    }
}

fn take_ip(rest: &mut &[u8]) -> Result<Option<IpAddr>, WordsError> {
    Ok(match take_u8(rest)? {
        0 => None,
        4 => Some(Ipv4Addr::from(take_array::<4>(rest)?).into()),
        6 => Some(IpAddr::V6(Ipv6Addr::from(take_array::<16>(rest)?)).to_canonical()),
        _ => return Err(WordsError::Odd("address")),
    })
}

fn take_some_ip(rest: &mut &[u8]) -> Result<IpAddr, WordsError> {
    take_ip(rest)?.ok_or(WordsError::Odd("address"))
}

fn take_place(rest: &mut &[u8]) -> Result<SocketAddr, WordsError> {
    Ok(SocketAddr::new(take_some_ip(rest)?, take_u16(rest)?))
}

fn take_named(rest: &mut &[u8]) -> Result<Vec<IpAddr>, WordsError> {
    match usize::from(take_u8(rest)?) {
        count @ ..=NAMED => (0..count).map(|_| take_some_ip(rest)).collect(),
        _ => Err(WordsError::Odd("number of addresses")),
    }
}

fn take_socket(rest: &mut &[u8]) -> Result<MirrorSocket, WordsError> {
    let address = take_ip(rest)?;
    match take_u16(rest)? {
        0 => Err(WordsError::Odd("port")),
        port => Ok(MirrorSocket { address, port }),
    }
}

fn take_u8(rest: &mut &[u8]) -> Result<u8, WordsError> {
    rest.try_get_u8().map_err(|_| WordsError::Short)
}

fn take_u16(rest: &mut &[u8]) -> Result<u16, WordsError> {
    rest.try_get_u16().map_err(|_| WordsError::Short)
}

fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], WordsError> {
    let (array, more) = rest.split_first_chunk().ok_or(WordsError::Short)?;
    *rest = more;
    Ok(*array)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all() -> Vec<Words> {
        let seen: SocketAddr = "198.51.100.7:5000".parse().unwrap();
        let here = MirrorSocket { address: None, port: 1 };
        let there = MirrorSocket { address: Some("2001:db8::1".parse().unwrap()), port: 65_535 };
        vec![
            Words::Ask { seconds: 20, addresses: Vec::new() },
            Words::Ask { seconds: 20, addresses: vec![seen.ip(); NAMED] },
            Words::Here { token: [7; 16], seen, sockets: vec![here] },
            Words::Here { token: [8; 16], seen, sockets: vec![here, here, there] },
            Words::Not(Refusal::NotPermitted),
            Words::Send { socket: 2, cookie: [9; 16] },
            Words::Done,
            Words::Elsewhere {
                socket: 1,
                nonce: [3; 8],
                source: "[2001:db8::9]:7".parse().unwrap(),
            },
        ]
    }

    #[test]
    fn messages_survive_the_way() {
        for words in all() {
            let mut bytes = Vec::new();
            words.put(&mut bytes);
            let mut rest = &bytes[..];
            assert_eq!(Words::take(&mut rest).as_ref(), Ok(&words));
            assert!(rest.is_empty());
            for end in 0..bytes.len() {
                assert!(Words::take(&mut &bytes[..end]).is_err(), "{words:?} cut at {end}");
            }
        }
    }

    /// As docs/reference/forward.md has it.
    #[test]
    fn messages_look_as_the_reference_says() {
        let bytes = |words: Words| {
            let mut out = Vec::new();
            words.put(&mut out);
            out
        };
        let addresses = vec!["192.0.2.3".parse().unwrap()];
        assert_eq!(bytes(Words::Ask { seconds: 20, addresses }), [1, 0, 20, 1, 4, 192, 0, 2, 3]);
        let source = "192.0.2.4:80".parse().unwrap();
        let elsewhere = bytes(Words::Elsewhere { socket: 2, nonce: [5; 8], source });
        assert_eq!(elsewhere, [6, 2, 5, 5, 5, 5, 5, 5, 5, 5, 4, 192, 0, 2, 4, 0, 80]);
        let seen = "192.0.2.1:80".parse().unwrap();
        let sockets = vec![MirrorSocket { address: None, port: 258 }];
        let here = bytes(Words::Here { token: [7; 16], seen, sockets });
        assert_eq!(here[..1], [2]);
        assert_eq!(here[17..], [4, 192, 0, 2, 1, 0, 80, 1, 0, 1, 2]);
        assert_eq!(bytes(Words::Not(Refusal::TooMany)), [3, 6]);
        assert_eq!(bytes(Words::Send { socket: 1, cookie: [5; 16] })[..3], [4, 1, 5]);
        assert_eq!(bytes(Words::Done), [5]);
    }

    #[test]
    fn nobody_is_told_more_addresses_than_may_be() {
        let mut bytes = Vec::new();
        let seen = IpAddr::from([192, 0, 2, 1]);
        Words::Ask { seconds: 1, addresses: vec![seen; NAMED + 1] }.put(&mut bytes);
        assert_eq!(Words::take(&mut &bytes[..]), Err(WordsError::Odd("number of addresses")));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), kind in 0u8..8) {
            for bytes in [&bytes[..], &[&[kind][..], &bytes].concat()] {
                if let Ok(words) = Words::take(&mut &*bytes) {
                    let mut again = Vec::new();
                    words.put(&mut again);
                    prop_assert_eq!(Words::take(&mut &again[..]), Ok(words));
                }
            }
        }
    }
}
