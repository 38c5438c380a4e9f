"""One function per chunk, parameter and error cause: its bytes and the fields they stand for.

The bytes come from scapy wherever it has the type ("scapy"); the rest is packed after the figures
of the RFCs ("figure"). The fields are those that the decoder under test must report.
"""

import struct
from ipaddress import ip_address
from typing import NamedTuple

from scapy.layers import sctp as s


class Item(NamedTuple):
    """Bytes without trailing padding, the fields they stand for, and who encoded them."""

    wire: bytes
    fields: dict
    encoder: str


def padded(wire: bytes) -> bytes:
    return wire + bytes(-len(wire) % 4)


def tlv(kind: int, value: bytes = b"") -> bytes:
    return struct.pack(">HH", kind, 4 + len(value)) + value


def listed(items) -> bytes:
    """A list of parameters or causes: padding between, not behind."""
    wire = b""
    for item in items:
        wire = padded(wire) + item.wire
    return wire


def fields(items) -> list:
    return [item.fields for item in items]


def encoder(items) -> str:
    return "scapy" if all(item.encoder == "scapy" for item in items) else "scapy, figure"


# Parameters


def scapy_param(packet, name: str, **known) -> Item:
    wire = bytes(packet)
    length = struct.unpack(">H", wire[2:4])[0]
    assert wire == padded(wire[:length]), (name, wire.hex())
    return Item(wire[:length], {"param": name, **known}, "scapy")


def figure_param(kind: int, value: bytes, name: str, /, **known) -> Item:
    return Item(tlv(kind, value), {"param": name, **known}, "figure")


def heartbeat_info(data: bytes) -> Item:
    return scapy_param(s.SCTPChunkParamHeartbeatInfo(data=data), "HeartbeatInfo", bytes=data.hex())


def ipv4(address: str) -> Item:
    return scapy_param(s.SCTPChunkParamIPv4Addr(addr=address), "Ipv4", address=address)


def ipv6(address: str) -> Item:
    return scapy_param(s.SCTPChunkParamIPv6Addr(addr=address), "Ipv6", address=address)


def state_cookie(data: bytes) -> Item:
    return scapy_param(s.SCTPChunkParamStateCookie(cookie=data), "StateCookie", bytes=data.hex())


def unrecognized(param: Item) -> Item:
    packet = s.SCTPChunkParamUnrocognizedParam(param=param.wire)
    return scapy_param(packet, "Unrecognized", bytes=param.wire.hex())


def cookie_preservative(milliseconds: int) -> Item:
    packet = s.SCTPChunkParamCookiePreservative(sug_cookie_inc=milliseconds)
    return scapy_param(packet, "CookiePreservative", increment_ms=milliseconds)


def host_name(name: bytes) -> Item:
    return scapy_param(s.SCTPChunkParamHostname(hostname=name), "HostName", bytes=name.hex())


def supported_address_types(*types: int) -> Item:
    packet = s.SCTPChunkParamSupportedAddrTypes(addr_type_list=list(types))
    return scapy_param(packet, "SupportedAddressTypes", types=list(types))


def outgoing_reset(request: int, response: int, last_tsn: int, *streams: int) -> Item:
    packet = s.SCTPChunkParamOutSSNResetReq(
        len=16 + 2 * len(streams),
        re_conf_req_seq_num=request,
        re_conf_res_seq_num=response,
        tsn=last_tsn,
        stream_num_list=list(streams),
    )
    return scapy_param(
        packet,
        "OutgoingReset",
        request=request,
        response=response,
        last_tsn=last_tsn,
        streams=list(streams),
    )


def incoming_reset(request: int, *streams: int) -> Item:
    packet = s.SCTPChunkParamInSSNResetReq(
        len=8 + 2 * len(streams), re_conf_req_seq_num=request, stream_num_list=list(streams)
    )
    return scapy_param(packet, "IncomingReset", request=request, streams=list(streams))


def ssn_tsn_reset(request: int) -> Item:
    packet = s.SCTPChunkParamSSNTSNResetReq(re_conf_req_seq_num=request)
    return scapy_param(packet, "SsnTsnReset", request=request)


def reconfig_response(response: int, result: int) -> Item:
    value = struct.pack(">II", response, result)
    known = {"response": response, "result": result, "next_tsns": None}
    return figure_param(16, value, "ReconfigResponse", **known)


def reconfig_response_tsns(response: int, result: int, sender: int, receiver: int) -> Item:
    packet = s.SCTPChunkParamReConfigRes(
        len=20,
        re_conf_res_seq_num=response,
        result=result,
        sender_next_tsn=sender,
        receiver_next_tsn=receiver,
    )
    known = {"response": response, "result": result, "next_tsns": [sender, receiver]}
    return scapy_param(packet, "ReconfigResponse", **known)


def add_outgoing_streams(request: int, count: int) -> Item:
    packet = s.SCTPChunkParamAddOutgoingStreamReq(
        re_conf_req_seq_num=request, num_new_stream=count, reserved=0
    )
    return scapy_param(packet, "AddOutgoingStreams", request=request, count=count)


def add_incoming_streams(request: int, count: int) -> Item:
    packet = s.SCTPChunkParamAddIncomingStreamReq(
        re_conf_req_seq_num=request, num_new_stream=count, reserved=0
    )
    return scapy_param(packet, "AddIncomingStreams", request=request, count=count)


def ecn_capable() -> Item:
    return scapy_param(s.SCTPChunkParamECNCapable(), "EcnCapable")


def zero_checksum(method: int) -> Item:
    return figure_param(0x8001, struct.pack(">I", method), "ZeroChecksum", method=method)


