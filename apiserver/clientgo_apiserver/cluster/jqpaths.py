"""Values in an object by a path, in the part of jq's language that KWOK's Stages use.

`.metadata.labels["a.b"]`, `.status.conditions.[] | select( .type == "Ready" ) | .status`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from clientgo.internal.patterns import lazy_pattern

_TOKEN = lazy_pattern(
    r"""\s*(?:
        \.(?P<name>[A-Za-z_][\w-]*) | \.?\["(?P<quoted>[^"]*)"\] | \.?(?P<all>\[\]) | \| | \.(?=\s|$|\|)
        | select\((?P<path>[^()=!]+)(?P<op>[=!]=)\s*"(?P<value>[^"]*)"\s*\)
    )""",
    re.VERBOSE,
)

Step = Callable[[Any], Iterable[Any]]


def values_at(obj: Any, path: str) -> list[Any]:
    """Return the values of the path that exist and are not null.

    Raises:
        ValueError: the path has a form that is not supported.
    """
    values = [obj]
    for step in _steps(path):
        values = [result for value in values for result in step(value)]
    return [value for value in values if value is not None]


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    position, text = 0, path.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f'path {path!r} is not supported at {text[position:]!r}: use .a.b, ["c"], [] and select()')
        position = match.end()
        if match["path"] is not None:
            steps.append(_select(match["path"].strip(), match["value"], equal=match["op"] == "=="))
        elif match["all"]:
            steps.append(_items)
        elif match["name"] or match["quoted"]:
            steps.append(_member(match["name"] or match["quoted"]))
    return tuple(steps)


def _member(name: str) -> Step:
    return lambda value: (value.get(name),) if isinstance(value, dict) else ()


def _items(value: Any) -> Iterator[Any]:
    yield from value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _select(path: str, text: str, *, equal: bool) -> Step:
    _steps(path)  # an invalid path is an error of the whole

    def step(value: Any) -> Iterable[Any]:
        return (value,) if (text in map(str, values_at(value, path))) is equal else ()

    return step
