"""Go structs of the built-in kinds: order of their fields in JSON, and merge rules.

Go writes the fields of a built-in kind in the order of its struct, and custom resources, which are maps, by name.
"""

import json
import types
from collections.abc import Callable, Iterable
from functools import cache, lru_cache, partial
from operator import is_
from typing import Any, Optional

import msgspec
from msgspec.structs import replace

from clientgo.meta.apply.mergerules import ENTRIES, FieldPath, MergeRule, MergeRules, rule_of
from clientgo_apiserver.api.largejson import decode_large
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.gotypes.messages import Message, ProtobufField, find_message
from clientgo_apiserver.merging.mergelists import UnmergeablePatch
from clientgo_apiserver.releases.release import cached_by_release

OPAQUE = frozenset(("ExtraValue", "FieldsV1", "IntOrString", "JSON", "MicroTime", "Quantity", "RawExtension", "Time"))
"""Messages whose JSON is not an object of their fields."""
_UNION = "JSONSchemaPropsOr"
_UNION_TYPE = "JSONSchemaProps | list[JSONSchemaProps | str] | bool | None"
_CACHE_SIZE = 4096
ATOMIC = MergeRule(list_type="atomic")
_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_encode_deterministic = msgspec.json.Encoder(order="deterministic").encode
_HEAD = (("kind", Any), ("apiVersion", Any))
_TYPE_META = frozenset(name.lower() for name, _ in _HEAD)


def encode(obj: Object) -> bytes:
    """Return the object's JSON, with its fields in the order in which Kubernetes' JSON has them, on all levels."""
    struct = _struct_of(obj["apiVersion"], obj["kind"])
    if struct is None:
        return _encode_sorted(obj)
    try:
        return _encode_deterministic(msgspec.convert(obj, struct))
    except msgspec.ValidationError:
        return _encode(obj)  # not of this type, so validation has not seen it


def in_order(obj: Object) -> Object:
    """Return the object with its fields in the order of `encode`."""
    ordered: Object = decode_large(encode(obj))
    return ordered


def metadata_in_order(obj: Object) -> Object:
    """Return the metadata of an object as the metadata of a built-in kind."""
    ordered: Object = in_order({"apiVersion": "v1", "kind": "ConfigMap", "metadata": obj.get("metadata", {})})
    return ordered["metadata"]  # type: ignore[no-any-return]


def _rule_of_kind(api_version: str, kind: str, path: FieldPath) -> MergeRule | None:
    message, rule, in_map = find_message(api_version, kind), None, False
    for name in path:
        if message is None:
            return None
        if in_map:
            message, rule, in_map = message.fields[2].message, None, False
            continue
        field = fields_by_name(message).get(name)
        if field is None:
            return None
        message, in_map = field.message, field.mapped
        item = None if message is None or in_map else message.entry
        rule = ATOMIC if field.type == "RawExtension" else rule_of(field.row, item) or (ENTRIES if in_map else None)
    return rule if rule is None or message is None else _with_key_defaults(rule, message)


def check_field(api_version: str, kind: str, path: FieldPath, merged_as: type) -> None:
    """Check that a kind has a field that a strategic merge patch can merge as a dict or a list.

    Raises:
        UnmergeablePatch: it has not, in the words of Go's lookup of fields.
    """
    *parents, name = path
    owner, mapped, pointer = find_message(api_version, kind), False, False
    for parent in parents:
        if owner is None or mapped:
            owner, mapped, pointer = owner and owner.fields[2].message, False, False
        elif (field := fields_by_name(owner).get(parent)) is not None:
            owner, mapped, pointer = field.message, field.mapped, field.pointer
        else:
            owner = None
    if owner is None:
        return
    if mapped:
        raise UnmergeablePatch("merging an object in json but data type is not struct, instead is: map")
    field = None if owner.name in OPAQUE else _fields_ignoring_case(owner).get(name.lower())
    type_meta = not parents and name.lower() in _TYPE_META
    if field is None and not type_meta:
        text = json.dumps(name, ensure_ascii=False)
        raise UnmergeablePatch(f"unable to find api field in struct {owner.name} for the json field {text}")
    if merged_as is list and (field is None or not (field.repeated or field.pointer or field.type == "y")):
        raise UnmergeablePatch(f"expected slice or array type, but got: {'ptr' if pointer else 'struct'}")


