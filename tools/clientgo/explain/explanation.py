"""Text of an explanation, in the format of `kubectl explain`."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from clientgo.explain.fields import Field
from clientgo.explain.kinds import ExplainedKind, ExplainError, find, kind_of_class
from clientgo.meta.classes.hints import camel

_WIDTH = 80
_INDENT = "    "


def explain(
    target: str | type[Any],
    path: str = "",
    *,
    api_version: str = "",
    recursive: bool = False,
    crds: Iterable[Path] = (),
) -> None:
    """Print the description and fields of a kind or of one of its fields, as `kubectl explain` does.

    `target` is a class or a text: a built-in kind or one of the CRD files `crds` (its kind, plural, singular or short
    name, with the group if needed), or `MODULE:CLASS`; its fields may follow, such as `deployment.spec.strategy`.
    `path` are fields of it, in JSON or as attributes. Lists and maps are passed through. `api_version` chooses among
    the versions of a kind, such as `autoscaling/v1`; `recursive` prints the names of all fields below.

    Raises:
        ExplainError: there is no such kind, version or field; the message has the nearest names.
    """
    if isinstance(target, str):
        kind, names = find(target, api_version, crds)
    else:
        kind, names = kind_of_class(target), []
    names += path.split(".") if path else []
    print("\n".join(_lines(kind, names, recursive=recursive)))  # noqa: T201  # like help()


def _lines(kind: ExplainedKind, names: Sequence[str], *, recursive: bool) -> Iterator[str]:
    field, name = kind.root(), ""
    position = kind.api.kind
    for requested in names:
        name, field = _below(field, requested, position)
        position = f"{position}.{name}"
    yield from _header(kind)
    if name:
        yield f"FIELD: {name} {_summary(field)}"
        yield ""
    for title, values in (("ENUM", field.enum), ("DEFAULT", _default(field))):
        if values:
            yield from (f"{title}:", *(f"{_INDENT}{value}" for value in values), "")
    yield "DESCRIPTION:"
    yield from (line for text in field.descriptions() or ["<empty>"] for line in _wrapped(text))
    fields = _fields(field, position)
    if fields:
        yield from ("", "FIELDS:")
        yield from _tree(fields, "  ", (field.cls,), position) if recursive else _table(fields)


def _header(kind: ExplainedKind) -> Iterator[str]:
    api = kind.api
    words = {"GROUP": api.group, "KIND": api.kind, "VERSION": api.version} if api.version else {"TYPE": api.kind}
    yield from (f"{title + ':':12}{word}" for title, word in words.items() if word)
    yield ""


def _fields(field: Field, position: str) -> dict[str, Field]:
    try:
        return field.fields()
    except (NameError, TypeError) as error:
        raise ExplainError(f"cannot read the annotations of {position}: {error}") from error


def _below(field: Field, requested: str, position: str) -> tuple[str, Field]:
    fields = _fields(field, position)
    for name in (requested, camel(requested)):
        if name in fields:
            return name, fields[name]
    if not fields:
        raise ExplainError(f'field "{requested}" not found in {position}: its type {field.type} has no fields')
    matches = get_close_matches(requested, fields)
    hint = f"did you mean {' or '.join(matches)}?" if matches else f"expected one of {', '.join(fields)}"
    raise ExplainError(f'field "{requested}" not found in {position}: {hint}')


def _summary(field: Field) -> str:
    return f"<{field.type}>{' -required-' if field.required else ''}"


def _default(field: Field) -> list[str]:
    default = field.schema.get("default", "")
    if default in ("", {}, []):
        return []
    return [default if isinstance(default, str) else msgspec.json.encode(default).decode()]


def _table(fields: dict[str, Field]) -> Iterator[str]:
    for name, field in fields.items():
        yield f"  {name}\t{_summary(field)}"
        yield from _values(field, "  ")
        # The first: that of the type follows in the explanation of the field itself.
        yield from _wrapped((field.descriptions() or ["<no description>"])[0])
        yield ""


def _tree(fields: dict[str, Field], indent: str, inside: tuple[type[Any] | None, ...], position: str) -> Iterator[str]:
    for name, field in fields.items():
        yield f"{indent}{name}\t{_summary(field)}"
        yield from _values(field, indent)
        if field.cls is None or field.cls not in inside:  # recursive types end at their second level
            below = _fields(field, f"{position}.{name}")
            yield from _tree(below, f"{indent}  ", (*inside, field.cls), f"{position}.{name}")


def _values(field: Field, indent: str) -> Iterator[str]:
    if field.enum:
        yield f"{indent}enum: {', '.join(field.enum)}"
    for default in _default(field):
        yield f"{indent}default: {default}"


def _wrapped(text: str) -> Iterator[str]:
    for line in text.splitlines():
        # URLs stay whole.
        lines = textwrap.wrap(line, _WIDTH - len(_INDENT), break_long_words=False, break_on_hyphens=False)
        yield from (f"{_INDENT}{part}" for part in lines or [""])
