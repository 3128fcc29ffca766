"""Plain values as YAML, as PyYAML writes it, in a tenth of its time: a CRD with a pod template has 10,000 values.

PyYAML decides how each scalar is written, once; what stands around scalars is two shapes. Whatever is not plain enough
for that (texts of several lines, names that are no simple keys) is left to PyYAML as a whole.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import yaml

_LONGEST = 2**12
"""Characters of a text that is surely not folded."""

_SIMPLE_KEY = 100
"""Characters of a name that is surely a simple key."""

_WIDTH = 2**16


def to_yaml(value: Mapping[str, Any]) -> str:
    """YAML in the given order, lists not indented, long lines left whole."""
    try:
        return "".join(f"{line}\n" for line in _mapping(value))
    except _NotPlainError:
        return slow_yaml(value)


def slow_yaml(value: Any) -> str:
    """The same, by PyYAML alone."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=_WIDTH, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


class _NotPlainError(Exception):
    pass


def _mapping(value: Mapping[str, Any]) -> Iterator[str]:
    if not value:
        raise _NotPlainError  # only at the top, where it stands alone
    for key, part in value.items():
        name = _key(key)
        if isinstance(part, Mapping) and part:
            yield f"{name}:"
            yield from (f"  {line}" for line in _mapping(part))
        elif isinstance(part, list | tuple) and part:
            yield f"{name}:"
            yield from _sequence(part)
        else:
            yield f"{name}: {_scalar(part)}"


def _sequence(value: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    for part in value:
        if isinstance(part, Mapping) and part:
            lines = _mapping(part)
        elif isinstance(part, list | tuple) and part:
            lines = _sequence(part)
        else:
            lines = iter((_scalar(part),))
        yield f"- {next(lines)}"
        yield from (f"  {line}" for line in lines)


def _key(key: Any) -> str:
    if not isinstance(key, str) or len(key) > _SIMPLE_KEY:
        raise _NotPlainError
    return _key_text(key)


def _scalar(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    if value is not None and not isinstance(value, str | int | float):
        raise _NotPlainError
    if isinstance(value, str) and len(value) > _LONGEST:
        raise _NotPlainError
    return _scalar_text(repr(value) if isinstance(value, float) else type(value).__name__, value)


@lru_cache(maxsize=2**14)
def _key_text(key: str) -> str:
    text = slow_yaml({key: 0})
    if len(text.splitlines()) != 1 or text.startswith("?"):
        raise _NotPlainError
    return text[: -len(": 0\n")]


@lru_cache(maxsize=2**14)
def _scalar_text(form: str, value: Any) -> str:
    del form  # 1, 1.0 and True are equal, and so are 0.0 and -0.0, and each is written differently
    text = slow_yaml({"a": value})
    if len(text.splitlines()) != 1:
        raise _NotPlainError
    return text[len("a: ") : -1]
