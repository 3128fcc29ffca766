"""Columns of the built-in kinds, from `columns.txt`, which describes its format, and `descriptions.txt`."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from clientgo.meta.scheme import Column
from clientgo_apiserver.datafiles import read_sections
from clientgo_apiserver.printers.cells import CELLS
from clientgo_apiserver.printers.values import Obj, dig, since

_NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a"
    " client to request the generation of an appropriate name automatically. Name is primarily intended for creation"
    " idempotence and configuration definition. Cannot be updated. More info:"
    " https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
CREATED_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed"
    " to be set in happens-before order across separate operations. Clients may not set this value. It is represented"
    " in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


class Printed(NamedTuple):
    """A column definition, and the function that computes an object's cell at a given time."""

    column: Column
    cell: Callable[[Obj, datetime], Any]


Printer = tuple[Printed, ...]


_TABLE = read_sections(__package__, "columns.txt")


@cache
def printer_of(group: str, kind: str) -> Printer:
    """Return the columns of a built-in kind."""
    name = f"{group}/{kind}"
    described = dict(line.split("\t", 1) for line in _descriptions().get(name, ()))
    return tuple(_printed(text, described) for text in _TABLE.get(name, _TABLE["*"]))


@cache
def _descriptions() -> dict[str, list[str]]:
    return read_sections(__package__, "descriptions.txt")


def _printed(text: str, described: Mapping[str, str]) -> Printed:
    if text in _FIXED:
        return _FIXED[text]
    title, source = re.split(" {2,}", text)
    wide, title = title.startswith("+"), title.removeprefix("+")
    source, _, kind = source.partition(":")
    function, parenthesis, path = source.rstrip(")").partition("(")
    path, _, default = (path if parenthesis else source).partition("|")
    keys = [int(key) if key.isdigit() else key for key in path.split(".") if key]
    other = json.loads(default) if default in ("0", "false", "true") else default or ("" if not parenthesis else None)
    compute = CELLS[function] if parenthesis else lambda value, _: value
    column = Column(title, kind or "string", "", json.loads(described.get(title, '""')), "", int(wide))
    if title == "Name" and not wide:
        column = _FIXED["Name"].column
    return Printed(column, lambda obj, now: compute(_non_empty(dig(obj, *keys), other), now))


def _non_empty(value: Any, default: Any) -> Any:
    return default if value is None or value == "" else value


_FIXED = {
    "Name": Printed(
        Column("Name", "string", ".metadata.name", _NAME_DESCRIPTION, "name"),
        lambda obj, _: dig(obj, "metadata", "name", default=""),
    ),
    "Age": Printed(
        Column("Age", "string", ".metadata.creationTimestamp", CREATED_DESCRIPTION),
        lambda obj, now: since(dig(obj, "metadata", "creationTimestamp"), now),
    ),
}
NAME = _FIXED["Name"]
