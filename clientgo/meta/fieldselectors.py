r"""Field selectors: Kubernetes' text form parsed into terms that match JSON objects.

metadata.name=a,status.phase!=Failed; `\,`, `\=` and `\\` stand for the characters themselves.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_PIECE = re.compile(r"\\.|[^\\,]+|.", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One condition on one field, by equality or inequality; an absent field is the empty string."""

    path: tuple[str, ...]
    value: str
    equal: bool

    @property
    def field(self) -> str:
        """The path as the selector writes it."""
        return ".".join(self.path)

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Return whether the object meets the condition."""
        found: Any = obj
        for name in self.path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return (_text(found) == self.value) is self.equal


def parse_field_selector(text: str) -> tuple[FieldTerm, ...]:
    """Parse a field selector.

    Raises:
        ValueError: a term has no operator, in client-go's words.
    """
    return tuple(_term(part, text) for part in _parts(text) if part)


def _parts(text: str) -> list[str]:
    # Piece by piece instead of one pattern per term, whose time would grow with the square of the text.
    parts = [""]
    for piece in _PIECE.findall(text):
        if piece == ",":
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _term(part: str, text: str) -> FieldTerm:
    for operator in ("!=", "==", "="):
        field, found, value = part.partition(operator)
        if found:
            return FieldTerm(tuple(field.split(".")), _ESCAPED.sub(r"\1", value), operator != "!=")
    raise ValueError(f"invalid selector: '{text}'; can't understand '{part}'")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
