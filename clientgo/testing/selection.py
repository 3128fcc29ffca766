"""Which objects a list or watch of a fake is about: namespace, labels and fields, on plain JSON objects."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clientgo.errors import BadRequest
from clientgo.meta.selectors import Selector, everything, parse_selector

_TERM = re.compile(r"(?P<path>[^=!]+)(?P<operator>!=|==|=)(?P<value>.*)\Z", re.DOTALL)
_COMMA = re.compile(r"(?<!\\),")
_ESCAPED = re.compile(r"\\(.)")


_ALL_LABELS = everything()


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One field's wanted, or unwanted, value; an absent field reads as empty."""

    path: tuple[str, ...]
    value: str
    equal: bool

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object has, or has not, that value there."""
        found: Any = obj
        for part in self.path:
            found = found.get(part) if isinstance(found, Mapping) else None
        return (_text(found) == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class Selection:
    """Objects of one namespace (all when empty) whose labels and fields match."""

    namespace: str = ""
    labels: Selector = _ALL_LABELS
    fields: tuple[FieldTerm, ...] = ()

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object is selected."""
        meta = obj.get("metadata") or {}
        if self.namespace and meta.get("namespace", "") != self.namespace:
            return False
        return self.labels.matches(meta.get("labels") or {}) and all(term.matches(obj) for term in self.fields)


EVERYTHING = Selection()
"""Every object of every namespace."""


def select(namespace: str = "", label_selector: str = "", field_selector: str = "") -> Selection:
    """Read both selectors; any field can be selected by, as a fake knows no schema.

    Raises:
        BadRequest: a selector can't be parsed, as a server would say.
    """
    try:
        return Selection(namespace, parse_selector(label_selector), parse_fields(field_selector))
    except ValueError as error:
        raise BadRequest(str(error)) from error


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """Read `metadata.name=a,status.phase!=Failed`; `\\,`, `\\=` and `\\\\` stand for themselves.

    Raises:
        ValueError: a term is neither of `=`, `==`, `!=`.
    """
    return tuple(_term(part, text) for part in _COMMA.split(text) if part) if text else ()


def _term(part: str, text: str) -> FieldTerm:
    found = _TERM.match(part)
    if found is None:
        raise ValueError(f"invalid field selector {text!r}: can't understand {part!r}")
    return FieldTerm(tuple(found["path"].split(".")), _ESCAPED.sub(r"\1", found["value"]), found["operator"] != "!=")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
