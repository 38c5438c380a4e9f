//! Decoded chunks as the JSON of the golden vectors.

use polypath_wire::{
    Causes, Chunk, DataFlags, ErrorCause, GapBlocks, InitFixed, Items, Parameter, Params, StreamId,
    Tsns,
};
use serde_json::{Map, Value, json};

use super::hex;

pub(crate) fn chunk(chunk: &Chunk<'_>) -> Value {
    let (name, fields) = match chunk {
        Chunk::Data(c) => (
            "Data",
            json!({ "tsn": c.tsn.0, "stream": c.stream.0, "ssn": c.ssn.0, "ppid": c.ppid,
                    "flags": flags(c.flags), "payload": hex(c.payload) }),
        ),
        Chunk::IData(c) => (
            "IData",
            json!({ "tsn": c.tsn.0, "stream": c.stream.0, "mid": c.mid.0, "ppid": c.ppid(),
                    "fsn": c.fsn(), "flags": flags(c.flags), "payload": hex(c.payload) }),
        ),
        Chunk::Init(c) => ("Init", init(c.fixed, c.params)),
        Chunk::InitAck(c) => ("InitAck", init(c.fixed, c.params)),
        Chunk::Sack(c) => (
            "Sack",
            json!({ "flags": c.flags, "cumulative_tsn": c.cumulative_tsn.0, "a_rwnd": c.a_rwnd,
                    "gap_blocks": gaps(c.gap_blocks), "duplicates": tsns(c.duplicates) }),
        ),
        Chunk::NrSack(c) => (
            "NrSack",
            json!({ "flags": c.flags, "cumulative_tsn": c.cumulative_tsn.0, "a_rwnd": c.a_rwnd,
                    "gap_blocks": gaps(c.gap_blocks), "nr_gap_blocks": gaps(c.nr_gap_blocks),
                    "duplicates": tsns(c.duplicates) }),
        ),
        Chunk::Heartbeat(c) => ("Heartbeat", json!({ "params": params(c.params) })),
        Chunk::HeartbeatAck(c) => ("HeartbeatAck", json!({ "params": params(c.params) })),
        Chunk::Abort(c) => {
            ("Abort", json!({ "reflected": c.reflected, "causes": causes(c.causes) }))
        }
        Chunk::Shutdown(c) => ("Shutdown", json!({ "cumulative_tsn": c.cumulative_tsn.0 })),
        Chunk::ShutdownAck => ("ShutdownAck", json!({})),
        Chunk::ShutdownComplete { reflected } => {
            ("ShutdownComplete", json!({ "reflected": reflected }))
        }
        Chunk::Error(c) => ("Error", json!({ "causes": causes(c.causes) })),
        Chunk::CookieEcho(c) => ("CookieEcho", json!({ "cookie": hex(c.cookie) })),
        Chunk::CookieAck => ("CookieAck", json!({})),
        Chunk::Auth(c) => {
            ("Auth", json!({ "key_id": c.key_id, "hmac_id": c.hmac_id, "hmac": hex(c.hmac) }))
        }
        Chunk::Dtls(c) => ("Dtls", json!({ "restart": c.restart, "record": hex(c.record) })),
        Chunk::Asconf(c) => (
            "Asconf",
            json!({ "serial": c.serial, "address": c.address, "params": params(c.params) }),
        ),
        Chunk::AsconfAck(c) => {
            ("AsconfAck", json!({ "serial": c.serial, "params": params(c.params) }))
        }
        Chunk::Reconfig(c) => ("Reconfig", json!({ "params": params(c.params) })),
        Chunk::Pad(c) => ("Pad", json!({ "padding": hex(c.padding) })),
        Chunk::ForwardTsn(c) => {
            let skipped: Vec<_> = c.skipped.iter().map(|s| json!([s.stream.0, s.ssn.0])).collect();
            let new = c.new_cumulative_tsn.0;
            ("ForwardTsn", json!({ "new_cumulative_tsn": new, "skipped": skipped }))
        }
        Chunk::IForwardTsn(c) => {
            let message =
                |s: polypath_wire::SkippedMessage| json!([s.stream.0, s.unordered, s.mid.0]);
            let skipped: Vec<_> = c.skipped.iter().map(message).collect();
            let new = c.new_cumulative_tsn.0;
            ("IForwardTsn", json!({ "new_cumulative_tsn": new, "skipped": skipped }))
        }
        Chunk::Unknown(c) => {
            ("Unknown", json!({ "kind": c.kind, "flags": c.flags, "value": hex(c.value) }))
        }
    };
    named("chunk", name, fields)
}

