"""YAML output: every reader gets the same values.

PyYAML quotes a text only if PyYAML itself would read it as another type. kubectl has other rules (`y` is a boolean,
`1e3`, `0o17` and `08` are numbers), and so have readers of YAML 1.2.
"""

import re
from typing import Any

import yaml

from clientgo.meta.readonly import register_with_yaml

register_with_yaml()

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


def to_yaml(value: Any, *, sort_keys: bool = False, literal: bool = False, flow: bool = False, go: bool = False) -> str:
    """Return plain values as YAML, without indented lists, folded lines or aliases.

    `literal` writes texts of several lines as blocks, for human readers. `flow` writes everything on one line. `go`
    writes as go-yaml does: with blocks, and ambiguous texts in double quotes.
    """
    return str(
        yaml.dump(
            value,
            Dumper=_GoDumper if go else _LiteralDumper if literal else _Dumper,
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


class _GoDumper(_LiteralDumper):
    pass


def _as_go(dumper: Any, value: str) -> yaml.ScalarNode:
    if "\n" in value or not is_ambiguous(value):
        return _literal(dumper, value)
    node: yaml.ScalarNode = dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"')
    return node


_Dumper.add_representer(str, _represent_str)
_GoDumper.add_representer(str, _as_go)
_LiteralDumper.add_representer(str, _literal)
