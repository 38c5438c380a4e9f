//! What we ask the peer to do with our addresses (RFC 5061 section 4.2), and what it answers.

use core::net::IpAddr;

use polypath_wire::{AsconfAckChunk, Parameter};

use crate::ids::PathId;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wanted {
    Add,
    Primary,
    Delete,
}

/// A request about one address of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) wanted: Wanted,
    pub(crate) ip: IpAddr,
    pub(crate) correlation: u32,
}

/// An ASCONF that waits for its answer.
#[derive(Debug)]
pub(crate) struct Outstanding {
    pub(crate) serial: u32,
    pub(crate) requests: Vec<Request>,
    /// As it went out, to go out again unchanged (section 5.1, B4).
    pub(crate) chunk: Vec<u8>,
    pub(crate) path: PathId,
}

/// Chunk header, serial number, address parameter.
pub(crate) const ASCONF_HEADER: usize = 8 + 20;
/// The longest request: headers and an IPv6 address.
pub(crate) const REQUEST: usize = 8 + 20;

/// What became of the requests (section 5.1, A6 to A8): without a word all that came before the first failure succeeded, and
/// what came behind it failed. The second is told with cause 0.
pub(crate) fn results(requests: &[Request], ack: &AsconfAckChunk<'_>) -> Vec<Result<(), u16>> {
    let mut told: Vec<(u32, Result<(), u16>)> = Vec::new();
    for raw in ack.params.iter().map_while(Result::ok) {
        match raw.decode() {
            Ok(Parameter::SuccessIndication(correlation)) => told.push((correlation, Ok(()))),
            Ok(Parameter::ErrorCauseIndication(error)) => {
                let cause = error.causes.iter().map_while(Result::ok).next();
                told.push((error.correlation, Err(cause.map_or(0, |c| c.code))));
            }
            _ => {}
        }
    }
    let mut failed = false;
    let mut result = |request: &Request| {
        let answer = told.iter().find(|(correlation, _)| *correlation == request.correlation);
        let silent = if failed { Err(0) } else { Ok(()) };
        let result = answer.map_or(silent, |(_, result)| *result);
        failed |= result.is_err();
        result
    };
    requests.iter().map(&mut result).collect()
}

#[cfg(test)]
mod tests {
    use polypath_wire::param::AsconfError;
    use polypath_wire::{CausesBuf, ErrorCause, Params, ParamsBuf};

    use super::*;

    fn request(wanted: Wanted, last: u8, correlation: u32) -> Request {
        Request { wanted, ip: IpAddr::from([10, 0, 0, last]), correlation }
    }

    fn judged(params: Params<'_>) -> Vec<Result<(), u16>> {
        let requests = [1, 2, 3].map(|n| request(Wanted::Add, n as u8, n));
        results(&requests, &AsconfAckChunk { serial: 0, params })
    }

    #[test]
    fn silence_means_success_before_the_first_failure_and_failure_behind_it() {
        let causes: CausesBuf = [ErrorCause::OutOfResource].into_iter().collect();
        let failed = AsconfError { correlation: 2, causes: causes.as_causes() };
        let empty = ParamsBuf::new();
        assert_eq!(judged(empty.as_params()), [Ok(()); 3]);
        let one: ParamsBuf = [Parameter::ErrorCauseIndication(failed)].into_iter().collect();
        assert_eq!(judged(one.as_params()), [Ok(()), Err(4), Err(0)]);
        let two: ParamsBuf =
            [Parameter::ErrorCauseIndication(failed), Parameter::SuccessIndication(3)]
                .into_iter()
                .collect();
        assert_eq!(judged(two.as_params()), [Ok(()), Err(4), Ok(())]);
        let stranger: ParamsBuf = [Parameter::SuccessIndication(9)].into_iter().collect();
        assert_eq!(judged(stranger.as_params()), [Ok(()); 3]);
    }
}
