#!/usr/bin/env python3
"""Writes the golden vectors of crates/wire: packets and the fields that they stand for.

pip install scapy==2.8.0
python3 tools/golden/make.py
"""

import json
from pathlib import Path

from scapy.layers.sctp import SCTP
from scapy.packet import Raw

import chunks as c
import encode as e

TARGET = Path(__file__).resolve().parents[2] / "crates/wire/tests/golden"

COUNTING = bytes(range(256))


def vector(name: str, *chunks: e.Item, ports=(5001, 9), tag: int = 0xDEADBEEF) -> dict:
    source, destination = ports
    area = b"".join(e.padded(chunk.wire) for chunk in chunks)
    packet = bytes(SCTP(sport=source, dport=destination, tag=tag) / Raw(area))
    return {
        "name": name,
        "encoder": ", ".join(sorted({by for chunk in chunks for by in chunk.encoder.split(", ")})),
        "packet": packet.hex(),
        "source_port": source,
        "destination_port": destination,
        "verification_tag": tag,
        "chunks": [chunk.fields for chunk in chunks],
    }


def data() -> list:
    lengths = [
        vector(f"DATA with {n} bytes", c.data(1000 + n, 1, 2, 0x33, "BE", COUNTING[:n]))
        for n in range(1, 9)
    ]
    flags = [
        vector(f"DATA with flags {flags or 'none'}", c.data(7, 0xFFFF, 0xFFFF, 0, flags, b"abcd"))
        for flags in ("", "E", "B", "U", "I", "UBE", "IBE", "IUBE")
    ]
    return [
        *lengths,
        *flags,
        vector("DATA without data", c.data(0, 0, 0, 0, "BE", b"")),
        vector(
            "DATA as large as Ethernet carries it",
            c.data(2**32 - 1, 3, 4, 5, "BE", COUNTING * 5 + COUNTING[:172]),
        ),
        vector(
            "DATA of odd lengths bundled",
            *(
                c.data(2**32 - 2 + n if n < 2 else n - 2, n, 0, 0, "BE", COUNTING[: 5 + n])
                for n in range(4)
            ),
        ),
        vector("I-DATA, first fragment", c.i_data(9, 4, 2**32 - 1, 0x34, "B", b"first")),
        vector("I-DATA, middle fragment", c.i_data(10, 4, 2**32 - 1, 1, "", b"middle")),
        vector("I-DATA, last fragment", c.i_data(11, 4, 2**32 - 1, 2**32 - 1, "IE", b"last")),
        vector("I-DATA, whole and unordered", c.i_data(12, 65535, 0, 0, "UBE", b"x")),
    ]


def acks() -> list:
    return [
        vector("SACK without blocks", c.sack(99, 65536)),
        vector("SACK with gap blocks", c.sack(2**32 - 1, 0, [(2, 2), (4, 9), (65535, 65535)])),
        vector("SACK with duplicates", c.sack(5, 2**32 - 1, (), [3, 5, 2**32 - 1])),
        vector("SACK with both", c.sack(5, 1500, [(2, 3), (5, 5)], [4, 4])),
        vector(
            "SACK with a DAC count", *(c.sack(5, 1500, [(2, 3)], flags=n << 6) for n in range(4))
        ),
        vector("SACK and DATA", c.sack(5, 1500, [(2, 3)]), c.data(8, 0, 0, 0, "BE", b"data")),
        vector("NR-SACK without blocks", c.nr_sack(99, 65536)),
        vector("NR-SACK with renegable blocks", c.nr_sack(99, 65536, [(2, 3), (5, 6)])),
        vector("NR-SACK with non-renegable blocks", c.nr_sack(99, 65536, (), [(2, 3), (5, 65535)])),
        vector(
            "NR-SACK with all lists",
            c.nr_sack(99, 1, [(2, 3)], [(5, 6), (8, 8)], [7, 98, 99], 0xC0),
        ),
    ]


