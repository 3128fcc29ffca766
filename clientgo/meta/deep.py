"""What can be read of answers that hold an object nested deeper than the decoder goes: everything but that object.

Only what the decoder has given up with a `RecursionError` comes here.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from clientgo.meta.objects import ListMeta
from clientgo.meta.outline import elements, members

_TOP = ("apiVersion", "kind", "metadata")
_NAMES = ("name", "namespace", "uid", "resourceVersion")


class RawList(msgspec.Struct, frozen=True):
    """A page of a list whose items are still undecoded."""

    api_version: Any = msgspec.field(default="", name="apiVersion")
    kind: Any = ""
    metadata: ListMeta | None = None
    items: tuple[msgspec.Raw, ...] | None = ()


_LIST = msgspec.json.Decoder(RawList)


def raw_list(data: bytes) -> RawList:
    """The page of a list in `data`, however deep its items are nested; raises what msgspec raises if it is none."""
    try:
        return _LIST.decode(data)
    except RecursionError:
        found = members(data)
    page = _LIST.decode(_only(found, _TOP))
    return msgspec.structs.replace(page, items=tuple(map(msgspec.Raw, elements(found.get("items", b"null")))))


def reason(error: Exception) -> str:
    """Why an object can't be decoded, in words that help."""
    return "it is nested too deep" if isinstance(error, RecursionError) else str(error)


def names_alone(data: bytes) -> bytes:
    """The object in `data` with nothing but what tells it from others; empty if even that can't be read.

    Its managed fields are nested as deep as it is, so its metadata may be too deep as well.
    """
    try:
        metadata = members(members(data).get("metadata", b"{}"))
    except msgspec.DecodeError:
        return b""
    return b'{"metadata":%s}' % _only(metadata, _NAMES)


def _only(found: Mapping[str, bytes], names: tuple[str, ...]) -> bytes:
    return b"{%s}" % b",".join(b'"%s":%s' % (name.encode(), found[name]) for name in names if name in found)
