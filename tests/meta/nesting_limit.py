"""JSON nested deeper than the decoder's limit: 1,000 levels in Python 3.11, the stack's end in 3.14."""

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
