//! What a peer says of itself in INIT or INIT ACK, checked (RFC 9260 sections 3.3.2, 3.3.3 and
//! 5.1.2).

use core::net::IpAddr;

use polypath_wire::param::kind as param_kind;
use polypath_wire::{ErrorCause, InitFixed, Items, Parameter, Params, RawParam};

use super::addresses::{MAX_PEER_ADDRESSES, is_peer_address};
use super::extensions::Extensions;
use super::key_offer::{KeyFault, KeyOffer};
use crate::auth::{AuthOffer, RANDOM_LEN};
use crate::config::{AssocConfig, Edmid};
use crate::time::Duration;

/// The smallest receive window that an INIT may announce, bytes (RFC 9260 section 3.3.2).
pub(crate) const MIN_A_RWND: u32 = 1500;

/// A checked INIT or INIT ACK, or what a cookie kept of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeerInit {
    pub(crate) fixed: InitFixed,
    /// Usable addresses in the order announced, and the source of the packet.
    pub(crate) addresses: Vec<IpAddr>,
    /// What the peer says it can do.
    pub(crate) extensions: Extensions,
    /// What it says of authentication.
    pub(crate) auth: PeerAuth,
    /// What it says of protection.
    pub(crate) keys: Option<KeyOffer>,
    /// Increment of the cookie's life that the peer asks for (Cookie Preservative).
    pub(crate) preservative: Duration,
}

/// The AUTH parameters of an INIT or INIT ACK (RFC 4895 section 6.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum PeerAuth {
    /// Not all that it takes.
    #[default]
    None,
    /// A RANDOM of a forbidden length.
    BadRandom,
    /// All of them.
    Offer(AuthOffer),
}

/// The same, as they come.
#[derive(Default)]
struct AuthParams<'a> {
    random: Option<&'a [u8]>,
    chunks: Option<&'a [u8]>,
    hmacs: Option<Items<'a, u16, 2>>,
}

impl AuthParams<'_> {
    fn read(self) -> PeerAuth {
        let Some(random) = self.random else { return PeerAuth::None };
        let Ok(random) = <[u8; RANDOM_LEN]>::try_from(random) else { return PeerAuth::BadRandom };
        let hmacs = self.hmacs.map(|ids| ids.iter().collect()).unwrap_or_default();
        let offer = AuthOffer { random, chunks: self.chunks.map(<[u8]>::to_vec), hmacs };
        if offer.preferred_hmac().is_some() { PeerAuth::Offer(offer) } else { PeerAuth::None }
    }
}

/// Why an INIT or INIT ACK is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitFault<'a> {
    /// Initiate Tag 0: there is no tag to answer with.
    ZeroTag,
    /// No streams in one direction.
    NoStreams,
    /// a_rwnd below [`MIN_A_RWND`].
    SmallWindow,
    /// A Host Name Address parameter, quoted.
    HostName(&'a [u8]),
    /// A parameter's length or content is impossible.
    Malformed,
    /// RANDOM is not 32 bytes long.
    BadRandom,
    /// Chunks cannot be authenticated, as dynamic addresses or our configuration demand.
    NoAuthentication,
    /// Nothing that both ends would protect the association with.
    Keys(KeyFault),
}

impl<'a> InitFault<'a> {
    /// What the ABORT says.
    pub(crate) const fn cause(self) -> ErrorCause<'a> {
        match self {
            Self::ZeroTag | Self::NoStreams | Self::SmallWindow => ErrorCause::InvalidMandatory,
            Self::HostName(param) => ErrorCause::UnresolvableAddress(param),
            Self::Malformed => ErrorCause::ProtocolViolation(b"malformed parameter in INIT"),
            Self::BadRandom => ErrorCause::ProtocolViolation(b"RANDOM is not 32 bytes long"),
            Self::NoAuthentication => ErrorCause::ProtocolViolation(b"AUTH is needed"),
            Self::Keys(fault) => fault.cause(),
        }
    }
}

