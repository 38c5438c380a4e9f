//! Error causes: what ERROR, ABORT and the Error Cause Indication of ASCONF-ACK are made of.
//!
//! ```text
//! +-------------------------------+-------------------------------+
//! |          cause code           |         cause length          |
//! +-------------------------------+-------------------------------+
//! |              cause-specific information, padding              |
//! +---------------------------------------------------------------+
//! ```

pub mod code;
mod list;

use crate::reader::Reader;
use crate::tlv::{put_u16, put_u32};
use crate::{Item, Items, Params, StreamId, Tsn, WireError};

pub use list::{CauseIter, Causes, CausesBuf, RawCause};

/// A checked error cause.
///
/// Byte strings are what the cause quotes or says, without padding. What a cause of RFC 5061 quotes
/// is the parameter of the ASCONF that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCause<'a> {
    /// DATA for a stream that does not exist.
    InvalidStream(StreamId),
    /// The types of the parameters that should have been there.
    MissingMandatory(Items<'a, u16, 2>),
    /// The cookie had expired: for how long, in microseconds (0: not told).
    StaleCookie(u32),
    /// The sender is out of resources.
    OutOfResource,
    /// An address parameter that cannot be resolved, quoted.
    UnresolvableAddress(&'a [u8]),
    /// A chunk that the sender does not know, quoted.
    UnrecognizedChunk(&'a [u8]),
    /// A mandatory parameter has an invalid value.
    InvalidMandatory,
    /// Parameters that the sender does not know, quoted.
    UnrecognizedParameters(Params<'a>),
    /// A DATA chunk without data: its TSN.
    NoUserData(Tsn),
    /// A COOKIE ECHO came while the association shut down.
    CookieWhileShuttingDown,
    /// The addresses that a restart tried to add, as address parameters.
    RestartWithNewAddresses(Params<'a>),
    /// The application ended the association: its reason.
    UserInitiatedAbort(&'a [u8]),
    /// Any other violation: additional information.
    ProtocolViolation(&'a [u8]),
    /// The last address cannot be deleted.
    DeleteLastIp(Params<'a>),
    /// No resources for what ASCONF asked.
    ResourceShortage(Params<'a>),
    /// The packet's source address cannot be deleted.
    DeleteSourceIp(Params<'a>),
    /// An ASCONF-ACK that nothing asked for.
    IllegalAsconfAck,
    /// ASCONF asked for what it may not.
    NoAuthorization(Params<'a>),
    /// An AUTH chunk with an HMAC identifier that was not offered: the identifier.
    UnsupportedHmac(u16),
    /// No DTLS Key Management parameter, and we demand one.
    MissingDtlsChunk,
    /// No key management method that both ends know.
    NoCommonKeyManagement,
    /// Both ends have the same tie breaker.
    TieBreakerCollision,
    /// Both ends want to be client only, or server only, of the key exchange.
    IncompatibleRoles,
    /// Some other code.
    Unknown(RawCause<'a>),
}

impl<'a> RawCause<'a> {
    /// Checks the value.
    ///
    /// # Errors
    /// When the value is not one of its code; a code that this crate does not know is no error.
    pub fn decode(&self) -> Result<ErrorCause<'a>, WireError> {
        ErrorCause::from_raw(*self)
    }
}

impl CausesBuf {
    /// Appends a cause.
    pub fn push(&mut self, cause: &ErrorCause<'_>) {
        self.push_tlv(cause.code(), |out| cause.encode_value(out));
    }
}

impl<'c> FromIterator<ErrorCause<'c>> for CausesBuf {
    fn from_iter<I: IntoIterator<Item = ErrorCause<'c>>>(causes: I) -> Self {
        let mut list = Self::new();
        list.extend(causes);
        list
    }
}

impl<'c> Extend<ErrorCause<'c>> for CausesBuf {
    fn extend<I: IntoIterator<Item = ErrorCause<'c>>>(&mut self, causes: I) {
        causes.into_iter().for_each(|cause| self.push(&cause));
    }
}

impl<'a> ErrorCause<'a> {
    fn from_raw(raw: RawCause<'a>) -> Result<Self, WireError> {
        let mut reader = Reader::new(raw.value, raw.offset + 4, Item::Cause(raw.code));
        let params = Params::new(raw.value, raw.offset + 4);
        let cause = match raw.code {
            code::UNRESOLVABLE_ADDRESS => return Ok(Self::UnresolvableAddress(raw.value)),
            code::UNRECOGNIZED_CHUNK => return Ok(Self::UnrecognizedChunk(raw.value)),
            code::UNRECOGNIZED_PARAMETERS => return Ok(Self::UnrecognizedParameters(params)),
            code::RESTART_WITH_NEW_ADDRESSES => return Ok(Self::RestartWithNewAddresses(params)),
            code::USER_INITIATED_ABORT => return Ok(Self::UserInitiatedAbort(raw.value)),
            code::PROTOCOL_VIOLATION => return Ok(Self::ProtocolViolation(raw.value)),
            code::DELETE_LAST_IP => return Ok(Self::DeleteLastIp(params)),
            code::RESOURCE_SHORTAGE => return Ok(Self::ResourceShortage(params)),
            code::DELETE_SOURCE_IP => return Ok(Self::DeleteSourceIp(params)),
            code::NO_AUTHORIZATION => return Ok(Self::NoAuthorization(params)),
            code::INVALID_STREAM => {
                let (stream, _reserved) = (reader.read_u16()?, reader.read_u16()?);
                Self::InvalidStream(StreamId(stream))
            }
            code::MISSING_MANDATORY => Self::MissingMandatory(missing_types(&mut reader)?),
            code::STALE_COOKIE => Self::StaleCookie(reader.read_u32()?),
            code::OUT_OF_RESOURCE => Self::OutOfResource,
            code::INVALID_MANDATORY => Self::InvalidMandatory,
            code::NO_USER_DATA => Self::NoUserData(Tsn(reader.read_u32()?)),
            code::COOKIE_WHILE_SHUTTING_DOWN => Self::CookieWhileShuttingDown,
            code::ILLEGAL_ASCONF_ACK => Self::IllegalAsconfAck,
            code::UNSUPPORTED_HMAC => Self::UnsupportedHmac(reader.read_u16()?),
            code::MISSING_DTLS_CHUNK => Self::MissingDtlsChunk,
            code::NO_COMMON_KEY_MANAGEMENT => Self::NoCommonKeyManagement,
            code::TIE_BREAKER_COLLISION => Self::TieBreakerCollision,
            code::INCOMPATIBLE_ROLES => Self::IncompatibleRoles,
            _ => return Ok(Self::Unknown(raw)),
        };
        reader.expect_end()?;
        Ok(cause)
    }

    /// Its code.
    #[must_use]
    pub const fn code(&self) -> u16 {
        match self {
            Self::InvalidStream(_) => code::INVALID_STREAM,
            Self::MissingMandatory(_) => code::MISSING_MANDATORY,
            Self::StaleCookie(_) => code::STALE_COOKIE,
            Self::OutOfResource => code::OUT_OF_RESOURCE,
            Self::UnresolvableAddress(_) => code::UNRESOLVABLE_ADDRESS,
            Self::UnrecognizedChunk(_) => code::UNRECOGNIZED_CHUNK,
            Self::InvalidMandatory => code::INVALID_MANDATORY,
            Self::UnrecognizedParameters(_) => code::UNRECOGNIZED_PARAMETERS,
            Self::NoUserData(_) => code::NO_USER_DATA,
            Self::CookieWhileShuttingDown => code::COOKIE_WHILE_SHUTTING_DOWN,
            Self::RestartWithNewAddresses(_) => code::RESTART_WITH_NEW_ADDRESSES,
            Self::UserInitiatedAbort(_) => code::USER_INITIATED_ABORT,
            Self::ProtocolViolation(_) => code::PROTOCOL_VIOLATION,
            Self::DeleteLastIp(_) => code::DELETE_LAST_IP,
            Self::ResourceShortage(_) => code::RESOURCE_SHORTAGE,
            Self::DeleteSourceIp(_) => code::DELETE_SOURCE_IP,
            Self::IllegalAsconfAck => code::ILLEGAL_ASCONF_ACK,
            Self::NoAuthorization(_) => code::NO_AUTHORIZATION,
            Self::UnsupportedHmac(_) => code::UNSUPPORTED_HMAC,
            Self::MissingDtlsChunk => code::MISSING_DTLS_CHUNK,
            Self::NoCommonKeyManagement => code::NO_COMMON_KEY_MANAGEMENT,
            Self::TieBreakerCollision => code::TIE_BREAKER_COLLISION,
            Self::IncompatibleRoles => code::INCOMPATIBLE_ROLES,
            Self::Unknown(raw) => raw.code,
        }
    }

    fn encode_value(&self, out: &mut Vec<u8>) {
        match self {
            Self::InvalidStream(stream) => {
                put_u16(out, stream.0);
                put_u16(out, 0);
            }
            Self::MissingMandatory(types) => {
                put_u32(out, u32::try_from(types.len()).unwrap_or(u32::MAX));
                out.extend_from_slice(types.as_bytes());
            }
            Self::StaleCookie(word) | Self::NoUserData(Tsn(word)) => put_u32(out, *word),
            Self::UnresolvableAddress(bytes)
            | Self::UnrecognizedChunk(bytes)
            | Self::UserInitiatedAbort(bytes)
            | Self::ProtocolViolation(bytes) => out.extend_from_slice(bytes),
            Self::UnrecognizedParameters(params)
            | Self::RestartWithNewAddresses(params)
            | Self::DeleteLastIp(params)
            | Self::ResourceShortage(params)
            | Self::DeleteSourceIp(params)
            | Self::NoAuthorization(params) => out.extend_from_slice(params.as_bytes()),
            Self::OutOfResource
            | Self::InvalidMandatory
            | Self::CookieWhileShuttingDown
            | Self::IllegalAsconfAck
            | Self::MissingDtlsChunk
            | Self::NoCommonKeyManagement
            | Self::TieBreakerCollision
            | Self::IncompatibleRoles => {}
            Self::UnsupportedHmac(id) => put_u16(out, *id),
            Self::Unknown(raw) => out.extend_from_slice(raw.value),
        }
    }
}

fn missing_types<'a>(reader: &mut Reader<'a>) -> Result<Items<'a, u16, 2>, WireError> {
    let count = usize::try_from(reader.read_u32()?).unwrap_or(usize::MAX);
    reader.expect_left("missing parameter types", count.saturating_mul(2))?;
    reader.read_items(count)
}
