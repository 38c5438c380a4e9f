//! Parameters: what INIT, INIT ACK, HEARTBEAT, ASCONF, ASCONF-ACK and RE-CONFIG are made of.

mod address;
mod asconf;
mod key_management;
pub mod kind;
mod list;
mod reconfig;

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::reader::Reader;
use crate::tlv::put_u32;
use crate::{Item, Items, WireError};

pub(crate) use address::{address_len, push_address, read_address};
pub use asconf::{AsconfError, AsconfRequest};
pub use key_management::KeyManagementOffer;
pub use list::{ParamIter, Params, ParamsBuf, RawParam};
pub use reconfig::{
    AddStreams, IncomingReset, OutgoingReset, ReconfigResponse, ReconfigResult, TsnPair,
};

/// A checked parameter.
///
/// In byte-string variants the slice is the value without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// Heartbeat Info: opaque to all but its sender.
    HeartbeatInfo(&'a [u8]),
    /// An address of the sender.
    Ipv4(Ipv4Addr),
    /// An address of the sender.
    Ipv6(Ipv6Addr),
    /// State Cookie: opaque to all but its sender.
    StateCookie(&'a [u8]),
    /// A parameter, with its header, that the sender did not know.
    Unrecognized(&'a [u8]),
    /// Cookie Preservative: wanted increment of the cookie's life in ms.
    CookiePreservative(u32),
    /// Host Name Address: a sender must not use it any more, a receiver answers with ABORT.
    HostName(&'a [u8]),
    /// The types of the address parameters that the sender can handle ([`kind::IPV4`],
    /// [`kind::IPV6`]).
    SupportedAddressTypes(Items<'a, u16, 2>),
    /// Outgoing SSN Reset Request.
    OutgoingReset(OutgoingReset<'a>),
    /// Incoming SSN Reset Request.
    IncomingReset(IncomingReset<'a>),
    /// SSN/TSN Reset Request: its request sequence number.
    SsnTsnReset(u32),
    /// Re-configuration Response.
    ReconfigResponse(ReconfigResponse),
    /// Add Outgoing Streams Request.
    AddOutgoingStreams(AddStreams),
    /// Add Incoming Streams Request.
    AddIncomingStreams(AddStreams),
    /// ECN Capable, a reserved type.
    EcnCapable,
    /// Zero Checksum Acceptable: the error detection method identifier.
    ZeroChecksum(u32),
    /// Random number of the AUTH extension.
    Random(&'a [u8]),
    /// Chunk types that the sender wants to be authenticated.
    ChunkList(&'a [u8]),
    /// HMAC identifiers, most preferred first.
    HmacAlgorithms(Items<'a, u16, 2>),
    /// DTLS Key Management.
    KeyManagement(KeyManagementOffer<'a>),
    /// Padding of an INIT: content without meaning.
    Padding(&'a [u8]),
    /// Chunk types of the extensions that the sender supports.
    SupportedExtensions(&'a [u8]),
    /// Partial reliability is supported.
    ForwardTsnSupported,
    /// Add this address.
    AddIp(AsconfRequest),
    /// Delete this address.
    DeleteIp(AsconfRequest),
    /// Why an ASCONF request failed.
    ErrorCauseIndication(AsconfError<'a>),
    /// Send to this address by preference.
    SetPrimary(AsconfRequest),
    /// An ASCONF request was performed: its correlation id.
    SuccessIndication(u32),
    /// Adaptation Layer Indication: the code point.
    AdaptationLayer(u32),
    /// Some other type.
    Unknown(RawParam<'a>),
}

impl<'a> RawParam<'a> {
    /// Checks the value.
    ///
    /// # Errors
    /// When the value is not one of its type; a type that this crate does not know is no error.
    pub fn decode(&self) -> Result<Parameter<'a>, WireError> {
        Parameter::from_raw(*self)
    }
}

impl ParamsBuf {
    /// Appends a parameter.
    pub fn push(&mut self, param: &Parameter<'_>) {
        self.push_tlv(param.kind(), |out| param.encode_value(out));
    }
}

impl<'p> FromIterator<Parameter<'p>> for ParamsBuf {
    fn from_iter<I: IntoIterator<Item = Parameter<'p>>>(params: I) -> Self {
        let mut list = Self::new();
        list.extend(params);
        list
    }
}

impl<'p> Extend<Parameter<'p>> for ParamsBuf {
    fn extend<I: IntoIterator<Item = Parameter<'p>>>(&mut self, params: I) {
        params.into_iter().for_each(|param| self.push(&param));
    }
}

impl<'a> Parameter<'a> {
    fn from_raw(raw: RawParam<'a>) -> Result<Self, WireError> {
        let mut reader = Reader::new(raw.value, raw.offset + 4, Item::Parameter(raw.kind));
        let parameter = match raw.kind {
            kind::HEARTBEAT_INFO => return Ok(Self::HeartbeatInfo(raw.value)),
            kind::STATE_COOKIE => return Ok(Self::StateCookie(raw.value)),
            kind::UNRECOGNIZED => return Ok(Self::Unrecognized(raw.value)),
            kind::HOST_NAME => return Ok(Self::HostName(raw.value)),
            kind::RANDOM => return Ok(Self::Random(raw.value)),
            kind::CHUNK_LIST => return Ok(Self::ChunkList(raw.value)),
            kind::PADDING => return Ok(Self::Padding(raw.value)),
            kind::SUPPORTED_EXTENSIONS => return Ok(Self::SupportedExtensions(raw.value)),
            kind::ERROR_CAUSE_INDICATION => {
                return AsconfError::read_value(reader).map(Self::ErrorCauseIndication);
            }
            kind::DTLS_KEY_MANAGEMENT => {
                return KeyManagementOffer::read_value(reader).map(Self::KeyManagement);
            }
            kind::ADD_IP => return AsconfRequest::read_value(reader).map(Self::AddIp),
            kind::DELETE_IP => return AsconfRequest::read_value(reader).map(Self::DeleteIp),
            kind::SET_PRIMARY => return AsconfRequest::read_value(reader).map(Self::SetPrimary),
            kind::IPV4 => Self::Ipv4(reader.read_ipv4()?),
            kind::IPV6 => Self::Ipv6(reader.read_ipv6()?),
            kind::COOKIE_PRESERVATIVE => Self::CookiePreservative(reader.read_u32()?),
            kind::SUPPORTED_ADDRESS_TYPES => {
                Self::SupportedAddressTypes(reader.all_items("address types")?)
            }
            kind::OUTGOING_SSN_RESET => {
                Self::OutgoingReset(OutgoingReset::read_value(&mut reader)?)
            }
            kind::INCOMING_SSN_RESET => {
                Self::IncomingReset(IncomingReset::read_value(&mut reader)?)
            }
            kind::SSN_TSN_RESET => Self::SsnTsnReset(reader.read_u32()?),
            kind::RECONFIG_RESPONSE => {
                Self::ReconfigResponse(ReconfigResponse::read_value(&mut reader)?)
            }
            kind::ADD_OUTGOING_STREAMS => {
                Self::AddOutgoingStreams(AddStreams::read_value(&mut reader)?)
            }
            kind::ADD_INCOMING_STREAMS => {
                Self::AddIncomingStreams(AddStreams::read_value(&mut reader)?)
            }
            kind::ECN_CAPABLE => Self::EcnCapable,
            kind::ZERO_CHECKSUM => Self::ZeroChecksum(reader.read_u32()?),
            kind::HMAC_ALGORITHMS => Self::HmacAlgorithms(reader.all_items("HMAC identifiers")?),
            kind::FORWARD_TSN_SUPPORTED => Self::ForwardTsnSupported,
            kind::SUCCESS_INDICATION => Self::SuccessIndication(reader.read_u32()?),
            kind::ADAPTATION_LAYER => Self::AdaptationLayer(reader.read_u32()?),
            _ => return Ok(Self::Unknown(raw)),
        };
        reader.expect_end()?;
        Ok(parameter)
    }

    /// Its type.
    #[must_use]
    pub const fn kind(&self) -> u16 {
        match self {
            Self::HeartbeatInfo(_) => kind::HEARTBEAT_INFO,
            Self::Ipv4(_) => kind::IPV4,
            Self::Ipv6(_) => kind::IPV6,
            Self::StateCookie(_) => kind::STATE_COOKIE,
            Self::Unrecognized(_) => kind::UNRECOGNIZED,
            Self::CookiePreservative(_) => kind::COOKIE_PRESERVATIVE,
            Self::HostName(_) => kind::HOST_NAME,
            Self::SupportedAddressTypes(_) => kind::SUPPORTED_ADDRESS_TYPES,
            Self::OutgoingReset(_) => kind::OUTGOING_SSN_RESET,
            Self::IncomingReset(_) => kind::INCOMING_SSN_RESET,
            Self::SsnTsnReset(_) => kind::SSN_TSN_RESET,
            Self::ReconfigResponse(_) => kind::RECONFIG_RESPONSE,
            Self::AddOutgoingStreams(_) => kind::ADD_OUTGOING_STREAMS,
            Self::AddIncomingStreams(_) => kind::ADD_INCOMING_STREAMS,
            Self::EcnCapable => kind::ECN_CAPABLE,
            Self::ZeroChecksum(_) => kind::ZERO_CHECKSUM,
            Self::Random(_) => kind::RANDOM,
            Self::ChunkList(_) => kind::CHUNK_LIST,
            Self::HmacAlgorithms(_) => kind::HMAC_ALGORITHMS,
            Self::KeyManagement(_) => kind::DTLS_KEY_MANAGEMENT,
            Self::Padding(_) => kind::PADDING,
            Self::SupportedExtensions(_) => kind::SUPPORTED_EXTENSIONS,
            Self::ForwardTsnSupported => kind::FORWARD_TSN_SUPPORTED,
            Self::AddIp(_) => kind::ADD_IP,
            Self::DeleteIp(_) => kind::DELETE_IP,
            Self::ErrorCauseIndication(_) => kind::ERROR_CAUSE_INDICATION,
            Self::SetPrimary(_) => kind::SET_PRIMARY,
            Self::SuccessIndication(_) => kind::SUCCESS_INDICATION,
            Self::AdaptationLayer(_) => kind::ADAPTATION_LAYER,
            Self::Unknown(raw) => raw.kind,
        }
    }

    fn encode_value(&self, out: &mut Vec<u8>) {
        match self {
            Self::HeartbeatInfo(bytes)
            | Self::StateCookie(bytes)
            | Self::Unrecognized(bytes)
            | Self::HostName(bytes)
            | Self::Random(bytes)
            | Self::ChunkList(bytes)
            | Self::Padding(bytes)
            | Self::SupportedExtensions(bytes) => out.extend_from_slice(bytes),
            Self::Ipv4(address) => out.extend_from_slice(&address.octets()),
            Self::Ipv6(address) => out.extend_from_slice(&address.octets()),
            Self::SupportedAddressTypes(words) | Self::HmacAlgorithms(words) => {
                out.extend_from_slice(words.as_bytes());
            }
            Self::CookiePreservative(word)
            | Self::SsnTsnReset(word)
            | Self::ZeroChecksum(word)
            | Self::SuccessIndication(word)
            | Self::AdaptationLayer(word) => put_u32(out, *word),
            Self::OutgoingReset(request) => request.write_value(out),
            Self::IncomingReset(request) => request.write_value(out),
            Self::ReconfigResponse(response) => response.write_value(out),
            Self::AddOutgoingStreams(request) | Self::AddIncomingStreams(request) => {
                request.write_value(out);
            }
            Self::EcnCapable | Self::ForwardTsnSupported => {}
            Self::AddIp(request) | Self::DeleteIp(request) | Self::SetPrimary(request) => {
                request.write_value(out);
            }
            Self::ErrorCauseIndication(error) => error.write_value(out),
            Self::KeyManagement(offer) => offer.write_value(out),
            Self::Unknown(raw) => out.extend_from_slice(raw.value),
        }
    }
}
