//! The UDP packets between a client and a mirror.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::words::{Cookie, Token};

/// Bytes of a probe.
pub(crate) const PROBE: usize = 64;
/// Bytes of an answer: fewer, so that nobody gets more from a mirror than he sends.
pub(crate) const ANSWER: usize = 48;
/// Bytes of a packet that was asked for.
pub(crate) const PUSHED: usize = 21;

/// What each kind of packet begins with.
const ASKS: [u8; 4] = *b"PPmP";
const ANSWERS: [u8; 4] = *b"PPmA";
const PUSHES: [u8; 4] = *b"PPmS";

/// The two bits of the ECN field (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Ecn {
    /// Not-ECT.
    None = 0b00,
    /// ECT(1).
    Ect1 = 0b01,
    /// ECT(0).
    Ect0 = 0b10,
    /// CE.
    Ce = 0b11,
}

impl Ecn {
    /// The lower two bits of a byte.
    pub(crate) const fn from_bits(byte: u8) -> Self {
        match byte & 0b11 {
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            0b11 => Self::Ce,
            _ => Self::None,
        }
    }
}

/// Asks a mirror what it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    /// Of the mirror.
    pub(crate) token: Token,
    /// Comes back in the answer.
    pub(crate) nonce: [u8; 8],
    /// The ECN field that the answer is to have.
    pub(crate) want: Ecn,
}

/// What a mirror saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Of the probe.
    pub(crate) nonce: [u8; 8],
    /// For [`Words::Send`](super::words::Words::Send).
    pub(crate) cookie: Cookie,
    /// The ECN field of the probe as it arrived.
    pub(crate) ecn: Ecn,
    /// Where the probe came from.
    pub(crate) from: SocketAddr,
}

/// A packet that the client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pushed {
    /// Of the address that it goes to.
    pub(crate) cookie: Cookie,
    /// The socket that it comes from.
    pub(crate) socket: u8,
}

impl Probe {
    /// As a packet.
    pub(crate) fn to_bytes(self) -> [u8; PROBE] {
        let mut out = [0; PROBE];
        out[..4].copy_from_slice(&ASKS);
        out[4..20].copy_from_slice(&self.token);
        out[20..28].copy_from_slice(&self.nonce);
        out[28] = self.want as u8;
        out
    }

    /// A packet as a probe; `None`: it is none, or not of this length.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; PROBE] = bytes.try_into().ok()?;
        let rest = bytes.strip_prefix(&ASKS)?;
        let (token, rest) = rest.split_first_chunk()?;
        let (nonce, rest) = rest.split_first_chunk()?;
        let want = Ecn::from_bits(*rest.first()?);
        Some(Self { token: *token, nonce: *nonce, want })
    }
}

impl Answer {
    /// As a packet.
    pub(crate) fn to_bytes(self) -> [u8; ANSWER] {
        let mut out = [0; ANSWER];
        out[..4].copy_from_slice(&ANSWERS);
        out[4..12].copy_from_slice(&self.nonce);
        out[12..28].copy_from_slice(&self.cookie);
        out[28] = self.ecn as u8;
        match self.from.ip() {
            IpAddr::V4(ip) => {
                out[29] = 4;
                out[30..34].copy_from_slice(&ip.octets());
            }
            IpAddr::V6(ip) => {
                out[29] = 6;
                out[30..46].copy_from_slice(&ip.octets());
            }
        }
        out[46..].copy_from_slice(&self.from.port().to_be_bytes());
        out
    }

    /// A packet as an answer; `None`: it is none.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; ANSWER] = bytes.try_into().ok()?;
        let rest = bytes.strip_prefix(&ANSWERS)?;
        let (nonce, rest) = rest.split_first_chunk()?;
        let (cookie, rest) = rest.split_first_chunk()?;
        let (&[ecn, family], rest) = rest.split_first_chunk()?;
        let (address, port) = rest.split_first_chunk::<16>()?;
        let ip = match family {
            4 => Ipv4Addr::from(*address.first_chunk::<4>()?).into(),
            6 => IpAddr::V6(Ipv6Addr::from(*address)).to_canonical(),
            _ => return None,
        };
        let from = SocketAddr::new(ip, u16::from_be_bytes(port.try_into().ok()?));
        Some(Self { nonce: *nonce, cookie: *cookie, ecn: Ecn::from_bits(ecn), from })
    }
}

impl Pushed {
    /// As a packet.
    pub(crate) fn to_bytes(self) -> [u8; PUSHED] {
        let mut out = [0; PUSHED];
        out[..4].copy_from_slice(&PUSHES);
        out[4..20].copy_from_slice(&self.cookie);
        out[20] = self.socket;
        out
    }

    /// A packet as one that was asked for; `None`: it is none.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; PUSHED] = bytes.try_into().ok()?;
        let (cookie, socket) = bytes.strip_prefix(&PUSHES)?.split_first_chunk()?;
        Some(Self { cookie: *cookie, socket: *socket.first()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn packets_survive_the_way() {
        for bits in 0..4 {
            let ecn = Ecn::from_bits(bits);
            assert_eq!(ecn as u8, bits);
            let probe = Probe { token: [1; 16], nonce: [2; 8], want: ecn };
            assert_eq!(Probe::from_bytes(&probe.to_bytes()), Some(probe));
            for from in ["198.51.100.7:1", "[2001:db8::7]:65535"] {
                let from = from.parse().unwrap();
                let answer = Answer { nonce: [3; 8], cookie: [4; 16], ecn, from };
                assert_eq!(Answer::from_bytes(&answer.to_bytes()), Some(answer));
            }
        }
        let pushed = Pushed { cookie: [5; 16], socket: 2 };
        assert_eq!(Pushed::from_bytes(&pushed.to_bytes()), Some(pushed));
    }

    #[test]
    fn nobody_gets_more_than_he_sends() {
        const { assert!(ANSWER <= PROBE && PUSHED <= PROBE) };
        let whole = Probe { token: [1; 16], nonce: [2; 8], want: Ecn::None }.to_bytes();
        for shorter in 0..PROBE {
            assert_eq!(Probe::from_bytes(&whole[..shorter]), None);
        }
        assert_eq!(Probe::from_bytes(&[&whole[..], &[0]].concat()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
            kind in 0usize..3,
        ) {
            let magic = [ASKS, ANSWERS, PUSHES][kind];
            let mut typed = [&magic[..], &bytes].concat();
            typed.truncate([PROBE, ANSWER, PUSHED][kind]);
            for bytes in [bytes, typed] {
                let _ = (Probe::from_bytes(&bytes), Pushed::from_bytes(&bytes));
                if let Some(answer) = Answer::from_bytes(&bytes) {
                    prop_assert_eq!(Answer::from_bytes(&answer.to_bytes()), Some(answer));
                }
            }
        }
    }
}
