"""Bounds, multiples and ranges of numbers, with the errors of the real server's validator.

Bounds of integers are compared as integers. Errors of a range have no field.
"""

from collections.abc import Iterator
from typing import Any

from clientgo_apiserver.api.gotext import go_float
from clientgo_apiserver.api.status import Cause, invalid_value

Schema = dict[str, Any]

_MAX_FLOAT32 = 3.4028234663852886e38
_BOUNDS = (("minimum", "Minimum", "greater", -1), ("maximum", "Maximum", "less", 1))
INTEGERS = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}


def number_errors(schema: Schema, number_format: str, value: float, path: str) -> Iterator[Cause]:
    """Yield the errors of a number at a path by its schema, whose format is known to the server."""
    kind = "" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "")
    if not _in_range(value, kind, number_format):
        yield _outside("Checked", kind, number_format, path)
    if "multipleOf" in schema:
        yield from _multiple_errors(schema["multipleOf"], value, (kind, number_format), path)
    for bound, what, word, sign in _BOUNDS:
        limit = schema.get(bound)
        if limit is None:
            continue
        if not _in_range(limit, kind, number_format):
            yield _outside(f"{what} boundary", kind, number_format, path)
            limit = float(limit)
        else:
            limit = int(limit) if isinstance(value, int) else float(limit)
        exclusive = schema.get(f"exclusive{what}")
        if (value - limit) * sign > 0 or (exclusive and value == limit):
            than = f"{word} than" if exclusive else f"{word} than or equal to"
            written = limit if isinstance(limit, int) else go_float(limit)
            yield invalid_value(path or "<nil>", value, f"{path} in body should be {than} {written}")


def _multiple_errors(factor: float, value: float, kind: tuple[str, str], path: str) -> Iterator[Cause]:
    field, fits = path or "<nil>", _in_range(factor, *kind)
    if not fits:
        yield _outside("MultipleOf", *kind, path)
    factor = int(factor) if isinstance(value, int) and fits else float(factor)
    if factor <= 0:
        yield invalid_value(
            field, factor, f"factor MultipleOf declared for {path} must be positive: {go_float(factor)}"
        )
    elif not _is_multiple(value, factor):
        yield invalid_value(field, value, f"{path} in body should be a multiple of {go_float(factor)}")


def _outside(what: str, kind: str, number_format: str, path: str) -> Cause:
    form = f"with format {number_format}" if number_format else "(default format)"
    return invalid_value("<nil>", "", f"{what} value must be of type {kind} {form} in {path}")


def _in_range(number: float, kind: str, number_format: str) -> bool:
    if kind == "integer":
        return number == int(number) and int(number) in INTEGERS.get(number_format, INTEGERS["int64"])
    return number_format != "float" or abs(number) <= _MAX_FLOAT32


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    times = 1 / factor * value if factor < 1 else value / factor
    return abs(times) <= 2**53 and abs(times - round(times)) < 1e-9 * max(1.0, abs(times))
