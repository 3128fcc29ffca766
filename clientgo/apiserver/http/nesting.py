"""How deep a body nests, found out before anything recursive reads it.

A real server takes 10,000 levels, Go's limit for JSON and for YAML. This one takes `MAX_DEPTH` and then says the same.
Its readers, validators and encoders recurse, in C too (msgspec, the comparison of dicts, the YAML library): within the
interpreter's 1,000 frames that leaves some hundred levels, beyond which a request would fail half-way, and a larger
stack would be the whole program's affair, of which the server may be a guest. Walks of our own without recursion were
rejected: they would take longer for every object there is, to let in what no kind of object comes near. YAML's aliases
are held to account for what they stand for: nine lines can stand for a billion.
"""

import re
from typing import Any

import yaml

MAX_DEPTH = 150
MAX_NODES = 500_000  # far more than a body of the largest size holds without aliases
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")
_YAML_NESTING = (b":", b"- ", b"-\n", b"-\t", b"-\r", b"?", b"[", b"{")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def json_fault(body: bytes) -> str:
    """Why this JSON nests too deep to be read, or "" when it does not."""
    suspicious = body.count(b"{") + body.count(b"[") > MAX_DEPTH
    return "exceeded max depth" if suspicious and _json_too_deep(body) else ""


def yaml_fault(body: bytes) -> str:
    """Why this YAML nests too deep, or stands for too much, to be read, or ""; what is no YAML is for its reader."""
    if sum(map(body.count, _YAML_NESTING)) <= MAX_DEPTH and not (b"&" in body and b"*" in body):
        return ""
    try:
        return _yaml_fault(body)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError):
        return ""


def value_fault(value: Any) -> str:
    """Why this value nests too deep to be kept, or "": patches can put one deep value into another."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for one in level
            if isinstance(one, dict | list)
            for child in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return ""
    return "exceeded max depth"


def _json_too_deep(body: bytes) -> bool:
    depth = 0
    for byte in _STRINGS.sub(b"", body).translate(None, _NO_BRACKETS):
        depth += 1 if byte in b"{[" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def _yaml_fault(body: bytes) -> str:
    sizes = [0]  # nodes of each collection that is open
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
            # One that stands for what it is a part of has no end.
            sizes[-1] += anchors.get(event.anchor or "", MAX_NODES + 1)
        elif isinstance(event, yaml.ScalarEvent):
            sizes[-1] += 1
            if event.anchor is not None:
                anchors[event.anchor] = 1
        if len(sizes) > MAX_DEPTH:
            return f"exceeded max depth of {MAX_DEPTH}"
        if sizes[-1] > MAX_NODES:
            return "document contains excessive aliasing"
    return ""
