"""Tables and partial metadata: the two ways a client may ask to see objects without reading their types.

kubectl asks for `as=Table` and prints the cells as they come, so a cell here is what kubectl's user reads. A custom
resource is printed by its definition's JSON paths, a built-in kind by its printer. `as=PartialObjectMetadata` is what
metadata-only informers and the garbage collector of a cluster ask for.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from clientgo.apiserver.apiextensions import jsonpath
from clientgo.apiserver.printers import cluster, core, workloads
from clientgo.apiserver.printers.base import (
    CREATED_DESCRIPTION,
    INVALID,
    NAME,
    Printer,
    moment_of,
    name,
    since,
)
from clientgo.apiserver.registry.registry import Resource
from clientgo.clock import SYSTEM_CLOCK, Clock, utc
from clientgo.meta.scheme import Column

META_VERSION = "meta.k8s.io/v1"
INCLUDES = ("None", "Metadata", "Object")
"""The values of the `includeObject` query parameter."""

_BUILT_IN: Mapping[tuple[str, str], Printer] = {**core.PRINTERS, **workloads.PRINTERS, **cluster.PRINTERS}
_CUSTOM_AGE = Column("Age", "date", ".metadata.creationTimestamp", CREATED_DESCRIPTION)


def render(
    resource: Resource,
    objects: Sequence[dict[str, Any]],
    *,
    list_meta: dict[str, Any],
    include: str = "Metadata",
    headers: bool = True,
    clock: Clock = SYSTEM_CLOCK,
) -> dict[str, Any]:
    """Give the objects as a meta.k8s.io/v1 Table; `headers=False` leaves the columns out (a watch's later frames).

    `list_meta` becomes the table's metadata (of a single object: its resourceVersion alone). `include` is one of
    `INCLUDES`, else ValueError.
    """
    if include not in INCLUDES:
        raise ValueError(f"includeObject must be one of {', '.join(INCLUDES)}, not {include!r}")
    printer = _printer(resource)
    now = utc(clock)
    return {
        "kind": "Table",
        "apiVersion": META_VERSION,
        "metadata": list_meta,
        "columnDefinitions": [_definition(column) for column in printer.columns] if headers else None,
        "rows": [{"cells": printer.cells(obj, now), "object": _row_object(obj, include)} for obj in objects],
    }


def partial_metadata(obj: dict[str, Any]) -> dict[str, Any]:
    """Give an object's metadata alone, as a PartialObjectMetadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META_VERSION, "metadata": obj.get("metadata", {})}


def partial_metadata_list(objects: Sequence[dict[str, Any]], list_meta: dict[str, Any]) -> dict[str, Any]:
    """Give the metadata of objects, as a PartialObjectMetadataList."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": META_VERSION,
        "metadata": list_meta,
        "items": [partial_metadata(obj) for obj in objects],
    }


def _row_object(obj: dict[str, Any], include: str) -> dict[str, Any] | None:
    if include == "None":
        return None
    return obj if include == "Object" else partial_metadata(obj)


def _definition(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _printer(resource: Resource) -> Printer:
    if resource.custom:
        return _custom(resource.columns or (_CUSTOM_AGE,))
    return _BUILT_IN.get((resource.group, resource.kind), cluster.DEFAULT)


def _custom(columns: tuple[Column, ...]) -> Printer:
    paths = [(column.type, jsonpath.parse(column.json_path)) for column in columns]

    def cells(obj: dict[str, Any], now: datetime) -> list[Any]:
        return [name(obj), *(_cell(kind, path.find(obj), now) for kind, path in paths)]

    return Printer((NAME, *(_described(column) for column in columns)), cells)


def _described(column: Column) -> Column:
    said = column.description or f"Custom resource definition column (in JSONPath format): {column.json_path}"
    return Column(column.name, column.type, column.json_path, said, column.format, column.priority)


def _cell(kind: str, found: list[Any], now: datetime) -> Any:
    """Give the first value a path leads to in the column's type; None where there is none or it is of another type."""
    value = found[0] if found else None
    if value is None:
        return None
    if kind == "string":
        return _text(value)
    if kind == "date":
        return _date(value, now)
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if kind == "integer" else float(value)


def _date(value: Any, now: datetime) -> str | None:
    if not isinstance(value, str):
        return None
    return since(value, now) if moment_of(value) else INVALID


def _text(value: Any) -> str:
    """Write a value as Go prints it: lists and objects as JSON, large and tiny numbers with an exponent."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _go_float(value)
    return msgspec.json.encode(value, order="sorted").decode()


def _go_float(value: float) -> str:
    exponent = math.floor(math.log10(abs(value))) if value else 0
    if -4 <= exponent < 6:
        return str(int(value)) if value.is_integer() else repr(value)
    digits = "".join(str(digit) for digit in Decimal(repr(value)).normalize().as_tuple().digits)
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{exponent:+03d}"
