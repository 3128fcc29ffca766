"""Pruning and defaulting of custom objects by their structural schema."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

from clientgo.internal.gotext import json_number

Schema = dict[str, Any]
RULES = "x-kubernetes-validations"
S = TypeVar("S")
R = TypeVar("R")

_MAX_SCHEMAS = 20_000
_INT64 = range(-(2**63), 2**63)
_CONTAINERS = frozenset((dict, list))
_CONVERTED = frozenset((dict, list, float, int))

_ROOT = ("apiVersion", "kind", "metadata")


def cached_by_identity(compute: Callable[[S], R]) -> Callable[[S], R]:
    """Cache a function of a schema, or of what has one, by identity, because dicts have no hash."""
    # Holds the schema as well: an id is unique only while its object lives.
    cache: dict[int, tuple[S, R]] = {}

    @wraps(compute)
    def cached(schema: S) -> R:
        entry = cache.get(id(schema))
        if entry is None:
            if len(cache) > _MAX_SCHEMAS:
                cache.clear()
            entry = cache[id(schema)] = (schema, compute(schema))
        return entry[1]

    return cached


def subschemas(schema: Schema) -> Iterator[Schema]:
    """Yield the schemas of properties, items and additional properties."""
    for child in (*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(child, dict):
            yield child


def member_schemas(schema: Schema) -> Callable[[str], Schema | None]:
    """Return a function that finds the schema of an object's field, or None if it has none."""
    properties: Schema = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    return (lambda field: properties.get(field, additional)) if isinstance(additional, dict) else properties.get


def join(path: str, field: str) -> str:
    """Return the path of a field of the object at `path`."""
    return f"{path}.{field}" if path else field


def prune(schema: Schema | None, obj: dict[str, Any], unknown: list[str]) -> dict[str, Any]:
    """Return the object without fields that its schema does not have; append their paths to `unknown`.

    apiVersion, kind and metadata are always kept.
    """
    if schema is None or _is_open(schema):
        return obj
    body, unknown_paths = {field: value for field, value in obj.items() if field not in _ROOT}, list[str]()
    known_fields = {**{field: obj[field] for field in _ROOT if field in obj}, **pruned(schema, body, "", unknown_paths)}
    unknown += sorted(unknown_paths)
    return known_fields


def _is_open(schema: Schema) -> bool:
    """Return whether everything below is kept unseen: no member is described at all."""
    described = "properties" in schema or "items" in schema or "additionalProperties" in schema
    return bool(schema.get("x-kubernetes-preserve-unknown-fields")) and not described


def pruned(schema: Schema | None, value: Any, path: str, unknown: list[str], *, loose: bool = False) -> Any:
    """Return a value without fields that its schema does not have; append their paths to `unknown`.

    Without a schema no field is known; `loose` keeps unknown fields of the value, but not of what is below it.
    """
    if isinstance(value, list):
        items = (schema or {}).get("items")
        loose = loose or bool(schema and schema.get("x-kubernetes-preserve-unknown-fields"))
        if loose and items is None:
            return value
        return [pruned(items, item, f"{path}[{index}]", unknown, loose=loose) for index, item in enumerate(value)]
    if not isinstance(value, dict) or (schema is not None and _is_open(schema)):
        return value
    schema = schema or {}
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    keep = loose or schema.get("x-kubernetes-preserve-unknown-fields")
    embedded = schema.get("x-kubernetes-embedded-resource")
    known_fields: dict[str, Any] = {}
    for field, child in value.items():
        if embedded and field in _ROOT:
            known_fields[field] = child
        elif field in properties or additional is not None:
            below = properties.get(field) or (additional if isinstance(additional, dict) else None)
            nested = type(child) in _CONTAINERS
            known_fields[field] = pruned(below, child, join(path, field), unknown) if nested else child
        elif keep:
            known_fields[field] = child
        else:
            unknown.append(join(path, field))
    return known_fields


@cached_by_identity
def has_defaults(schema: Schema) -> bool:
    """Return whether the schema or anything below it has a default."""
    return "default" in schema or any(map(has_defaults, subschemas(schema)))


@cached_by_identity
def has_rules(schema: Schema) -> bool:
    """Return whether the schema or anything below it has rules."""
    if schema.get(RULES) or any(has_rules(part) for part in schema.get("allOf") or ()):
        return True
    return any(map(has_rules, subschemas(schema)))


def whole_numbers(value: Any) -> Any:
    """Return a value with the numbers of Go's JSON: whole floats as integers, integers beyond 64 bits as floats are."""
    kind = type(value)
    if kind is int and value not in _INT64:
        value, kind = float(value), float
    if kind is dict:
        return {field: whole_numbers(child) if type(child) in _CONVERTED else child for field, child in value.items()}
    if kind is list:
        return list(map(whole_numbers, value))
    return json_number(value) if kind is float else value


def has_whole_floats(value: Any) -> bool:
    """Return whether a value has floats that are read back as integers once they are stored."""
    if isinstance(value, dict | list):
        return any(map(has_whole_floats, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float) and value.is_integer() and int(value) in _INT64


def apply_defaults(schema: Schema | None, value: Any, *, root: bool = True, nulls: bool = False) -> Any:
    """Return the object with its schema's defaults, which also replace nulls that are not nullable.

    Other such nulls are dropped, unless `nulls` keeps them. Nothing is shared with the schema.
    """
    if schema is not None and isinstance(value, list) and isinstance(schema.get("items"), dict):
        item = schema["items"]
        null = None if item.get("nullable") else item.get("default")
        return [apply_defaults(item, null if child is None else child, root=False, nulls=nulls) for child in value]
    if schema is None or not isinstance(value, dict):
        return value
    schema_of = member_schemas(schema)
    filled: dict[str, Any] = {}
    for field, child in value.items():
        below = schema_of(field)
        if below is None or (root and field == "metadata"):
            filled[field] = child
        elif type(child) in _CONTAINERS:
            filled[field] = apply_defaults(below, child, root=False, nulls=nulls)
        elif child is not None or below.get("nullable") or (nulls and "default" not in below):
            filled[field] = child
    for field, below in (schema.get("properties") or {}).items():
        if field not in filled and "default" in below and not (root and field == "metadata"):
            filled[field] = apply_defaults(below, below["default"], root=False)
    return filled
