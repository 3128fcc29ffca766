"""Columns of the built-in kinds, from the rows `column` of the table of Go types.

A column has a title, two or more spaces, and the path of its value, `path|default:type`, or a function of `cells`,
`function(path|default):type`, which gets the whole object without a path. kubectl shows the cells unchanged. `+`
before the title marks a column that only `kubectl get -o wide` shows; `Name` and `Age` stand for themselves.
"""

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from clientgo.meta.scheme import Column
from clientgo_apiserver.gotypes.table import sections
from clientgo_apiserver.printers.cells import CELLS
from clientgo_apiserver.printers.values import Obj, dig, since
from clientgo_apiserver.releases.release import cached_by_release

NAME_DESCRIPTION = (
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


_DEFAULT = ("Name", "Created At  metadata.creationTimestamp:date")


@cached_by_release
def printer_of(group: str, kind: str) -> Printer:
    """Return the columns of a built-in kind; those of several versions are the same."""
    types = (section.types.get(kind) for section in sections().values() if section.group == group)
    rows = next((rows for entry in types if entry is not None and (rows := list(entry.rows("column")))), _DEFAULT)
    return tuple(_printed(row, kind) for row in rows)


def _printed(text: str, kind_name: str) -> Printed:
    if text in _FIXED:
        return _FIXED[text]
    title, source = re.split(" {2,}", text.partition(" since=")[0])
    wide, title = title.startswith("+"), title.removeprefix("+")
    source, _, kind = source.partition(":")
    function, parenthesis, path = source.rstrip(")").partition("(")
    path, _, default = (path if parenthesis else source).partition("|")
    keys = [int(key) if key.isdigit() else key for key in path.split(".") if key]
    other = json.loads(default) if default in ("0", "false", "true") else default or ("" if not parenthesis else None)
    compute = CELLS[function] if parenthesis else lambda value, _: value
    column = Column(title, kind or "string", "", f"{title} of the {kind_name}.", "", int(wide))
    if title == "Name" and not wide:
        column = _FIXED["Name"].column
    return Printed(column, lambda obj, now: compute(_non_empty(dig(obj, *keys), other), now))


def _non_empty(value: Any, default: Any) -> Any:
    return default if value is None or value == "" else value


_FIXED = {
    "Name": Printed(
        Column("Name", "string", ".metadata.name", NAME_DESCRIPTION, "name"),
        lambda obj, _: dig(obj, "metadata", "name", default=""),
    ),
    "Age": Printed(
        Column("Age", "string", ".metadata.creationTimestamp", CREATED_DESCRIPTION),
        lambda obj, now: since(dig(obj, "metadata", "creationTimestamp"), now),
    ),
}
NAME = _FIXED["Name"]
