"""Annotations of fields without their wrappers (constraints, aliases, None), and conversion of names."""

import re
import types
from typing import Annotated, Any, Union, get_args, get_origin

from clientgo.meta.constraints import Meta


def bare_type(hint: Any) -> Any:
    """Return the annotation without Annotated, type aliases, NewType and None."""
    return unwrap(hint)[0]


def unwrap(hint: Any) -> tuple[Any, list[Meta], bool]:
    """Return the bare type, its constraints (outer ones last, so that they win), and whether None is allowed."""
    metas: list[Meta] = []
    nullable = False
    while True:
        origin = get_origin(hint)
        # A type alias (`type X = ...`) or a NewType, which classes do not look like.
        aliased = getattr(hint, "__value__", None) or getattr(hint, "__supertype__", None)
        if origin is Annotated:
            metas = [*(note for note in hint.__metadata__ if isinstance(note, Meta)), *metas]
            hint = hint.__origin__
        elif aliased is not None and not isinstance(hint, type):
            hint = aliased
        elif origin in (Union, types.UnionType) and type(None) in get_args(hint):
            alternatives = tuple(arg for arg in get_args(hint) if arg is not type(None))
            hint, nullable = Union[alternatives], True  # noqa: UP007  # built from a tuple of types
        else:
            return hint, metas, nullable


def camel(name: str) -> str:
    """Return the JSON name of an attribute, like msgspec's `rename="camel"`."""
    plain = name.lstrip("_")
    first, *following = plain.split("_")
    return name[: len(name) - len(plain)] + first + "".join(part.title() for part in following)


def snake(name: str) -> str:
    """Convert to snake case: `HorizontalPodAutoscaler` to `horizontal_pod_autoscaler`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
