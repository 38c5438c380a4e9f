#!/usr/bin/env python3
"""Writes DTLS chunks by another hand than ours, for crates/secure's tests to compare with.

    python3 tools/records-golden.py > crates/secure/tests/data/records.json

It takes Python's `cryptography`. RFC 9147 section 4, draft-ietf-tsvwg-sctp-dtls-chunk section 4.2.
"""
import hashlib
import json
import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

SUITES = {"Aes128Gcm": (16, AESGCM), "Aes256Gcm": (32, AESGCM), "ChaCha20Poly1305": (32, ChaCha20Poly1305)}
NUMBERS = [0, 1, 255, 65535, 65536, 70000, (1 << 24) + 5, (1 << 40) + 3]
LENGTHS = [0, 1, 2, 3, 4, 16, 64, 1400]


def some_bytes(what, length):
    return hashlib.shake_256(what.encode()).digest(length)


def mask(suite, number_key, sample):
    """RFC 9147 section 4.2.3."""
    if suite == "ChaCha20Poly1305":
        # Its nonce here is the counter, as 32 bits in little endian, and then 12 bytes.
        return Cipher(algorithms.ChaCha20(number_key, sample), None).encryptor().update(bytes(2))
    return Cipher(algorithms.AES(number_key), modes.ECB()).encryptor().update(sample)[:2]


def chunk(suite, key, number_key, iv, epoch, number, content, inner_padding):
    low = number & 0xFFFF
    header = struct.pack("!BH", 0b00101000 | epoch & 3, low)
    nonce = (int.from_bytes(iv, "big") ^ number).to_bytes(12, "big")
    inner = content + bytes([23]) + bytes(inner_padding)
    sealed = SUITES[suite][1](key).encrypt(nonce, inner, header)
    hidden = bytes(a ^ b for a, b in zip(header[1:], mask(suite, number_key, sealed[:16])))
    record = header[:1] + hidden + sealed
    return struct.pack("!BBHB", 0x41, 0, 4 + 1 + len(record), 0) + record


def records():
    for suite, (size, _) in SUITES.items():
        for case, (number, length) in enumerate(zip(NUMBERS, LENGTHS)):
            for padding in (0, 5):
                name = f"{suite} {case}"
                key, number_key = some_bytes(name + " key", size), some_bytes(name + " number", size)
                iv, content = some_bytes(name + " iv", 12), some_bytes(name + " content", length)
                epoch = 3 + case
                yield {
                    "suite": suite,
                    "key": key.hex(),
                    "number_key": number_key.hex(),
                    "iv": iv.hex(),
                    "epoch": epoch,
                    "number": number,
                    "inner_padding": padding,
                    "content": content.hex(),
                    "chunk": chunk(suite, key, number_key, iv, epoch, number, content, padding).hex(),
                }


print("[\n" + ",\n".join(json.dumps(record) for record in records()) + "\n]")
