"""Decoder of Kubernetes' protobuf bodies into the JSON that Go's encoder would have written for the same object.

Go's typed clients and kubectl send built-in kinds in this encoding; responses are always JSON, which they accept. The
body is an envelope (`k8s`, a zero byte, then apiVersion, kind and the object's bytes). A real server ignores fields it
does not know; this decoder rejects them, because its table could be the older one. Only an unknown field that is empty
is skipped: clients of other releases encode the zero of each field that is not a pointer.
"""

import base64
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from clientgo.internal.gotext import json_number
from clientgo_apiserver.api.limits import MAX_DEPTH, MAX_NODES
from clientgo_apiserver.gotypes.messages import BYTES, FIXED32, FIXED64, VARINT, Message, ProtobufField, find_message
from clientgo_apiserver.http.nesting import json_error, value_error
from clientgo_apiserver.releases.release import cached_by_release

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
"""The content type of these bodies."""

_MAGIC = b"k8s\x00"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_GO_ZERO_TIME = datetime(1, 1, 1, tzinfo=UTC)
_TRUNCATED = "unexpected EOF"
_OVERFLOW = "proto: integer overflow"

_Raw = int | bytes


class Envelope(NamedTuple):
    """Envelope of a body; apiVersion and kind may be empty, then the request's apply."""

    api_version: str
    kind: str
    raw: bytes


def read_envelope(body: bytes) -> Envelope:
    """Read the envelope of a body.

    Raises:
        ValueError: the body is not in this format.
    """
    if not body:
        raise ValueError("empty data")
    if not body.startswith(_MAGIC):
        prefix = " ".join(map(str, _MAGIC))
        raise ValueError(f"provided data does not appear to be a protobuf message, expected prefix [{prefix}]")
    if body == _MAGIC:
        raise ValueError("empty body")
    message = find_message("meta.k8s.io/v1", "Unknown")
    assert message is not None, "the table has the envelope"
    envelope = decode(message, body[len(_MAGIC) :])
    encoding, content_type = envelope.get("contentEncoding"), envelope.get("contentType", MEDIA_TYPE)
    if encoding or content_type != MEDIA_TYPE:
        raise ValueError(f"unsupported encoding {encoding or content_type!r} of the object: expected {MEDIA_TYPE}")
    names = envelope.get("typeMeta", {})
    return Envelope(names.get("apiVersion", ""), names.get("kind", ""), envelope.get("raw", b""))


def decode(message: Message, raw: bytes) -> dict[str, Any]:
    """Decode the bytes of an object, which is without apiVersion and kind: the envelope has them.

    Raises:
        ValueError: the bytes are not this message.
    """
    value: dict[str, Any] = _Decoder().message(message, raw, 0)
    reason = value_error(value)
    if reason:
        raise ValueError(reason)
    return value


@cached_by_release
def zero_value(api_version: str, kind: str) -> dict[str, Any]:
    """Return the JSON of an empty object of a built-in kind: its structs, and fields that Go never omits."""
    message = find_message(api_version, kind)
    return {} if message is None else decode(message, b"")


