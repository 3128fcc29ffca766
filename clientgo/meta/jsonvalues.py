"""Comparison of decoded JSON values by the rules of JSON and Kubernetes, where Python's `==` differs.

To Python `True == 1` and `False == 0`; in JSON a boolean is never a number. Numbers are compared by value: `1` equals
`1.0`, as in Kubernetes, which writes the second as the first. NaN, which is not JSON, equals nothing.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

Json = Any
"""A JSON value: None, bool, int, float, str, a list, or a dict with str keys."""

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode

_ABSENT: Any = object()
_EXACT = frozenset((str, bool, type(None)))
"""Classes whose values Python and JSON compare alike, if both values have the same class."""
_UNENCODABLE = (TypeError, ValueError, RecursionError)


def same(one: Any, other: Any) -> bool:
    """Return whether both are the same JSON value; objects of API kinds are compared by their JSON form.

    `==` decides most cases in C: it is never wrong about what differs. What it finds equal is compared again by its
    encoding, and value by value only if that differs too.
    """
    if one.__class__ in _EXACT and one.__class__ is other.__class__:
        return bool(one == other)
    if one != other:
        return False
    try:
        encoded, others = _encode(one), _encode(other)
        # NaN is encoded as null, and a container that holds the very same NaN is equal to itself.
        if encoded == others and (b"null" not in encoded or _decode(encoded) == one):
            return True
        if not isinstance(one, dict | list):
            one, other = _decode(encoded), _decode(others)
    except _UNENCODABLE:
        pass  # nested too deep, or not JSON: compare what there is
    return _equal_values_are_same(one, other)


def _equal_values_are_same(one: Json, other: Json) -> bool:
    """Compare values that are equal to Python, hence of the same shape; not recursive, for values of any depth."""
    pending = [(one, other)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            pending += [(value, other.get(name, _ABSENT)) for name, value in one.items()]
        elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
            pending += zip(one, other, strict=True)
        elif isinstance(one, bool) is not isinstance(other, bool) or one != other:
            return False
    return True


def same_text(one: Json, other: Json) -> bool:
    """Return whether both are the same JSON value, and their numbers are written alike: `1` differs from `1.0`."""
    return same(one, other) and _encode_sorted(one) == _encode_sorted(other)


def is_among(value: Json, values: Iterable[Json]) -> bool:
    """Return whether one of `values` is the same JSON value."""
    return any(same(value, each) for each in values)


def index_of(value: Json, values: Iterable[Json]) -> int | None:
    """Return the position of the first of `values` that is the same JSON value; None if there is none."""
    return next((index for index, each in enumerate(values) if same(value, each)), None)


def canonical(value: Json) -> bytes:
    """Return the same bytes for the same JSON values and different bytes for others: a key of sets and dicts.

    Members are sorted, and a float without a fraction is written as an integer.
    """
    text = _encode_sorted(value)
    return text if b"." not in text and b"e" not in text else _encode_sorted(_with_integers(value))


def _with_integers(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _with_integers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
