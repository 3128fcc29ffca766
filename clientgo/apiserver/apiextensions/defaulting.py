"""Defaults of a structural schema are filled in wherever their object is there; nulls give way to them."""

from typing import Any

Schema = dict[str, Any]


def apply_defaults(schema: Schema | None, obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object with its schema's defaults; null values of fields that are not nullable are dropped first.

    The result shares nothing with the schema, and the argument is not changed.
    """
    if schema is None:
        return obj
    return _object(schema, obj, root=True)


def has_defaults(schema: Any) -> bool:
    """Whether a schema names a default anywhere (or has a field of that name, which costs no more than time)."""
    if isinstance(schema, dict):
        return "default" in schema or any(map(has_defaults, schema.values()))
    return isinstance(schema, list) and any(map(has_defaults, schema))


def _value(schema: Schema, value: Any) -> Any:
    if isinstance(value, dict):
        return _object(schema, value)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_value(schema["items"], one) for one in value]
    return value


def _object(schema: Schema, value: dict[str, Any], *, root: bool = False) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    filled: dict[str, Any] = {}
    for field, child in value.items():
        known = properties.get(field, additional if isinstance(additional, dict) else None)
        if known is None or (root and field == "metadata"):
            filled[field] = child
        elif child is not None or known.get("nullable"):
            filled[field] = _value(known, child)
    for field, known in properties.items():
        if field not in filled and "default" in known and not (root and field == "metadata"):
            filled[field] = _value(known, known["default"])
    return filled
