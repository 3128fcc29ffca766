"""Pruning and defaulting of custom objects by their structural schema."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

Schema = dict[str, Any]
R = TypeVar("R")

_MAX_SCHEMAS = 20_000

_ROOT = ("apiVersion", "kind", "metadata")


def cached_by_identity(compute: Callable[[Schema], R]) -> Callable[[Schema], R]:
    """Cache a function of a schema by the schema's identity, because dicts have no hash."""
    # Holds the schema as well: an id is unique only while its object lives.
    known: dict[int, tuple[Schema, R]] = {}

    @wraps(compute)
    def cached(schema: Schema) -> R:
        found = known.get(id(schema))
        if found is None:
            if len(known) > _MAX_SCHEMAS:
                known.clear()
            found = known[id(schema)] = (schema, compute(schema))
        return found[1]

    return cached


def subschemas(schema: Schema) -> Iterator[Schema]:
    """Yield the schemas of properties, items and additional properties."""
    for child in (*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(child, dict):
            yield child


def prune(schema: Schema | None, obj: dict[str, Any], unknown: list[str]) -> dict[str, Any]:
    """Return the object without fields that its schema does not have; append their paths to `unknown`.

    apiVersion, kind and metadata are always kept.
    """
    if schema is None or _is_open(schema):
        return obj
    body = {field: value for field, value in obj.items() if field not in _ROOT}
    kept = _pruned_object(schema, body, "", unknown)
    return {**{field: obj[field] for field in _ROOT if field in obj}, **kept}


def _is_open(schema: Schema) -> bool:
    """Return whether everything below is kept unseen: no member is described at all."""
    return bool(schema.get("x-kubernetes-preserve-unknown-fields")) and not (
        "properties" in schema or "items" in schema or "additionalProperties" in schema
    )


def _pruned_value(schema: Schema, value: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(value, dict):
        return value if _is_open(schema) else _pruned_object(schema, value, path, unknown)
    if isinstance(value, list):
        item = schema.get("items")
        if not isinstance(item, dict):
            return value
        return [_pruned_value(item, one, f"{path}[{index}]", unknown) for index, one in enumerate(value)]
    return value


def _pruned_object(schema: Schema, value: dict[str, Any], path: str, unknown: list[str]) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    keep = schema.get("x-kubernetes-preserve-unknown-fields") or additional is True
    embedded = schema.get("x-kubernetes-embedded-resource")
    kept: dict[str, Any] = {}
    for field, child in value.items():
        where = f"{path}.{field}" if path else field
        known = properties.get(field, additional if isinstance(additional, dict) else None)
        if known is not None:
            kept[field] = _pruned_value(known, child, where, unknown)
        elif keep or (embedded and field in _ROOT):
            kept[field] = child
        else:
            unknown.append(where)
    return kept


def apply_defaults(schema: Schema | None, obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object with its schema's defaults; nulls that are not nullable are dropped first.

    Nothing is shared with the schema.
    """
    if schema is None:
        return obj
    return _defaulted_object(schema, obj, root=True)


def has_defaults(schema: Any) -> bool:
    """Return whether a schema has a default anywhere (or a field of that name)."""
    if isinstance(schema, dict):
        return "default" in schema or any(map(has_defaults, schema.values()))
    return isinstance(schema, list) and any(map(has_defaults, schema))


def _defaulted_value(schema: Schema, value: Any) -> Any:
    if isinstance(value, dict):
        return _defaulted_object(schema, value)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_defaulted_value(schema["items"], one) for one in value]
    return value


def _defaulted_object(schema: Schema, value: dict[str, Any], *, root: bool = False) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    filled: dict[str, Any] = {}
    for field, child in value.items():
        known = properties.get(field, additional if isinstance(additional, dict) else None)
        if known is None or (root and field == "metadata"):
            filled[field] = child
        elif child is not None or known.get("nullable"):
            filled[field] = _defaulted_value(known, child)
    for field, known in properties.items():
        if field not in filled and "default" in known and not (root and field == "metadata"):
            filled[field] = _defaulted_value(known, known["default"])
    return filled
