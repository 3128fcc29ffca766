"""Cost limits of CEL rules, as the API server estimates them from a schema before it accepts a CRD.

Only rules of the generator's own making are estimated: those of `immutable`, and of `exactly_one_of` and its like. What
a user's rule costs takes CEL's type checker, which the API server has.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clientgo.codegen.crd.rules import UNCHANGING

RULE_LIMIT = 10_000_000
"""Cost of one rule, for all the values in an object that it holds for."""

CRD_LIMIT = 100_000_000
"""Cost of all rules of a version."""

_MOST_BYTES = 3 * 2**20
"""Bytes of a request."""

_BYTES_OF_A_CHARACTER = 4
_CHOICE = re.compile(r"(?:has\((?:self|oldSelf)\.\w+\)|[-!()|?:+=<>0-9 ])+")
_FORMATS = {"duration": (3, 32), "date": (12, 12), "date-time": (21, 32)}
_SCALARS = {"boolean": 4, "number": 1, "integer": 1}


@dataclass(frozen=True, slots=True)
class CelType:
    """Bounds of a value: the fewest bytes of its JSON, and the most characters, items or entries."""

    least_bytes: int
    most_elements: int = 0


def cel_type(schema: dict[str, Any]) -> CelType | None:
    """Return the bounds of a schema's values; None where rules see no value, for it has no type."""
    if schema.get("x-kubernetes-int-or-string"):
        return CelType(1, _most_characters(schema))
    kind = schema.get("type")
    if kind == "array":
        items = cel_type(schema.get("items", {}))
        return items and CelType(2, schema.get("maxItems", (_MOST_BYTES - 2) // (items.least_bytes + 1)))
    if kind == "object" and "additionalProperties" in schema:
        values = cel_type(schema["additionalProperties"])
        return values and CelType(2, schema.get("maxProperties", (_MOST_BYTES - 2) // (values.least_bytes + 6)))
    if kind == "object":
        return CelType(2 + sum(_needed_bytes(schema)))
    if kind == "string":
        least, most = _FORMATS.get(schema.get("format", ""), (2, _most_characters(schema)))
        return CelType(least, most)
    return CelType(_SCALARS[kind]) if kind in _SCALARS else None


def _needed_bytes(schema: dict[str, Any]) -> Iterator[int]:
    for name in schema.get("required", ()):
        field = schema.get("properties", {}).get(name, {})
        bounds = None if "default" in field else cel_type(field)
        if bounds is not None:
            yield len(name) + bounds.least_bytes + 4


def _most_characters(schema: dict[str, Any]) -> int:
    if "maxLength" in schema:
        # Of bytes there are as many as it says.
        return int(schema["maxLength"]) * (1 if schema.get("format") == "byte" else _BYTES_OF_A_CHARACTER)
    if "enum" in schema and schema.get("format") != "byte":
        return max((len(value.encode()) for value in schema["enum"] if isinstance(value, str)), default=0)
    return _MOST_BYTES - 2


def is_choice(rule: str) -> bool:
    """Report whether a rule only asks which fields are set."""
    return _CHOICE.fullmatch(rule) is not None


def cost_of(rule: str, bounds: CelType, *, times: int | None) -> int:
    """Return what a rule costs at most; 0 if that cannot be known here.

    `times` is how many values of an object it may hold for; None if nothing but the size of a request limits that.
    """
    once = 0
    if rule == UNCHANGING.rule:
        once = 2 + math.ceil(bounds.most_elements / 10)
    elif is_choice(rule):
        once = 2 * rule.count("has(")
    return once * (_MOST_BYTES // (bounds.least_bytes + 1) if times is None else times)
