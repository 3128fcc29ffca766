"""Dry run of CustomResourceDefinitions on the bundled API server: its causes are mapped to classes and fields."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from clientgo.clock import SYSTEM_CLOCK
from clientgo.codegen.crd.hints import EACH, SCHEMA, SchemaPath, explained, path_of
from clientgo.codegen.inputs.fields import members
from clientgo.codegen.problems import Problems
from clientgo.meta.classes.check import is_built_in
from clientgo.meta.classes.hints import unwrap

if TYPE_CHECKING:
    from clientgo_apiserver.inmemory import InMemoryServer

_TRIAL = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All&fieldValidation=Strict"
_TOTAL = "for entire OpenAPIv3 schema"
_VERSION = re.compile(r"spec\.versions\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class CheckedDefinition:
    """A definition as it will be written, and the classes that it was made from."""

    manifest: dict[str, Any]
    classes: Mapping[int, type[Any]]
    """Classes by the index of their version."""
    common: type[Any]
    """Class of everything that the versions have in common."""
    file: str = ""
    """Hand-written file of the manifest, of which only the schemas of these classes are generated."""


def check_definition(definition: CheckedDefinition, problems: Problems) -> None:
    """Report what an API server has against a definition."""
    body = msgspec.json.encode(definition.manifest)
    reply = _server().request("POST", _TRIAL, {"content-type": "application/json"}, body)
    if reply.status < HTTPStatus.BAD_REQUEST:
        return
    for field, message in _causes(msgspec.json.decode(reply.body)):
        _report(definition, field, message, problems)


def _causes(status: dict[str, Any]) -> list[tuple[str, str]]:
    """Return fields and messages; the cost of all rules together only if that is all that is wrong."""
    causes = [(cause["field"], cause["message"]) for cause in (status.get("details") or {}).get("causes") or ()]
    specific = [(field, message) for field, message in causes if _TOTAL not in message]
    return specific or causes or [("", status["message"])]


@cache
def _server() -> "InMemoryServer":
    # Imported here, 350 ms: most runs of the generator write no CRD.
    from clientgo_apiserver.inmemory import InMemoryServer  # noqa: PLC0415

    return InMemoryServer(SYSTEM_CLOCK, bare=True)


def _report(definition: CheckedDefinition, field: str, message: str, problems: Problems) -> None:
    schema, version = SCHEMA.match(field), _VERSION.match(field)
    index = int(version[1]) if version else 0
    owner = definition.classes.get(index) if version else definition.common
    if owner is None or (definition.file and not schema):
        problems.at_module(definition.file, 0, f"{field}: {message}".removeprefix(": "))
        return
    versions = definition.manifest["spec"]["versions"]
    text = explained(field, message, versions[index].get("schema", {}).get("openAPIV3Schema", {}))
    cls, name = _class_at(owner, path_of(schema[2]) if schema else ())
    if name:
        problems.at_field(cls, name, text)
    else:
        problems.at_class(cls, f"{cls.__name__}: {text}")


def _class_at(cls: type[Any], path: SchemaPath) -> tuple[type[Any], str]:
    """Return the class and field at a path, or the last of the user's classes on the way."""
    result: tuple[type[Any], str] = (cls, "")
    hint: Any = cls
    for part in path:
        bare = unwrap(hint)[0]
        if part == EACH:
            hint = next((arg for arg in reversed(get_args(bare)) if arg is not ...), None)
            continue
        candidates = members(bare) if isinstance(bare, type) and not is_built_in(bare) else ()
        member = next((candidate for candidate in candidates if candidate.json_name == part), None)
        if member is None:
            break
        result, hint = (bare, member.name), member.hint
    return result
