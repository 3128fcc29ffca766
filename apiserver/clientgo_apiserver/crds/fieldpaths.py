"""JSON paths that name one field of a schema, such as `.spec.replicas` or `.data['a.b']`."""

import re
from typing import Any

from clientgo.internal.patterns import lazy_pattern

Schema = dict[str, Any]

# A string without its closing quote is a token too: a search for one that is missing would begin again at each quote.
_TOKEN = lazy_pattern(r"[.\[\]]|'(?:\\.|[^'\\])*'?|[^.\[\]']+", re.DOTALL)
_QUOTED = lazy_pattern(r"'((?:\\.|[^'\\])*)'", re.DOTALL)
_NOT_FOUND, _END = "does not refer to a valid field", "unexpected end of JSON path"


class InvalidPath(Exception):
    """A path that names no field of the schema; the message is the real server's."""


def find_field(schema: Schema, path: str, *, brackets: bool = True) -> tuple[list[str], Schema]:
    """Return the names on a path, and the schema at its end.

    Raises:
        InvalidPath: the path is malformed, or the schema has no such field.
    """
    names, current = list[str](), schema
    symbols = iter(_TOKEN.findall(path))
    for symbol in symbols:
        if symbol == "[" and not brackets:
            raise InvalidPath("array notation is not allowed")
        if symbol not in (".", "["):
            raise InvalidPath(f"expected [ or . but got: {symbol}")
        name = _next(symbols)
        if symbol == "[":
            quoted = _QUOTED.fullmatch(name)
            if quoted is None:
                raise InvalidPath(f"expected single quoted string but got {name}")
            name = re.sub(r"\\(.)", r"\1", quoted[1])
        current = _below(current, name)
        names.append(name)
        if symbol == "[" and (end := _next(symbols)) != "]":
            raise InvalidPath(f"expected ] but got {end}")
    return names, current


def _next(symbols: Any) -> str:
    symbol: str | None = next(symbols, None)
    if symbol is None:
        raise InvalidPath(_END)
    return symbol


def _below(schema: Schema, name: str) -> Schema:
    properties, additional = schema.get("properties"), schema.get("additionalProperties")
    below = properties.get(name) if properties is not None else additional
    if not isinstance(below, dict):
        raise InvalidPath(_NOT_FOUND)
    return below
