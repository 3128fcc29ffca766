"""JSON that is nested deeper than this Python reads: 3.11 stops at 1,000 levels, 3.14 only where the stack ends."""

import msgspec


class _Empty(msgspec.Struct):
    pass


def _levels() -> int:
    levels = 4096
    while True:
        try:
            # A field that is skipped: reading it takes more of the stack.
            msgspec.json.decode(b'{"x":' + b"[" * levels + b"]" * levels + b"}", type=_Empty)
        except RecursionError:
            return levels
        levels *= 2


LEVELS = _levels()
DEEP = b'{"f:a":' + b"[" * LEVELS + b"]" * LEVELS + b"}"
