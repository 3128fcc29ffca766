"""Facts of a log line in a form for people: the object, the message with its reason, the rest as `key=value`.

    Foo default/x  cannot reconcile; will retry: connection refused  attempt=3 retry_in=0.04s

Lines on a terminal have this form. So have the library's messages where a handler ignores `extra`, such as the one of
`logging.basicConfig` or Python's handler of last resort.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from clientgo.log.values import Clean, one_line, to_json, to_json_value

HEADER = frozenset({"ts", "level", "v", "logger", "caller", "thread", "msg", "stacktrace"})
"""Names that a line's header uses."""

BOLD, FAINT = "1", "2"

# A reason without its key reads better; the id only serves to search a log.
_OBJECT, _REASON, _HIDDEN = ("kind", "namespace", "name"), "err", "reconcile_id"
_UNQUOTED = re.compile(r'[^\s"=\\]+')


def facts_of(fields: Mapping[str, Any], clean: Clean) -> dict[str, Any]:
    """Return the printed names and values."""
    return {_name(key): to_json_value(key, value, clean) for key, value in fields.items()}


@lru_cache(maxsize=512)
def _name(key: str) -> str:
    """Return the printed name: `name_` is printed as `name`, which `logging` rejects; a header's name gets a `_`."""
    plain = key.removesuffix("_")
    return f"{plain}_" if plain in HEADER else plain


@lru_cache(maxsize=512)
def key_text(key: str) -> str:
    """Return the name as it is printed before a `=`."""
    return key if key.isidentifier() else to_json(key)


def describe(message: str, facts: Mapping[str, Any], *, colors: bool = False) -> str:
    """Return the line for people, without facts that are None, or control characters other than those of its colors."""
    facts = {key: value for key, value in facts.items() if value is not None}
    remaining = {key: value for key, value in facts.items() if key not in (*_OBJECT, _REASON, _HIDDEN)}
    phrases = []
    if "name" in facts and "kind" in facts:
        phrases.append(paint(f"{facts['kind']} {_full_name(facts)}", BOLD, on=colors))
    else:
        remaining.update((key, facts[key]) for key in _OBJECT if key in facts)
    phrases.append(one_line(f"{message}: {facts[_REASON]}" if _REASON in facts else message))
    if remaining:
        phrases.append(
            " ".join(
                [
                    paint(f"{key_text(key.replace(' ', '_'))}=", FAINT, on=colors) + _text(remaining[key])
                    for key in remaining
                ]
            )
        )
    return "  ".join(phrases)


def _full_name(facts: Mapping[str, Any]) -> str:
    return f"{facts['namespace']}/{facts['name']}" if facts.get("namespace") else str(facts["name"])


def _text(value: Any) -> str:
    plain = isinstance(value, str) and value.isprintable() and _UNQUOTED.fullmatch(value)
    return value if plain else one_line(to_json(value))


def paint(text: str, color: str, *, on: bool) -> str:
    """Return the text in one line, in a color of a terminal if `on`."""
    return f"\x1b[{color}m{one_line(text)}\x1b[0m" if on else one_line(text)
