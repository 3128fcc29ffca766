"""Validation of embedded resources: the apiVersion, kind and metadata of objects within custom objects."""

from collections.abc import Iterator
from typing import Any

from clientgo_apiserver.api.names import label_1035_errors, label_errors, path_segment_errors
from clientgo_apiserver.api.status import Cause, invalid_value, required
from clientgo_apiserver.crds.structural import cached_by_identity, join, member_schemas, subschemas
from clientgo_apiserver.gotypes.metadata import field_errors, normalize
from clientgo_apiserver.gotypes.scalars import DecodeError

Schema = dict[str, Any]
Causes = Iterator[Cause]

EMBEDDED = "x-kubernetes-embedded-resource"


def embedded_errors(schema: Schema | None, value: Any, path: str = "") -> Causes:
    """Yield the errors of the embedded resources within a value."""
    if schema is None or not has_embedded(schema):
        return
    if isinstance(value, dict):
        if schema.get(EMBEDDED):
            yield from _resource_errors(value, path)
        properties, additional = schema.get("properties", {}), schema.get("additionalProperties")
        for field, child in value.items():
            if field in properties:
                yield from embedded_errors(properties[field], child, join(path, field))
            elif isinstance(additional, dict):
                yield from embedded_errors(additional, child, f"{path}[{field}]")
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from embedded_errors(schema.get("items"), child, f"{path}[{index}]")


def coerced(schema: Schema, value: Any, path: str, unknown: list[str]) -> Any:
    """Return a value with the metadata of its embedded resources as ObjectMeta would hold it.

    The paths of unknown fields of metadata are appended.

    Raises:
        DecodeError: metadata, apiVersion or kind has the wrong type.
    """
    if not has_embedded(schema):
        return value
    if isinstance(value, list):
        item = schema.get("items") or {}
        return [coerced(item, child, f"{path}[{index}]", unknown) for index, child in enumerate(value)]
    if not isinstance(value, dict):
        return value
    schema_of = member_schemas(schema)
    fields = {
        field: coerced(schema_of(field) or {}, child, join(path, field), unknown) for field, child in value.items()
    }
    if schema.get(EMBEDDED):
        for field in ("apiVersion", "kind"):
            if not isinstance(fields.get(field, ""), str):
                raise DecodeError(invalid_value(join(path, field), fields[field], "must be a string").text)
        if "metadata" in fields:
            field_path, unknown_names = join(path, "metadata"), list[str]()
            try:
                fields["metadata"] = normalize(fields["metadata"], unknown_names, kind=None)
            except DecodeError as error:
                raise DecodeError(invalid_value(field_path, fields["metadata"], str(error)).text) from error
            unknown += [join(path, name) for name in unknown_names]
    return fields


@cached_by_identity
def has_embedded(schema: Schema) -> bool:
    """Return whether the schema or anything below it is an embedded resource."""
    return bool(schema.get(EMBEDDED)) or any(map(has_embedded, subschemas(schema)))


def _resource_errors(value: Schema, path: str) -> Causes:
    for field in ("apiVersion", "kind"):
        field_path = join(path, field)
        if field not in value:
            yield required(field_path)
        elif not isinstance(value[field], str):
            yield invalid_value(field_path, value[field], "must be a string")
        elif not value[field]:
            yield invalid_value(field_path, "", "must not be empty")
        elif field == "apiVersion" and value[field].count("/") > 1:
            yield invalid_value(field_path, value[field], f"unexpected GroupVersion string: {value[field]}")
        elif field == "kind" and (errors := label_1035_errors(value[field].lower())):
            reason = f"may have mixed case, but should otherwise match: {','.join(errors)}"
            yield invalid_value(field_path, value[field], reason)
    if "metadata" in value:
        yield from _metadata_errors(value["metadata"], join(path, "metadata"))


def _metadata_errors(value: Any, field_path: str) -> Causes:
    try:
        meta = normalize(value, kind=None)
    except DecodeError as error:
        yield invalid_value(field_path, value, str(error))
        return
    for field, rule in (("name", path_segment_errors), ("namespace", label_errors)):
        yield from (
            invalid_value(f"{field_path}.{field}", meta[field], reason) for reason in rule(meta.get(field, "a"))
        )
    yield from field_errors(meta, field_path)