def setup() -> list:
    cookie = e.state_cookie(COUNTING[:41])
    return [
        vector("INIT, bare", c.init(1, 1500, (1, 1), 0), tag=0),
        vector(
            "INIT, multihomed",
            c.init(
                0xFFFFFFFF,
                131072,
                (10, 65535),
                0xFFFFFFFF,
                e.ipv4("192.0.2.1"),
                e.ipv6("2001:db8::1"),
                e.supported_address_types(5, 6),
                e.forward_tsn_supported(),
                e.supported_extensions(192, 130, 64, 194, 16),
                e.adaptation_layer(0x01020304),
            ),
            tag=0,
        ),
        vector(
            "INIT, padding of the last parameter counted",
            c.init(2, 1500, (1, 2), 3, e.host_name(b"a.example\0"), count_padding=True),
            tag=0,
        ),
        vector(
            "INIT, padding of the last parameter not counted",
            c.init(2, 1500, (1, 2), 3, e.host_name(b"a.example\0")),
            tag=0,
        ),
        vector(
            "INIT, AUTH",
            c.init(
                2,
                9000,
                (1, 2),
                3,
                e.random(COUNTING[:32]),
                e.chunk_list(193, 128, 0),
                e.hmac_algorithms(3, 1),
            ),
            tag=0,
        ),
        vector("INIT ACK, cookie of odd length", c.init_ack(3, 65536, (5, 5), 77, cookie)),
        vector(
            "INIT ACK, cookie padding counted",
            c.init_ack(3, 65536, (5, 5), 77, cookie, count_padding=True),
        ),
        vector(
            "INIT ACK, unrecognized parameter",
            c.init_ack(
                3,
                65536,
                (5, 5),
                77,
                cookie,
                e.unrecognized(e.unknown_param(0xC0FE, b"???")),
                e.ipv4("198.51.100.7"),
            ),
        ),
        vector("COOKIE ECHO alone", c.cookie_echo(COUNTING[:41])),
        vector(
            "COOKIE ECHO and DATA", c.cookie_echo(COUNTING[:40]), c.data(1, 0, 0, 0, "BE", b"early")
        ),
        vector("COOKIE ACK", c.cookie_ack()),
        vector("COOKIE ACK and SACK", c.cookie_ack(), c.sack(1, 1500)),
    ]


def control() -> list:
    return [
        vector("HEARTBEAT", c.heartbeat(e.heartbeat_info(COUNTING[:24]))),
        vector("HEARTBEAT, odd length", c.heartbeat(e.heartbeat_info(COUNTING[:13]))),
        vector(
            "HEARTBEAT, odd length counted",
            c.heartbeat(e.heartbeat_info(COUNTING[:13]), count_padding=True),
        ),
        vector("HEARTBEAT with PAD", c.heartbeat(e.heartbeat_info(COUNTING[:8])), c.pad(100)),
        vector("HEARTBEAT ACK", c.heartbeat_ack(e.heartbeat_info(COUNTING[:24]))),
        vector("ABORT", c.abort(False), ports=(1, 65535)),
        vector("ABORT, reflected tag", c.abort(True, e.user_initiated_abort(b"enough"))),
        vector("SHUTDOWN", c.shutdown(2**32 - 1)),
        vector("SHUTDOWN ACK", c.shutdown_ack()),
        vector("SHUTDOWN COMPLETE", c.shutdown_complete(False)),
        vector("SHUTDOWN COMPLETE, reflected tag", c.shutdown_complete(True)),
        vector("ERROR with two causes", c.error(e.protocol_violation(b"no"), e.stale_cookie(1))),
        vector("AUTH and ASCONF", c.auth(0, 1, COUNTING[:20]), c.asconf(1, "192.0.2.1")),
        vector("AUTH of odd length", c.auth(65535, 3, COUNTING[:31])),
        vector(
            "ASCONF",
            c.asconf(
                7,
                "192.0.2.1",
                e.add_ip(1, "192.0.2.2"),
                e.delete_ip(2, "0.0.0.0"),
                e.set_primary(3, "192.0.2.2"),
            ),
        ),
        vector(
            "ASCONF, IPv6",
            c.asconf(8, "2001:db8::1", e.add_ip(1, "2001:db8::2"), e.set_primary(2, "::")),
        ),
        vector("ASCONF-ACK, all well", c.asconf_ack(7)),
        vector(
            "ASCONF-ACK",
            c.asconf_ack(
                7,
                e.success_indication(1),
                e.error_cause_indication(2, e.delete_source_ip(e.delete_ip(2, "192.0.2.1"))),
            ),
        ),
        vector("PAD, empty", c.pad(0)),
        vector("PAD, odd length", c.pad(5), c.pad(1)),
        vector("FORWARD-TSN, no stream", c.forward_tsn(17)),
        vector("FORWARD-TSN", c.forward_tsn(17, (0, 65535), (65535, 0))),
        vector("I-FORWARD-TSN, no message", c.i_forward_tsn(17)),
        vector(
            "I-FORWARD-TSN", c.i_forward_tsn(2**32 - 1, (1, False, 2**32 - 1), (65535, True, 0))
        ),
        vector(
            "unknown chunks",
            c.unknown(12, 0, b"\0\0\0\1"),
            c.unknown(63, 255, b"x"),
            c.unknown(255, 1, b""),
        ),
    ]


