"""Plain values as Python text, broken into lines as the formatter would have them."""

from collections.abc import Mapping
from typing import Any

from clientgo.codegen.source import WIDTH, quoted


class Code(str):
    """Text that is Python already, and stands as it is."""

    __slots__ = ()


def literal(value: Any, *, indent: int = 0, used: int = 0) -> str:
    """`value` as text that begins behind `used` columns of a line indented by `indent`, a comma included at its end."""
    flat = _flat(value)
    if used + len(flat) + 1 <= WIDTH or not isinstance(value, Mapping | list | tuple | str) or isinstance(value, Code):
        return flat
    inner = indent + 4
    if isinstance(value, str):
        return f"(\n{' ' * inner}{flat}\n{' ' * indent})"
    if isinstance(value, Mapping):
        lines = [
            f"{' ' * inner}{_flat(key)}: {literal(part, indent=inner, used=inner + len(_flat(key)) + 2)},"
            for key, part in value.items()
        ]
        return "\n".join(["{", *lines, f"{' ' * indent}}}"])
    lines = [f"{' ' * inner}{literal(part, indent=inner, used=inner)}," for part in value]
    ends = "[]" if isinstance(value, list) else "()"
    return "\n".join([ends[0], *lines, f"{' ' * indent}{ends[1]}"])


def _flat(value: Any) -> str:
    if isinstance(value, Code):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flat(key)}: {_flat(part)}" for key, part in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_flat, value))}{',' if len(value) == 1 else ''})"
    return f"[{', '.join(map(_flat, value))}]" if isinstance(value, list) else repr(value)
