"""Message types of Kubernetes' protobuf encoding, from the table of Go types: those whose fields have numbers.

The types of fields are letters of `SCALARS` or names of messages.
"""

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import NamedTuple

from clientgo.meta.schema.gotypes import META, GoField, GoType, Section, is_always_written, item_of
from clientgo_apiserver.gotypes.table import sections

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types."""

SCALARS: Mapping[str, int] = {
    "s": BYTES,  # string
    "y": BYTES,  # bytes, base64 in JSON
    "j": BYTES,  # bytes that hold JSON
    "r": BYTES,  # bytes that hold another message, left as they are
    "i": VARINT,  # 32-bit integer
    "l": VARINT,  # 64-bit integer
    "b": VARINT,  # boolean
    "d": FIXED64,  # double
}
"""The wire type of each scalar type."""
_LETTERS = {
    "string": "s",
    "[]byte": "y",
    "json": "j",
    "raw": "r",
    "int32": "i",
    "int64": "l",
    "bool": "b",
    "float64": "d",
}
_NAME = re.compile(r"[A-Z]\w*")


class Message:
    """A message type, whose fields are read on first use."""

    def __init__(self, section: Section, entry: GoType) -> None:
        self.name = entry.name
        self.go_type = _go_name(section, entry)
        self.api_version = section.api_version
        self.entry = entry
        self._section = section

    @cached_property
    def fields(self) -> "dict[int, ProtobufField]":
        """The fields by number; 0 is that of one that is only in JSON."""
        return {row.number: self._field(row) for row in self.entry.fields if row.number is not None}

    @cached_property
    def defaulted(self) -> "tuple[tuple[int, ProtobufField], ...]":
        """The fields that JSON has even when they are not on the wire."""
        return tuple((number, field) for number, field in self.fields.items() if field.always)

    def _field(self, row: GoField) -> "ProtobufField":
        pointer = row.type.startswith("*")
        kind = _kind_of(self._section, row.type[1:] if pointer else row.type)
        message, name = kind.message, "" if row.name == "~" else row.name
        always = not name or is_always_written(row, message is not None and not (kind.repeated or kind.mapped))
        if kind.mapped:
            entry = GoType(f"{self.name}.{name}", "", f"\n  1 key! string\n  2 value {kind.text} always")
            message = Message(kind.section, entry)
        wire_type = SCALARS[kind.type] if message is None else BYTES
        pointer = pointer or (row.required and kind.text == "[]byte")  # null without a value
        return ProtobufField(
            name, kind.type, message, wire_type, kind.mapped, kind.repeated, pointer, always, row, self._section
        )


class _Kind(NamedTuple):
    """Shape of the Go type of a field: a list, a map or one value, and the message or scalar type of an item."""

    repeated: bool
    mapped: bool
    type: str
    message: Message | None
    text: str
    section: Section


@cache
def _kind_of(section: Section, text: str) -> _Kind:
    if text in _LETTERS:
        return _Kind(False, False, _LETTERS[text], None, text, section)
    if text.startswith("[]"):
        return _kind_of(section, text[2:])._replace(repeated=True)
    if text.startswith("map["):
        return _kind_of(section, text.partition("]")[2])._replace(mapped=True)
    named_type = section.find(text)
    assert named_type is not None, f"the table has no type {text}"
    home, entry = named_type
    if entry.base and not entry.fields:
        return _kind_of(home, entry.base.partition("(")[0])
    return _Kind(False, False, text, _message(home, entry), text, home)


class ProtobufField(NamedTuple):
    """A field of a message; `message` is its type (of a map: that of an entry) unless that is a scalar."""

    name: str
    type: str
    message: Message | None
    wire_type: int
    mapped: bool
    repeated: bool
    pointer: bool
    always: bool
    row: GoField
    section: Section

    @property
    def go_name(self) -> str:
        """The name of the field in Go."""
        return self.row.options.get("go") or self.name[:1].upper() + self.name[1:]

    @property
    def go_type(self) -> str:
        """The type of the field in Go, without a pointer, with the packages of all names."""
        text = self.row.type.removeprefix("*").replace("[]byte", "[]uint8")
        return _NAME.sub(lambda match: self._qualified(match[0]), text)

    @property
    def string_type(self) -> str:
        """The name in Go of the type of a string, or of a list's or map's strings; empty if it is `string`."""
        name = item_of(self.row.type)
        return self._qualified(name) if self.type == "s" and name[:1].isupper() else ""

    def _qualified(self, name: str) -> str:
        named_type = self.section.find(name)
        return name if named_type is None else _go_name(*named_type)


def _go_name(section: Section, entry: GoType) -> str:
    return f"{section.package_of(entry).rpartition('.')[2]}.{entry.name}"


def find_message(api_version: str, kind: str) -> Message | None:
    """Return the message of a kind, or None; `DeleteOptions` belong to every API version."""
    section = sections().get(META if kind == "DeleteOptions" else api_version)
    entry = None if section is None else section.types.get(kind)
    return None if section is None or entry is None or not _is_message(entry) else _message(section, entry)


def _is_message(entry: GoType) -> bool:
    fields = entry.fields
    return fields[0].number is not None if fields else not (entry.base or "schema" in entry.marks)


@cache
def _message(section: Section, entry: GoType) -> Message:
    return Message(section, entry)