def reconfig() -> list:
    streams = e.outgoing_reset(1, 0, 99, 4, 5)
    combinations = {
        "outgoing reset, all streams": [e.outgoing_reset(1, 0, 99)],
        "outgoing reset, three streams": [e.outgoing_reset(1, 0, 99, 0, 7, 65535)],
        "incoming reset": [e.incoming_reset(2, 1)],
        "outgoing and incoming reset": [streams, e.incoming_reset(2, 4, 5, 6)],
        "outgoing reset of odd length and incoming reset": [
            e.outgoing_reset(1, 0, 99, 4),
            e.incoming_reset(2),
        ],
        "SSN/TSN reset": [e.ssn_tsn_reset(2**32 - 1)],
        "add outgoing": [e.add_outgoing_streams(3, 10)],
        "add incoming": [e.add_incoming_streams(3, 65535)],
        "add both": [e.add_outgoing_streams(3, 1), e.add_incoming_streams(4, 1)],
        "response": [e.reconfig_response(1, 6)],
        "response with TSNs": [e.reconfig_response_tsns(1, 1, 0x80000000, 5)],
        "response and outgoing reset": [e.reconfig_response(9, 1), streams],
        "two responses": [e.reconfig_response(1, 1), e.reconfig_response(2, 2)],
    }
    counted = c.reconfig(e.incoming_reset(2, 1), count_padding=True)
    vectors = [vector(f"RE-CONFIG, {n}", c.reconfig(*p)) for n, p in combinations.items()]
    return [*vectors, vector("RE-CONFIG, padding counted", counted)]


def params() -> list:
    """Each parameter in front of another one, so that its padding lies inside the chunk."""
    items = [
        e.heartbeat_info(b"\1\2\3"),
        e.ipv4("203.0.113.255"),
        e.ipv6("2001:db8:0:1:2:3:4:5"),
        e.state_cookie(b"cookie"),
        e.unrecognized(e.unknown_param(0xFFFF, b"12345")),
        e.cookie_preservative(1000),
        e.host_name(b"host.example\0"),
        e.supported_address_types(5),
        e.supported_address_types(6, 5),
        e.outgoing_reset(1, 2, 3, 4),
        e.incoming_reset(1, 2, 3, 4),
        e.ssn_tsn_reset(1),
        e.reconfig_response(1, 0),
        e.reconfig_response_tsns(1, 1, 2, 3),
        e.add_outgoing_streams(1, 2),
        e.add_incoming_streams(1, 2),
        e.ecn_capable(),
        e.zero_checksum(1),
        e.random(COUNTING[:32]),
        e.chunk_list(0, 193, 128),
        e.hmac_algorithms(1),
        e.hmac_algorithms(3, 1),
        e.padding(bytes(3)),
        e.supported_extensions(15, 193, 128, 130, 192, 64, 194),
        e.forward_tsn_supported(),
        e.add_ip(0xFFFFFFFF, "192.0.2.1"),
        e.add_ip(1, "2001:db8::1"),
        e.delete_ip(2, "192.0.2.1"),
        e.set_primary(3, "192.0.2.1"),
        e.error_cause_indication(
            4, e.no_authorization(e.add_ip(4, "192.0.2.1")), e.unsupported_hmac(2)
        ),
        e.success_indication(5),
        e.adaptation_layer(0xFFFFFFFF),
        e.unknown_param(0x3FFF, b""),
        e.unknown_param(0x7FFF, b"1"),
        e.unknown_param(0xBFFF, b"12"),
        e.unknown_param(0xFFFF, b"123"),
    ]
    return [
        vector(
            f"parameter {i.fields['param']}, {len(i.wire)} bytes",
            c.init_ack(1, 1500, (1, 1), 1, i, e.ecn_capable()),
        )
        for i in items
    ]


def causes() -> list:
    """Each cause in front of another one, so that its padding lies inside the chunk."""
    address = e.ipv4("192.0.2.1")
    items = [
        e.invalid_stream(65535),
        e.missing_mandatory(7),
        e.missing_mandatory(7, 0x8002),
        e.stale_cookie(1_000_000),
        e.out_of_resource(),
        e.unresolvable_address(e.host_name(b"nowhere\0")),
        e.unrecognized_chunk(c.unknown(0x7F, 0, b"12345").wire),
        e.invalid_mandatory(),
        e.unrecognized_parameters(e.unknown_param(0xC0FE, b"1"), e.unknown_param(0xC0FF, b"22")),
        e.no_user_data(2**32 - 1),
        e.cookie_while_shutting_down(),
        e.restart_with_new_addresses(address, e.ipv6("2001:db8::1")),
        e.user_initiated_abort(b""),
        e.user_initiated_abort(b"bye"),
        e.protocol_violation(b"what?"),
        e.delete_last_ip(e.delete_ip(1, "192.0.2.1")),
        e.resource_shortage(e.add_ip(1, "192.0.2.1")),
        e.delete_source_ip(e.delete_ip(1, "2001:db8::1")),
        e.illegal_asconf_ack(),
        e.no_authorization(e.set_primary(1, "192.0.2.1")),
        e.unsupported_hmac(3),
        e.unknown_cause(0xFFFF, b"1"),
    ]
    in_error = [
        vector(f"cause {i.fields['cause']}, {len(i.wire)} bytes", c.error(i, e.out_of_resource()))
        for i in items
    ]
    in_abort = [
        vector(f"ABORT with cause {i.fields['cause']}, {len(i.wire)} bytes", c.abort(False, i))
        for i in items
    ]
    return in_error + in_abort


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    for family in (data, acks, setup, control, reconfig, params, causes):
        lines = ",\n".join(json.dumps(v) for v in family())
        (TARGET / f"{family.__name__}.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
