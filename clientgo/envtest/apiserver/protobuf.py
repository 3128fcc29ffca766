"""Reads the protobuf bodies that kubectl's and Go's typed clients send; answers are always JSON, which they accept.

`kubectl create namespace` and its like send nothing else. The envelope (`k8s`, a zero byte, then apiVersion, kind and
the object's bytes) and the messages become the JSON the same client would have sent: zero values that Go's `omitempty`
would drop are dropped. What the table of messages does not know is refused, never skipped.
"""

import base64
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec

from clientgo.envtest.apiserver.protobuf_types import KINDS, MESSAGES

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
"""The content type of these bodies."""

_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    kind: str
    repeated: bool
    mapped: bool
    pointer: bool


def decode(body: bytes) -> dict[str, Any]:
    """Give the object a body holds, with its apiVersion and kind; ValueError says what cannot be read."""
    if not body.startswith(_MAGIC):
        raise ValueError("the body is not in Kubernetes' protobuf format")
    envelope = dict(_parts(body[len(_MAGIC) :]))
    names = dict(_parts(_bytes(envelope.get(1, b""))))
    api_version, kind = (_bytes(names.get(number, b"")).decode() for number in (1, 2))
    if kind != "DeleteOptions" and kind not in KINDS.get(api_version, ()):
        raise ValueError(f"{kind or 'an object'} of {api_version or 'no version'} is not read in protobuf; send JSON")
    try:
        found = _message(kind, _bytes(envelope.get(2, b"")))
    except RecursionError as error:
        raise ValueError("the body is nested too deeply") from error
    return {"apiVersion": api_version, "kind": kind, **found}


@cache
def _fields(message: str) -> dict[int, _Field]:
    """Give a message's fields by number; empty for a message of which nothing but its presence is known."""
    return _table().get(message, {})


@cache
def _table() -> dict[str, dict[int, _Field]]:
    found: dict[str, dict[int, _Field]] = {}
    for row in MESSAGES.strip().replace("\n    ", " ").splitlines():
        message, *columns = row.split()
        found[message] = dict(_field(column) for column in columns)
    return found


def _field(column: str) -> tuple[int, _Field]:
    number, name, kind = column.split(":")
    bare = kind.strip("*%!")
    return int(number), _Field(name, bare, kind.startswith("*"), kind.startswith("%"), kind.endswith("!"))


def _message(message: str, data: bytes) -> dict[str, Any]:
    known = _fields(message)
    found: dict[str, Any] = {}
    for number, raw in _parts(data):
        field = known.get(number)
        if field is None:
            if raw not in {b"", 0}:
                raise ValueError(f"field {number} of {message} is not read in protobuf; send JSON")
            continue
        _add(found, field, raw)
    return found


def _add(found: dict[str, Any], field: _Field, raw: int | bytes) -> None:
    if field.mapped:
        entry = dict(_parts(_bytes(raw)))
        key = _bytes(entry.get(1, b"")).decode()
        found.setdefault(field.name, {})[key] = _value(field.kind, entry.get(2, b""))
        return
    value = _value(field.kind, raw)
    if field.repeated:
        found.setdefault(field.name, []).append(value)
    elif not field.name:
        found.update(value)
    elif field.pointer or not _is_zero(value):
        found[field.name] = value


def _is_zero(value: Any) -> bool:
    return value is None or value is False or value in ("", 0, {})


def _value(kind: str, raw: int | bytes) -> Any:
    simple = _SIMPLE.get(kind)
    return simple(raw) if simple is not None else _message(kind, _bytes(raw))


def _bytes(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise ValueError("a number stands where the protobuf body should have bytes")
    return raw


def _integer(raw: int | bytes) -> int:
    if not isinstance(raw, int):
        raise ValueError("bytes stand where the protobuf body should have a number")
    return raw - (1 << 64) if raw >= 1 << 63 else raw


def _text(raw: int | bytes) -> str:
    return _bytes(raw).decode()


def _time(raw: int | bytes, *, micro: bool = False) -> str | None:
    parts = dict(_parts(_bytes(raw)))
    if not parts:
        return None
    try:
        moment = _EPOCH + timedelta(seconds=_integer(parts.get(1, 0)), microseconds=_integer(parts.get(2, 0)) // 1000)
    except OverflowError as error:
        raise ValueError("a time in the protobuf body is out of range") from error
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


def _quantity(raw: int | bytes) -> str:
    return _text(dict(_parts(_bytes(raw))).get(1, b""))


def _int_or_string(raw: int | bytes) -> int | str:
    parts = dict(_parts(_bytes(raw)))
    return _text(parts.get(3, b"")) if parts.get(1, 0) else _integer(parts.get(2, 0))


def _json(raw: int | bytes) -> Any:
    text = _bytes(dict(_parts(_bytes(raw))).get(1, b""))
    try:
        return msgspec.json.decode(text) if text else None
    except msgspec.DecodeError as error:
        raise ValueError(f"JSON inside the protobuf body does not parse: {error}") from error


_SIMPLE: dict[str, Any] = {
    "s": _text,
    "i": _integer,
    "b": lambda raw: bool(_integer(raw)),
    "y": lambda raw: base64.b64encode(_bytes(raw)).decode(),
    "t": _time,
    "u": lambda raw: _time(raw, micro=True),
    "q": _quantity,
    "I": _int_or_string,
    "j": _json,
}


def _parts(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Give the fields of a message as they come: numbers for integers, bytes for everything else."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
        elif wire in {_FIXED64, _FIXED32}:
            size = 8 if wire == _FIXED64 else 4
            yield number, int(struct.unpack("<Q" if size == 8 else "<I", _cut(data, at, size))[0])
            at += size
        elif wire == _BYTES:
            size, at = _varint(data, at)
            yield number, _cut(data, at, size)
            at += size
        else:
            raise ValueError(f"the protobuf body has a field of unknown wire type {wire}")


def _cut(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise ValueError("the protobuf body ends in the middle of a field")
    return data[at : at + size]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("the protobuf body ends in the middle of a number")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
