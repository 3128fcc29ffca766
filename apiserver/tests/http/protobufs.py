"""Encoder of protobuf bodies for tests, which shares no code with the decoder."""

import struct
from typing import Any

MAGIC = b"k8s\x00"


def varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def message(*fields: tuple[int, Any]) -> bytes:
    """Encode fields by number: integers, floats, and texts or nested messages with their length."""
    out = b""
    for number, value in fields:
        if isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def envelope(api_version: str, kind: str, raw: bytes, *more: tuple[int, Any]) -> bytes:
    return MAGIC + message((1, message((1, api_version), (2, kind))), (2, raw), *more)
