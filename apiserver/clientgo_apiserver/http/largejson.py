"""Decoding of JSON of megabytes in pieces: a single call would keep the interpreter from other threads for its time."""

from typing import Any

import msgspec

_PIECE = 64 * 1024
_decode = msgspec.json.Decoder().decode
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def decode_large(raw: bytes | msgspec.Raw) -> Any:
    """Decode JSON; raise `msgspec.DecodeError` like one call, and `RecursionError` for deep nesting."""
    if len(raw) <= _PIECE:
        return _decode(raw)
    first = bytes(memoryview(raw)[:_PIECE]).lstrip()[:1]
    if first == b"{":
        return {name: decode_large(value) for name, value in _fields(raw).items()}
    return [decode_large(value) for value in _items(raw)] if first == b"[" else _decode(raw)