fn parameter(parameter: &Parameter<'_>) -> Value {
    let bytes = |bytes: &[u8]| json!({ "bytes": hex(bytes) });
    let (name, fields) = match parameter {
        Parameter::HeartbeatInfo(b) => ("HeartbeatInfo", bytes(b)),
        Parameter::Ipv4(a) => ("Ipv4", json!({ "address": a })),
        Parameter::Ipv6(a) => ("Ipv6", json!({ "address": a })),
        Parameter::StateCookie(b) => ("StateCookie", bytes(b)),
        Parameter::Unrecognized(b) => ("Unrecognized", bytes(b)),
        Parameter::CookiePreservative(ms) => ("CookiePreservative", json!({ "increment_ms": ms })),
        Parameter::HostName(b) => ("HostName", bytes(b)),
        Parameter::SupportedAddressTypes(t) => {
            ("SupportedAddressTypes", json!({ "types": words(*t) }))
        }
        Parameter::OutgoingReset(r) => (
            "OutgoingReset",
            json!({ "request": r.request, "response": r.response, "last_tsn": r.last_tsn.0,
                    "streams": streams(r.streams) }),
        ),
        Parameter::IncomingReset(r) => {
            ("IncomingReset", json!({ "request": r.request, "streams": streams(r.streams) }))
        }
        Parameter::SsnTsnReset(request) => ("SsnTsnReset", json!({ "request": request })),
        Parameter::ReconfigResponse(r) => {
            let next_tsns = r.next_tsns.map(|pair| [pair.sender_next.0, pair.receiver_next.0]);
            let (response, result) = (r.response, r.result.0);
            let fields = json!({ "response": response, "result": result, "next_tsns": next_tsns });
            ("ReconfigResponse", fields)
        }
        Parameter::AddOutgoingStreams(r) => {
            ("AddOutgoingStreams", json!({ "request": r.request, "count": r.count }))
        }
        Parameter::AddIncomingStreams(r) => {
            ("AddIncomingStreams", json!({ "request": r.request, "count": r.count }))
        }
        Parameter::EcnCapable => ("EcnCapable", json!({})),
        Parameter::ZeroChecksum(method) => ("ZeroChecksum", json!({ "method": method })),
        Parameter::Random(b) => ("Random", bytes(b)),
        Parameter::ChunkList(b) => ("ChunkList", bytes(b)),
        Parameter::HmacAlgorithms(ids) => ("HmacAlgorithms", json!({ "ids": words(*ids) })),
        Parameter::KeyManagement(k) => (
            "KeyManagement",
            json!({ "tie_breaker": k.tie_breaker, "restart": k.restart, "server": k.server,
                    "client": k.client, "methods": k.methods }),
        ),
        Parameter::Padding(b) => ("Padding", bytes(b)),
        Parameter::SupportedExtensions(b) => ("SupportedExtensions", bytes(b)),
        Parameter::ForwardTsnSupported => ("ForwardTsnSupported", json!({})),
        Parameter::AddIp(r) => {
            ("AddIp", json!({ "correlation": r.correlation, "address": r.address }))
        }
        Parameter::DeleteIp(r) => {
            ("DeleteIp", json!({ "correlation": r.correlation, "address": r.address }))
        }
        Parameter::ErrorCauseIndication(e) => (
            "ErrorCauseIndication",
            json!({ "correlation": e.correlation, "causes": causes(e.causes) }),
        ),
        Parameter::SetPrimary(r) => {
            ("SetPrimary", json!({ "correlation": r.correlation, "address": r.address }))
        }
        Parameter::SuccessIndication(id) => ("SuccessIndication", json!({ "correlation": id })),
        Parameter::AdaptationLayer(code) => ("AdaptationLayer", json!({ "indication": code })),
        Parameter::Unknown(raw) => {
            ("Unknown", json!({ "kind": raw.kind, "bytes": hex(raw.value) }))
        }
    };
    named("param", name, fields)
}

