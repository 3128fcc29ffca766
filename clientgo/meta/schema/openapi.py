"""OpenAPI definitions of API classes: schemas, and the references between them.

Generated modules hold the schemas with `Ref`, the names of other definitions, in place of references. The caller
chooses the form of references, which differs between OpenAPI v2 and v3.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

Schema = dict[str, Any]
Reference = Callable[[str], str]
"""Converts the name of a definition to the text of `$ref`."""


class Ref(str):
    """The name of the definition that a schema refers to."""

    __slots__ = ()


def component(name: str) -> str:
    """Return a reference in the form of OpenAPI v3."""
    return f"#/components/schemas/{name}"


class Definition(NamedTuple):
    """One class: its schema, and the names of the definitions that it refers to, sorted."""

    schema: Schema
    dependencies: tuple[str, ...]


class Definitions(Mapping[str, Definition]):
    """The definitions of generated modules by name, each made at the first use."""

    def __init__(self, schemas: Mapping[str, Schema], reference: Reference = component) -> None:
        self._schemas = schemas
        self._reference = reference
        self._made: dict[str, Definition] = {}

    def __repr__(self) -> str:
        return f"<Definitions {len(self._schemas)}>"

    def __getitem__(self, name: str) -> Definition:
        if name not in self._made:
            names: set[str] = set()
            schema = self._referring(self._schemas[name], names)
            self._made[name] = Definition(schema, tuple(sorted(names)))
        return self._made[name]

    def _referring(self, value: Any, names: set[str]) -> Any:
        if isinstance(value, Ref):
            names.add(str(value))
            return self._reference(value)
        if isinstance(value, dict):
            return {key: self._referring(part, names) for key, part in value.items()}
        return [self._referring(part, names) for part in value] if isinstance(value, list) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)

    def document(self, title: str, version: str) -> Schema:
        """Return a document of OpenAPI v3 with all schemas and no paths."""
        schemas = {name: definition.schema for name, definition in sorted(self.items())}
        info = {"title": title, "version": version}
        return {"openapi": "3.0.0", "info": info, "paths": {}, "components": {"schemas": schemas}}
