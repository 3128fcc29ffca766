"""CustomResourceDefinitions of a scenario: those that are given, and those derived from the classes of reconcilers."""

from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from clientgo.codegen.crd.manifest import definitions_of as definitions_of_classes
from clientgo.codegen.inputs.apitypes import check_class
from clientgo.codegen.problems import Problems
from clientgo.errors import ConfigError
from clientgo.manager import Reconciler
from clientgo.meta.classes.check import is_built_in
from clientgo.meta.manifests import name_of, read_crds
from clientgo.perturb.state import Object


def definitions_of(
    setup: object, definitions: Sequence[Path | str | Object | type], created: Iterable[type[Any]] = ()
) -> list[Object]:
    """Return the definitions that are given as files, folders, dicts or classes, and those of other kinds.

    These are the kinds of a reconciler, and of the objects that the steps create.

    Raises:
        ConfigError: a file cannot be read, or a class cannot be described.
    """
    documents = [obj for obj in definitions if isinstance(obj, dict)]
    documents += read_crds([Path(path) for path in definitions if isinstance(path, str | Path)])
    names = {name_of(document) for document in documents}
    custom = (kind for kind in (*_kinds_of(setup), *created) if not is_built_in(kind))
    classes = [*(cls for cls in definitions if isinstance(cls, type)), *custom]
    return documents + [crd for crd in _derived(classes) if name_of(crd) not in names]


def _kinds_of(setup: object) -> Iterable[type[Any]]:
    for cls in setup if isinstance(setup, list) else [setup]:
        if isinstance(cls, type) and issubclass(cls, Reconciler):
            yield from cls.declaration.kinds()


def _derived(classes: Iterable[type[Any]]) -> list[Object]:
    problems = Problems()
    checked = [cls for cls in dict.fromkeys(classes) if is_dataclass(cls) and check_class(cls, problems)]
    definitions = definitions_of_classes(checked, problems)
    for problem in problems:
        raise ConfigError(problem)
    return definitions