@cache
def _fields_ignoring_case(message: Message) -> dict[str, ProtobufField]:
    return {name.lower(): field for name, field in fields_by_name(message).items()}


def _with_key_defaults(rule: MergeRule, item: Message) -> MergeRule:
    """Return the rule with the zero values of keys that Go always writes, besides the schema's defaults."""
    zeros = {"s": "", "i": 0, "l": 0}
    fields = fields_by_name(item)
    always = {key: zeros[fields[key].type] for key in rule.map_keys if key in fields and fields[key].always}
    return replace(rule, key_defaults=tuple({**always, **dict(rule.key_defaults)}.items()))


@cache
def fields_by_name(message: Message) -> dict[str, ProtobufField]:
    """Return the JSON fields of a message by name."""
    return {field.name: field for field in members(message)}


@cached_by_release
def rules_of_kind(api_version: str, kind: str) -> MergeRules:
    """Return the merge rules of a built-in kind, by path of field names; list items add nothing to the path."""
    return cached_rules(partial(_rule_of_kind, api_version, kind))


def cached_rules(find: MergeRules) -> MergeRules:
    """Cache a function from paths to merge rules; its size is limited, because paths contain names of users."""
    return lru_cache(maxsize=_CACHE_SIZE)(find)


def members(message: Message) -> Iterable[ProtobufField]:
    """Iterate over the JSON fields of a message, including those of embedded messages."""
    for field in message.fields.values():
        if field.name:
            yield field
        elif field.message is not None:
            yield from members(field.message)


def over_items(field: ProtobufField, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the conversion of a field's value by that of each item; a value of which nothing changes is kept."""
    if not (field.repeated or field.mapped):
        return convert

    def converted(value: Any) -> Any:
        if field.repeated:
            items = [*map(convert, value)]
            return value if all(map(is_, items, value)) else items
        entries = {key: convert(item) for key, item in value.items()}
        return value if all(map(is_, entries.values(), value.values())) else entries

    return converted


@cached_by_release
def _struct_of(api_version: str, kind: str) -> Any:
    message = find_message(api_version, kind)
    return None if message is None else _define(message, _HEAD)


@cache
def _struct(message: Message) -> Any:
    if message.name in OPAQUE:
        return Any
    return _UNION_TYPE if message.name.startswith(_UNION) else _define(message)


def _define(message: Message, head: tuple[tuple[str, Any], ...] = ()) -> Any:
    """Return a class with the message's fields in order, any of which may be absent or null."""
    remaining_fields = (field for field in members(message) if field.name not in dict(head))
    hints = [*head, *((field.name, _hint(message, field)) for field in remaining_fields)]
    fields = [
        (f"f{number}", hint, msgspec.field(name=name, default=msgspec.UNSET))
        for number, (name, hint) in enumerate(hints)
    ]
    struct = msgspec.defstruct(message.name, fields)
    setattr(struct, message.name, struct)  # for types that refer to themselves
    return struct


def _hint(owner: Message, field: ProtobufField) -> Any:
    message = field.message
    if message is not None and field.mapped:
        message = message.fields[2].message
    hint: Any = Any
    if message is not None:
        hint = owner.name if message is owner else _struct(message)
    if field.mapped or field.repeated:
        hint = types.GenericAlias(dict if field.mapped else list, (str, hint) if field.mapped else (hint,))
    return Optional[hint]  # noqa: UP045  # `|` needs classes, and this may be a string