def random(data: bytes) -> Item:
    return scapy_param(s.SCTPChunkParamRandom(random=data), "Random", bytes=data.hex())


def chunk_list(*types: int) -> Item:
    packet = s.SCTPChunkParamChunkList(chunk_list=list(types))
    return scapy_param(packet, "ChunkList", bytes=bytes(types).hex())


def hmac_algorithms(*ids: int) -> Item:
    packet = s.SCTPChunkParamRequestedHMACFunctions(HMAC_functions_list=list(ids))
    return scapy_param(packet, "HmacAlgorithms", ids=list(ids))


def padding(data: bytes) -> Item:
    return figure_param(0x8005, data, "Padding", bytes=data.hex())


def supported_extensions(*types: int) -> Item:
    packet = s.SCTPChunkParamSupportedExtensions(supported_extensions=list(types))
    return scapy_param(packet, "SupportedExtensions", bytes=bytes(types).hex())


def forward_tsn_supported() -> Item:
    return scapy_param(s.SCTPChunkParamFwdTSN(), "ForwardTsnSupported")


def asconf_request(cls, name: str, correlation: int, address: str) -> Item:
    v4 = ip_address(address).version == 4
    packet = cls(
        len=16 if v4 else 28,
        correlation_id=correlation,
        addr_type=5 if v4 else 6,
        addr_len=8 if v4 else 20,
        addr=address,
    )
    return scapy_param(packet, name, correlation=correlation, address=address)


def add_ip(correlation: int, address: str) -> Item:
    return asconf_request(s.SCTPChunkParamAddIPAddr, "AddIp", correlation, address)


def delete_ip(correlation: int, address: str) -> Item:
    return asconf_request(s.SCTPChunkParamDelIPAddr, "DeleteIp", correlation, address)


def set_primary(correlation: int, address: str) -> Item:
    return asconf_request(s.SCTPChunkParamSetPrimaryAddr, "SetPrimary", correlation, address)


def error_cause_indication(correlation: int, *causes: Item) -> Item:
    packet = s.SCTPChunkParamErrorIndication(
        correlation_id=correlation, error_causes=listed(causes)
    )
    known = {"correlation": correlation, "causes": fields(causes)}
    return scapy_param(packet, "ErrorCauseIndication", **known)


def success_indication(correlation: int) -> Item:
    packet = s.SCTPChunkParamSuccessIndication(correlation_id=correlation)
    return scapy_param(packet, "SuccessIndication", correlation=correlation)


def adaptation_layer(indication: int) -> Item:
    packet = s.SCTPChunkParamAdaptationLayer(indication=indication)
    return scapy_param(packet, "AdaptationLayer", indication=indication)


def unknown_param(kind: int, value: bytes) -> Item:
    return figure_param(kind, value, "Unknown", kind=kind, bytes=value.hex())


# Error causes (scapy has none)


def cause(code: int, value: bytes, name: str, /, **known) -> Item:
    return Item(tlv(code, value), {"cause": name, **known}, "figure")


def quoting_params(code: int, name: str, params) -> Item:
    return cause(code, listed(params), name, params=fields(params))


def invalid_stream(stream: int) -> Item:
    return cause(1, struct.pack(">HH", stream, 0), "InvalidStream", stream=stream)


def missing_mandatory(*types: int) -> Item:
    value = struct.pack(f">I{len(types)}H", len(types), *types)
    return cause(2, value, "MissingMandatory", types=list(types))


def stale_cookie(microseconds: int) -> Item:
    value = struct.pack(">I", microseconds)
    return cause(3, value, "StaleCookie", staleness_us=microseconds)


def out_of_resource() -> Item:
    return cause(4, b"", "OutOfResource")


def unresolvable_address(param: Item) -> Item:
    return cause(5, param.wire, "UnresolvableAddress", bytes=param.wire.hex())


def unrecognized_chunk(chunk: bytes) -> Item:
    return cause(6, chunk, "UnrecognizedChunk", bytes=chunk.hex())


def invalid_mandatory() -> Item:
    return cause(7, b"", "InvalidMandatory")


def unrecognized_parameters(*params: Item) -> Item:
    return quoting_params(8, "UnrecognizedParameters", params)


def no_user_data(tsn: int) -> Item:
    return cause(9, struct.pack(">I", tsn), "NoUserData", tsn=tsn)


def cookie_while_shutting_down() -> Item:
    return cause(10, b"", "CookieWhileShuttingDown")


def restart_with_new_addresses(*params: Item) -> Item:
    return quoting_params(11, "RestartWithNewAddresses", params)


def user_initiated_abort(reason: bytes) -> Item:
    return cause(12, reason, "UserInitiatedAbort", bytes=reason.hex())


def protocol_violation(info: bytes) -> Item:
    return cause(13, info, "ProtocolViolation", bytes=info.hex())


def delete_last_ip(param: Item) -> Item:
    return quoting_params(0xA0, "DeleteLastIp", [param])


def resource_shortage(param: Item) -> Item:
    return quoting_params(0xA1, "ResourceShortage", [param])


def delete_source_ip(param: Item) -> Item:
    return quoting_params(0xA2, "DeleteSourceIp", [param])


def illegal_asconf_ack() -> Item:
    return cause(0xA3, b"", "IllegalAsconfAck")


def no_authorization(param: Item) -> Item:
    return quoting_params(0xA4, "NoAuthorization", [param])


def unsupported_hmac(hmac_id: int) -> Item:
    return cause(0x0105, struct.pack(">H", hmac_id), "UnsupportedHmac", hmac_id=hmac_id)


def unknown_cause(code: int, value: bytes) -> Item:
    return cause(code, value, "Unknown", code=code, bytes=value.hex())
