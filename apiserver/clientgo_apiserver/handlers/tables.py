"""Tables and partial metadata: the two forms in which a client can get objects without knowing their types.

kubectl requests `as=Table` and prints the cells unchanged. A custom resource is printed by the JSON paths of its
definition, a built-in kind by its printer. Metadata-only informers request `as=PartialObjectMetadata`.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock, utc
from clientgo.internal.gotext import json_number
from clientgo.meta import jsonpath
from clientgo.meta.scheme import Column
from clientgo_apiserver.api.gotext import go_float
from clientgo_apiserver.api.resources import Resource
from clientgo_apiserver.api.status import bad_request
from clientgo_apiserver.gotypes.structs import metadata_in_order
from clientgo_apiserver.printers.cells import with_effective_default
from clientgo_apiserver.printers.columns import CREATED_DESCRIPTION, NAME, Printed, Printer, printer_of
from clientgo_apiserver.printers.values import INVALID, moment_of, since
from clientgo_apiserver.registry.defaults.kinds import TEMPLATE_GENERATION

META_VERSION = "meta.k8s.io/v1"
INCLUDES = ("None", "Metadata", "Object")
"""The values of the `includeObject` query parameter."""

_SHOWN = ("name", "type", "format", "description", "priority")
_CUSTOM_AGE = Column("Age", "date", ".metadata.creationTimestamp", CREATED_DESCRIPTION)


def render(
    resource: Resource,
    objects: Sequence[dict[str, Any]],
    *,
    list_meta: dict[str, Any],
    include: str = "Metadata",
    clock: Clock = SYSTEM_CLOCK,
) -> dict[str, Any]:
    """Return the objects as a meta.k8s.io/v1 Table.

    `list_meta` becomes the table's metadata (of a single object: its resourceVersion only).

    Raises:
        ApiFailure: `include` is not one of `INCLUDES` (400).
    """
    check_include(include)
    printer = printer_of(resource.group, resource.kind)
    if resource.custom:
        printer = _custom_printer(resource)
    now = utc(clock)
    printable = with_effective_default(objects) if resource.kind == "StorageClass" else objects
    rows = [
        {"cells": [printed.cell(subject, now) for printed in printer], "object": _row_object(obj, include)}
        for obj, subject in zip(objects, printable, strict=True)
    ]
    columns = [{field: getattr(printed.column, field) for field in _SHOWN} for printed in printer]
    head = {"kind": "Table", "apiVersion": META_VERSION, "metadata": list_meta}
    return {**head, "columnDefinitions": columns, "rows": rows}


def check_include(include: str) -> None:
    """Check the query parameter `includeObject` of a request for a table (400)."""
    if include not in INCLUDES:
        reason = f"Invalid value: \"{include}\": must be 'Metadata', 'Object', 'None', or empty"
        raise bad_request(f"Unable to convert to Table as requested: includeObject: {reason}")


def partial_metadata(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object's metadata as a PartialObjectMetadata."""
    meta = metadata_in_order(obj)
    if obj.get("kind") == "DaemonSet" and TEMPLATE_GENERATION in meta.get("annotations", ()):
        del meta["annotations"][TEMPLATE_GENERATION]  # a real server reads its own form of the object
        meta = meta if meta["annotations"] else {name: value for name, value in meta.items() if name != "annotations"}
    return {"kind": "PartialObjectMetadata", "apiVersion": META_VERSION, "metadata": meta}


def partial_metadata_list(objects: Sequence[dict[str, Any]], list_meta: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of objects as a PartialObjectMetadataList."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": META_VERSION,
        "metadata": list_meta,
        "items": [partial_metadata(obj) for obj in objects] or None,  # in Go a list without items is nil
    }


def _row_object(obj: dict[str, Any], include: str) -> dict[str, Any] | None:
    return {"None": None, "Object": obj}.get(include, partial_metadata(obj))


def _custom_printer(resource: Resource) -> Printer:
    """Return the columns of a custom kind: the default ones if a path is invalid, as a real server does."""
    try:
        return (NAME, *map(_custom, resource.columns or (_CUSTOM_AGE,)))
    except ValueError:
        return (NAME, _custom(_CUSTOM_AGE))


def _custom(column: Column) -> Printed:
    path = jsonpath.parse(column.json_path)
    text = column.description or f"Custom resource definition column (in JSONPath format): {column.json_path}"
    described = Column(column.name, column.type, column.json_path, text, column.format, column.priority)
    return Printed(described, lambda obj, now: _cell(column.type, path.find(obj), now))


def _cell(kind: str, values: list[Any], now: datetime) -> Any:
    """Return the first value found, in the column's type; None if there is none or it has another type."""
    if not values:
        return None
    value = values[0]
    if kind == "string":
        return _go_text(value)
    if kind == "date":
        return None if not isinstance(value, str) else since(value, now) if moment_of(value) else INVALID
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if kind == "integer" or isinstance(value, int) else json_number(value)


def _go_text(value: Any) -> str:
    """Format a value as Go prints it: lists and objects as JSON, large and tiny numbers with an exponent."""
    if value is None:
        return "<no value>"
    if isinstance(value, str):
        return value
    return go_float(value) if isinstance(value, float) else msgspec.json.encode(value, order="sorted").decode()
