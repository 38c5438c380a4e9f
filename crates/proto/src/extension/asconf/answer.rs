//! What we answer to the peer's ASCONF (RFC 5061 section 5.2).

use core::net::IpAddr;

use polypath_wire::param::{AsconfError, AsconfRequest};
use polypath_wire::{CausesBuf, ErrorCause, Parameter, Params, ParamsBuf, RawParam};

use crate::ids::FourTuple;

/// Answers that are kept, at most. A packet cannot hold more ASCONF chunks that make sense.
pub(crate) const MAX_ANSWERS: usize = 64;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No room for another address, or a request before this one failed.
    Shortage,
    LastAddress,
    SourceAddress,
    /// No host can have that address, or the association does not.
    Unresolvable,
    /// The request itself is broken.
    Malformed,
    /// We do not know such requests.
    Unknown,
}

impl Refusal {
    /// The cause, quoting the request.
    pub(crate) const fn cause<'a>(self, request: Params<'a>) -> ErrorCause<'a> {
        match self {
            Self::Shortage => ErrorCause::ResourceShortage(request),
            Self::LastAddress => ErrorCause::DeleteLastIp(request),
            Self::SourceAddress => ErrorCause::DeleteSourceIp(request),
            Self::Unresolvable => ErrorCause::UnresolvableAddress(request.as_bytes()),
            Self::Malformed => ErrorCause::InvalidMandatory,
            Self::Unknown => ErrorCause::UnrecognizedParameters(request),
        }
    }
}

/// What the ASCONF chunks of one packet came to.
#[derive(Debug, Default)]
pub(crate) struct Answering {
    /// Chunks seen.
    pub(crate) chunks: u32,
    /// Bytes answered.
    pub(crate) bytes: usize,
}

/// The address of a request; a wildcard stands for the packet's source (sections 4.2.1 and 4.2.4).
pub(crate) fn named_address(request: AsconfRequest, source: FourTuple) -> IpAddr {
    let wildcard = request.address.is_unspecified();
    if wildcard { source.remote.ip() } else { request.address }
}

/// The correlation id: it comes first in every request, also in those that we do not know.
pub(crate) fn correlation_id(raw: &RawParam<'_>) -> u32 {
    raw.value.first_chunk().map_or(0, |id| u32::from_be_bytes(*id))
}

pub(crate) fn push_error(
    params: &mut ParamsBuf,
    correlation: u32,
    refusal: Refusal,
    raw: &RawParam<'_>,
) {
    let quoted: ParamsBuf = [Parameter::Unknown(*raw)].into_iter().collect();
    let causes: CausesBuf = [refusal.cause(quoted.as_params())].into_iter().collect();
    let error = AsconfError { correlation, causes: causes.as_causes() };
    params.push(&Parameter::ErrorCauseIndication(error));
}
