"""Validation of the `@api_type` arguments that clients are made from, and of `@client_method`.

The API server validates the others, with the CustomResourceDefinition (`crd.dryrun`).
"""

import inspect
from collections.abc import Iterator
from typing import Any, get_args

from clientgo.codegen.model import Method
from clientgo.codegen.names import misnamed
from clientgo.codegen.problems import Problems
from clientgo.meta.declarations import ClientMethod, MethodVerb, client_methods
from clientgo.meta.scheme import ALL_VERBS, ApiType, Scope, api_of
from clientgo.typed.scale import ScaleClient


def check_api(cls: type[Any], problems: Problems) -> None:
    """Report invalid arguments of a class' `@api_type`."""
    api = api_of(cls)
    for message in (*misnamed(api), *_served(api)):
        problems.at_class(cls, f"{cls.__name__}: {message}")


def _served(api: ApiType) -> Iterator[str]:
    if api.scope not in get_args(Scope):
        yield f"invalid scope {api.scope!r}: expected one of {', '.join(get_args(Scope))}"
    for verb in api.verbs:
        if verb not in ALL_VERBS:
            yield f"invalid verb {verb!r}: expected some of {', '.join(ALL_VERBS)}"


def read_methods(cls: type[Any], problems: Problems) -> Iterator[Method]:
    """Yield the client methods declared for a class; errors go to `problems`."""
    seen: set[str] = set()
    for method in client_methods(cls):
        for message in _method_faults(method, cls, seen):
            problems.at_class(cls, f"{cls.__name__}: {message}")
        seen.add(method.name)
        yield Method(
            name=method.name,
            verb=method.verb,
            subresource=method.subresource,
            input=_import_path(method.input or cls),
            result=_import_path(method.result or cls),
        )


def _method_faults(method: ClientMethod, cls: type[Any], seen: set[str]) -> Iterator[str]:
    if not method.name.isidentifier() or method.name != method.name.lower() or method.name.startswith("_"):
        yield f"invalid method name {method.name!r}: expected lower case letters, digits and underscores"
    elif method.name in ALL_VERBS or hasattr(ScaleClient, method.name) or method.name in seen:
        yield f"the method {method.name} already exists: use another name"
    if method.verb not in get_args(MethodVerb):
        yield f"invalid verb {method.verb!r} of {method.name}: expected one of {', '.join(get_args(MethodVerb))}"
    if not method.subresource:
        yield f"the method {method.name} requires subresource="
    for part in (method.input or cls, method.result or cls):
        if not inspect.isclass(part) or "__api_type__" not in vars(part):
            yield f"{getattr(part, '__name__', part)} of {method.name} is not an API type: decorate it with @api_type"


def _import_path(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__name__}"
