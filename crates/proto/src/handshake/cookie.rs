//! The state cookie: everything we must know to set an association up, kept by the peer (RFC 9260
//! section 5.1.3).
//!
//! ```text
//! created u64 ns | life u32 ms | flags u8 | addresses u8 | [extensions u16]
//! | peer's tag u32 | peer's initial TSN u32 | our initial TSN u32
//! | peer's a_rwnd u32 | peer's outbound, inbound streams u16, u16 | [our, peer's tie-tag u32, u32]
//! | [our RANDOM, the peer's RANDOM, CHUNKS, HMAC-ALGO]
//! | [our, the peer's DTLS Key Management parameter, each behind its length u8] | [peer's UDP port u16]
//! | our address, peer's address that the INIT ACK went between | peer's addresses... | MAC
//! ```
//!
//! An address is its family's number, 4 or 6, and its bytes. The UDP port is left out where it is
//! the registered one, or there is none. The MAC also covers the ports and our tag, which come back
//! in the packet's own header: if they changed, the cookie is not ours (section 5.1.5, step 3).

use core::net::{IpAddr, SocketAddr};

use polypath_wire::{CommonHeader, InitFixed};

use super::addresses::MAX_PEER_ADDRESSES;
use super::cookie_keys::{CookieKeys, MAC_LEN};
use super::extensions::Extensions;
use super::key_offer::KeyOffer;
use super::peer_parameters::{PeerAuth, PeerInit};
use crate::auth::{AuthOffer, RANDOM_LEN};
use crate::config::EndpointConfig;
use crate::ids::Tsn;
use crate::time::{Duration, Time};

/// The content of a cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub(crate) created: Time,
    /// How long it is valid; whole milliseconds.
    pub(crate) life: Duration,
    pub(crate) session: Session,
    /// The nonces of the association that existed when the INIT came.
    pub(crate) tie_tags: Option<TieTags>,
    /// Our RANDOM, where both sides authenticate; the peer's parameters are with the rest that it
    /// said. No shared key is ever in a cookie (RFC 4895 section 6.3).
    pub(crate) random: Option<[u8; RANDOM_LEN]>,
    /// Our DTLS Key Management parameter, where both sides protect; the peer's is with the rest
    /// that it said.
    pub(crate) keys: Option<KeyOffer>,
    /// Where the INIT ACK went from and to.
    pub(crate) local: IpAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) peer: PeerInit,
}

/// Which ports and tags a cookie is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) local_port: u16,
    pub(crate) peer_port: u16,
    /// The Initiate Tag of our INIT ACK.
    pub(crate) local_tag: u32,
    pub(crate) local_tsn: Tsn,
}

/// Nonces that stand for an association's verification tags (RFC 5062 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TieTags {
    pub(crate) local: u32,
    pub(crate) peer: u32,
}

const NR_SACK: u8 = 1;
const DAC: u8 = 2;
const TIED: u8 = 4;
/// Extensions beyond these two follow as a number.
const EXTENDED: u8 = 8;
/// AUTH parameters follow.
const AUTHENTICATED: u8 = 16;
/// The peer has a UDP port.
const ENCAPSULATED: u8 = 32;
/// It is another than [`REGISTERED`], and follows.
const PORTED: u8 = 64;
/// DTLS Key Management parameters follow.
const PROTECTED: u8 = 128;

/// The UDP port of SCTP (RFC 6951 section 5.1).
const REGISTERED: u16 = 9899;

/// Instead of a length: there was no such parameter.
const ABSENT: u16 = u16::MAX;

/// A cookie is never longer, bytes: its INIT ACK must fit a packet that any path carries.
const MAX_LEN: usize = 1400;

/// The life of a cookie whose peer asks for more: at most twice as long, because long lives invite
/// replays.
pub(crate) fn longest_cookie_life(config: &EndpointConfig) -> Duration {
    config.cookie_life.saturating_mul(2)
}

impl Cookie {
    /// The cookie as it goes into the INIT ACK.
    pub(crate) fn seal(&self, keys: &mut CookieKeys) -> Vec<u8> {
        let mut out = self.encode();
        let mac = keys.sign(self.created, [&self.session.bound(), &out]);
        out.extend_from_slice(&mac);
        out
    }

    /// The content of `bytes`, which came in a packet with `header`; `None` if we never made that
    /// cookie for those ports and that tag.
    pub(crate) fn open(
        bytes: &[u8],
        header: &CommonHeader,
        now: Time,
        keys: &mut CookieKeys,
    ) -> Option<Self> {
        // Longer than any INIT ACK: not ours, and not worth its MAC.
        if bytes.len() > MAX_LEN {
            return None;
        }
        let (content, mac) = bytes.split_last_chunk::<MAC_LEN>()?;
        let mut session = Session {
            local_port: header.destination_port,
            peer_port: header.source_port,
            local_tag: header.verification_tag,
            local_tsn: Tsn(0),
        };
        if !keys.verify(now, [&session.bound(), content], mac) {
            return None;
        }
        Self::decode(content, &mut session)
    }

