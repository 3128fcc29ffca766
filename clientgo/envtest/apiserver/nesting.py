"""How deep a body nests, found out before anything recursive reads it.

A real server takes 10,000 levels. Readers and validators here use the interpreter's stack, which a body of some hundred
kilobytes of brackets could exhaust, and with it, in the YAML library, the process. No kind of object comes near the
limit set here. YAML's aliases are held to account for what they stand for: nine lines can stand for a billion.
"""

import re

import yaml

from clientgo.envtest.apiserver.messages import Request
from clientgo.envtest.apiserver.status import bad_request

MAX_DEPTH = 150
MAX_NODES = 500_000  # far more than a body of the largest size holds without aliases
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")
_YAML_NESTING = (b":", b"- ", b"-\n", b"-\t", b"-\r", b"?", b"[", b"{")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def check_nesting(request: Request) -> None:
    """Refuse a body that nests too deep.

    Raises:
        ApiFailure: 400.
    """
    body = request.body
    kind = request.headers.get("content-type", "")
    if "protobuf" in kind:
        return
    if "yaml" in kind:
        suspicious = sum(map(body.count, _YAML_NESTING)) > MAX_DEPTH or (b"&" in body and b"*" in body)
        too_deep = suspicious and _yaml_too_deep(body)
    else:
        too_deep = body.count(b"{") + body.count(b"[") > MAX_DEPTH and _json_too_deep(body)
    if too_deep:
        why = f"exceeded max depth: this server reads {MAX_DEPTH} levels, aliases counted as what they stand for"
        raise bad_request(f"the object provided is unrecognized: {why}")


def _json_too_deep(body: bytes) -> bool:
    depth = 0
    for byte in _STRINGS.sub(b"", body).translate(None, _NO_BRACKETS):
        depth += 1 if byte in b"{[" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def _yaml_too_deep(body: bytes) -> bool:
    """Whether the YAML nests too deep; what is no YAML does not, and is refused by whoever reads it."""
    try:
        return _measure(body) > MAX_DEPTH
    except (yaml.YAMLError, UnicodeDecodeError, ValueError):
        return False


def _measure(body: bytes) -> int:
    """The depth, or more than any depth where aliases make too much of it."""
    sizes = [0]  # nodes of each collection that is open
    anchors: dict[str, int] = {}
    names: list[str | None] = []
    deepest = 0
    for event in yaml.parse(body, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            names.append(event.anchor)
            sizes.append(1)
            deepest = max(deepest, len(sizes))
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
        if sizes[-1] > MAX_NODES or deepest > MAX_DEPTH:
            return MAX_DEPTH + 1
    return deepest
