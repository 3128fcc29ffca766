"""Validation of custom objects: by schema, scale paths, embedded resources, list types, and CEL rules."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from clientgo_apiserver.api.gotext import go_map, go_type
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import Cause, invalid_value
from clientgo_apiserver.crds.embedded import embedded_errors, has_embedded
from clientgo_apiserver.crds.listtypes import has_keyed_lists, list_errors
from clientgo_apiserver.crds.schema import NOWHERE, conforms, schema_errors
from clientgo_apiserver.crds.structural import cached_by_identity, has_rules

_BLOCKING = frozenset((
    "FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid",
))  # fmt: skip
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid;"
    " correct the existing errors to complete validation"
)
_MAX_REPLICAS = 2**31 - 1
_MAP = "map[string]interface{}"
_EMPTY: Object = {}


def object_errors(
    resource: Resource,
    new: Object,
    old: Object | None,
    subresource: str = "",
    *,
    conforming: Object | None = None,
    warnings: list[str],
) -> list[Cause]:
    """Return the errors of a custom object; `old` is the object it replaces, `conforming` one without errors."""
    schema = resource.schema
    if schema is None:
        return []
    status_only = subresource == "status"
    has_embedded_resources, has_lists, has_expressions = _features(schema)
    valid = _has_same_fields(new, conforming) or conforms(schema, new)
    causes = [] if valid else _schema_errors(schema, new, old, status_only=status_only)
    causes += _scale_errors(resource, new, status_only=status_only)
    if has_embedded_resources and not status_only:
        causes += embedded_errors(schema, new)
    duplicates = list(list_errors(schema, new)) if has_lists else ()
    if duplicates and (old is None or next(list_errors(schema, old), None) is None):
        causes += duplicates
    if not has_expressions:
        return causes
    if any(cause.reason in _BLOCKING for cause in causes):
        return [*causes, invalid_value(NOWHERE, None, _UNCHECKED)]
    # Imported at the first rule: CEL takes longer to load than a tenth of a server's start.
    from clientgo_apiserver.crds.celvalidation import cel_errors  # noqa: PLC0415

    return causes + cel_errors(schema, new, old, warnings)


@cached_by_identity
def _features(schema: Object) -> tuple[bool, bool, bool]:
    """Return whether a schema has embedded resources, lists of type set or map, and rules."""
    return has_embedded(schema), has_keyed_lists(schema), has_rules(schema)


def _has_same_fields(new: Object, other: Object | None) -> bool:
    """Return whether the objects share all their fields except metadata."""
    if other is None or new.keys() != other.keys():
        return False
    return {field for field, value in new.items() if value is not other[field]} <= {"metadata"}


def _schema_errors(schema: Object, new: Object, old: Object | None, *, status_only: bool) -> list[Cause]:
    if not status_only:
        return schema_errors(schema, new, old)
    status = (schema.get("properties") or {}).get("status")
    return (
        schema_errors(status, new["status"], (old or {}).get("status"), field_path="status") if "status" in new else []
    )


def _scale_errors(resource: Resource, obj: Object, *, status_only: bool) -> Iterator[Cause]:
    scale = resource.scale
    if scale is None:
        return
    for path in (scale.status_path,) if status_only else (scale.spec_path, scale.status_path):
        value = _at(obj, path, int)
        if isinstance(value, str):
            yield invalid_value(path, 0, value)
        elif value < 0:
            yield invalid_value(path, value, "should be a non-negative integer")
        elif value > _MAX_REPLICAS:
            yield invalid_value(path, value, f"should be less than or equal to {_MAX_REPLICAS}")
    if scale.selector_path and (reason := _at(obj, scale.selector_path, str)):
        yield invalid_value(scale.selector_path, "", reason)


def _at(obj: Object, path: str, kind: type) -> Any:
    """Return the number at a path, 0 if it is absent; or, of a value of another type, the error of Go's accessor."""
    value: Any = obj
    parents, last = _steps(path)
    for name in parents:
        value = value.get(name, _EMPTY)
        if type(value) is not dict:
            return _mistyped(path, value, _MAP)
    value = value.get(last, kind())
    if type(value) is not kind:
        return _mistyped(path, value, go_type(kind()))
    return value if kind is int else ""


def _mistyped(path: str, value: Any, expected: str) -> str:
    actual = "<nil>" if value is None else go_type(value)
    return f"{path} accessor error: {go_map(value)} is of the type {actual}, expected {expected}"


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[Sequence[str], str]:
    *parents, last = path.strip(".").split(".")
    return parents, last
