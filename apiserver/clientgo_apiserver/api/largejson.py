"""Decoding of JSON of megabytes in pieces: a single call would keep the interpreter from other threads for its time."""

from typing import Any

import msgspec

_PIECE = 64 * 1024
_decode = msgspec.json.Decoder().decode

decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
"""Decode an object into its undecoded values."""

decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
"""Decode a list into its undecoded items."""


def decode_large(raw: bytes | msgspec.Raw) -> Any:
    """Decode JSON; raise `msgspec.DecodeError` like one call, and `RecursionError` for deep nesting."""
    if len(raw) <= _PIECE:
        return _decode(raw)
    first = bytes(memoryview(raw)[:_PIECE]).lstrip()[:1]
    if first == b"{":
        return {name: decode_large(value) for name, value in decode_fields(raw).items()}
    return [decode_large(value) for value in decode_items(raw)] if first == b"[" else _decode(raw)