fn cause(cause: &ErrorCause<'_>) -> Value {
    let bytes = |bytes: &[u8]| json!({ "bytes": hex(bytes) });
    let quoted = |list: &Params<'_>| json!({ "params": params(*list) });
    let (name, fields) = match cause {
        ErrorCause::InvalidStream(stream) => ("InvalidStream", json!({ "stream": stream.0 })),
        ErrorCause::MissingMandatory(t) => ("MissingMandatory", json!({ "types": words(*t) })),
        ErrorCause::StaleCookie(us) => ("StaleCookie", json!({ "staleness_us": us })),
        ErrorCause::OutOfResource => ("OutOfResource", json!({})),
        ErrorCause::UnresolvableAddress(b) => ("UnresolvableAddress", bytes(b)),
        ErrorCause::UnrecognizedChunk(b) => ("UnrecognizedChunk", bytes(b)),
        ErrorCause::InvalidMandatory => ("InvalidMandatory", json!({})),
        ErrorCause::UnrecognizedParameters(p) => ("UnrecognizedParameters", quoted(p)),
        ErrorCause::NoUserData(tsn) => ("NoUserData", json!({ "tsn": tsn.0 })),
        ErrorCause::CookieWhileShuttingDown => ("CookieWhileShuttingDown", json!({})),
        ErrorCause::RestartWithNewAddresses(p) => ("RestartWithNewAddresses", quoted(p)),
        ErrorCause::UserInitiatedAbort(b) => ("UserInitiatedAbort", bytes(b)),
        ErrorCause::ProtocolViolation(b) => ("ProtocolViolation", bytes(b)),
        ErrorCause::DeleteLastIp(p) => ("DeleteLastIp", quoted(p)),
        ErrorCause::ResourceShortage(p) => ("ResourceShortage", quoted(p)),
        ErrorCause::DeleteSourceIp(p) => ("DeleteSourceIp", quoted(p)),
        ErrorCause::IllegalAsconfAck => ("IllegalAsconfAck", json!({})),
        ErrorCause::NoAuthorization(p) => ("NoAuthorization", quoted(p)),
        ErrorCause::UnsupportedHmac(id) => ("UnsupportedHmac", json!({ "hmac_id": id })),
        ErrorCause::MissingDtlsChunk => ("MissingDtlsChunk", json!({})),
        ErrorCause::NoCommonKeyManagement => ("NoCommonKeyManagement", json!({})),
        ErrorCause::TieBreakerCollision => ("TieBreakerCollision", json!({})),
        ErrorCause::IncompatibleRoles => ("IncompatibleRoles", json!({})),
        ErrorCause::Unknown(raw) => {
            ("Unknown", json!({ "code": raw.code, "bytes": hex(raw.value) }))
        }
    };
    named("cause", name, fields)
}

fn named(what: &str, name: &str, fields: Value) -> Value {
    let mut object = Map::from_iter([(what.to_owned(), json!(name))]);
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    Value::Object(object)
}

fn init(fixed: InitFixed, list: Params<'_>) -> Value {
    json!({ "initiate_tag": fixed.initiate_tag, "a_rwnd": fixed.a_rwnd,
            "outbound_streams": fixed.outbound_streams, "inbound_streams": fixed.inbound_streams,
            "initial_tsn": fixed.initial_tsn.0, "params": params(list) })
}

fn params(params: Params<'_>) -> Vec<Value> {
    params.iter().map(|p| parameter(&p.and_then(|p| p.decode()).expect("a parameter"))).collect()
}

fn causes(causes: Causes<'_>) -> Vec<Value> {
    causes.iter().map(|c| cause(&c.and_then(|c| c.decode()).expect("a cause"))).collect()
}

fn flags(flags: DataFlags) -> String {
    let set = [
        ('I', flags.immediate),
        ('U', flags.unordered),
        ('B', flags.beginning),
        ('E', flags.ending),
    ];
    set.into_iter().filter_map(|(letter, set)| set.then_some(letter)).collect()
}

fn gaps(blocks: GapBlocks<'_>) -> Vec<[u16; 2]> {
    blocks.iter().map(|block| [block.start, block.end]).collect()
}

fn tsns(tsns: Tsns<'_>) -> Vec<u32> {
    tsns.iter().map(|tsn| tsn.0).collect()
}

fn words(words: Items<'_, u16, 2>) -> Vec<u16> {
    words.iter().collect()
}

fn streams(streams: Items<'_, StreamId, 2>) -> Vec<u16> {
    streams.iter().map(|stream| stream.0).collect()
}