    /// How long ago the cookie ceased to be valid; `None` while it is.
    pub(crate) fn stale_for(&self, now: Time) -> Option<Duration> {
        let age = now.since(self.created);
        (age > self.life).then(|| age - self.life)
    }

    fn encode(&self) -> Vec<u8> {
        let fixed = &self.peer.fixed;
        let listed = self.listed_addresses();
        let mut out = Vec::with_capacity(80 + 17 * listed.len());
        out.extend_from_slice(&self.created.as_nanos().to_be_bytes());
        let life = u32::try_from(self.life.as_millis()).unwrap_or(u32::MAX);
        out.extend_from_slice(&life.to_be_bytes());
        out.push(self.flags());
        out.push(listed.len().min(MAX_PEER_ADDRESSES) as u8);
        if self.flags() & EXTENDED != 0 {
            out.extend_from_slice(&self.peer.extensions.bits().to_be_bytes());
        }
        let words =
            [fixed.initiate_tag, fixed.initial_tsn.0, self.session.local_tsn.0, fixed.a_rwnd];
        words.iter().for_each(|w| out.extend_from_slice(&w.to_be_bytes()));
        out.extend_from_slice(&fixed.outbound_streams.to_be_bytes());
        out.extend_from_slice(&fixed.inbound_streams.to_be_bytes());
        if let Some(tie) = self.tie_tags {
            out.extend_from_slice(&tie.local.to_be_bytes());
            out.extend_from_slice(&tie.peer.to_be_bytes());
        }
        if let Some((random, offer)) = self.auth() {
            out.extend_from_slice(random);
            push_offer(&mut out, offer);
        }
        if let Some(offers) = self.offers() {
            offers.iter().for_each(|offer| push_key_offer(&mut out, offer));
        }
        if self.flags() & PORTED != 0 {
            out.extend_from_slice(&self.remote.port().to_be_bytes());
        }
        let between = [self.local, self.remote.ip()];
        between.iter().chain(listed).for_each(|a| push_address(&mut out, *a));
        out
    }

    /// Both sides' AUTH parameters, if both authenticate.
    const fn auth(&self) -> Option<(&[u8; RANDOM_LEN], &AuthOffer)> {
        match (&self.random, &self.peer.auth) {
            (Some(random), PeerAuth::Offer(offer)) => Some((random, offer)),
            _ => None,
        }
    }

    /// Both sides' DTLS Key Management parameters, if both protect.
    const fn offers(&self) -> Option<[&KeyOffer; 2]> {
        match (&self.keys, &self.peer.keys) {
            (Some(ours), Some(peer)) => Some([ours, peer]),
            _ => None,
        }
    }

    /// The peer's addresses, unless there is but the one that the INIT ACK went to.
    fn listed_addresses(&self) -> &[IpAddr] {
        if self.peer.addresses == [self.remote.ip()] { &[] } else { &self.peer.addresses }
    }

    const fn flags(&self) -> u8 {
        let extensions = self.peer.extensions;
        let nr_sack = if extensions.nr_sack { NR_SACK } else { 0 };
        let dac = if extensions.dac { DAC } else { 0 };
        let tied = if self.tie_tags.is_some() { TIED } else { 0 };
        let simple = Extensions { nr_sack: true, dac: true, ..Extensions::NONE }.bits();
        let extended = if extensions.bits() & !simple == 0 { 0 } else { EXTENDED };
        let authenticated = if self.auth().is_some() { AUTHENTICATED } else { 0 };
        let port = match self.remote.port() {
            0 => 0,
            REGISTERED => ENCAPSULATED,
            _ => ENCAPSULATED | PORTED,
        };
        let protected = if self.offers().is_some() { PROTECTED } else { 0 };
        nr_sack | dac | tied | extended | authenticated | protected | port
    }

