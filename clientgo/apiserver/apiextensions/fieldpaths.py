"""JSON paths that name one field of a schema, such as `.spec.replicas` or `.data['a.b']`."""

import re
from typing import Any

Schema = dict[str, Any]

_TOKEN = re.compile(r"[.\[\]]|'(?:\\.|[^'\\])*'|[^.\[\]]+", re.DOTALL)
_NOT_FOUND, _END = "does not refer to a valid field", "unexpected end of JSON path"


class InvalidPath(Exception):
    """A path that names no field of the schema; the message is the real server's."""


def find_field(schema: Schema, path: str, *, brackets: bool = True) -> tuple[list[str], Schema]:
    """Return the names on a path, and the schema at its end.

    Raises:
        InvalidPath: the path is malformed, or the schema has no such field.
    """
    found, here = list[str](), schema
    tokens = iter(_TOKEN.findall(path))
    for token in tokens:
        if token == "[" and not brackets:
            raise InvalidPath("array notation is not allowed")
        if token not in (".", "["):
            raise InvalidPath(f"expected [ or . but got: {token}")
        name = _next(tokens)
        if token == "[":
            if len(name) < len("''") or name[0] != "'":
                raise InvalidPath(f"expected single quoted string but got {name}")
            name = re.sub(r"\\(.)", r"\1", name[1:-1])
        here = _below(here, name)
        found.append(name)
        if token == "[" and (end := _next(tokens)) != "]":
            raise InvalidPath(f"expected ] but got {end}")
    return found, here


def _next(tokens: Any) -> str:
    token: str | None = next(tokens, None)
    if token is None:
        raise InvalidPath(_END)
    return token


def _below(schema: Schema, name: str) -> Schema:
    properties, additional = schema.get("properties"), schema.get("additionalProperties")
    below = properties.get(name) if properties is not None else additional
    if not isinstance(below, dict):
        raise InvalidPath(_NOT_FOUND)
    return below
