"""Items of a list: splits the JSON of a list into undecoded items, whole or while it arrives.

    for part in list_parts(stream):
        objects += codec.decode_items(part if isinstance(part, RawList) else split_list(part)).items

Each item is then decoded alone, so that one that is invalid or nested too deep does not hide the others.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.objects import ListMeta
from clientgo.meta.shallow_json import UNREADABLE, elements, members, only

PART_BYTES = 1024 * 1024
"""Least size of a part; a larger one takes longer to decode, and holds up other threads that long."""

_MAX_TRIES = 8
"""Cuts to try before more data is read: items may contain what looks like the start of another one."""

_TABLE_VERSIONS = ("meta.k8s.io/v1", "meta.k8s.io/v1beta1")
_HEAD = ("apiVersion", "kind", "metadata")
_TEXT = rb'"[^"\\{}]*+"'
# As Go encodes a list of built-in objects, or of custom ones: their list's kind and metadata follow the items.
_START = lazy_pattern(
    rb'(\{(?:"kind":%b,"apiVersion":%b,"metadata":\{[^{}]*+\}|"apiVersion":%b),"items":\[)'
    rb'(\{(?:"apiVersion":%b,"kind":%b,)?"metadata":\{)' % (_TEXT, _TEXT, _TEXT, _TEXT, _TEXT)
)


class RawList(msgspec.Struct, frozen=True):
    """A list, or a part of one, with undecoded items; they are UNSET if it has none, not even null."""

    # Any: a wrong type must not hide the items.
    api_version: Any = msgspec.field(default="", name="apiVersion")
    kind: Any = ""
    metadata: ListMeta | None = None
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET


_LIST = msgspec.json.Decoder(RawList)
_VALUES = msgspec.json.Decoder(list[msgspec.Raw])


def is_table(api_version: object, kind: object) -> bool:
    """Return True for a table that the server prepares for kubectl; its rows are not items."""
    return kind == "Table" and api_version in _TABLE_VERSIONS


def split_list(data: bytes) -> RawList:
    """Split a list with items of any depth; raise msgspec's errors if it is not a list."""
    try:
        return _LIST.decode(data)
    except RecursionError:
        raw_members = members(data)
    page = _LIST.decode(only(raw_members, _HEAD))
    if "items" not in raw_members:
        return page
    return replace(page, items=[msgspec.Raw(item) for item in elements(raw_members["items"])])


def list_parts(pieces: Iterable[bytes], size: int = PART_BYTES) -> Iterator[RawList | bytes]:
    """Yield the parts of a list in their order, and the rest of the list as JSON at last.

    Only a part is in memory, and it is decoded while the server sends the next one. Only the rest is sure to have the
    list's kind and metadata. It is the whole list if the list is short, or begins otherwise than Go encodes it.
    """
    buffer, head, separator, threshold = bytearray(), b"", b"", size
    for piece in pieces:
        buffer += piece
        if len(buffer) < threshold:
            continue
        if not head and (start := _START.match(buffer)) is not None:
            head, separator = start[1], b"}," + start[2]
            del buffer[: len(head)]
        items, end = _complete_items(buffer, separator) if head else ([], 0)
        if end:
            yield replace(_LIST.decode(head + b"]}"), items=items)
            del buffer[: end + 1]
        # Each try costs as much as what it reads: twice as much before the next keeps the sum linear.
        threshold = size if end else 2 * len(buffer)
    yield head + buffer


def _complete_items(buffer: bytearray, separator: bytes) -> tuple[list[msgspec.Raw], int]:
    """Return the items before the last one, and their end; 0 if it is not among the last candidates.

    A cut is correct if all before it is a complete sequence of JSON values: no text inside an item or a string is.
    """
    end = len(buffer)
    for _ in range(_MAX_TRIES):
        end = buffer.rfind(separator, 0, end)
        if end < 0:
            break
        try:
            return _VALUES.decode(b"[" + buffer[: end + 1] + b"]"), end + 1
        except UNREADABLE:
            continue
    return [], 0