impl PeerInit {
    /// Checks the chunk that came from `source`.
    pub(crate) fn parse<'a>(
        fixed: InitFixed,
        params: Params<'a>,
        source: IpAddr,
    ) -> Result<Self, InitFault<'a>> {
        check_fixed(&fixed)?;
        let mut peer = Self {
            fixed,
            addresses: Vec::new(),
            extensions: Extensions::default(),
            auth: PeerAuth::None,
            keys: None,
            preservative: Duration::ZERO,
        };
        let mut auth = AuthParams::default();
        for raw in params {
            let raw = raw.map_err(|_| InitFault::Malformed)?;
            if !is_known(raw.kind) && RawParam::unknown_action(raw.kind).stops_processing() {
                break;
            }
            peer.take(&raw, source, &mut auth)?;
        }
        peer.auth = auth.read();
        // The parameters decide: without them there are no keys, whatever is listed.
        peer.extensions.authentication = matches!(peer.auth, PeerAuth::Offer(_));
        peer.add_address(source, source);
        Ok(peer)
    }

    /// What `config` has against this peer beyond RFC 9260.
    pub(crate) fn refusal(&self, config: &AssocConfig) -> Option<InitFault<'static>> {
        let own = Extensions::of(config);
        if config.protection.is_some() {
            // Addresses are safe then (draft-ietf-tsvwg-sctp-dtls-chunk section 3.2).
            return self.keys.is_none().then_some(InitFault::Keys(KeyFault::Missing));
        }
        if own.authentication && self.auth == PeerAuth::BadRandom {
            return Some(InitFault::BadRandom);
        }
        // RFC 5061 section 6: addresses that anybody may change are worse than none.
        // Who offers to protect its packets needs no AUTH for them; without us it will not come in.
        let unsafe_addresses =
            own.dynamic_addresses && self.extensions.dynamic_addresses && self.keys.is_none();
        let demanded = own.authentication && !config.auth.chunks.is_empty();
        let lacking = !self.extensions.authentication && (unsafe_addresses || demanded);
        lacking.then_some(InitFault::NoAuthentication)
    }

    fn take<'a>(
        &mut self,
        raw: &RawParam<'a>,
        source: IpAddr,
        auth: &mut AuthParams<'a>,
    ) -> Result<(), InitFault<'a>> {
        match raw.decode().map_err(|_| InitFault::Malformed)? {
            Parameter::Ipv4(address) => self.add_address(address.into(), source),
            Parameter::Ipv6(address) => self.add_address(address.into(), source),
            Parameter::CookiePreservative(ms) => {
                self.preservative = Duration::from_millis(ms.into());
            }
            Parameter::HostName(_) => return Err(InitFault::HostName(raw.bytes())),
            Parameter::SupportedExtensions(types) => {
                self.extensions.announce(types);
            }
            Parameter::Random(random) => auth.random = auth.random.or(Some(random)),
            Parameter::ChunkList(types) => auth.chunks = auth.chunks.or(Some(types)),
            Parameter::HmacAlgorithms(ids) => auth.hmacs = auth.hmacs.or(Some(ids)),
            Parameter::ZeroChecksum(method) => {
                self.extensions.zero_checksum = method == Edmid::Dtls.number();
            }
            Parameter::KeyManagement(_) if self.keys.is_none() => self.keys = KeyOffer::of(raw),
            Parameter::ForwardTsnSupported => self.extensions.partial_reliability = true,
            Parameter::Unknown(unknown) if unknown.kind == param_kind::DELAYED_ACK_CMT => {
                self.extensions.dac = true;
            }
            Parameter::Unknown(unknown) if unknown.kind == param_kind::SACK_THINNING => {
                self.extensions.sack_thinning = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn add_address(&mut self, address: IpAddr, source: IpAddr) {
        // One place is kept for the source, which the peer surely has.
        let kept = address != source && !self.addresses.contains(&source);
        let room = self.addresses.len() + usize::from(kept) < MAX_PEER_ADDRESSES;
        if room && is_peer_address(address, source) && !self.addresses.contains(&address) {
            self.addresses.push(address);
        }
    }
}

fn check_fixed(fixed: &InitFixed) -> Result<(), InitFault<'static>> {
    if fixed.initiate_tag == 0 {
        return Err(InitFault::ZeroTag);
    }
    if fixed.outbound_streams == 0 || fixed.inbound_streams == 0 {
        return Err(InitFault::NoStreams);
    }
    if fixed.a_rwnd < MIN_A_RWND {
        return Err(InitFault::SmallWindow);
    }
    Ok(())
}