    fn decode(content: &[u8], session: &mut Session) -> Option<Self> {
        let mut reader = Reader(content);
        let created = Time(u64::from_be_bytes(reader.take()?));
        let life = Duration::from_millis(reader.u32()?.into());
        let [flags, count] = reader.take()?;
        let extensions = if flags & EXTENDED == 0 {
            Extensions { nr_sack: flags & NR_SACK != 0, dac: flags & DAC != 0, ..Extensions::NONE }
        } else {
            Extensions::from_bits(u16::from_be_bytes(reader.take()?))
        };
        let (initiate_tag, initial_tsn) = (reader.u32()?, Tsn(reader.u32()?));
        session.local_tsn = Tsn(reader.u32()?);
        let fixed = InitFixed {
            initiate_tag,
            a_rwnd: reader.u32()?,
            outbound_streams: u16::from_be_bytes(reader.take()?),
            inbound_streams: u16::from_be_bytes(reader.take()?),
            initial_tsn,
        };
        let tie_tags = if flags & TIED == 0 {
            None
        } else {
            Some(TieTags { local: reader.u32()?, peer: reader.u32()? })
        };
        let (mut random, mut auth) = (None, PeerAuth::None);
        if flags & AUTHENTICATED != 0 {
            random = Some(reader.take()?);
            auth = PeerAuth::Offer(reader.offer()?);
        }
        let (mut keys, mut peer_keys) = (None, None);
        if flags & PROTECTED != 0 {
            keys = Some(reader.key_offer()?);
            peer_keys = Some(reader.key_offer()?);
        }
        let port = match flags & (ENCAPSULATED | PORTED) {
            0 => 0,
            ENCAPSULATED => REGISTERED,
            _ => reader.u16()?,
        };
        let (local, remote) = (reader.address()?, SocketAddr::new(reader.address()?, port));
        let mut addresses = (0..count).map(|_| reader.address()).collect::<Option<Vec<_>>>()?;
        if addresses.is_empty() {
            addresses.push(remote.ip());
        }
        let (keys_of_peer, preservative) = (peer_keys, Duration::ZERO);
        let peer =
            PeerInit { fixed, addresses, extensions, auth, keys: keys_of_peer, preservative };
        Some(Self { created, life, session: *session, tie_tags, random, keys, local, remote, peer })
    }
}

impl Session {
    /// What the MAC covers although the cookie does not carry it.
    fn bound(&self) -> [u8; 8] {
        let ports = u32::from(self.local_port) << 16 | u32::from(self.peer_port);
        (u64::from(ports) << 32 | u64::from(self.local_tag)).to_be_bytes()
    }
}

fn push_offer(out: &mut Vec<u8>, offer: &AuthOffer) {
    let len = |len: usize| u16::try_from(len).unwrap_or(ABSENT).to_be_bytes();
    out.extend_from_slice(&offer.random);
    match &offer.chunks {
        Some(chunks) => {
            out.extend_from_slice(&len(chunks.len()));
            out.extend_from_slice(chunks);
        }
        None => out.extend_from_slice(&ABSENT.to_be_bytes()),
    }
    out.extend_from_slice(&len(offer.hmacs.len()));
    offer.hmacs.iter().for_each(|id| out.extend_from_slice(&id.to_be_bytes()));
}

fn push_key_offer(out: &mut Vec<u8>, offer: &KeyOffer) {
    // Of at most MAX_METHODS methods.
    out.push(offer.bytes().len() as u8);
    out.extend_from_slice(offer.bytes());
}

fn push_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => {
            out.push(4);
            out.extend_from_slice(&v4.octets());
        }
        IpAddr::V6(v6) => {
            out.push(6);
            out.extend_from_slice(&v6.octets());
        }
    }
}

