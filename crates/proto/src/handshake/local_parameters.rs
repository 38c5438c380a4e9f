//! What we say of ourselves in INIT and INIT ACK.

use core::net::IpAddr;

use polypath_wire::param::kind as param_kind;
use polypath_wire::{
    EncodeChunk, InitAckRepr, InitFixed, InitRepr, Parameter, ParamsBuf, RawParam,
};

use super::addresses::{MAX_PEER_ADDRESSES, is_unicast};
use super::extensions::Extensions;
use super::key_offer::KeyOffer;
use super::peer_parameters::MIN_A_RWND;
use crate::auth::AuthOffer;
use crate::config::{AssocConfig, Edmid};
use crate::ids::Tsn;
use crate::time::Duration;

/// The content of our INIT or INIT ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer<'a> {
    pub(crate) fixed: InitFixed,
    /// Addresses to announce. A single one is left out: the packet's source tells it.
    pub(crate) addresses: &'a [IpAddr],
    pub(crate) extensions: Extensions,
    /// What goes with authentication.
    pub(crate) auth: Option<&'a AuthOffer>,
    /// What goes with protection.
    pub(crate) keys: Option<&'a KeyOffer>,
}

/// The fixed part that `config` asks for.
pub(crate) fn fixed_part(config: &AssocConfig, tag: u32, initial_tsn: Tsn) -> InitFixed {
    InitFixed {
        initiate_tag: tag,
        a_rwnd: config.receive_buffer.max(MIN_A_RWND),
        outbound_streams: config.outbound_streams.max(1),
        inbound_streams: config.inbound_streams.max(1),
        initial_tsn,
    }
}

impl Offer<'_> {
    /// The INIT, encoded; `preservative` asks for a longer life of the cookie.
    pub(crate) fn init(&self, preservative: Option<Duration>) -> Vec<u8> {
        let mut params = self.params();
        if let Some(more) = preservative {
            let ms = u32::try_from(more.as_millis()).unwrap_or(u32::MAX);
            params.push(&Parameter::CookiePreservative(ms));
        }
        self.encode(&InitRepr { fixed: self.fixed, params })
    }

    /// The INIT ACK with `cookie`, encoded. Further addresses, then reports of unrecognized
    /// parameters are left out once the chunk would become longer than `budget` bytes: an answer
    /// much longer than the question can be aimed at a third party (RFC 5062 section 9).
    pub(crate) fn init_ack<'p>(
        &self,
        cookie: &[u8],
        unrecognized: impl Iterator<Item = RawParam<'p>>,
        budget: usize,
    ) -> Vec<u8> {
        let mut params = ParamsBuf::new();
        params.push(&Parameter::StateCookie(cookie));
        let mut extensions = ParamsBuf::new();
        self.push_extensions(&mut extensions);
        let fixed = 24 + length(&params) + length(&extensions);
        self.push_addresses(&mut params, budget.saturating_sub(fixed));
        self.push_extensions(&mut params);
        let mut room = budget.saturating_sub(24 + length(&params));
        for raw in unrecognized {
            let len = 4 + raw.bytes().len().next_multiple_of(4);
            if len > room {
                break;
            }
            room -= len;
            params.push(&Parameter::Unrecognized(raw.bytes()));
        }
        self.encode(&InitAckRepr { fixed: self.fixed, params })
    }

    fn params(&self) -> ParamsBuf {
        let mut params = ParamsBuf::new();
        self.push_addresses(&mut params, usize::MAX);
        self.push_extensions(&mut params);
        params
    }

    /// As many of the addresses as `room` bytes hold, in their order.
    fn push_addresses(&self, params: &mut ParamsBuf, mut room: usize) {
        if self.addresses.len() <= 1 {
            return;
        }
        // No IPv4-mapped ones (RFC 9260 section 3.3.2.1.2), nor what is no host's.
        let usable = self.addresses.iter().filter(|address| is_unicast(**address));
        for address in usable.take(MAX_PEER_ADDRESSES) {
            let len = if address.is_ipv4() { 8 } else { 20 };
            let Some(left) = room.checked_sub(len) else { return };
            room = left;
            params.push(&address_parameter(address));
        }
    }

    fn push_extensions(&self, params: &mut ParamsBuf) {
        let chunks = self.extensions.chunk_types();
        if !chunks.is_empty() {
            params.push(&Parameter::SupportedExtensions(&chunks));
        }
        if self.extensions.partial_reliability {
            params.push(&Parameter::ForwardTsnSupported);
        }
        if self.extensions.zero_checksum {
            params.push(&Parameter::ZeroChecksum(Edmid::Dtls.number()));
        }
        if let Some(auth) = self.auth.filter(|_| self.extensions.authentication) {
            auth.push_to(params);
        }
        if let Some(keys) = self.keys {
            keys.push_to(params);
        }
    }

    fn encode(&self, chunk: &impl EncodeChunk) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(chunk.encoded_len() + 8);
        chunk.encode(&mut bytes);
        if self.extensions.dac {
            append_parameter(&mut bytes, param_kind::DELAYED_ACK_CMT);
        }
        if self.extensions.sack_thinning {
            append_parameter(&mut bytes, param_kind::SACK_THINNING);
        }
        bytes
    }
}

