"""CustomResourceDefinitions of the kinds that a fake serves: those of their classes, or ones that accept everything."""

from dataclasses import is_dataclass
from functools import lru_cache
from typing import Any

from clientgo.codegen.crd.manifest import definitions_of, open_definition
from clientgo.codegen.problems import Problems
from clientgo.meta.classes.check import faults
from clientgo.meta.scheme import api_of

Object = dict[str, Any]

_KEPT = 1024


@lru_cache(_KEPT)  # shared by all fakes of a program, and with them what the server derives from it
def definition_of(classes: tuple[type[Any], ...]) -> Object:
    """Return the definition of a kind by its classes, one for each version.

    It accepts everything if a class has no definition of its own, such as that of an `Unstructured` kind.
    """
    apis = [api_of(cls) for cls in classes]
    if all(map(_is_described, classes)):
        problems = Problems()
        definitions = definitions_of(classes, problems)
        if not problems:
            return definitions[0]
    return open_definition(apis)


def _is_described(cls: type[Any]) -> bool:
    api = api_of(cls)
    return is_dataclass(cls) and api.crd and not api.partial and next(faults(cls), None) is None
