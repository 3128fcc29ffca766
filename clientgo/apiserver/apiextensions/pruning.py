"""Fields a structural schema does not know are dropped, and reported, as apiextensions does before anything else."""

from typing import Any

Schema = dict[str, Any]

_ROOT = ("apiVersion", "kind", "metadata")


def prune(schema: Schema | None, obj: dict[str, Any], unknown: list[str]) -> dict[str, Any]:
    """The object without fields its schema does not know; their paths are appended to `unknown`.

    apiVersion, kind and metadata are the server's own and always kept.
    """
    if schema is None or _open(schema):
        return obj
    body = {field: value for field, value in obj.items() if field not in _ROOT}
    kept = _object(schema, body, "", unknown)
    return {**{field: obj[field] for field in _ROOT if field in obj}, **kept}


def _open(schema: Schema) -> bool:
    """Whether everything is kept below here without a look: no member is described at all."""
    return bool(schema.get("x-kubernetes-preserve-unknown-fields")) and not (
        "properties" in schema or "items" in schema or "additionalProperties" in schema
    )


def _value(schema: Schema, value: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(value, dict):
        return value if _open(schema) else _object(schema, value, path, unknown)
    if isinstance(value, list):
        item = schema.get("items")
        if not isinstance(item, dict):
            return value
        return [_value(item, one, f"{path}[{index}]", unknown) for index, one in enumerate(value)]
    return value


def _object(schema: Schema, value: dict[str, Any], path: str, unknown: list[str]) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    keep = schema.get("x-kubernetes-preserve-unknown-fields") or additional is True
    embedded = schema.get("x-kubernetes-embedded-resource")
    kept: dict[str, Any] = {}
    for field, child in value.items():
        where = f"{path}.{field}" if path else field
        known = properties.get(field, additional if isinstance(additional, dict) else None)
        if known is not None:
            kept[field] = _value(known, child, where, unknown)
        elif keep or (embedded and field in _ROOT):
            kept[field] = child
        else:
            unknown.append(where)
    return kept
