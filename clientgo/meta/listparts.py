"""Parts of a list: cuts the JSON of a list between two items while it arrives.

    for part in list_parts(stream):
        objects += codec.decode_list(part).items

Only a part is in memory, and it is decoded while the server sends the next one. A cut is correct if all before it is a
complete sequence of JSON values: no text inside an item or a string is.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

PART_BYTES = 1024 * 1024
"""Least size of a part; a larger one takes longer to decode, and holds up other threads that long."""

_MAX_TRIES = 8
"""Cuts to try before more data is read: items may contain what looks like the start of another one."""

_TEXT = rb'"[^"\\{}]*+"'
# As Go encodes a list of built-in objects, or of custom ones: their list's kind and metadata follow the items.
_START = re.compile(
    rb'(\{(?:"kind":%b,"apiVersion":%b,"metadata":\{[^{}]*+\}|"apiVersion":%b),"items":\[)'
    rb'(\{(?:"apiVersion":%b,"kind":%b,)?"metadata":\{)' % (_TEXT, _TEXT, _TEXT, _TEXT, _TEXT)
)

_VALUES = msgspec.json.Decoder(list[msgspec.Raw])


class ListPart(NamedTuple):
    """A list with some of the items. Only the last one is sure to have the list's kind and metadata."""

    body: bytes
    is_last: bool


def list_parts(pieces: Iterable[bytes], size: int = PART_BYTES) -> Iterator[ListPart]:
    """Yield the parts of a list, which together have its items in their order.

    A list that begins otherwise than Go encodes it is one part.
    """
    buffer, head, separator, threshold = bytearray(), b"", b"", size
    for piece in pieces:
        buffer += piece
        if len(buffer) < threshold:
            continue
        if not head and (start := _START.match(buffer)) is not None:
            head, separator = start[1], b"}," + start[2]
            del buffer[: len(head)]
        end = _end_of_items(buffer, separator) if head else 0
        if end:
            yield ListPart(head + buffer[:end] + b"]}", is_last=False)
            del buffer[: end + 1]
        # Each try costs as much as what it reads: twice as much before the next keeps the sum linear.
        threshold = size if end else 2 * len(buffer)
    yield ListPart(head + buffer, is_last=True)


def _end_of_items(buffer: bytearray, separator: bytes) -> int:
    """Return the end of the last item that another one follows; 0 if it is not among the last candidates."""
    end = len(buffer)
    for _ in range(_MAX_TRIES):
        end = buffer.rfind(separator, 0, end)
        if end < 0:
            break
        try:
            _VALUES.decode(b"[" + buffer[: end + 1] + b"]")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        return end + 1
    return 0