/// The addresses that an INIT or INIT ACK lists, usable or not.
pub(crate) fn listed_addresses(params: Params<'_>) -> impl Iterator<Item = IpAddr> {
    params.into_iter().map_while(Result::ok).filter_map(|raw| match raw.decode() {
        Ok(Parameter::Ipv4(address)) => Some(address.into()),
        Ok(Parameter::Ipv6(address)) => Some(address.into()),
        _ => None,
    })
}

/// The State Cookie of an INIT ACK.
pub(crate) fn state_cookie(params: Params<'_>) -> Option<&[u8]> {
    let mut known = params.iter().map_while(Result::ok);
    known.find(|raw| raw.kind == param_kind::STATE_COOKIE).map(|raw| raw.value)
}

/// Parameters that the peer must be told we do not know (RFC 9260 section 3.2.1); without
/// `partial_reliability` its parameter is one of them (RFC 3758 section 3.3.2).
pub(crate) fn unrecognized(
    params: Params<'_>,
    partial_reliability: bool,
) -> impl Iterator<Item = RawParam<'_>> {
    let mut stopped = false;
    let until_stop = params.into_iter().map_while(Result::ok).map_while(move |raw| {
        let lacking = !partial_reliability && raw.kind == param_kind::FORWARD_TSN_SUPPORTED;
        let unknown = (lacking || !is_known(raw.kind)).then(|| RawParam::unknown_action(raw.kind));
        let go_on = !stopped;
        stopped |= unknown.is_some_and(|action| action.stops_processing());
        go_on.then_some((raw, unknown))
    });
    until_stop.filter(|(_, unknown)| unknown.is_some_and(|u| u.reports_item())).map(|(raw, _)| raw)
}

/// Whether we understand a parameter of INIT or INIT ACK. Those of extensions that are off are
/// passed over in silence as their top bits say, but for the one that [`unrecognized`] names.
const fn is_known(kind: u16) -> bool {
    matches!(
        kind,
        param_kind::IPV4
            | param_kind::IPV6
            | param_kind::STATE_COOKIE
            | param_kind::UNRECOGNIZED
            | param_kind::COOKIE_PRESERVATIVE
            | param_kind::HOST_NAME
            | param_kind::SUPPORTED_ADDRESS_TYPES
            | param_kind::PADDING
            | param_kind::RANDOM
            | param_kind::CHUNK_LIST
            | param_kind::HMAC_ALGORITHMS
            | param_kind::DTLS_KEY_MANAGEMENT
            | param_kind::SUPPORTED_EXTENSIONS
            | param_kind::FORWARD_TSN_SUPPORTED
            | param_kind::ZERO_CHECKSUM
            | param_kind::DELAYED_ACK_CMT
            | param_kind::SACK_THINNING
    )
}

#[cfg(test)]
mod tests {
    use core::net::{Ipv4Addr, Ipv6Addr};

    use polypath_wire::{ParamsBuf, Tsn};

    use super::*;

    const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

    fn fixed() -> InitFixed {
        InitFixed {
            initiate_tag: 1,
            a_rwnd: MIN_A_RWND,
            outbound_streams: 1,
            inbound_streams: 1,
            initial_tsn: Tsn(5),
        }
    }