/// Takes a cookie's content apart. Its MAC was right, but even so nothing here may panic.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn offer(&mut self) -> Option<AuthOffer> {
        let random = self.take()?;
        let chunks = match self.u16()? {
            ABSENT => None,
            len => {
                let (chunks, rest) = self.0.split_at_checked(len.into())?;
                self.0 = rest;
                Some(chunks.to_vec())
            }
        };
        let count = self.u16()?;
        let hmacs = (0..count).map(|_| self.u16()).collect::<Option<Vec<_>>>()?;
        Some(AuthOffer { random, chunks, hmacs })
    }

    fn key_offer(&mut self) -> Option<KeyOffer> {
        let [len] = self.take()?;
        let (bytes, rest) = self.0.split_at_checked(len.into())?;
        self.0 = rest;
        KeyOffer::from_bytes(bytes)
    }

    fn address(&mut self) -> Option<IpAddr> {
        match self.take::<1>()? {
            [4] => self.take::<4>().map(IpAddr::from),
            [6] => self.take::<16>().map(IpAddr::from),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rng::Rng;

    fn keys() -> CookieKeys {
        CookieKeys::new(Duration::from_secs(3600), Duration::from_secs(60), Rng::from_u64(3))
    }

    fn header(session: &Session) -> CommonHeader {
        CommonHeader {
            source_port: session.peer_port,
            destination_port: session.local_port,
            verification_tag: session.local_tag,
            checksum: 0,
        }
    }

    /// A parameter of one method.
    fn key_offer(method: u8) -> KeyOffer {
        KeyOffer::from_bytes(&[0x80, 6, 0, 10, 1, 2, 3, 4, 0xff, method]).unwrap()
    }

    prop_compose! {
        fn cookie()(
            created in 0..1u64 << 40, life in any::<u32>(), words in any::<[u32; 6]>(),
            halves in any::<[u16; 4]>(), tie in proptest::option::of(any::<[u32; 2]>()),
            extensions in 0..512u16,
            ends in any::<[IpAddr; 2]>(),
            port in prop_oneof![Just(0), Just(REGISTERED), any::<u16>()],
            listed in proptest::collection::vec(any::<IpAddr>(), 0..MAX_PEER_ADDRESSES),
            keys in proptest::option::of(any::<[u8; 2]>()),
            auth in proptest::option::of((
                any::<[[u8; 32]; 2]>(),
                proptest::option::of(proptest::collection::vec(any::<u8>(), 0..9)),
                proptest::collection::vec(any::<u16>(), 1..4),
            )),
        ) -> Cookie {
            let fixed = InitFixed {
                initiate_tag: words[0], a_rwnd: words[1], outbound_streams: halves[0],
                inbound_streams: halves[1], initial_tsn: Tsn(words[2]),
            };
            let random = auth.as_ref().map(|(randoms, ..)| randoms[0]);
            let auth = auth.map_or(PeerAuth::None, |([_, random], chunks, hmacs)| {
                PeerAuth::Offer(AuthOffer { random, chunks, hmacs })
            });
            let addresses = if listed.is_empty() { vec![ends[1]] } else { listed };
            Cookie {
                created: Time(created),
                life: Duration::from_millis(life.into()),
                session: Session {
                    local_port: halves[2], peer_port: halves[3], local_tag: words[3],
                    local_tsn: Tsn(words[4]),
                },
                tie_tags: tie.map(|[local, peer]| TieTags { local, peer }),
                random,
                keys: keys.map(|[one, _]| key_offer(one)),
                local: ends[0],
                remote: SocketAddr::new(ends[1], port),
                peer: PeerInit {
                    fixed, addresses, extensions: Extensions::from_bits(extensions), auth,
                    keys: keys.map(|[_, other]| key_offer(other)),
                    preservative: Duration::ZERO,
                },
            }
        }
    }

    proptest! {
        #[test]
        fn comes_back_as_it_went(cookie in cookie()) {
            let mut keys = keys();
            let bytes = cookie.seal(&mut keys);
            let opened = Cookie::open(&bytes, &header(&cookie.session), cookie.created, &mut keys);
            prop_assert_eq!(opened, Some(cookie));
        }

        #[test]
        fn no_flipped_bit_passes(
            cookie in cookie(),
            at in any::<prop::sample::Index>(),
            bit in 0..8,
        ) {
            let mut keys = keys();
            let mut bytes = cookie.seal(&mut keys);
            let at = at.index(bytes.len());
            bytes[at] ^= 1u8 << bit;
            let opened = Cookie::open(&bytes, &header(&cookie.session), cookie.created, &mut keys);
            prop_assert_eq!(opened, None);
        }

        #[test]
        fn it_is_bound_to_ports_and_tag(cookie in cookie(), which in 0..3) {
            let mut keys = keys();
            let bytes = cookie.seal(&mut keys);
            let mut header = header(&cookie.session);
            match which {
                0 => header.source_port ^= 1,
                1 => header.destination_port ^= 1,
                _ => header.verification_tag ^= 1,
            }
            prop_assert_eq!(Cookie::open(&bytes, &header, cookie.created, &mut keys), None);
        }

        #[test]
        fn hostile_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let session =
                Session { local_port: 1, peer_port: 2, local_tag: 3, local_tsn: Tsn(0) };
            prop_assert_eq!(Cookie::open(&bytes, &header(&session), Time::ZERO, &mut keys()), None);
            let _ = Cookie::decode(&bytes, &mut session.clone());
        }
    }

    #[test]
    fn is_stale_once_it_is_older_than_its_life() {
        let mut keys = keys();
        let _ = keys.sign(Time::ZERO, [b"", b""]);
        let fixed = InitFixed {
            initiate_tag: 1,
            a_rwnd: 1500,
            outbound_streams: 1,
            inbound_streams: 1,
            initial_tsn: Tsn(1),
        };
        let address = IpAddr::from([10, 0, 0, 1]);
        let cookie = Cookie {
            created: Time::from_secs(5),
            life: Duration::from_secs(60),
            session: Session { local_port: 1, peer_port: 2, local_tag: 3, local_tsn: Tsn(4) },
            tie_tags: None,
            random: None,
            keys: None,
            local: address,
            remote: SocketAddr::new(address, 0),
            peer: PeerInit {
                fixed,
                addresses: vec![address],
                extensions: Extensions::default(),
                auth: PeerAuth::None,
                keys: None,
                preservative: Duration::ZERO,
            },
        };
        assert_eq!(cookie.stale_for(Time::from_secs(65)), None);
        assert_eq!(cookie.stale_for(Time::from_millis(65_250)), Some(Duration::from_millis(250)));
        assert_eq!(cookie.stale_for(Time::ZERO), None);
    }
}
