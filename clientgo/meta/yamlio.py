"""YAML input and output on top of PyYAML.

Input: invalid documents raise one kind of error, and their size is limited. PyYAML's constructors raise various errors,
deep nesting ends in a `RecursionError`, and a few hundred bytes of aliases can represent billions of values.

Output: every reader gets the same values. PyYAML quotes a text only if PyYAML itself would read it as another type.
kubectl has other rules (`y` is a boolean, `1e3`, `0o17` and `08` are numbers), and so have readers of YAML 1.2.
"""

import re
from typing import Any

import yaml

from clientgo.meta.readonly import register_with_yaml

register_with_yaml()

MAX_VALUES = 1_000_000
"""Maximum number of values, aliases included; the largest bundles of CRDs have some hundred thousand."""

MAX_DEPTH = 200
"""Maximum nesting, because readers are recursive; schemas have some 30 levels."""

_TOO_DEEP = f"more than {MAX_DEPTH} levels of nesting"
_TOO_LARGE = f"more than {MAX_VALUES} values"

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Block collections nest by indentation, at most two levels per column.
_DEEP_INDENT = re.compile(rf"^[ ?-]{{{MAX_DEPTH // 2}}}", re.MULTILINE)

# Errors of PyYAML's safe constructors: `2024-99-99`, `!!int ""`, `!!bool x`, `!!timestamp x`, a number too long.
_CONSTRUCTOR_ERRORS = (ValueError, TypeError, LookupError, AttributeError, OverflowError)


class InvalidYAML(ValueError):
    """Invalid YAML; the message does not contain its `line` (counted from 1, 0 if unknown)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def read_yaml(text: str) -> list[Any]:
    """Return the documents in `text`; empty ones are None.

    Raises:
        InvalidYAML: it is invalid, or exceeds `MAX_VALUES` values or `MAX_DEPTH` levels.
    """
    try:
        _check_events(text)
        documents = list(yaml.load_all(text, Loader=_LOADER))  # nosec B506  # both are safe loaders
    except InvalidYAML:
        raise
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        if is_nesting_limit(error):  # its parser looks ahead, beyond the check above
            problem = _TOO_DEEP
        # The end of the text may be reported as the line after the last one.
        last = text.rstrip().count("\n") + 1
        raise InvalidYAML(
            " ".join(str(problem).split()), min(mark.line + 1, last) if mark is not None else 0
        ) from error
    except RecursionError as error:
        raise InvalidYAML(_TOO_DEEP) from error
    except _CONSTRUCTOR_ERRORS as error:
        raise InvalidYAML("a value is invalid for its type") from error
    _measure(documents)
    return documents


def is_nesting_limit(error: yaml.YAMLError) -> bool:
    """Report whether the error is the limit of 1,000 levels in PyYAML's C library, which has one since 0.2.6."""
    return "nesting depth" in (getattr(error, "problem", None) or "")


def _check_events(text: str) -> None:
    # Before anything is composed: the C library is recursive without a limit and crashes the process, and a merge of
    # aliases (`<<: [*a, *a]`) multiplies pairs that PyYAML up to 6.0.3 keeps all.
    brackets = text.count("[") + text.count("{")
    if brackets <= MAX_DEPTH and not _DEEP_INDENT.search(text) and not ("&" in text and "*" in text):
        return
    sizes = [0]  # values of each open collection
    names: list[str | None] = []
    anchors: dict[str | None, int] = {}
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            names.append(event.anchor)
            sizes.append(1)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchors[names.pop()] = size = sizes.pop()
            sizes[-1] += size
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in names:
                raise InvalidYAML(_TOO_DEEP, getattr(event.start_mark, "line", -1) + 1)  # within itself, without an end
            sizes[-1] += anchors.get(event.anchor, 1)  # that of a scalar is one value
        elif isinstance(event, yaml.ScalarEvent):
            sizes[-1] += 1
        if len(sizes) > MAX_DEPTH + 1 or sum(sizes[-2:]) > MAX_VALUES:
            problem = _TOO_DEEP if len(sizes) > MAX_DEPTH + 1 else _TOO_LARGE
            raise InvalidYAML(problem, getattr(event.start_mark, "line", -1) + 1)


def _measure(documents: list[Any]) -> None:
    # Aliases count as often as they are used; a recursive value exceeds the limit.
    pending: list[tuple[Any, int]] = [(documents, 0)]
    met = 0
    while pending:
        value, depth = pending.pop()
        children = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        met += len(children)
        if met > MAX_VALUES:
            raise InvalidYAML(_TOO_LARGE)
        if depth > MAX_DEPTH:
            raise InvalidYAML(_TOO_DEEP)
        pending.extend((child, depth + 1) for child in children)


_WIDTH = 2**31 - 1
"""Columns of a line: lines are never folded. The largest number that the C library accepts."""

_AMBIGUOUS = re.compile(
    r"""
    | ~ | = | <<
    | (?i: y | n | yes | no | on | off | true | false | null )
    | [-+]? \. (?i: inf | nan )
    | [-+]? (?: [0-9]+ (?: \. [0-9]* )? | \. [0-9]+ ) (?i: e [-+]? [0-9]+ )?
    | [-+]? 0 (?i: x ) [-+]? [0-9a-fA-F]+
    | [-+]? 0 (?i: o | b ) [-+]? [0-7]+
    | [-+]? [0-9]+ (?: : [0-5]? [0-9] )+ (?: \. [0-9]* )?
    | [0-9]{4} - [0-9]{1,2} - [0-9]{1,2} (?: [Tt\ \t] .* )?
    """,
    re.VERBOSE | re.ASCII,
)
"""Texts without underscores that a reader of YAML 1.1 (PyYAML, go-yaml) or YAML 1.2 reads as another type.

It matches more than each of them (`yEs`, 90 hours in base 60): unnecessary quotes do no harm.
"""

_LINE_BREAKS_OF_YAML_1_1 = re.compile("[\x85\u2028\u2029]")

_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def to_yaml(value: Any, *, sort_keys: bool = False, literal: bool = False, flow: bool = False) -> str:
    """Return plain values as YAML, without indented lists, folded lines or aliases.

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
    """Return a text of one line, or a boolean, as a YAML scalar."""
    return to_yaml([value]).removeprefix("- ").rstrip("\n")


def is_ambiguous(text: str) -> bool:
    """Report whether some reader reads an unquoted text as another type."""
    # go-yaml drops every underscore before it tries a number.
    return _AMBIGUOUS.fullmatch(text.replace("_", "")) is not None


class _Dumper(_Base):  # type: ignore[misc]  # the C class if PyYAML has it, which mypy cannot know
    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


class _LiteralDumper(_Dumper):
    pass


def _represent_str(dumper: Any, value: str) -> yaml.ScalarNode:
    style = "'" if is_ambiguous(value) else '"' if _LINE_BREAKS_OF_YAML_1_1.search(value) else None
    node: yaml.ScalarNode = dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)
    return node


def _literal(dumper: Any, value: str) -> yaml.ScalarNode:
    if "\n" not in value or _LINE_BREAKS_OF_YAML_1_1.search(value):
        return _represent_str(dumper, value)
    node: yaml.ScalarNode = dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|")
    return node


_Dumper.add_representer(str, _represent_str)
_LiteralDumper.add_representer(str, _literal)
