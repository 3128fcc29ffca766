"""Pieces of Python text, laid out as the formatter would have them, so that generated files need no formatting run.

Foreign text gets into source only through `escaped`, which `quoted` and `docstring` share. The result is printable, on
one line, and cannot end a string literal. So no third-party name or description becomes code, and none can disguise
code: characters that change the text direction are escaped too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

WIDTH = 120


def import_line(module: str, names: Iterable[str]) -> str:
    """Return `from module import names`, sorted like import sorters do, and broken if too long."""
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


def assignment(head: str, value: Any) -> str:
    """Return `head` and the source of a value, broken if too long."""
    return head + literal(value, indent=len(head) - len(head.lstrip()), used=len(head) - 1)


def call(prefix: str, arguments: Iterable[str], *, indent: str = "", end: str = "") -> str:
    """Return `prefix(arguments)` and `end`, broken as the formatter would if too long."""
    arguments = list(arguments)
    inside = ", ".join(arguments)
    line = f"{indent}{prefix}({inside}){end}"
    if len(line) <= WIDTH:
        return line
    if len(indent) + 4 + len(inside) <= WIDTH:
        return f"{indent}{prefix}(\n{indent}    {inside}\n{indent}){end}"
    return "\n".join([f"{indent}{prefix}(", *(f"{indent}    {argument}," for argument in arguments), f"{indent}){end}"])


_PIECE = re.compile(r"""\"(?:[^\"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|.""")


def break_line(line: str) -> str:
    """Break a line that is too long at its signature, or at the last call that makes it fit, as the formatter would."""
    if len(line) <= WIDTH or "#" in line or '"""' in line:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    broken = [
        call(head.lstrip(), [argument.strip() for argument in arguments], indent=indent, end=tail)
        for head, arguments, tail in _calls(line)
        if any(arguments)
    ]
    if not line.lstrip().startswith("def "):
        broken.reverse()
    fitting = (text for text in broken if max(map(len, text.split("\n"))) <= WIDTH)
    return next(fitting, broken[0] if broken else line)


def _calls(line: str) -> Iterator[tuple[str, list[str], str]]:
    """Yield the text before each outermost parenthesis, what is in it, and the text behind."""
    depth = start = end = 0
    arguments: list[str] = []
    for piece in _PIECE.findall(line):
        end += len(piece)
        depth -= piece in (*")]}",)
        if depth == 1 and piece == ",":
            arguments.append("")
        elif depth:
            arguments[-1] += piece
        elif piece == ")":
            yield line[:start], arguments, line[end:]
        if piece in (*"([{",):
            start, arguments = (start, arguments) if depth else (end - 1, [""])
            depth += 1


def escaped(text: str) -> str:
    """Return text on one line with backslashes and unprintable characters escaped; quotes are kept."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(char if char.isprintable() and char != "\\" else repr(char)[1:-1] for char in text)


def quoted(text: str) -> str:
    """Return text as a string literal, in the quotes that need fewer escapes, as the formatter prefers."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + escaped(text).replace(quote, f"\\{quote}") + quote


def first_sentence(text: str) -> str:
    """Return the first sentence of a description on one line, with a full stop."""
    plain = "".join(char if char.isprintable() or char.isspace() else " " for char in text.replace("\u2019", "'"))
    flat = " ".join(plain.split("\n\n")[0].split())
    if not flat:
        return ""
    match = re.match(r"(.+?[a-z0-9)\]`\"'])\.(?= [A-Z\"'`(]|$)", flat)
    sentence = match.group(1) if match else flat.rstrip(".:; ")
    return sentence + "."


def docstring(text: str, *, indent: str = "") -> str:
    """Return text as a one-line docstring."""
    safe = escaped(text.strip()).replace('"""', "'''")
    quote = '"'
    return f'{indent}"""{" " * safe.startswith(quote)}{safe}{" " * safe.endswith(quote)}"""'


class Code(str):
    """Python source, which `literal` inserts unchanged."""

    __slots__ = ()


def literal(value: Any, *, indent: int = 0, used: int = 0) -> str:
    """Return the source of a value, formatted to start after `used` columns of a line indented by `indent`.

    Room is left for a comma.
    """
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
    """Yield the items of a collection, each with the source before it."""
    if isinstance(value, Mapping):
        yield from ((f"{_atom(key)}: ", part) for key, part in value.items())
    else:
        yield from (("", part) for part in value)


def _flat(value: Any, room: int) -> str | None:
    """Return the source on one line, or None if it is longer than `room`, without formatting all of it."""
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
