"""OpenAPI definitions of API classes: schemas and their references, created on demand.

Generated modules hold one function for each class, so importing them builds no schema; a `Definition` calls its
function once. The caller chooses the form of references, which differs between OpenAPI v2 and v3.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

Schema = dict[str, Any]
Reference = Callable[[str], str]
"""Converts the name of a definition to the text of `$ref`."""

Maker = Callable[[Reference], Schema]


def component(name: str) -> str:
    """Return a reference in the form of OpenAPI v3."""
    return f"#/components/schemas/{name}"


class Definition:
    """One class: its schema, created at the first use, and the definitions that it refers to."""

    def __init__(self, make: Maker, dependencies: tuple[str, ...], reference: Reference) -> None:
        self.dependencies = dependencies
        self._make = make
        self._reference = reference

    @cached_property
    def schema(self) -> Schema:
        """The schema, with references to `dependencies`."""
        return self._make(self._reference)


class Definitions(Mapping[str, Definition]):
    """The definitions of generated modules by name."""

    def __init__(self, makers: Mapping[str, tuple[Maker, tuple[str, ...]]], reference: Reference = component) -> None:
        self._definitions = {name: Definition(make, needs, reference) for name, (make, needs) in makers.items()}

    def __repr__(self) -> str:
        return f"<Definitions {len(self._definitions)}>"

    def __getitem__(self, name: str) -> Definition:
        return self._definitions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._definitions)

    def __len__(self) -> int:
        return len(self._definitions)

    def document(self, title: str, version: str) -> Schema:
        """Return a document of OpenAPI v3 with all schemas and no paths."""
        schemas = {name: definition.schema for name, definition in sorted(self.items())}
        info = {"title": title, "version": version}
        return {"openapi": "3.0.0", "info": info, "paths": {}, "components": {"schemas": schemas}}
