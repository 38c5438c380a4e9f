"""One function per chunk type; see encode.py."""

import struct

from scapy.layers import sctp as s
from scapy.packet import Raw

from encode import Item, encoder, fields, ipv4, ipv6, listed, padded


def scapy_chunk(packet, name: str, by: str = "scapy", **known) -> Item:
    wire = bytes(packet)
    length = struct.unpack(">H", wire[2:4])[0]
    assert padded(wire) == padded(wire[:length]), (name, wire.hex())
    return Item(wire[:length], {"chunk": name, **known}, by)


def figure_chunk(kind: int, flags: int, value: bytes, name: str, /, **known) -> Item:
    wire = struct.pack(">BBH", kind, flags, 4 + len(value)) + value
    return Item(wire, {"chunk": name, **known}, "figure")


def params_length(fixed: int, params, count_padding: bool) -> int:
    """Senders differ in whether the chunk length counts the padding of the last parameter."""
    wire = listed(params)
    return fixed + len(padded(wire) if count_padding else wire)


def param_packets(params) -> list:
    return [Raw(padded(param.wire)) for param in params]


def flag_bits(flags: str) -> dict:
    names = {"I": "delay_sack", "U": "unordered", "B": "beginning", "E": "ending"}
    return {names[flag]: 1 for flag in flags}


def data(tsn: int, stream: int, ssn: int, ppid: int, flags: str, payload: bytes) -> Item:
    packet = s.SCTPChunkData(
        reserved=0,
        **flag_bits(flags),
        len=16 + len(payload),
        tsn=tsn,
        stream_id=stream,
        stream_seq=ssn,
        proto_id=ppid,
        data=Raw(payload),
    )
    known = {"tsn": tsn, "stream": stream, "ssn": ssn, "ppid": ppid, "flags": flags}
    return scapy_chunk(packet, "Data", **known, payload=payload.hex())


def i_data(tsn: int, stream: int, mid: int, ppid_or_fsn: int, flags: str, payload: bytes) -> Item:
    packet = s.SCTPChunkIData(
        reserved=0,
        **flag_bits(flags),
        len=20 + len(payload),
        tsn=tsn,
        stream_id=stream,
        reserved_16=0,
        message_id=mid,
        ppid_fsn=ppid_or_fsn,
        data=payload,
    )
    first = "B" in flags
    known = {"tsn": tsn, "stream": stream, "mid": mid, "flags": flags}
    known |= {"ppid": ppid_or_fsn if first else None, "fsn": 0 if first else ppid_or_fsn}
    return scapy_chunk(packet, "IData", **known, payload=payload.hex())


def init_like(cls, name, tag, a_rwnd, streams, tsn, params, count_padding) -> Item:
    outbound, inbound = streams
    packet = cls(
        flags=0,
        len=params_length(20, params, count_padding),
        init_tag=tag,
        a_rwnd=a_rwnd,
        n_out_streams=outbound,
        n_in_streams=inbound,
        init_tsn=tsn,
        params=param_packets(params),
    )
    known = {"initiate_tag": tag, "a_rwnd": a_rwnd, "outbound_streams": outbound}
    known |= {"inbound_streams": inbound, "initial_tsn": tsn, "params": fields(params)}
    return scapy_chunk(packet, name, encoder(params), **known)


def init(tag: int, a_rwnd: int, streams, tsn: int, *params: Item, count_padding=False) -> Item:
    return init_like(s.SCTPChunkInit, "Init", tag, a_rwnd, streams, tsn, params, count_padding)


def init_ack(tag: int, a_rwnd: int, streams, tsn: int, *params: Item, count_padding=False) -> Item:
    cls = s.SCTPChunkInitAck
    return init_like(cls, "InitAck", tag, a_rwnd, streams, tsn, params, count_padding)


def sack(cumulative_tsn: int, a_rwnd: int, gaps=(), duplicates=(), flags: int = 0) -> Item:
    packet = s.SCTPChunkSACK(
        flags=flags,
        cumul_tsn_ack=cumulative_tsn,
        a_rwnd=a_rwnd,
        gap_ack_list=list(gaps),
        dup_tsn_list=list(duplicates),
    )
    known = {"flags": flags, "cumulative_tsn": cumulative_tsn, "a_rwnd": a_rwnd}
    known |= {"gap_blocks": [list(gap) for gap in gaps], "duplicates": list(duplicates)}
    return scapy_chunk(packet, "Sack", **known)


def nr_sack(cumulative_tsn, a_rwnd, gaps=(), nr_gaps=(), duplicates=(), flags: int = 0) -> Item:
    value = struct.pack(">II", cumulative_tsn, a_rwnd)
    value += struct.pack(">HHHH", len(gaps), len(nr_gaps), len(duplicates), 0)
    value += b"".join(struct.pack(">HH", *gap) for gap in (*gaps, *nr_gaps))
    value += struct.pack(f">{len(duplicates)}I", *duplicates)
    known = {"flags": flags, "cumulative_tsn": cumulative_tsn, "a_rwnd": a_rwnd}
    known |= {"gap_blocks": [list(gap) for gap in gaps]}
    known |= {"nr_gap_blocks": [list(gap) for gap in nr_gaps], "duplicates": list(duplicates)}
    return figure_chunk(16, flags, value, "NrSack", **known)


