"""Limits on the nesting of request bodies, checked before any recursive code reads them.

A real server accepts 10,000 levels, Go's limit for JSON and YAML. This one accepts `MAX_DEPTH` with the same message:
its parsers, validators and encoders recurse, also in C (msgspec, dict comparison, YAML), and within the interpreter's
1,000 frames only some hundred levels are safe. A larger stack would affect the whole program, and walks without
recursion would be slower for every object. YAML aliases count for what they expand to: nine lines can expand to a
billion nodes.
"""

import re
from itertools import accumulate
from typing import Any

from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.limits import MAX_DEPTH

# Also without the closing quote: a search for one that is missing would begin again at each escaped quote.
_STRINGS = lazy_pattern(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")


def json_error(body: bytes) -> str:
    """Return the error of JSON that nests too deep, or ""."""
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return ""
    brackets = _STRINGS.sub(b"", body).translate(None, _NO_BRACKETS)
    depths = accumulate(1 if byte in b"{[" else -1 for byte in brackets)
    return "exceeded max depth" if any(depth > MAX_DEPTH for depth in depths) else ""


def value_error(value: Any) -> str:
    """Return the error of a value that nests too deep, or "": patches can nest deep values."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        inner = (
            container.values() if isinstance(container, dict) else container
            for container in level
            if isinstance(container, dict | list)
        )
        level = [child for children in inner for child in children]
        if not level:
            return ""
    return "exceeded max depth"
