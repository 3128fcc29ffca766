"""Keys of labels and annotations in the code of an operator: those that it may read from an object of the user."""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from clientgo.perturb.programs.inprocess import Standalone

_KEY = re.compile(r"(?=.{3,317}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+/[A-Za-z0-9][-\w.]*\Z")
_LIBRARY = ("clientgo.", "builtins", "typing", "abc")
_DEPTH = 4


def metadata_keys(setup: object) -> tuple[str, ...]:
    """Return the texts like `example.com/paused` that the code of an operator in this process contains or names."""
    texts: dict[str, None] = {}
    for each in setup if isinstance(setup, list | tuple) else [setup]:
        for text in _texts(each.run if isinstance(each, Standalone) else each, set(), _DEPTH):
            if _KEY.match(text):
                texts[text] = None
    return tuple(sorted(texts))


def _texts(value: Any, seen: set[int], depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth >= 0 and id(value) not in seen:
        seen.add(id(value))
        if isinstance(value, FunctionType):
            yield from () if _is_library(value) else _of_function(value, seen, depth)
        else:
            for member in _members(value):
                yield from _texts(member, seen, depth)


def _members(value: Any) -> Iterable[Any]:
    """Return what a class, a method, a partial or a collection consists of."""
    if isinstance(value, type):
        return [member for cls in value.__mro__ if not _is_library(cls) for member in vars(cls).values()]
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, MethodType):
        return [value.__func__, type(value.__self__)]
    if isinstance(value, staticmethod | classmethod):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget]
    return value if isinstance(value, tuple | frozenset | list | set) else ()


def _of_function(function: FunctionType, seen: set[int], depth: int) -> Iterator[str]:
    for cell in function.__closure__ or ():
        try:
            yield from _texts(cell.cell_contents, seen, depth - 1)
        except ValueError:
            continue  # the cell is empty
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                codes.append(constant)
            else:
                yield from _texts(constant, seen, depth - 1)
        for name in code.co_names:
            if name in function.__globals__:
                yield from _texts(function.__globals__[name], seen, depth - 1)


def _is_library(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith(_LIBRARY)