class _Decoder:
    """Decodes one body, within a limit: a message of two bytes can stand for an object with many defaults."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def message(self, message: Message, data: bytes, depth: int) -> Any:
        """Decode a message to JSON."""
        self._left -= 1
        if depth > MAX_DEPTH or self._left < 0:
            raise ValueError("exceeded max depth" if depth > MAX_DEPTH else "exceeded max number of messages")
        members: dict[str, Any] = {}
        wire = _fields(message, data)
        for field, raws in wire.values():
            value = self._value(field, raws, depth + 1)
            if not field.name:
                members.update(value)
            elif value or field.pointer or field.always:
                members[field.name] = value
        for number, field in message.defaulted:
            if number in wire:
                continue
            if not field.name:
                members.update(self._value(field, [b""], depth + 1))
            elif field.pointer or field.repeated or field.mapped:
                members[field.name] = None
            elif field.message is not None:
                members[field.name] = self.message(field.message, b"", depth + 1)
            else:
                members[field.name] = _ZEROS[field.type]
        shape = _SHAPES.get(message.name)
        return members if shape is None else shape(members)

    def _value(self, field: ProtobufField, raws: list[_Raw], depth: int) -> Any:
        if field.message is None:
            scalar = _SCALARS[field.type]
            return [scalar(raw) for raw in raws] if field.repeated else scalar(raws[-1])
        if not (field.repeated or field.mapped):
            # Parts of one message are merged: protobuf defines this as the message of their bytes in a row.
            return self.message(field.message, b"".join(map(_bytes, raws)), depth)
        values = [self.message(field.message, _bytes(raw), depth) for raw in raws]
        return {entry["key"]: entry["value"] for entry in values} if field.mapped else values


def _fields(message: Message, data: bytes) -> dict[int, tuple[ProtobufField, list[_Raw]]]:
    """Collect the values on the wire by field number, of the wire type that the field has."""
    values: dict[int, tuple[ProtobufField, list[_Raw]]] = {}
    fields = message.fields
    for number, wire_type, raw in _parts(message, data):
        field = fields.get(number)
        if field is None:
            if raw:
                raise ValueError(f"proto: {message.name}: unknown field number {number}")
            continue
        raws = values.setdefault(number, (field, []))[1]
        if wire_type == field.wire_type:
            raws.append(raw)
        elif field.repeated and wire_type == BYTES:
            data, at = _bytes(raw), 0
            while at < len(data):
                value, at = _varint(data, at) if field.wire_type == VARINT else _fixed(data, at, 8)
                raws.append(value)
        else:
            raise ValueError(f"proto: wrong wireType = {wire_type} for field {message.name}.{field.name or field.type}")
    return values


def _parts(message: Message, data: bytes) -> Iterator[tuple[int, int, _Raw]]:
    """Iterate over the fields of a message: number, wire type, and an integer or bytes."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise ValueError(f"proto: {message.name}: illegal tag {number} (wire type {wire_type})")
        if wire_type == VARINT:
            value, at = _varint(data, at)
            yield number, wire_type, value
        elif wire_type == BYTES:
            size, at = _varint(data, at)
            if at + size > end:
                raise ValueError(_TRUNCATED)
            yield number, wire_type, data[at : at + size]
            at += size
        elif wire_type in {FIXED64, FIXED32}:
            value, at = _fixed(data, at, 8 if wire_type == FIXED64 else 4)
            yield number, wire_type, value
        else:
            raise ValueError(f"proto: illegal wireType {wire_type}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    if at < len(data) and data[at] < 0x80:  # most tags, lengths and numbers
        return data[at], at + 1
    value = shift = 0
    while True:
        if shift > 63:
            raise ValueError(_OVERFLOW)
        if at >= len(data):
            raise ValueError(_TRUNCATED)
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at


def _fixed(data: bytes, at: int, size: int) -> tuple[int, int]:
    if at + size > len(data):
        raise ValueError(_TRUNCATED)
    return int.from_bytes(data[at : at + size], "little"), at + size


def _bytes(raw: _Raw) -> bytes:
    assert isinstance(raw, bytes), "the wire type has been checked"
    return raw


def _long(raw: _Raw) -> int:
    assert isinstance(raw, int), "the wire type has been checked"
    return raw - (1 << 64) if raw >= 1 << 63 else raw


def _int(raw: _Raw) -> int:
    value = _long(raw)
    if not -(1 << 31) <= value < 1 << 31:
        raise ValueError(_OVERFLOW)
    return value


def _double(raw: _Raw) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", _long(raw)))[0]
    if value - value != 0:
        raise ValueError(f"unsupported number {value}: JSON has none like it")
    # Go writes 3, not 3.0; so the same object is the same JSON.
    return json_number(value)


def _decode_str(raw: _Raw) -> str:
    try:
        return _bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise ValueError("string field contains invalid UTF-8") from error


def _json(raw: _Raw) -> Any:
    text = _bytes(raw)
    reason = json_error(text)
    if reason:
        raise ValueError(reason)
    try:
        return msgspec.json.decode(text) if text else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"invalid JSON in a bytes field: {error}") from error


_SCALARS: dict[str, Callable[[_Raw], Any]] = {
    "s": _decode_str,
    "y": lambda raw: base64.b64encode(_bytes(raw)).decode(),
    "j": _json,
    "r": _bytes,
    "i": _int,
    "l": _long,
    "b": bool,
    "d": _double,
}
_ZEROS: dict[str, Any] = {"s": "", "y": "", "i": 0, "l": 0, "b": False, "d": 0}


def _moment(members: dict[str, Any], timespec: str) -> str | None:
    """Format a time as JSON has it; null for Go's zero time, which is the empty message."""
    if not members:
        return None
    try:
        moment = _EPOCH + timedelta(seconds=members.get("seconds", 0), microseconds=members.get("nanos", 0) // 1000)
    except OverflowError as error:
        raise ValueError("time out of range: expected a year from 1 to 9999") from error
    return None if moment == _GO_ZERO_TIME else moment.replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


# Messages whose JSON is not an object of their fields.
_SHAPES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "Time": lambda members: _moment({**members, "nanos": 0} if members else members, "seconds"),
    "MicroTime": lambda members: _moment(members, "microseconds"),
    "Quantity": lambda members: members.get("string", "0"),
    "IntOrString": lambda members: members.get("strVal", "") if members.get("type") else members.get("intVal", 0),
    "FieldsV1": lambda members: members.get("Raw"),
    "RawExtension": lambda members: members.get("raw"),
    "ExtraValue": lambda members: members.get("items", []),
    "JSON": lambda members: members.get("raw"),
    "JSONSchemaPropsOrArray": lambda members: members.get("jSONSchemas") or members.get("schema"),
    "JSONSchemaPropsOrBool": lambda members: members.get("schema", members.get("allows", False)),
    "JSONSchemaPropsOrStringArray": lambda members: members.get("property") or members.get("schema"),
}
