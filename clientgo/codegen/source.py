"""Pieces of Python text, laid out as the formatter would have them, so that generated files need no formatting run.

Whatever somebody else wrote gets into a source through `escaped` alone, which `quoted` and `docstring` share: what
comes out is printable, on one line, and can end no string. So no description and no name of a stranger's becomes code,
and none looks like other code than it is: text that turns the direction of reading is spelled out too.
"""

import re
from collections.abc import Iterable

WIDTH = 120

QUOTE = '"'


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


def snake(name: str) -> str:
    """`HorizontalPodAutoscaler` → `horizontal_pod_autoscaler`, `CSIDriver` → `csi_driver`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def camel(name: str) -> str:
    """The JSON name that msgspec's `rename="camel"` gives an attribute."""
    plain = name.lstrip("_")
    first, *rest = plain.split("_")
    return name[: len(name) - len(plain)] + first + "".join(part.title() for part in rest)
