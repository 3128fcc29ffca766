"""YAML in and out: the one place that reads and writes it.

The YAML library alone does not promise one error for bad input. Its constructors raise what `int()` and `datetime()`
do, deep nesting ends in a `RecursionError`, and a few hundred bytes of aliases stand for billions of values, which cost
nothing until somebody walks through them.

On output, PyYAML quotes a text only if PyYAML itself would read it as another type. kubectl has other rules (`y` is a
boolean, `1e3`, `0o17` and `08` are numbers), and so have readers of YAML 1.2.
"""

import re
from typing import Any

import yaml

from clientgo.meta.readonly import register_with_yaml

register_with_yaml()

MOST_VALUES = 1_000_000
"""Values a text may stand for; the largest bundles of definitions hold some hundred thousand."""

DEEPEST = 200
"""Levels a text may nest: readers recurse. Schemas nest some 30."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Block collections nest by what lines begin with, at most two levels for each column.
_FAR_IN = re.compile(rf"^[ ?-]{{{DEEPEST // 2}}}", re.MULTILINE)

# What PyYAML's safe constructors let through: `2024-99-99`, `!!int ""`, `!!bool x`, `!!timestamp x`, a number too long.
_UNFORESEEN = (ValueError, TypeError, LookupError, AttributeError, OverflowError)


class NotYAML(ValueError):
    """The text can't be read; the message says why, without its `line` (counted from 1, 0 if unknown)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def read_yaml(text: str) -> list[Any]:
    """The documents in `text`, empty ones as None.

    Raises:
        NotYAML: it is none, or stands for more than `MOST_VALUES` values or `DEEPEST` levels.
    """
    try:
        _check_depth(text)
        documents = list(yaml.load_all(text, Loader=_LOADER))  # nosec B506  # both are safe loaders
    except NotYAML:
        raise
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        # The end of the text may be reported as a line more than there are.
        last = text.rstrip().count("\n") + 1
        raise NotYAML(" ".join(str(problem).split()), min(mark.line + 1, last) if mark is not None else 0) from error
    except RecursionError as error:
        raise NotYAML(f"it nests more than {DEEPEST} levels") from error
    except _UNFORESEEN as error:
        raise NotYAML("a value in it is not of the type it looks like") from error
    _measure(documents)
    return documents


def _check_depth(text: str) -> None:
    # Before anything is composed: the C library does that recursively, without a limit, and ends the process.
    if text.count("[") + text.count("{") <= DEEPEST and not _FAR_IN.search(text):
        return
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise NotYAML(f"it nests more than {DEEPEST} levels", getattr(event.start_mark, "line", -1) + 1)


def _measure(documents: list[Any]) -> None:
    # Each value as often as a reader would meet it, so that aliases count; a value within itself ends it too.
    pending: list[tuple[Any, int]] = [(documents, 0)]
    met = 0
    while pending:
        value, depth = pending.pop()
        children = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        met += len(children)
        if met > MOST_VALUES:
            raise NotYAML(f"it stands for more than {MOST_VALUES} values")
        if depth > DEEPEST:
            raise NotYAML(f"it nests more than {DEEPEST} levels")
        pending.extend((child, depth + 1) for child in children)


_WIDTH = 2**31 - 1
"""Columns of a line: no line is folded. The C library takes no larger number."""

_AMBIGUOUS = re.compile(
    r"""
    | ~ | = | <<
    | (?i: y | n | yes | no | on | off | true | false | null )
    | [-+]? \. (?i: inf | nan )
    | [-+]? (?: [0-9]+ \.? [0-9]* | \. [0-9]+ ) (?i: e [-+]? [0-9]+ )?
    | [-+]? 0 (?i: x ) [-+]? [0-9a-fA-F]+
    | [-+]? 0 (?i: o | b ) [-+]? [0-7]+
    | [-+]? [0-9]+ (?: : [0-5]? [0-9] )+ (?: \. [0-9]* )?
    | [0-9]{4} - [0-9]{1,2} - [0-9]{1,2} (?: [Tt\ \t] .* )?
    """,
    re.VERBOSE | re.ASCII,
)
"""Texts without underscores that a reader of YAML 1.1 (PyYAML, go-yaml) or of YAML 1.2 takes for another type.

It is wider than each of them (`yEs`, 90 hours in base 60): a needless pair of quotes costs nothing.
"""

_LINE_BREAKS_OF_YAML_1_1 = re.compile("[\x85\u2028\u2029]")

_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def to_yaml(value: Any, *, sort_keys: bool = False, literal: bool = False, flow: bool = False) -> str:
    """Return plain values as YAML: lists are not indented, lines are not folded, and nothing is an alias.

    `literal` writes texts of several lines as blocks, for human readers. `flow` writes everything on one line.
    """
    return str(
        yaml.dump(
            value,
            Dumper=_LiteralDumper if literal else _Dumper,
            sort_keys=sort_keys,
            width=_WIDTH,
            allow_unicode=True,
            default_flow_style=flow,
        )
    )


def to_scalar(value: str | bool) -> str:
    """Return a text of one line, or a boolean, as it stands behind a key."""
    return to_yaml([value]).removeprefix("- ").rstrip("\n")


def is_ambiguous(text: str) -> bool:
    """Report whether some reader takes an unquoted text for another type."""
    # go-yaml drops every underscore before it tries a number.
    return _AMBIGUOUS.fullmatch(text.replace("_", "")) is not None


class _Dumper(_Base):  # type: ignore[misc]  # the C class if PyYAML has it, which mypy can't know
    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


class _LiteralDumper(_Dumper):
    pass


def _text(dumper: Any, value: str) -> yaml.ScalarNode:
    style = "'" if is_ambiguous(value) else '"' if _LINE_BREAKS_OF_YAML_1_1.search(value) else None
    node: yaml.ScalarNode = dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)
    return node


def _literal(dumper: Any, value: str) -> yaml.ScalarNode:
    if "\n" not in value or _LINE_BREAKS_OF_YAML_1_1.search(value):
        return _text(dumper, value)
    node: yaml.ScalarNode = dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|")
    return node


_Dumper.add_representer(str, _text)
_LiteralDumper.add_representer(str, _literal)
