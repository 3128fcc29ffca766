"""Pieces of Python text, laid out as the formatter would have them, so that generated files need no formatting run.

Whatever somebody else wrote gets into a source through `escaped` alone, which `quoted` and `docstring` share: what
comes out is printable, on one line, and can end no string. So no description and no name of a stranger's becomes code,
and none looks like other code than it is: text that turns the direction of reading is spelled out too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

WIDTH = 120

QUOTE = '"'

_STRING = re.compile(r'"""[^\n]*"""|"(?:[^"\\\n]|\\.)*"' + r"|'(?:[^'\\\n]|\\.)*'")


def import_line(module: str, names: Iterable[str]) -> str:
    """`from module import names`, sorted as the import sorter wants them; broken when too long for one line."""
    ordered = sorted(set(names), key=_import_order)
    line = f"from {module} import {', '.join(ordered)}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in ordered), ")"])


def _import_order(name: str) -> tuple[int, str, str]:
    # Constants, classes, the rest: the order the import sorter gives by type of name.
    if name.isupper() and len(name) > 1:
        return (0, name.lower(), name)
    return (1 if name[:1].isupper() else 2, name.lower(), name)


def names_list(names: Iterable[str]) -> str:
    """The value of `__all__`; broken one a line when too long for one."""
    ordered = sorted(set(names))
    line = f"__all__ = [{', '.join(quoted(n) for n in ordered)}]"
    if len(line) <= WIDTH:
        return line
    return "\n".join(["__all__ = [", *(f"    {quoted(name)}," for name in ordered), "]"])


def call(prefix: str, arguments: Iterable[str], *, indent: str = "", end: str = "") -> str:
    """`prefix(arguments)` and `end`; arguments that don't fit go on a line of their own, or on one line each."""
    arguments = list(arguments)
    inside = ", ".join(arguments)
    line = f"{indent}{prefix}({inside}){end}"
    if len(line) <= WIDTH:
        return line
    if len(indent) + 4 + len(inside) <= WIDTH:
        return f"{indent}{prefix}(\n{indent}    {inside}\n{indent}){end}"
    return "\n".join([f"{indent}{prefix}(", *(f"{indent}    {argument}," for argument in arguments), f"{indent}){end}"])


def tuple_text(values: Iterable[str], *, prefix: str = "", indent: str = "    ") -> str:
    """`prefix` and a tuple of strings as a literal, to stand in a broken call; one a line when too long for one."""
    items = [quoted(value) for value in values]
    line = f"{prefix}({items[0]},)" if len(items) == 1 else f"{prefix}({', '.join(items)})"
    if len(indent) + len(line) + 1 <= WIDTH:
        return line
    return "\n".join([f"{prefix}(", *(f"{indent}    {item}," for item in items), f"{indent})"])


def escaped(text: str) -> str:
    """`text` on one line, with backslashes and whatever is not printable spelled out; quotes stay as they are."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(char if char.isprintable() and char != "\\" else repr(char)[1:-1] for char in text)


def quoted(text: str) -> str:
    """`text` as a literal, in the quotes that the formatter keeps: those that need fewer escapes, else double ones."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + escaped(text).replace(quote, f"\\{quote}") + quote


def first_sentence(text: str) -> str:
    """What a description says before it goes into detail, on one line and with a full stop."""
    plain = "".join(char if char.isprintable() or char.isspace() else " " for char in text.replace("\u2019", "'"))
    flat = " ".join(plain.split("\n\n")[0].split())
    if not flat:
        return ""
    found = re.match(r"(.+?[a-z0-9)\]`\"'])\.(?= [A-Z\"'`(]|$)", flat)
    sentence = found.group(1) if found else flat.rstrip(".:; ")
    return sentence + "."


def docstring(text: str, *, indent: str = "") -> str:
    """`text` as a docstring of one line."""
    return f'{indent}"""{docstring_text(text)}"""'


def docstring_text(text: str) -> str:
    """`text` as it may stand between the quotes of a docstring, in a template for example."""
    safe = escaped(text.strip()).replace('"""', "'''")
    return f"{' ' if safe[:1] == QUOTE else ''}{safe}{' ' if safe[-1:] == QUOTE else ''}"


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


def mentioned(text: str, names: Iterable[str]) -> list[str]:
    """Which of `names` a text uses, not counting its strings."""
    words = set(re.findall(r"\w+", _STRING.sub("", text)))
    return [name for name in names if name in words]
