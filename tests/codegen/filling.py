"""Sample objects with every field of a schema."""

from typing import Any

_EXAMPLES = {"^[0-9.]+/[0-9]+$": "10.0.0.0/8", "^[A-Z]{2}$": "NL", r"^[0-9]+(\.[0-9]+)*$": "1.2.840"}
_FORMATS = {"date-time": "2026-01-02T03:04:05.000006Z", "byte": "aGVsbG8=", "duration": "5h30m"}
_POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": []}}


def sample_value(schema: dict[str, Any], without: frozenset[str] = frozenset()) -> Any:
    """Return a value with every property of the schema except those in `without`, different from the defaults."""
    if "enum" in schema:
        return next(value for value in reversed(schema["enum"]) if value != schema.get("default"))
    if schema.get("x-kubernetes-int-or-string"):
        return 7
    kind = schema.get("type")
    if kind == "object":
        return _sample_object(schema, without)
    if kind == "array":
        return [sample_value(schema["items"], without)]
    if kind == "string":
        return _EXAMPLES.get(schema.get("pattern", ""), _FORMATS.get(schema.get("format", ""), "text"))
    if kind == "boolean":
        return not schema.get("default")
    if kind == "number":
        return 1.5
    if kind == "integer":
        return min(2 * max(schema.get("minimum", 0), 3), schema.get("maximum", 2**31 - 2))
    return {"any": ["thing", 1]}


def _sample_object(schema: dict[str, Any], without: frozenset[str]) -> Any:
    if schema.get("x-kubernetes-embedded-resource"):
        return _POD
    if "additionalProperties" in schema:
        return {"key": sample_value(schema["additionalProperties"], without)}
    if "properties" in schema:
        return {name: sample_value(part, without) for name, part in schema["properties"].items() if name not in without}
    return {"free": {"form": [1, "two"]}} if schema.get("x-kubernetes-preserve-unknown-fields") else {}
