"""Kinds that can be explained: the built-in ones, those of CRD files, and classes."""

import dataclasses
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from clientgo.codegen.inputs.apitypes import imported
from clientgo.codegen.inputs.crds import read_definitions
from clientgo.codegen.problems import Problems
from clientgo.errors import ClientGoError
from clientgo.explain.fields import Field, schema_of
from clientgo.kubernetes.scheme import KINDS
from clientgo.meta.classes.check import has_fields
from clientgo.meta.scheme import ApiType, api_of, version_priority

_SHORT_NAMES: Mapping[str, str] = {
    "certificatesigningrequests": "csr", "configmaps": "cm", "cronjobs": "cj", "customresourcedefinitions": "crd crds",
    "daemonsets": "ds", "deployments": "deploy", "endpoints": "ep", "events": "ev", "horizontalpodautoscalers": "hpa",
    "ingresses": "ing", "limitranges": "limits", "namespaces": "ns", "networkpolicies": "netpol", "nodes": "no",
    "persistentvolumeclaims": "pvc", "persistentvolumes": "pv", "poddisruptionbudgets": "pdb", "pods": "po",
    "priorityclasses": "pc", "replicasets": "rs", "replicationcontrollers": "rc", "resourcequotas": "quota",
    "serviceaccounts": "sa", "services": "svc", "statefulsets": "sts", "storageclasses": "sc",
    "volumeattributesclasses": "vac",
}  # fmt: skip
"""Short names of built-in resources, as discovery returns them."""


class ExplainError(ClientGoError):
    """The kind or field to explain was not found, or its class or file cannot be read."""


@dataclasses.dataclass(frozen=True, slots=True)
class ExplainedKind:
    """A kind by its names in the API, from a class or from the schema of a CRD file.

    Without a version it is a class that is a part of kinds.
    """

    api: ApiType
    cls: type[Any] | None = None
    schema: dict[str, Any] = dataclasses.field(default_factory=dict)

    def root(self) -> Field:
        """Return the whole object."""
        schema = self.schema if self.cls is None else schema_of(self.cls)
        return Field(schema, self.cls, is_kind=bool(self.api.version))


def kind_of_class(cls: type[Any]) -> ExplainedKind:
    """Return a class to explain, which may be a part of kinds.

    Raises:
        ExplainError: it is neither a dataclass nor a Struct.
    """
    if not has_fields(cls):
        raise ExplainError(f"cannot explain {cls!r}: expected the name of a kind, a dataclass or a Struct")
    is_kind = "__api_type__" in vars(cls)
    return ExplainedKind(api_of(cls) if is_kind else ApiType(group="", version="", kind=cls.__name__), cls)


def find(target: str, api_version: str = "", crds: Iterable[Path] = ()) -> tuple[ExplainedKind, list[str]]:
    """Return the kind or class that `target` names, and the names of the fields behind it.

    Raises:
        ExplainError: there is no such kind, version or class, or a file or module cannot be read.
    """
    module, colon, path = target.rpartition(":")
    name, *fields = path.split(".")
    if colon:
        return _class_of(module, name), fields
    kinds = [*_defined(crds), *(ExplainedKind(api_of(cls), cls) for cls in KINDS)]
    named = [kind for kind in kinds if name.lower() in _names(kind.api)]
    if not named:
        raise ExplainError(f'kind "{name}" not found: {_suggestion(name, kinds)}')
    # As in kubectl, the group may follow the kind: deployments.apps.spec.
    for group in {kind.api.group for kind in named} - {""}:
        if f"{'.'.join(fields)}.".startswith(f"{group}."):
            named = [kind for kind in named if kind.api.group == group]
            fields = fields[group.count(".") + 1 :]
            break
    return _version_of(name, named, api_version), fields


def _version_of(name: str, named: list[ExplainedKind], api_version: str) -> ExplainedKind:
    if not api_version:
        versions = [kind for kind in named if kind.api.group == named[0].api.group]
        return min(versions, key=lambda kind: version_priority(kind.api.version))
    for kind in named:
        if kind.api.api_version == api_version:
            return kind
    choices = " or ".join(dict.fromkeys(kind.api.api_version for kind in named))
    raise ExplainError(f'kind "{name}" not found in API version "{api_version}": expected {choices}')


def _class_of(module: str, name: str) -> ExplainedKind:
    problems = Problems()
    namespace = imported(module, problems)
    if namespace is None:
        raise ExplainError(next(iter(problems)))
    cls: Any = getattr(namespace, name, None)
    if not has_fields(cls):
        names = [other for other, value in vars(namespace).items() if has_fields(value)]
        choices = " or ".join(get_close_matches(name, names) or names) or "the name of a dataclass or Struct"
        raise ExplainError(f'class "{name}" not found in {module}: expected {choices}')
    return kind_of_class(cls)


def _defined(crds: Iterable[Path]) -> list[ExplainedKind]:
    problems = Problems()
    kinds = read_definitions(crds, problems)
    for problem in problems:
        raise ExplainError(problem)
    return [ExplainedKind(kind.api, schema=dict(kind.schema)) for kind in kinds]


def _names(api: ApiType) -> set[str]:
    short_names = api.short_names or _SHORT_NAMES.get(api.plural, "").split()
    return {api.kind.lower(), api.singular, api.plural, *short_names}


def _suggestion(name: str, kinds: Iterable[ExplainedKind]) -> str:
    matches = get_close_matches(name.lower(), sorted(set[str]().union(*(_names(kind.api) for kind in kinds))), n=1)
    question = f"did you mean {matches[0]}? " if matches else ""
    return f"{question}For a kind that is not built in, give --crd FILE or MODULE:CLASS"
