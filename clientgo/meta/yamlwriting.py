"""YAML output that every reader takes for the same values: the one place that writes YAML.

PyYAML quotes a text only if PyYAML itself would read it as another type. kubectl has other rules (`y` is a boolean,
`1e3`, `0o17` and `08` are numbers), and so have readers of YAML 1.2.
"""

import re
from typing import Any

import yaml

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
