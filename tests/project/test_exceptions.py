"""Every exception of the library and the server can be pickled and copied: process pools and futures do both."""

import copy
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

import clientgo
import clientgo_apiserver
import clientgo_olm
from clientgo.errors import StatusDetails
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, OwnerReference
from clientgo.webhook.field import Error

META = ObjectMeta(name="a", namespace="b")
# By the name of the parameter; all others are texts.
ARGUMENTS: dict[str, Any] = {
    "metadata": META,
    "obj": ConfigMap(metadata=META),
    "owner": OwnerReference(kind="Foo", name="f", uid="u"),
    "code": 409,
    "status": "unknown",
    "details": StatusDetails(name="a"),
    "retry_after": 1.5,
    "errors": [(1, "one"), (2, "two")],
    "causes": [{"field": "a", "message": "b"}],
    "problems": [Error("Invalid", "spec.a", "wrong")],
    "warnings": ["careful"],
    "value": {"a": [1]},
    "last": 5,
    "line": 3,
    "headers": (("A", "b"),),
    "written": True,
}


def exceptions() -> Iterator[type[BaseException]]:
    """Yield the exceptions that the modules define; classes of other modules may be hostile."""
    packages = (clientgo, clientgo_apiserver, clientgo_olm)
    for module in chain.from_iterable(pkgutil.walk_packages(p.__path__, f"{p.__name__}.") for p in packages):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, BaseException) and value.__module__ == module.name:
                yield value


CLASSES = sorted(set(exceptions()), key=lambda cls: (cls.__module__, cls.__qualname__))


def example(cls: type[BaseException]) -> BaseException:
    """An instance with a value for every parameter."""
    if not inspect.isfunction(cls.__init__):  # that of Exception, ValueError ...
        return cls("message")
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in inspect.signature(cls).parameters.values():
        value = ARGUMENTS.get(parameter.name, parameter.name)
        if isinstance(parameter.default, bool):
            value = not parameter.default
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        elif parameter.kind is not parameter.VAR_KEYWORD:
            positional.append(value)
    return cls(*positional, **named)


def state(error: BaseException) -> tuple[Any, ...]:
    return type(error), str(error), repr(error), vars(error), getattr(error, "__notes__", [])


@pytest.mark.parametrize(
    "cls", CLASSES, ids=lambda cls: f"{cls.__module__}.{cls.__qualname__}".removeprefix("clientgo.")
)
def test_exception_is_pickled_and_copied_with_its_state(cls: type[BaseException]) -> None:
    error = example(cls)
    error.add_note("seen by a worker")
    for copied in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert state(copied) == state(error)


def test_all_exceptions_were_found() -> None:
    names = {cls.__qualname__ for cls in CLASSES}
    assert {"ApiError", "Undecodable", "SelectorError", "AlreadyOwnedError", "Denied", "Unencodable"} <= names
    assert len(CLASSES) > 80
