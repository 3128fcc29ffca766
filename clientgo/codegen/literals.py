"""Plain values as Python text, broken into lines as the formatter would have them."""

from collections.abc import Iterator, Mapping
from typing import Any

from clientgo.codegen.source import WIDTH, quoted


class Code(str):
    """Text that is Python already, and stands as it is."""

    __slots__ = ()


def literal(value: Any, *, indent: int = 0, used: int = 0) -> str:
    """`value` as text that begins behind `used` columns of a line indented by `indent`, a comma included at its end."""
    flat = _flat(value, WIDTH - used - 1)
    if flat is not None:
        return flat
    if not isinstance(value, Mapping | list | tuple | str) or isinstance(value, Code):
        return _atom(value)
    inner = indent + 4
    if isinstance(value, str):
        return f"(\n{' ' * inner}{_atom(value)}\n{' ' * indent})"
    begin, end = _ENDS.get(type(value), ("{", "}"))
    lines = [f"{' ' * inner}{key}{literal(part, indent=inner, used=inner + len(key))}," for key, part in _parts(value)]
    return "\n".join([begin, *lines, f"{' ' * indent}{end}"])


_ENDS: Mapping[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")")}


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What a collection holds, each with what stands before it."""
    if isinstance(value, Mapping):
        yield from ((f"{_atom(key)}: ", part) for key, part in value.items())
    else:
        yield from (("", part) for part in value)


def _flat(value: Any, room: int) -> str | None:
    """The text on one line; None if that is longer than `room`, which is found without looking at all of it."""
    if not isinstance(value, Mapping | list | tuple):
        text = _atom(value)
        return text if len(text) <= room else None
    begin, end = _ENDS.get(type(value), ("{", "}"))
    texts: list[str] = []
    used = len(begin) + len(end)
    for key, part in _parts(value):
        flat = _flat(part, room - used - len(key))
        if flat is None:
            return None
        texts.append(key + flat)
        used += len(texts[-1]) + 2
    comma = "," if isinstance(value, tuple) and len(texts) == 1 else ""
    flat = f"{begin}{', '.join(texts)}{comma}{end}"
    return flat if len(flat) <= room else None


def _atom(value: Any) -> str:
    if isinstance(value, Code):
        return str(value)
    return quoted(value) if isinstance(value, str) else repr(value)
