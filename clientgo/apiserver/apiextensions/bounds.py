"""Bounds, multiples and ranges of numbers, with the errors of the real server's validator.

Bounds of integers are compared as integers. Errors of a range have no field.
"""

from collections.abc import Iterator
from typing import Any

from clientgo.apiserver.http.status import Cause, go_float, invalid_value

Schema = dict[str, Any]

_MAX_FLOAT32 = 3.4028234663852886e38
_RANGES = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}


def number_errors(schema: Schema, number_format: str, value: float, path: str) -> Iterator[Cause]:
    """Yield the errors of a number at a path by its schema, whose format is known to the server."""
    where, field = f"{path} in body", path or "<nil>"
    kind = "" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "")

    def outside(number: float, what: str) -> Iterator[Cause]:
        if not _in_range(number, kind, number_format):
            form = f"with format {number_format}" if number_format else "(default format)"
            yield invalid_value("<nil>", "", f"{what} value must be of type {kind} {form} in {path}")

    yield from outside(value, "Checked")
    factor = schema.get("multipleOf")
    if factor is not None:
        wrong = list(outside(factor, "MultipleOf"))
        factor = int(factor) if isinstance(value, int) and not wrong else float(factor)
        yield from wrong
        if factor <= 0:
            why = f"factor MultipleOf declared for {path} must be positive: {go_float(factor)}"
            yield invalid_value(field, factor, why)
        elif not _is_multiple(value, factor):
            yield invalid_value(field, value, f"{where} should be a multiple of {go_float(factor)}")
    for bound, what, word, sign in (("minimum", "Minimum", "greater", -1), ("maximum", "Maximum", "less", 1)):
        limit, exclusive = schema.get(bound), schema.get(f"exclusive{what}")
        if limit is None:
            continue
        wrong = list(outside(limit, f"{what} boundary"))
        yield from wrong
        limit = int(limit) if isinstance(value, int) and not wrong else float(limit)
        if (value - limit) * sign > 0 or (exclusive and value == limit):
            than = f"{word} than" if exclusive else f"{word} than or equal to"
            written = limit if isinstance(limit, int) else go_float(limit)
            yield invalid_value(field, value, f"{where} should be {than} {written}")


def _in_range(number: float, kind: str, number_format: str) -> bool:
    if kind == "integer":
        return number == int(number) and int(number) in _RANGES.get(number_format, _RANGES["int64"])
    return number_format != "float" or abs(number) <= _MAX_FLOAT32


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    times = 1 / factor * value if factor < 1 else value / factor
    return abs(times) <= 2**53 and abs(times - round(times)) < 1e-9 * max(1.0, abs(times))
