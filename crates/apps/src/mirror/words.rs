//! What client and server say of a mirror over their association: the fields of one frame of
//! `forward`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bytes::{Buf as _, BufMut as _};

use crate::forward::refusal::Refusal;

/// Sockets of a mirror, at most: two ports at one address, and one at another address.
pub const DOORS: usize = 3;
/// A mirror lasts so long at most, seconds.
pub const LONGEST: u16 = 330;

/// A secret of one mirror, which its client's probes carry.
pub type Token = [u8; 16];
/// What a mirror gives to each address that it answers: who has it has received the answer.
pub type Cookie = [u8; 16];

/// Where a socket of a mirror is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Door {
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
    },
    /// Here it is.
    Here {
        /// For probes.
        token: Token,
        /// Where the server sees the association come from.
        seen: SocketAddr,
        /// Its sockets: one to [`DOORS`].
        doors: Vec<Door>,
    },
    /// There is none.
    Not(Refusal),
    /// Send one packet from a socket to the address that has been given this cookie.
    Send {
        /// Which socket, as [`Words::Here`] lists them.
        door: u8,
        /// Of the address.
        cookie: Cookie,
    },
    /// The client needs it no more.
    Done,
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
}

impl Words {
    /// Appends the bytes.
    pub fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ask { seconds } => {
                out.put_u8(kind::ASK);
                out.put_u16(*seconds);
            }
            Self::Here { token, seen, doors } => {
                out.put_u8(kind::HERE);
                out.put_slice(token);
                put_ip(out, Some(seen.ip()));
                out.put_u16(seen.port());
                out.put_u8(u8::try_from(doors.len()).unwrap_or(u8::MAX));
                for door in doors {
                    put_ip(out, door.address);
                    out.put_u16(door.port);
                }
            }
            Self::Not(why) => out.extend([kind::NOT, why.code()]),
            Self::Send { door, cookie } => {
                out.extend([kind::SEND, *door]);
                out.put_slice(cookie);
            }
            Self::Done => out.put_u8(kind::DONE),
        }
    }

    /// Takes a message off the front of `rest`.
    ///
    /// # Errors
    /// When there is none.
    pub fn take(rest: &mut &[u8]) -> Result<Self, WordsError> {
        Ok(match take_u8(rest)? {
            kind::ASK => Self::Ask { seconds: take_u16(rest)? },
            kind::HERE => {
                let token = take_array(rest)?;
                let ip = take_ip(rest)?.ok_or(WordsError::Odd("address"))?;
                let seen = SocketAddr::new(ip, take_u16(rest)?);
                let count = usize::from(take_u8(rest)?);
                if !(1..=DOORS).contains(&count) {
                    return Err(WordsError::Odd("number of sockets"));
                }
                let doors = (0..count).map(|_| take_door(rest)).collect::<Result<_, _>>()?;
                Self::Here { token, seen, doors }
            }
            kind::NOT => Self::Not(Refusal::from_code(take_u8(rest)?)),
            kind::SEND => Self::Send { door: take_u8(rest)?, cookie: take_array(rest)? },
            kind::DONE => Self::Done,
            _ => return Err(WordsError::Odd("kind of message")),
        })
    }
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

fn take_door(rest: &mut &[u8]) -> Result<Door, WordsError> {
    let address = take_ip(rest)?;
    match take_u16(rest)? {
        0 => Err(WordsError::Odd("port")),
        port => Ok(Door { address, port }),
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
        let seen = "198.51.100.7:5000".parse().unwrap();
        let here = Door { address: None, port: 1 };
        let there = Door { address: Some("2001:db8::1".parse().unwrap()), port: 65_535 };
        vec![
            Words::Ask { seconds: 20 },
            Words::Here { token: [7; 16], seen, doors: vec![here] },
            Words::Here { token: [8; 16], seen, doors: vec![here, here, there] },
            Words::Not(Refusal::NotPermitted),
            Words::Send { door: 2, cookie: [9; 16] },
            Words::Done,
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
        assert_eq!(bytes(Words::Ask { seconds: 20 }), [1, 0, 20]);
        let seen = "192.0.2.1:80".parse().unwrap();
        let doors = vec![Door { address: None, port: 258 }];
        let here = bytes(Words::Here { token: [7; 16], seen, doors });
        assert_eq!(here[..1], [2]);
        assert_eq!(here[17..], [4, 192, 0, 2, 1, 0, 80, 1, 0, 1, 2]);
        assert_eq!(bytes(Words::Not(Refusal::TooMany)), [3, 6]);
        assert_eq!(bytes(Words::Send { door: 1, cookie: [5; 16] })[..3], [4, 1, 5]);
        assert_eq!(bytes(Words::Done), [5]);
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