def of_params(cls, name: str, params, count_padding: bool) -> Item:
    length = params_length(4, params, count_padding)
    packet = cls(flags=0, len=length, params=param_packets(params))
    return scapy_chunk(packet, name, encoder(params), params=fields(params))


def heartbeat(*params: Item, count_padding=False) -> Item:
    return of_params(s.SCTPChunkHeartbeatReq, "Heartbeat", params, count_padding)


def heartbeat_ack(*params: Item, count_padding=False) -> Item:
    return of_params(s.SCTPChunkHeartbeatAck, "HeartbeatAck", params, count_padding)


def reconfig(*params: Item, count_padding=False) -> Item:
    return of_params(s.SCTPChunkReConfig, "Reconfig", params, count_padding)


def abort(reflected: bool, *causes: Item) -> Item:
    packet = s.SCTPChunkAbort(reserved=0, TCB=int(reflected), error_causes=listed(causes))
    known = {"reflected": reflected, "causes": fields(causes)}
    return scapy_chunk(packet, "Abort", encoder(causes), **known)


def error(*causes: Item) -> Item:
    packet = s.SCTPChunkError(flags=0, error_causes=listed(causes))
    return scapy_chunk(packet, "Error", encoder(causes), causes=fields(causes))


def shutdown(cumulative_tsn: int) -> Item:
    packet = s.SCTPChunkShutdown(flags=0, cumul_tsn_ack=cumulative_tsn)
    return scapy_chunk(packet, "Shutdown", cumulative_tsn=cumulative_tsn)


def shutdown_ack() -> Item:
    return scapy_chunk(s.SCTPChunkShutdownAck(flags=0), "ShutdownAck")


def shutdown_complete(reflected: bool) -> Item:
    packet = s.SCTPChunkShutdownComplete(reserved=0, TCB=int(reflected))
    return scapy_chunk(packet, "ShutdownComplete", reflected=reflected)


def cookie_echo(cookie: bytes) -> Item:
    packet = s.SCTPChunkCookieEcho(flags=0, cookie=cookie)
    return scapy_chunk(packet, "CookieEcho", cookie=cookie.hex())


def cookie_ack() -> Item:
    return scapy_chunk(s.SCTPChunkCookieAck(flags=0), "CookieAck")


def auth(key_id: int, hmac_id: int, hmac: bytes) -> Item:
    packet = s.SCTPChunkAuthentication(
        flags=0, shared_key_id=key_id, HMAC_function=hmac_id, HMAC=hmac
    )
    return scapy_chunk(packet, "Auth", key_id=key_id, hmac_id=hmac_id, hmac=hmac.hex())


def asconf(serial: int, address: str, *params: Item) -> Item:
    sender = ipv6(address) if ":" in address else ipv4(address)
    packet = s.SCTPChunkAddressConf(
        flags=0,
        len=params_length(8, [sender, *params], count_padding=False),
        seq=serial,
        params=param_packets([sender, *params]),
    )
    known = {"serial": serial, "address": address, "params": fields(params)}
    return scapy_chunk(packet, "Asconf", encoder(params), **known)


def asconf_ack(serial: int, *params: Item) -> Item:
    packet = s.SCTPChunkAddressConfAck(
        flags=0,
        len=params_length(8, params, count_padding=False),
        seq=serial,
        params=param_packets(params),
    )
    known = {"serial": serial, "params": fields(params)}
    return scapy_chunk(packet, "AsconfAck", encoder(params), **known)


def pad(length: int) -> Item:
    # scapy 2.8 counts four bytes that it does not write, so this one comes from the figure.
    return figure_chunk(132, 0, bytes(length), "Pad", padding=bytes(length).hex())


def forward_tsn(new_cumulative_tsn: int, *skipped) -> Item:
    packet = s.SCTPChunkForwardTSN(
        flags=0,
        len=8 + 4 * len(skipped),
        new_tsn=new_cumulative_tsn,
        skips=[s.SCTPForwardSkip(stream_id=sid, stream_seq=ssn) for sid, ssn in skipped],
    )
    known = {"new_cumulative_tsn": new_cumulative_tsn, "skipped": [list(s) for s in skipped]}
    return scapy_chunk(packet, "ForwardTsn", **known)


def i_forward_tsn(new_cumulative_tsn: int, *skipped) -> Item:
    packet = s.SCTPChunkIForwardTSN(
        flags=0,
        len=8 + 8 * len(skipped),
        new_tsn=new_cumulative_tsn,
        skips=[
            s.SCTPIForwardSkip(stream_id=sid, reserved=0, unordered=int(unordered), message_id=mid)
            for sid, unordered, mid in skipped
        ],
    )
    known = {"new_cumulative_tsn": new_cumulative_tsn, "skipped": [list(s) for s in skipped]}
    return scapy_chunk(packet, "IForwardTsn", **known)


def unknown(kind: int, flags: int, value: bytes) -> Item:
    return figure_chunk(kind, flags, value, "Unknown", kind=kind, flags=flags, value=value.hex())
