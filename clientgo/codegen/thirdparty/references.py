"""Schemas that refer to others, to schemas that do not: what they refer to stands in its place."""

from collections.abc import Mapping
from typing import Any

from clientgo.codegen.thirdparty.checked import NoDefinition

MOST_PARTS = 1_000_000
"""Values that the schemas of one kind may become: a few that refer to each other twice stand for any number."""

DEEPEST = 200
"""Levels that values may nest, references followed."""

_FREE: Mapping[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` with what it refers to put in its place; what contains itself becomes a free-form object.

    Raises:
        NoDefinition: that would be more than `MOST_PARTS` values, or nest deeper than `DEEPEST`.
    """
    made: dict[str, Any] = _Resolver(schemas).resolved(schema, ())
    return made


class _Resolver:
    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._schemas = schemas
        self._left = MOST_PARTS

    def resolved(self, value: Any, inside: tuple[str, ...], depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0:
            raise NoDefinition(f"its references make it more than {MOST_PARTS} values")
        if depth > DEEPEST:
            raise NoDefinition(f"it nests more than {DEEPEST} levels")
        if isinstance(value, list):
            return [self.resolved(each, inside, depth + 1) for each in value]
        if not isinstance(value, dict):
            return value
        name = _referred(value)
        if name is None:
            return {key: self.resolved(part, inside, depth + 1) for key, part in value.items()}
        if name in inside or not isinstance(self._schemas.get(name), dict):
            return _FREE
        own = {key: part for key, part in value.items() if key not in ("$ref", "allOf")}
        beside = {key: self.resolved(part, inside, depth + 1) for key, part in own.items()}
        return {**self.resolved(self._schemas[name], (*inside, name), depth + 1), **beside}


def _referred(schema: Mapping[str, Any]) -> str | None:
    """The name of the schema that stands for this one: `$ref`, alone or as all that `allOf` says."""
    every = schema.get("allOf")
    parts = [schema, *(every if isinstance(every, list) and len(every) == 1 else ())]
    found = (part["$ref"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("$ref"), str))
    reference = next(found, None)
    return None if reference is None else reference.rpartition("/")[2]
