"""Message types of Kubernetes' protobuf encoding, read from `protobuf_messages.txt` when the first body arrives.

The file has a section per API version (`[apps/v1]`) and a line per message: its name, then `number:JSON name:type` of
each field, in the order of the Go struct, in which JSON has them. A type is a letter of `SCALARS` or a message of the
same section, of `v1` or of `meta.k8s.io/v1`, found in this order. `*` before a type is a list, `%` a map from strings.
A field without a JSON name is embedded: its members belong to the object around it. One numbered 0 is only in JSON.
Two marks behind a type say when JSON has the field, as Go's encoder decides it:

- no mark: when it is not zero (`omitempty`)
- `!`: when it is on the wire (a pointer, which tells zero from absent)
- `=`: always, be it zero or null (a struct, or a field without `omitempty`)
"""

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from clientgo_apiserver.datafiles import read_sections

_CORE, _META = "v1", "meta.k8s.io/v1"

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


class Message:
    """A message type, whose fields are parsed on first use."""

    def __init__(self, name: str, columns: str, scope: "Mapping[str, Message]", version: str = "v1") -> None:
        self.name = name
        self.go_type = f"{version}.{name}"
        self._columns = columns
        self._scope = scope

    @cached_property
    def fields(self) -> "dict[int, ProtobufField]":
        """The fields by number."""
        return dict(map(self._field, self._columns.split()))

    @cached_property
    def defaulted(self) -> "tuple[tuple[int, ProtobufField], ...]":
        """The fields that JSON has even when they are not on the wire."""
        return tuple((number, field) for number, field in self.fields.items() if field.always)

    def _field(self, column: str) -> "tuple[int, ProtobufField]":
        number, name, marked = column.split(":")
        bare = marked.strip("*%!=")
        mapped = marked.startswith("%")
        message: Message | None = None
        if mapped:
            message = Message(f"{self.name}.{name}", f"1:key:s= 2:value:{bare}=", self._scope)
        elif bare not in SCALARS:
            message = self._scope[bare]
        field = ProtobufField(
            name=name,
            type=bare,
            message=message,
            wire_type=BYTES if message is not None else SCALARS[bare],
            mapped=mapped,
            repeated=marked.startswith("*"),
            pointer="!" in marked,
            always="=" in marked or not name,
        )
        return int(number), field


@dataclass(frozen=True, slots=True)
class ProtobufField:
    """A field of a message; `message` is its type (of a map: that of an entry) unless that is a scalar."""

    name: str
    type: str
    message: Message | None
    wire_type: int
    mapped: bool
    repeated: bool
    pointer: bool
    always: bool


def find_message(api_version: str, kind: str) -> Message | None:
    """Return the message of a kind, or None; `DeleteOptions` belong to every API version."""
    return _sections().get(_META if kind == "DeleteOptions" else api_version, {}).get(kind)


@cache
def _sections() -> dict[str, dict[str, Message]]:
    sections: dict[str, dict[str, Message]] = {_CORE: {}, _META: {}}
    for section, lines in read_sections(__package__, "protobuf_messages.txt").items():
        messages = sections.setdefault(section, {})
        for name, _, columns in (line.partition(" ") for line in lines):
            scope = ChainMap(messages, sections[_CORE], sections[_META])
            messages[name] = Message(name, columns, scope, section.rpartition("/")[2])
    return sections
