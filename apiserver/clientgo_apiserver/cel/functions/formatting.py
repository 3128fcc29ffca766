"""CEL's string.format: clauses, which values they accept, and how they show them."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from clientgo_apiserver.cel.functions.operators import OPERATORS
from clientgo_apiserver.cel.types import ExprType
from clientgo_apiserver.cel.values import CelError, kind_of, type_name

_CLAUSE = re.compile(r"%(?:(?P<percent>%)|(?:\.(?P<precision>\d+))?(?P<verb>.?))", re.DOTALL)
_INTEGERS = frozenset(("int", "uint"))
_SHOWN = frozenset((
    *("bool", "bytes", "double", "duration", "int", "list", "map", "null", "string", "struct", "timestamp", "type"),
    "uint",
))  # fmt: skip
_CLAUSES: dict[str, tuple[frozenset[str], str]] = {
    "s": (
        _SHOWN,
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and"
        " timestamps",
    ),
    "d": (_INTEGERS, "decimal clause can only be used on integers"),
    "f": (frozenset(("double", "string")), "fixed-point clause can only be used on doubles"),
    "e": (frozenset(("double", "string")), "scientific clause can only be used on doubles"),
    "b": (_INTEGERS | {"bool"}, "only integers and bools can be formatted as binary"),
    "x": (_INTEGERS | {"string", "bytes"}, "only integers, byte buffers, and strings can be formatted as hex"),
    "o": (_INTEGERS, "octal clause can only be used on integers"),
}
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_RAISED = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")


def clauses(template: str, count: int) -> Iterator[tuple[str, int, str]]:
    """Yield the verb, the index of the argument and the precision of each clause.

    Raises:
        CelError: the template is invalid, or has more clauses than arguments.
    """
    index = 0
    for clause in _CLAUSE.finditer(template):
        if clause["percent"]:
            continue
        verb = clause["verb"].lower() if clause["verb"] == "X" else clause["verb"]
        if not verb:
            raise CelError("unexpected end of string")
        if index >= count:
            raise CelError(f"index {index} out of range")
        if verb not in _CLAUSES:
            raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{clause["verb"]}"')
        yield clause["verb"], index, clause["precision"] or ""
        index += 1


def clause_error(verb: str, kind: str, name: str) -> str:
    """Return why a clause does not accept a value of a kind, or ""."""
    accepted, reason = _CLAUSES[verb.lower()]
    return "" if kind in accepted else f"error during formatting: {reason}, was given {name}"


def formatted(template: str, args: list[Any]) -> str:
    """Return a template with its clauses replaced by arguments."""
    texts = []
    for verb, index, precision in clauses(template, len(args)):
        value = args[index]
        reason = clause_error(verb, kind_of(value), type_name(value))
        if reason:
            raise CelError(reason)
        texts.append(_SHOW[verb](value, int(precision or 6)))
    remaining = iter(texts)
    return _CLAUSE.sub(lambda clause: "%" if clause["percent"] else next(remaining), template)


def _text(value: Any) -> str:
    match kind_of(value):
        case "list":
            return "[" + ", ".join(map(_quoted, value)) + "]"
        case "map" | "struct":
            pairs = sorted((_quoted(key), _quoted(item)) for key, item in value.items())
            return "{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}"
        case "null":
            return "null"
        case "type":
            return _type_text(value)
    try:
        return str(OPERATORS["string"](value))
    except CelError as error:
        raise CelError(f'error during formatting: could not convert argument "{error}" to string') from None


def _type_text(value: ExprType) -> str:
    if value.kind in ("timestamp", "duration"):
        return f"google.protobuf.{value.kind.capitalize()}"
    return {"null": "null_type", "list": "list", "map": "map", "type": "type"}.get(value.kind, str(value))


def _quoted(value: Any) -> str:
    """Return a value within a list or map, as a literal."""
    kind, text = kind_of(value), _text(value)
    if kind in ("string", "bytes"):
        return ("b" if kind == "bytes" else "") + msgspec.json.encode(text).decode()
    if kind in ("timestamp", "duration"):
        return f'{kind}("{text}")'
    return f"{value:.6f}" if kind == "double" else text


def _number(value: Any) -> float:
    if isinstance(value, str):
        if value not in _SPECIAL:
            raise CelError(clause_error("f", "", "string"))
        return _SPECIAL[value]
    return float(value)


def _special(value: float) -> str:
    return "NaN" if math.isnan(value) else ("∞" if value > 0 else "-∞")


def _fixed(value: Any, precision: int) -> str:
    number = _number(value)
    return f"{number:,.{precision}f}" if math.isfinite(number) else _special(number)


def _scientific(value: Any, width: int) -> str:
    """Return a number in scientific notation; cel-go takes the precision for the width."""
    number = _number(value)
    if not math.isfinite(number):
        return _special(number).rjust(width)
    digits, _, exponent = f"{number:.6e}".partition("e")
    return f"{digits}\u00d710{exponent.removeprefix('+').translate(_RAISED)}".rjust(width)


def _hex(value: Any, _: int) -> str:
    if isinstance(value, int):
        return format(value, "x")
    return (value.encode() if isinstance(value, str) else value).hex()


_SHOW: dict[str, Callable[[Any, int], str]] = {
    "s": lambda value, _: _text(value),
    "d": lambda value, _: str(int(value)),
    "f": _fixed,
    "e": _scientific,
    "b": lambda value, _: format(int(value), "b"),
    "x": _hex,
    "X": lambda value, _: _hex(value, _).upper(),
    "o": lambda value, _: format(value, "o"),
}
