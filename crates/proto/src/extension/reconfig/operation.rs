//! What can be asked of the peer: the request parameters of RFC 6525 section 4.

use polypath_wire::param::{AddStreams, IncomingReset, OutgoingReset};
use polypath_wire::{ItemsBuf, Parameter, ParamsBuf};

use crate::ids::{ReconfigId, StreamId};

/// One parameter of a request. No streams means all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// `answers`: the request of the peer that made us ask.
    ResetOutgoing {
        streams: Vec<StreamId>,
        answers: Option<u32>,
    },
    ResetIncoming {
        streams: Vec<StreamId>,
    },
    ResetAssociation,
    AddOutgoing {
        count: u16,
    },
    AddIncoming {
        count: u16,
    },
}

impl Operation {
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::ResetAssociation, Self::ResetAssociation | Self::ResetOutgoing { .. })
            | (Self::ResetOutgoing { .. }, Self::ResetAssociation) => true,
            (Self::ResetOutgoing { streams: a, .. }, Self::ResetOutgoing { streams: b, .. }) => {
                a.is_empty() || b.is_empty() || a.iter().any(|stream| b.contains(stream))
            }
            _ => false,
        }
    }
}

/// A request that waits for its turn, or for what must be sent before.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// The application's; `None`: made for the peer.
    pub(super) id: Option<ReconfigId>,
    pub(super) operations: Vec<Operation>,
    /// It is the next to be sent.
    pub(super) is_next: bool,
}

impl Request {
    pub(super) const fn new(id: Option<ReconfigId>, operations: Vec<Operation>) -> Self {
        Self { id, operations, is_next: false }
    }
}

/// Appends the request parameter of `operation` with sequence number `request`. `expected`: the peer's next sequence number;
/// `last`: our last assigned TSN, extended.
pub(super) fn push_operation(
    params: &mut ParamsBuf,
    request: u32,
    operation: &Operation,
    expected: u32,
    last: u64,
) {
    let list = |streams: &[StreamId]| streams.iter().copied().collect::<ItemsBuf<StreamId, 2>>();
    match operation {
        Operation::ResetOutgoing { streams, answers } => {
            let streams = list(streams);
            let response = answers.unwrap_or(expected.wrapping_sub(1));
            let last_tsn = crate::tsn_map::wire(last);
            let reset = OutgoingReset { request, response, last_tsn, streams: streams.as_items() };
            params.push(&Parameter::OutgoingReset(reset));
        }
        Operation::ResetIncoming { streams } => {
            let streams = list(streams);
            let reset = IncomingReset { request, streams: streams.as_items() };
            params.push(&Parameter::IncomingReset(reset));
        }
        Operation::ResetAssociation => params.push(&Parameter::SsnTsnReset(request)),
        Operation::AddOutgoing { count } => {
            params.push(&Parameter::AddOutgoingStreams(AddStreams { request, count: *count }));
        }
        Operation::AddIncoming { count } => {
            params.push(&Parameter::AddIncomingStreams(AddStreams { request, count: *count }));
        }
    }
}