    fn addresses(list: &[IpAddr], source: IpAddr) -> Vec<IpAddr> {
        let params: ParamsBuf = list
            .iter()
            .map(|a| match a {
                IpAddr::V4(a) => Parameter::Ipv4(*a),
                IpAddr::V6(a) => Parameter::Ipv6(*a),
            })
            .collect();
        PeerInit::parse(fixed(), params.as_params(), source).unwrap().addresses
    }

    #[test]
    fn only_addresses_of_one_host_count_and_the_source_always_does() {
        let nonsense = [
            "0.0.0.0",
            "0.1.2.3",
            "255.255.255.255",
            "224.0.0.1",
            "127.0.0.1",
            "::",
            "ff02::1",
            "::1",
            "::ffff:10.0.0.9",
        ];
        let mut list: Vec<IpAddr> = nonsense.iter().map(|a| a.parse().unwrap()).collect();
        list.push("10.0.0.2".parse().unwrap());
        list.push("10.0.0.2".parse().unwrap());
        assert_eq!(addresses(&list, SOURCE), ["10.0.0.2".parse().unwrap(), SOURCE]);
        let local = IpAddr::V6(Ipv6Addr::LOCALHOST);
        let over_loopback = addresses(&["127.0.0.1".parse().unwrap()], local);
        assert_eq!(over_loopback, ["127.0.0.1".parse().unwrap(), local]);
    }

    #[test]
    fn a_thousand_addresses_become_sixteen_with_the_source_among_them() {
        let many: Vec<IpAddr> = (0..1000u16)
            .map(|i| IpAddr::V4(Ipv4Addr::new(10, 1, (i >> 8) as u8, i as u8)))
            .collect();
        let kept = addresses(&many, SOURCE);
        assert_eq!(kept.len(), MAX_PEER_ADDRESSES);
        assert_eq!(kept.last(), Some(&SOURCE));
        assert_eq!(kept.first(), many.first());
        let mut listed = vec![SOURCE];
        listed.extend(&many);
        let kept = addresses(&listed, SOURCE);
        assert_eq!((kept.len(), kept.first()), (MAX_PEER_ADDRESSES, Some(&SOURCE)));
    }

    #[test]
    fn fixed_fields_are_checked_in_the_order_that_decides_the_answer() {
        let none = ParamsBuf::new();
        let parse = |f| PeerInit::parse(f, none.as_params(), SOURCE).map(|_| ());
        assert_eq!(parse(InitFixed { initiate_tag: 0, ..fixed() }), Err(InitFault::ZeroTag));
        assert_eq!(parse(InitFixed { outbound_streams: 0, ..fixed() }), Err(InitFault::NoStreams));
        assert_eq!(parse(InitFixed { inbound_streams: 0, ..fixed() }), Err(InitFault::NoStreams));
        assert_eq!(parse(InitFixed { a_rwnd: 1499, ..fixed() }), Err(InitFault::SmallWindow));
        assert_eq!(parse(fixed()), Ok(()));
    }

    #[test]
    fn a_host_name_is_refused_and_quoted() {
        let params: ParamsBuf = [Parameter::HostName(b"example")].into_iter().collect();
        let fault = PeerInit::parse(fixed(), params.as_params(), SOURCE).unwrap_err();
        assert!(matches!(fault, InitFault::HostName(p) if p.ends_with(b"example")));
    }

    #[test]
    fn reports_follow_the_top_bits_and_end_where_they_say_stop() {
        // 11: report, go on; 10: silent; 01: report, stop; the last is never reached.
        let params: ParamsBuf =
            [Parameter::AdaptationLayer(1), Parameter::EcnCapable, Parameter::SsnTsnReset(1)]
                .into_iter()
                .chain([Parameter::AdaptationLayer(1)])
                .collect();
        let kinds: Vec<u16> = unrecognized(params.as_params(), true).map(|p| p.kind).collect();
        assert_eq!(kinds, [param_kind::ADAPTATION_LAYER]);
    }
}
