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

import yaml

from clientgo.meta.yamlio import is_nesting_limit
from clientgo_apiserver.limits import MAX_DEPTH, MAX_NODES

_TOO_DEEP_YAML = f"exceeded max depth of {MAX_DEPTH}"
# Also without the closing quote: a search for one that is missing would begin again at each escaped quote.
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")
_YAML_NESTING = (b":", b"- ", b"-\n", b"-\t", b"-\r", b"?", b"[", b"{")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def json_error(body: bytes) -> str:
    """Return the error of JSON that nests too deep, or ""."""
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return ""
    brackets = _STRINGS.sub(b"", body).translate(None, _NO_BRACKETS)
    depths = accumulate(1 if byte in b"{[" else -1 for byte in brackets)
    return "exceeded max depth" if any(depth > MAX_DEPTH for depth in depths) else ""


def yaml_error(body: bytes) -> str:
    """Return the error of YAML that nests too deep or expands too much, or ""; invalid YAML is left to its parser."""
    if sum(map(body.count, _YAML_NESTING)) <= MAX_DEPTH and not (b"&" in body and b"*" in body):
        return ""
    try:
        return _yaml_error(body)
    except yaml.YAMLError as error:
        return _TOO_DEEP_YAML if is_nesting_limit(error) else ""
    except (UnicodeDecodeError, ValueError):
        return ""


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


def _yaml_error(body: bytes) -> str:
    sizes = [0]  # number of nodes of each open collection
    anchors: dict[str, int] = {}
    names: list[str | None] = []
    for event in yaml.parse(body, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            names.append(event.anchor)
            sizes.append(1)
        elif isinstance(event, yaml.CollectionEndEvent):
            size, name = sizes.pop(), names.pop()
            sizes[-1] += size
            if name is not None:
                anchors[name] = size
        elif isinstance(event, yaml.AliasEvent):
            # An alias of a node that contains it never ends.
            sizes[-1] += anchors.get(event.anchor or "", MAX_NODES + 1)
        elif isinstance(event, yaml.ScalarEvent):
            sizes[-1] += 1
            if event.anchor is not None:
                anchors[event.anchor] = 1
        if len(sizes) > MAX_DEPTH:
            return _TOO_DEEP_YAML
        if sizes[-1] > MAX_NODES:
            return "document contains excessive aliasing"
    return ""
