"""Rows of the table of Go types for another version of Kubernetes, from its OpenAPI documents.

`python -m hack.release_rows 1.38` reads the documents of the server of kubectl's current context; with `--document`
it reads a published one (`swagger.json`, or a document of OpenAPI v3; may be repeated). It prints what differs from the
nearest version in the table, as rows with `since=` and `until=`; a changed field has a row for each form. What
documents lack is added by hand: see docs/releases.md.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from clientgo.version import KUBERNETES_VERSIONS, minor_of
from clientgo_apiserver.registry.schemas import built_in_schemas
from clientgo_apiserver.releases.release import release_of
from hack.server_data import served_schemas, type_lines

_Types = dict[str, dict[str, str]]
"""Rows by field, by section and type; the row without a name is the type's own."""


def rows(old: Iterable[str], new: Iterable[str], versions: tuple[str, str]) -> Iterator[str]:
    """Yield the rows that differ between the lines of two tables, of an older and of a newer version."""
    until, since = f" until={versions[0]}", f" since={versions[1]}"
    before, after = _types(old), _types(new)
    for name in sorted({*before, *after}):
        first, second = before.get(name, {}), after.get(name, {})
        if first == second:
            continue
        yield name if first and second else name.partition("]")[0] + "]"
        if not (first and second):
            head, *fields = (first or second).values()
            yield head + (until if first else since)
            yield from fields
            continue
        for field in {**first, **second}:
            if first.get(field) != second.get(field):
                yield from (row + mark for row, mark in ((first.get(field), until), (second.get(field), since)) if row)


def _types(lines: Iterable[str]) -> _Types:
    types: _Types = {}
    section = name = ""
    for line in lines:
        if line.startswith("["):
            section = line.partition(" ")[0] + "]"
        elif line.startswith("  "):
            types[name][line.split()[1].rstrip("!")] = line
        else:
            name = f"{section} {line.split()[0]}"
            types[name] = {"": line}
    return types


def lines_of(version: str) -> list[str]:
    """Return the lines of the table in a version, as far as documents of OpenAPI tell."""
    return [*type_lines(release_of(version).run(built_in_schemas))]


def _read(paths: Iterable[Path]) -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    for path in paths:
        document: Mapping[str, Any] = msgspec.json.decode(path.read_bytes())
        schemas |= document.get("definitions") or document["components"]["schemas"]
    return schemas


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", help="version of the documents, such as 1.38")
    parser.add_argument("--document", type=Path, action="append", default=[], help="OpenAPI document; may be repeated")
    arguments = parser.parse_args()
    schemas = _read(arguments.document) if arguments.document else served_schemas()
    nearest = min(KUBERNETES_VERSIONS, key=lambda version: abs(minor_of(version) - minor_of(arguments.version)))
    tables = {nearest: lines_of(nearest), arguments.version: [*type_lines(schemas)]}
    versions = sorted(tables, key=minor_of)
    if len(versions) == 1:  # a version of the table: what differs is an error there
        versions *= 2
        tables[nearest] = lines_of(nearest)
    first, last = versions[0], versions[-1]
    sys.stdout.writelines(f"{row}\n" for row in rows(tables[first], tables[last], (first, last)))


if __name__ == "__main__":
    main()
