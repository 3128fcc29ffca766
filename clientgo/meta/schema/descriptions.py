"""Descriptions of Kubernetes' types and fields, read from the models of the installed `kubernetes` package.

The repository contains no texts of others. The source files of the models are read, not imported: an import loads
hundreds of classes, and a type's file takes a fraction of a millisecond.
"""

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from clientgo.meta.classes.hints import snake

_STRING = r'("(?:[^"\\]|\\.)*")'
_NAME = re.compile(rf"\bserialization_alias={_STRING}")
_DESCRIPTION = re.compile(rf"\bdescription={_STRING}")
_PACKAGES = re.compile(r"\.(?:api|apis|pkg)\.([a-z]+)\.(v\w+)$")


class Descriptions(NamedTuple):
    """Description of a type, and of its fields by their JSON names; what has none is empty or missing."""

    type: str = ""
    fields: dict[str, str] = {}


@cache
def descriptions_of(definition: str) -> Descriptions:
    """Return the descriptions of a definition of Kubernetes' OpenAPI, such as `io.k8s.api.apps.v1.Deployment`.

    They are empty if the package has no model for it: scalars such as `Quantity`, and types newer than the package.
    """
    package, _, name = definition.rpartition(".")
    match = _PACKAGES.search(package)
    if match is None:
        return Descriptions()
    group, version = match.groups()
    folder = package_file().parent / "client" / "models"
    # Types of the same name in several groups have the group in the names of their models.
    for model in (f"{version.capitalize()}{name}", f"{group.capitalize()}{version.capitalize()}{name}"):
        path = folder / f"{snake(model)}.py"
        if path.is_file():
            return _read(path.read_text(encoding="utf-8"))
    return Descriptions()


def package_file() -> Path:
    """Return the file of the package, which has its version."""
    spec = find_spec("kubernetes")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the package `kubernetes` is not installed")
    return Path(spec.origin)


def _read(source: str) -> Descriptions:
    """Return the descriptions of a model: in the docstring of its class, and in the calls of `Field`."""
    _, _, body = source.partition("(BaseModel):\n")
    docstring, _, _ = body.partition("\n\n    Attributes:")
    quoted, text = docstring.strip().partition('"""')[1:]
    type_description = ast.literal_eval(f'{quoted}{text}\n"""').strip() if quoted else ""
    fields = {}
    for line in body.splitlines():
        attribute, assigned, arguments = line.partition(" = Field(")
        if assigned and (description := _DESCRIPTION.search(arguments)):
            name = _NAME.search(arguments)
            field = ast.literal_eval(name[1]) if name else attribute.partition(":")[0].strip()
            fields[field] = ast.literal_eval(description[1])
    return Descriptions(type_description, fields)
