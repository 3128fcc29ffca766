"""Types and fields of the built-in kinds that not all supported versions of Kubernetes have, from `since.txt`."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from clientgo.meta.schema.gotypes import read_text
from clientgo.version import minor_of


class Addition(NamedTuple):
    """First version of a type or field, and the feature gates that it needs as well."""

    version: str
    gates: tuple[str, ...] = ()


class FieldUse(msgspec.Struct, frozen=True):
    """Use of an addition in a program: `VolumeMount.bindMountOptions`, or a type, and the line."""

    name: str
    addition: Addition
    line: int


@cache
def additions() -> Mapping[str, Mapping[str, Addition]]:
    """Return the additions by type and by field in JSON; that of the type itself has an empty name."""
    table: dict[str, dict[str, Addition]] = {}
    for line in read_text("since.txt").splitlines():
        if not line.startswith("#"):
            name, version, *gates = line.split()
            kind, _, field = name.partition(".")
            table.setdefault(kind, {})[field] = Addition(version, tuple(gates))
    return table


def uses_of_additions(source: str) -> Iterator[FieldUse]:
    """Yield the additions that a program's source uses: built-in types that it calls, and their keyword arguments.

    Raises:
        SyntaxError: the source is not Python.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            fields = additions().get(name, {})
            if "" in fields:
                yield FieldUse(name, fields[""], node.lineno)
            for keyword in node.keywords:
                field = _json_name(keyword.arg or "")
                if field in fields:
                    yield FieldUse(f"{name}.{field}", fields[field], node.lineno)


def lacking(minor: int, sources: Mapping[str, str]) -> str:
    """Return in one line what a server of this minor version would drop of what programs send; empty if nothing.

    The sources are by the names of their files.

    Raises:
        SyntaxError: a source is not Python.
    """
    uses = ((path, use) for path, source in sources.items() for use in uses_of_additions(source))
    places = {
        use.name: f"{use.name} (since {use.addition.version}, {path}:{use.line})"
        for path, use in uses
        if minor_of(use.addition.version) > minor
    }
    return ", ".join(places.values())


def _json_name(attribute: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), attribute.rstrip("_"))
