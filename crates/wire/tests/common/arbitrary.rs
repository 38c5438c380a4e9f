//! Strategies for chunks of every type, as their senders build them.

use std::net::IpAddr;

use polypath_wire::param::{
    AddStreams, AsconfError, AsconfRequest, IncomingReset, OutgoingReset, ReconfigResponse,
    ReconfigResult, TsnPair,
};
use polypath_wire::{
    AbortChunk, AsconfAckChunk, AsconfChunk, AuthChunk, CausesBuf, Chunk, ChunkBuf,
    CookieEchoChunk, DataChunk, DataFlags, DtlsChunk, ErrorCause, ErrorChunk, ForwardTsnRepr,
    GapBlock, HeartbeatRepr, IDataChunk, IForwardTsnRepr, InitAckRepr, InitFixed, InitRepr,
    ItemsBuf, KeyManagementOffer, Mid, NrSackRepr, PadRepr, Parameter, ParamsBuf, ReconfigChunk,
    SackRepr, ShutdownChunk, SkippedMessage, SkippedStream, Ssn, StreamId, Tsn,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Any chunk, encoded.
pub(crate) fn chunk() -> BoxedStrategy<ChunkBuf> {
    prop_oneof![data_chunk(), ack_chunk(), setup_chunk(), control_chunk(), extension_chunk()]
        .boxed()
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

fn data_chunk() -> impl Strategy<Value = ChunkBuf> {
    let fields = (any::<u8>(), any::<u32>(), any::<u16>(), any::<u16>(), any::<u32>(), bytes());
    let data = fields.prop_map(|(flags, tsn, stream, ssn, ppid, payload)| {
        let (flags, tsn, stream) = (DataFlags::from_bits(flags), Tsn(tsn), StreamId(stream));
        ChunkBuf::new(&DataChunk { tsn, stream, ssn: Ssn(ssn), ppid, flags, payload: &payload })
    });
    let fields = (any::<u8>(), any::<u32>(), any::<u16>(), any::<u32>(), any::<u32>(), bytes());
    let i_data = fields.prop_map(|(flags, tsn, stream, mid, ppid_or_fsn, payload)| {
        let (flags, tsn, stream) = (DataFlags::from_bits(flags), Tsn(tsn), StreamId(stream));
        let (mid, payload) = (Mid(mid), &payload);
        ChunkBuf::new(&IDataChunk { tsn, stream, mid, ppid_or_fsn, flags, payload })
    });
    prop_oneof![data, i_data]
}

fn ack_chunk() -> impl Strategy<Value = ChunkBuf> {
    let block = || (any::<u16>(), any::<u16>()).prop_map(|(start, end)| GapBlock { start, end });
    let lists = (vec(block(), 0..20), vec(block(), 0..20), vec(any::<u32>().prop_map(Tsn), 0..20));
    let fields = (any::<u8>(), any::<u32>(), any::<u32>(), lists, any::<bool>());
    fields.prop_map(|(flags, tsn, a_rwnd, (gap_blocks, nr_gap_blocks, duplicates), nr)| {
        let cumulative_tsn = Tsn(tsn);
        let (gap_blocks, duplicates) = (&gap_blocks[..], &duplicates[..]);
        if nr {
            let nr_gap_blocks = &nr_gap_blocks[..];
            ChunkBuf::new(&NrSackRepr {
                flags,
                cumulative_tsn,
                a_rwnd,
                gap_blocks,
                nr_gap_blocks,
                duplicates,
            })
        } else {
            ChunkBuf::new(&SackRepr { flags, cumulative_tsn, a_rwnd, gap_blocks, duplicates })
        }
    })
}

fn setup_chunk() -> impl Strategy<Value = ChunkBuf> {
    let fixed = (any::<u32>(), any::<u32>(), any::<u16>(), any::<u16>(), any::<u32>());
    let init = (fixed, params(), any::<bool>()).prop_map(|(fields, params, ack)| {
        let (initiate_tag, a_rwnd, outbound_streams, inbound_streams, tsn) = fields;
        let initial_tsn = Tsn(tsn);
        let fixed =
            InitFixed { initiate_tag, a_rwnd, outbound_streams, inbound_streams, initial_tsn };
        match ack {
            true => ChunkBuf::new(&InitAckRepr { fixed, params }),
            false => ChunkBuf::new(&InitRepr { fixed, params }),
        }
    });
    let cookie = bytes().prop_map(|cookie| ChunkBuf::new(&CookieEchoChunk { cookie: &cookie }));
    prop_oneof![init, cookie, Just(ChunkBuf::new(&Chunk::CookieAck))]
}

fn control_chunk() -> impl Strategy<Value = ChunkBuf> {
    prop_oneof![
        bytes().prop_map(|info| ChunkBuf::new(&HeartbeatRepr { info: &info })),
        (any::<bool>(), causes()).prop_map(|(reflected, causes)| {
            ChunkBuf::new(&AbortChunk { reflected, causes: causes.as_causes() })
        }),
        causes().prop_map(|causes| ChunkBuf::new(&ErrorChunk { causes: causes.as_causes() })),
        any::<u32>().prop_map(|t| ChunkBuf::new(&ShutdownChunk { cumulative_tsn: Tsn(t) })),
        Just(ChunkBuf::new(&Chunk::ShutdownAck)),
        any::<bool>().prop_map(|reflected| ChunkBuf::new(&Chunk::ShutdownComplete { reflected })),
        (0usize..50).prop_map(|len| ChunkBuf::new(&PadRepr { len })),
    ]
}

fn extension_chunk() -> impl Strategy<Value = ChunkBuf> {
    let skipped_stream = (any::<u16>(), any::<u16>())
        .prop_map(|(stream, ssn)| SkippedStream { stream: StreamId(stream), ssn: Ssn(ssn) });
    let skipped_message =
        (any::<u16>(), any::<bool>(), any::<u32>()).prop_map(|(stream, unordered, mid)| {
            SkippedMessage { stream: StreamId(stream), unordered, mid: Mid(mid) }
        });
    prop_oneof![
        (any::<u16>(), any::<u16>(), bytes()).prop_map(|(key_id, hmac_id, hmac)| {
            ChunkBuf::new(&AuthChunk { key_id, hmac_id, hmac: &hmac })
        }),
        (any::<bool>(), bytes()).prop_map(|(restart, record)| {
            ChunkBuf::new(&DtlsChunk { restart, record: &record })
        }),
        (any::<u32>(), any::<IpAddr>(), params()).prop_map(|(serial, address, params)| {
            ChunkBuf::new(&AsconfChunk { serial, address, params: params.as_params() })
        }),
        (any::<u32>(), params()).prop_map(|(serial, params)| {
            ChunkBuf::new(&AsconfAckChunk { serial, params: params.as_params() })
        }),
        reconfig_param()
            .prop_map(|params| { ChunkBuf::new(&ReconfigChunk { params: params.as_params() }) }),
        (any::<u32>(), vec(skipped_stream, 0..20)).prop_map(|(tsn, skipped)| {
            ChunkBuf::new(&ForwardTsnRepr { new_cumulative_tsn: Tsn(tsn), skipped: &skipped })
        }),
        (any::<u32>(), vec(skipped_message, 0..20)).prop_map(|(tsn, skipped)| {
            ChunkBuf::new(&IForwardTsnRepr { new_cumulative_tsn: Tsn(tsn), skipped: &skipped })
        }),
    ]
}

fn one(param: Parameter<'_>) -> ParamsBuf {
    ParamsBuf::from_iter([param])
}

/// A list of up to six parameters of any type.
fn params() -> impl Strategy<Value = ParamsBuf> {
    vec(prop_oneof![plain_param(), reconfig_param(), asconf_param()], 0..6).prop_map(|singles| {
        let decoded = singles.iter().flat_map(|single| single.as_params().iter());
        decoded.map(|raw| raw.expect("as pushed").decode().expect("as pushed")).collect()
    })
}

fn plain_param() -> impl Strategy<Value = ParamsBuf> {
    let of_bytes = (0usize..8, bytes()).prop_map(|(which, b)| {
        let variants = [
            Parameter::HeartbeatInfo,
            Parameter::StateCookie,
            Parameter::Unrecognized,
            Parameter::HostName,
            Parameter::Random,
            Parameter::ChunkList,
            Parameter::Padding,
            Parameter::SupportedExtensions,
        ];
        one(variants[which](&b))
    });
    let of_words = (any::<bool>(), vec(any::<u16>(), 0..5)).prop_map(|(hmac, words)| {
        let words: ItemsBuf<u16, 2> = words.into_iter().collect();
        match hmac {
            true => one(Parameter::HmacAlgorithms(words.as_items())),
            false => one(Parameter::SupportedAddressTypes(words.as_items())),
        }
    });
    let keys = (any::<u32>(), any::<[bool; 3]>(), vec(any::<u8>(), 1..9)).prop_map(
        |(tie_breaker, [restart, server, client], methods)| {
            let methods = &methods[..];
            let offer = KeyManagementOffer { tie_breaker, restart, server, client, methods };
            one(Parameter::KeyManagement(offer))
        },
    );
    let of_word = (0usize..3, any::<u32>()).prop_map(|(which, word)| {
        let variants =
            [Parameter::CookiePreservative, Parameter::ZeroChecksum, Parameter::AdaptationLayer];
        one(variants[which](word))
    });
    prop_oneof![
        of_bytes,
        of_words,
        of_word,
        keys,
        any::<[u8; 4]>().prop_map(|a| one(Parameter::Ipv4(a.into()))),
        any::<[u8; 16]>().prop_map(|a| one(Parameter::Ipv6(a.into()))),
        Just(one(Parameter::EcnCapable)),
        Just(one(Parameter::ForwardTsnSupported)),
    ]
}

fn reconfig_param() -> impl Strategy<Value = ParamsBuf> {
    let streams = || {
        vec(any::<u16>().prop_map(StreamId), 0..5)
            .prop_map(|list| list.into_iter().collect::<ItemsBuf<StreamId, 2>>())
    };
    let outgoing = (any::<u32>(), any::<u32>(), any::<u32>(), streams()).prop_map(
        |(request, response, last_tsn, streams)| {
            let (last_tsn, streams) = (Tsn(last_tsn), streams.as_items());
            one(Parameter::OutgoingReset(OutgoingReset { request, response, last_tsn, streams }))
        },
    );
    let incoming = (any::<u32>(), streams()).prop_map(|(request, streams)| {
        let streams = streams.as_items();
        one(Parameter::IncomingReset(IncomingReset { request, streams }))
    });
    let response = (any::<u32>(), 0u32..7, option::of(any::<(u32, u32)>())).prop_map(
        |(response, result, tsns)| {
            let pair = |(s, r)| TsnPair { sender_next: Tsn(s), receiver_next: Tsn(r) };
            let (result, next_tsns) = (ReconfigResult(result), tsns.map(pair));
            one(Parameter::ReconfigResponse(ReconfigResponse { response, result, next_tsns }))
        },
    );
    let add = any::<(u32, u16, bool)>().prop_map(|(request, count, outgoing)| match outgoing {
        true => one(Parameter::AddOutgoingStreams(AddStreams { request, count })),
        false => one(Parameter::AddIncomingStreams(AddStreams { request, count })),
    });
    let ssn_tsn = any::<u32>().prop_map(|request| one(Parameter::SsnTsnReset(request)));
    prop_oneof![outgoing, incoming, response, add, ssn_tsn]
}

fn asconf_param() -> impl Strategy<Value = ParamsBuf> {
    let request =
        (0usize..3, any::<u32>(), any::<IpAddr>()).prop_map(|(which, correlation, address)| {
            let variants = [Parameter::AddIp, Parameter::DeleteIp, Parameter::SetPrimary];
            one(variants[which](AsconfRequest { correlation, address }))
        });
    let error = (any::<u32>(), causes()).prop_map(|(correlation, causes)| {
        let causes = causes.as_causes();
        one(Parameter::ErrorCauseIndication(AsconfError { correlation, causes }))
    });
    let success = any::<u32>().prop_map(|id| one(Parameter::SuccessIndication(id)));
    prop_oneof![request, error, success]
}

/// A list of up to four error causes of any type.
fn causes() -> impl Strategy<Value = CausesBuf> {
    vec(cause(), 0..4).prop_map(|singles| {
        let decoded = singles.iter().flat_map(|single| single.as_causes().iter());
        decoded.map(|raw| raw.expect("as pushed").decode().expect("as pushed")).collect()
    })
}

fn cause() -> impl Strategy<Value = CausesBuf> {
    fn one(cause: ErrorCause<'_>) -> CausesBuf {
        CausesBuf::from_iter([cause])
    }
    let of_bytes = (0usize..4, bytes()).prop_map(|(which, b)| {
        let variants = [
            ErrorCause::UnresolvableAddress,
            ErrorCause::UnrecognizedChunk,
            ErrorCause::UserInitiatedAbort,
            ErrorCause::ProtocolViolation,
        ];
        one(variants[which](&b))
    });
    let of_params = (0usize..6, vec(plain_param(), 0..3)).prop_map(|(which, params)| {
        let variants = [
            ErrorCause::UnrecognizedParameters,
            ErrorCause::RestartWithNewAddresses,
            ErrorCause::DeleteLastIp,
            ErrorCause::ResourceShortage,
            ErrorCause::DeleteSourceIp,
            ErrorCause::NoAuthorization,
        ];
        params.first().map_or_else(CausesBuf::new, |p| one(variants[which](p.as_params())))
    });
    let missing = vec(any::<u16>(), 0..4).prop_map(|types| {
        let types: ItemsBuf<u16, 2> = types.into_iter().collect();
        one(ErrorCause::MissingMandatory(types.as_items()))
    });
    prop_oneof![
        of_bytes,
        of_params,
        missing,
        any::<u16>().prop_map(|stream| one(ErrorCause::InvalidStream(StreamId(stream)))),
        any::<u32>().prop_map(|us| one(ErrorCause::StaleCookie(us))),
        any::<u32>().prop_map(|tsn| one(ErrorCause::NoUserData(Tsn(tsn)))),
        any::<u16>().prop_map(|id| one(ErrorCause::UnsupportedHmac(id))),
        Just(one(ErrorCause::OutOfResource)),
        Just(one(ErrorCause::InvalidMandatory)),
        Just(one(ErrorCause::CookieWhileShuttingDown)),
        Just(one(ErrorCause::IllegalAsconfAck)),
        Just(one(ErrorCause::MissingDtlsChunk)),
        Just(one(ErrorCause::NoCommonKeyManagement)),
        Just(one(ErrorCause::TieBreakerCollision)),
        Just(one(ErrorCause::IncompatibleRoles)),
    ]
}
