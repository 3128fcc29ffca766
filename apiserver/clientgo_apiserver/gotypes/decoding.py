"""Typed decoding of built-in objects from JSON, as by Go's types; the types come from the table of Go types.

Values of the wrong type are rejected, what `omitempty` omits is dropped, unknown fields are reported, and quantities
and times are normalized. A zero that Go always writes is dropped, too: defaulting takes it for absent, and then
`clientgo_apiserver.registry.defaults.types` adds it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, cached_property
from typing import Any, NamedTuple

from clientgo.internal.gotext import json_number
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.gotypes.messages import Message, ProtobufField, find_message
from clientgo_apiserver.gotypes.scalars import DecodeError, Mistyped, base64_value, int_or_string, quantity, time_in
from clientgo_apiserver.releases.release import cached_by_release

Convert = Callable[[Any, list[str]], Any]
"""Decodes a value; appends the paths of unknown fields."""

_PLAIN: Mapping[str, type] = {"s": str, "b": bool, "i": int, "l": int}
ZEROS: Mapping[str, Any] = {"s": "", "y": "", "i": 0, "l": 0, "b": False, "d": 0, "IntOrString": 0, "Quantity": "0"}
"""Zero values that JSON has."""
_GO_TYPES: Mapping[str, str] = {"s": "string", "b": "bool", "i": "int32", "l": "int64", "d": "float64", "y": "[]uint8"}
_RAW = frozenset({"j", "r", "RawExtension", "FieldsV1", "JSON"})
_UNIONS: Mapping[str, tuple[str, ...]] = {
    "JSONSchemaPropsOrArray": ("JSONSchemaProps", "*JSONSchemaProps"),
    "JSONSchemaPropsOrBool": ("JSONSchemaProps", "b"),
    "JSONSchemaPropsOrStringArray": ("JSONSchemaProps", "*s"),
}
_TIMES = ("Time", "MicroTime")
_EXACT = "Overhead"
"""Type whose amounts are not rounded up to thousandths, as those of `v1.ResourceList` are elsewhere."""
_HEAD = frozenset({"apiVersion", "kind", "metadata"})


def decode(
    message: Message, obj: Object, unknown: list[str], earlier: Object | None = None, *, merged: bool = False
) -> Object:
    """Return the object as its Go type would hold it; append the paths of unknown fields.

    Metadata is decoded elsewhere. Parts shared with `earlier`, a decoded object, are kept as they are. `merged`: the
    object is the result of a strategic merge, which Go converts without JSON.

    Raises:
        DecodeError: a value does not fit its field.
    """
    return _decode_rest(_struct(message, merged), obj, unknown, _HEAD | _shared(obj, earlier))


def decode_part(
    message: Message, value: Any, unknown: list[str], earlier: Object | None = None, *, merged: bool = False
) -> Object:
    """Return a struct as its Go type would hold it; `earlier` and `merged` as for `decode`."""
    shared = _shared(value, earlier) if earlier and type(value) is dict else ()
    struct = _struct(message, merged)
    return _decode_rest(struct, value, unknown, shared) if shared else struct.decode(value, unknown)


def _shared(obj: Object, earlier: Object | None) -> set[str]:
    return {field for field, value in obj.items() if value is earlier.get(field) is not None} if earlier else set()


def _decode_rest(struct: "_Struct", obj: Object, unknown: list[str], shared: Collection[str]) -> Object:
    new = struct.decode({field: value for field, value in obj.items() if field not in shared}, unknown)
    return {field: obj[field] if field in shared else new[field] for field in obj if field in shared or field in new}


class _Field(NamedTuple):
    name: str
    plain: type | None  # values of exactly this type need no conversion
    convert: Convert
    pointer: bool
    embedded: tuple[str, ...] = ()  # the embedded structs that it belongs to
    type_name: str = ""  # of a string type

    def locate(self, error: DecodeError, struct: str) -> DecodeError:
        """Return an error within this field of a struct, with that position."""
        if self.type_name and isinstance(error, Mistyped):
            error.name_type(self.type_name)
        for name in (self.name, *reversed(self.embedded)):
            error = error.within(name, struct)
        return error


class _Struct:
    """The compiled form of a message: its fields by JSON name, with those of embedded messages."""

    def __init__(self, message: Message, merged: bool) -> None:
        self._message = message
        self._merged = merged
        self.name = message.name

    @cached_property
    def fields(self) -> dict[str, _Field]:
        """Decoders of the fields."""
        decoders: dict[str, _Field] = {}
        for field in self._message.fields.values():
            if field.name:
                decoders[field.name] = _compiled(field, self._merged, exact=self.name == _EXACT)
            elif field.message is not None:
                for name, inner in _struct(field.message, self._merged).fields.items():
                    decoders[name] = inner._replace(embedded=(field.message.name, *inner.embedded))
        return decoders

    def decode(self, value: Any, unknown: list[str]) -> Object:
        """Decode an object."""
        if type(value) is not dict:
            raise Mistyped(value, self._message.go_type)
        decoded: Object = {}
        fields = self.fields
        for name, child in self._in_order(value):
            field = fields.get(name)
            if field is None:
                unknown.append(name)
            elif child is None:
                continue
            elif type(child) is field.plain:
                if child or field.pointer:
                    decoded[name] = child
            else:
                before = len(unknown)
                try:
                    child = field.convert(child, unknown)
                except DecodeError as error:
                    raise field.locate(error, self.name) from None
                if len(unknown) > before:
                    unknown[before:] = [
                        f"{name}{'' if path.startswith('[') else '.'}{path}" for path in unknown[before:]
                    ]
                if child is not None and (field.pointer or child or child not in _EMPTY):
                    decoded[name] = child
        return decoded

    def _in_order(self, value: Object) -> Iterable[tuple[str, Any]]:
        """Return the members of an object in the order in which Go reads them; the first error is the one reported."""
        if not self._merged:
            return value.items()
        return [
            *((name, value[name]) for name in self.fields if name in value),
            *((name, None) for name in value.keys() - self.fields.keys()),
        ]


_EMPTY: tuple[Any, ...] = ("", 0, [], {})


@cache
def _struct(message: Message, merged: bool) -> _Struct:
    return _Struct(message, merged)


def _compiled(field: ProtobufField, merged: bool, *, exact: bool) -> _Field:
    kind = "ResourceList" if field.row.type == "ResourceList" and not exact else field.type
    convert_item = _single(kind, item_message(field), merged)
    convert = (
        _list(field.go_type, convert_item, _element_zero(field))
        if field.repeated
        else _map_of(field, convert_item)
        if field.mapped
        else convert_item
    )
    plain = None if field.repeated or field.mapped or field.type in "il" else _PLAIN.get(field.type)
    struct = field.message is not None and not field.mapped and not field.repeated and is_struct(field.type)
    # An empty text is not a zero of int-or-string.
    with_zero = struct or (not field.repeated and (field.type in _RAW or field.type == "IntOrString"))
    # The client that sends an empty list owns it, although it is stored as an absent one.
    with_zero = with_zero or (field.always and (field.repeated or field.mapped)) or "present" in field.row.options
    return _Field(field.name, plain, convert, field.pointer or with_zero, type_name=field.string_type)


def _single(kind: str, message: Message | None, merged: bool) -> Convert:
    convert = _parsed(kind)
    if convert is not None:
        return _through_json(convert) if merged else convert
    if kind in _RAW:
        return lambda value, _: value
    if kind == "y":
        return lambda value, _: base64_value(value)
    if kind in "ilsbd":
        return _merged_number(kind) if merged and kind in "il" else _scalar(kind)
    assert message is not None, "a type that is not a scalar has a message"
    if kind == "ExtraValue":
        return _list("[]string", _scalar("s"), "")
    if kind in _UNIONS:
        return _union(_UNIONS[kind], message)
    return lambda value, unknown: _struct(message, merged).decode(value, unknown)


def _parsed(kind: str) -> Convert | None:
    """Return the decoder of a type that reads its JSON itself, or None."""
    if kind == "Quantity":
        return lambda value, _: quantity(value)
    if kind == "ResourceList":
        return lambda value, _: quantity(value, thousandths=True)
    if kind == "IntOrString":
        return lambda value, _: int_or_string(value)
    if kind in _TIMES:
        return lambda value, _: time_in(value, micro=kind == "MicroTime")
    return None


def _through_json(convert: Convert) -> Convert:
    """Return the decoder of a type that reads its JSON itself, for a value that is not JSON yet."""

    def converted(value: Any, unknown: list[str]) -> Any:
        try:
            return convert(int(value) if isinstance(value, float) and value.is_integer() else value, unknown)
        except Mistyped as error:
            raise DecodeError(str(error)) from None

    return converted


def _scalar(kind: str) -> Convert:
    expected, bits = _PLAIN.get(kind, float), 31 if kind == "i" else 63

    def convert(value: Any, _: list[str]) -> Any:
        cls = type(value)
        if kind in "il":
            if (cls is not int and cls is not float) or not -(1 << bits) <= value < 1 << bits or cls is float:
                raise Mistyped(value, _GO_TYPES[kind], written=True)
        elif kind == "d" and cls in (int, float):
            return json_number(float(value))
        elif cls is not expected:
            raise Mistyped(value, _GO_TYPES[kind])
        return value

    return convert


def _merged_number(kind: str) -> Convert:
    """Return the conversion of a number to an integer type as between variables of Go: by cutting it to its bits."""
    bits = 32 if kind == "i" else 64
    half, size = 1 << (bits - 1), 1 << bits

    def convert(value: Any, _: list[str]) -> Any:
        if type(value) not in (int, float) or not float(value).is_integer():
            raise Mistyped(value, _GO_TYPES[kind])
        return (int(value) + half) % size - half

    return convert


def _union(choices: tuple[str, ...], message: Message) -> Convert:
    schema = next(field.message for field in message.fields.values() if field.type == "JSONSchemaProps")
    assert schema is not None, "each of these types has a schema"

    def convert(value: Any, _: list[str]) -> Any:  # Go's decoders of unions do not report unknown fields
        if isinstance(value, dict):
            return _struct(schema, False).decode(value, [])
        if choices[1] == "b" and not isinstance(value, bool):
            raise DecodeError("boolean or JSON schema expected")
        if choices[1] == "*JSONSchemaProps" and isinstance(value, list):
            return [_struct(schema, False).decode(item, []) for item in value]
        return value if isinstance(value, bool if choices[1] == "b" else list) else None

    return convert


def _list(go_type: str, convert_item: Convert, zero: Any) -> Convert:
    def convert(value: Any, unknown: list[str]) -> Any:
        if type(value) is not list:
            raise Mistyped(value, go_type)
        items = []
        for index, item in enumerate(value):
            before = len(unknown)
            items.append(zero if item is None else convert_item(item, unknown))
            if len(unknown) > before:
                unknown[before:] = [f"[{index}].{path}" for path in unknown[before:]]
        return items

    return convert


def _map_of(field: ProtobufField, convert_item: Convert) -> Convert:
    go_type, zero = field.go_type, _element_zero(field)

    def convert(value: Any, unknown: list[str]) -> Any:
        if type(value) is not dict:
            raise Mistyped(value, go_type)
        entries = {}
        for key, item in value.items():
            before = len(unknown)
            entries[key] = zero if item is None else convert_item(item, unknown)
            if len(unknown) > before:
                unknown[before:] = [f"{key}.{path}" for path in unknown[before:]]
        return entries

    return convert


def _element_zero(field: ProtobufField) -> Any:
    if field.type in ZEROS:
        return ZEROS[field.type]
    return {} if is_struct(field.type) else None


def is_struct(kind: str) -> bool:
    """Return whether a type of the table is an object of fields."""
    return (
        kind not in ZEROS and kind not in _RAW and kind not in _TIMES and kind not in _UNIONS and kind != "ExtraValue"
    )


def item_message(field: ProtobufField) -> Message | None:
    """Return the message of a field's items or of a map's values."""
    if field.mapped and field.message is not None:
        return next(member.message for member in field.message.fields.values() if member.name == "value")
    return field.message


@cached_by_release
def message_of(api_version: str, kind: str) -> Message:
    """Return the message of a built-in kind."""
    message = find_message(api_version, kind)
    assert message is not None, f"the table has no {kind} of {api_version}"
    return message