fn length(params: &ParamsBuf) -> usize {
    params.as_params().as_bytes().len().next_multiple_of(4)
}

/// An address as a parameter.
pub(crate) fn address_parameter(address: &IpAddr) -> Parameter<'static> {
    match *address {
        IpAddr::V4(v4) => Parameter::Ipv4(v4),
        IpAddr::V6(v6) => Parameter::Ipv6(v6),
    }
}

/// Appends a parameter without value to an encoded chunk and corrects the chunk's length.
fn append_parameter(chunk: &mut Vec<u8>, kind: u16) {
    chunk.resize(chunk.len().next_multiple_of(4), 0);
    let [k0, k1] = kind.to_be_bytes();
    chunk.extend_from_slice(&[k0, k1, 0, 4]);
    // A chunk too long for its length field is too long for any packet, too.
    let len = u16::try_from(chunk.len()).unwrap_or(u16::MAX);
    if let Some(field) = chunk.get_mut(2..4) {
        field.copy_from_slice(&len.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use polypath_wire::{ChecksumCheck, ChecksumMode, Chunk, PacketView, PacketWriter};

    use super::super::peer_parameters::{PeerInit, state_cookie, unrecognized};
    use super::*;

    fn offer(addresses: &[IpAddr], nr_sack: bool, dac: bool) -> Offer<'_> {
        let fixed = fixed_part(&AssocConfig::default(), 7, Tsn(9));
        let extensions = Extensions { nr_sack, dac, ..Extensions::NONE };
        Offer { fixed, addresses, extensions, auth: None, keys: None }
    }

    struct Raw<'a>(&'a [u8]);

    impl EncodeChunk for Raw<'_> {
        fn encoded_len(&self) -> usize {
            self.0.len()
        }

        fn encode(&self, out: &mut Vec<u8>) {
            out.extend_from_slice(self.0);
        }
    }

    fn in_packet(chunk: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        let mut writer = PacketWriter::new(&mut packet, 1500, 1, 2, 0);
        writer.push(&Raw(chunk)).unwrap();
        writer.finish(ChecksumMode::Crc32c);
        packet
    }

    #[test]
    fn what_we_say_is_what_the_peer_reads() {
        let source: IpAddr = "10.0.0.1".parse().unwrap();
        let addresses = [source, "10.0.1.1".parse().unwrap(), "fd00::1".parse().unwrap()];
        for (nr_sack, dac) in [(false, false), (true, false), (false, true), (true, true)] {
            let offer = offer(&addresses, nr_sack, dac);
            let packet = in_packet(&offer.init(Some(Duration::from_millis(1500))));
            let view = PacketView::parse(&packet, ChecksumCheck::Verify).unwrap();
            let Chunk::Init(init) = view.chunks().next().unwrap().unwrap().decode().unwrap() else {
                panic!("INIT expected")
            };
            let peer = PeerInit::parse(init.fixed, init.params, source).unwrap();
            assert_eq!(peer.fixed, offer.fixed);
            assert_eq!(peer.addresses, addresses);
            assert_eq!(peer.extensions, offer.extensions);
            assert_eq!(peer.preservative, Duration::from_millis(1500));
            assert_eq!(unrecognized(init.params, true).count(), 0);
        }
    }

    #[test]
    fn reports_stop_at_the_budget_and_the_cookie_never_does() {
        let asked: ParamsBuf = core::iter::repeat_n(Parameter::AdaptationLayer(1), 50).collect();
        let reports = |budget| {
            let own = offer(&[], false, true);
            let ack = own.init_ack(b"cookie", unrecognized(asked.as_params(), true), budget);
            let packet = in_packet(&ack);
            let view = PacketView::parse(&packet, ChecksumCheck::Verify).unwrap();
            let raw = view.chunks().next().unwrap().unwrap();
            let Chunk::InitAck(ack) = raw.decode().unwrap() else { panic!("INIT ACK expected") };
            assert_eq!(state_cookie(ack.params), Some(&b"cookie"[..]));
            let reported = |p: &RawParam<'_>| p.kind == 8;
            (raw.bytes().len(), ack.params.iter().map(Result::unwrap).filter(reported).count())
        };
        assert_eq!(reports(0).1, 0);
        let (len, count) = reports(100);
        assert!(count > 0 && count < 50 && len <= 100, "{count} reports in {len} bytes");
        assert_eq!(reports(1000).1, 50);
    }
}
