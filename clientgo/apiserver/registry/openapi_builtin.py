"""OpenAPI schemas of the built-in kinds, made at run time: nothing of Kubernetes' documents is kept in the repository.

Documents are made from the official client's models, which carry descriptions and what is required; importing those of
a group takes tenths of a second, so it happens when a document is first asked for. Writes are checked against
`schema_for`, made from our own generated Structs, which the process mostly has loaded already.
"""

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import msgspec

from clientgo.apiserver.registry.registry import Resource
from clientgo.apiserver.registry.typeschema import (
    INT_OR_STRING,
    QUANTITY,
    Field,
    References,
    Schema,
    object_schema,
)
from clientgo.meta.scheme import api_of

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_QUANTITY_NAME = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING_NAME = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_INT_OR_STRING: Schema = {key: value for key, value in INT_OR_STRING.items() if not key.startswith("x-")}
_ANY_OBJECT: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_PACKAGES = {
    "": "io.k8s.api.core",
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
}
_META_TYPES = frozenset(
    {
        *(
            "Condition",
            "DeleteOptions",
            "FieldSelectorRequirement",
            "LabelSelector",
            "LabelSelectorRequirement",
            "ListMeta",
        ),
        *(
            "ManagedFieldsEntry",
            "ObjectMeta",
            "OwnerReference",
            "Preconditions",
            "Status",
            "StatusCause",
            "StatusDetails",
        ),
        *("FieldsV1", "MicroTime", "Patch", "ShardInfo", "Time"),
    }
)
# Core types that kinds of other groups refer to without having a pod template.
_CORE_TYPES = frozenset(
    {
        *("EventSource", "LocalObjectReference", "NodeSelector", "ObjectReference", "SecretReference"),
        *("TopologySelectorTerm", "TypedLocalObjectReference", "PersistentVolumeSpec"),
    }
)
# The official client prefixes a name with its group where two groups have a type of that name.
_PREFIXED = re.compile(
    r"^(?:Admissionregistration|Apiextensions|Authentication|Core|Discovery|Events|Rbac|Storage)?V\d\w*?(?=[A-Z])"
)


class _Models:
    """Reads the official client's pydantic models through `model_fields`, which is public."""

    def is_model(self, annotation: Any) -> bool:
        return inspect.isclass(annotation) and hasattr(annotation, "model_fields")

    def fields(self, cls: Any) -> Iterable[Field]:
        for name, info in cls.model_fields.items():
            wire = info.serialization_alias or info.alias or name
            yield Field(wire, info.annotation, info.is_required(), " ".join((info.description or "").split()))

    def kubernetes_name(self, cls: Any) -> str:
        return _PREFIXED.sub("", cls.__name__)

    def description(self, cls: Any) -> str:
        return " ".join((cls.__doc__ or "").partition("Attributes:")[0].split())


class _Structs:
    """Reads our generated Structs."""

    def is_model(self, annotation: Any) -> bool:
        return inspect.isclass(annotation) and issubclass(annotation, msgspec.Struct)

    def fields(self, cls: Any) -> Iterable[Field]:
        if _is_kind(cls):
            yield Field("apiVersion", str)
            yield Field("kind", str)
        for info in msgspec.structs.fields(cls):
            yield Field(info.encode_name, info.type)

    def kubernetes_name(self, cls: Any) -> str:
        return _PREFIXED.sub("", cls.__name__)

    def description(self, cls: Any) -> str:
        return ""


_MODELS, _STRUCTS = _Models(), _Structs()


def _is_kind(cls: Any) -> bool:
    """Tell whether a Struct is an object of its own; the codec adds apiVersion and kind, it has no fields for them."""
    try:
        api_of(cls)
    except TypeError:
        return False
    return True


def definition_name(group: str, version: str, kind: str) -> str:
    """Name the schema of a built-in type: `io.k8s.api.apps.v1.Deployment`."""
    package = _PACKAGES.get(group) or f"io.k8s.api.{group.removesuffix('.k8s.io').removesuffix('.authorization')}"
    return f"{package}.{version}.{kind}"


def custom_definition_name(group: str, version: str, kind: str) -> str:
    """Name the schema of a custom type, its group reversed: `io.k8s.samplecontroller.v1alpha1.Foo`."""
    return f"{'.'.join(reversed(group.split('.')))}.{version}.{kind}"


def components(group: str, version: str, resources: Iterable[Resource]) -> dict[str, Schema]:
    """Give the schemas of these built-in resources, of their lists and of all they refer to, by name."""
    kinds: list[str] = []
    for resource in resources:
        kinds += (resource.kind, resource.list_kind) if "list" in resource.verbs else (resource.kind,)
    roots = {kind: model for kind in kinds if (model := _model(group, version, kind)) is not None}
    found = _closure(roots.values(), group, version)
    for kind in kinds:
        schema = found.setdefault(definition_name(group, version, kind), dict(_ANY_OBJECT))
        schema["x-kubernetes-group-version-kind"] = [{"group": group, "kind": kind, "version": version}]
    return found


def shared_components(names: tuple[str, ...]) -> dict[str, Schema]:
    """Give the schemas of types every document needs (`ObjectMeta`, `Status`, ...), and of all they refer to."""
    roots = [model for name in names if (model := _model("", "v1", name)) is not None]
    return _closure(roots, "", "v1")


@cache
def schema_for(group: str, version: str, kind: str) -> Schema:
    """Give the schema of a built-in kind with every reference put in place, for the check of what is written.

    It knows fields, types and list types, not what is required. A type inside itself (a JSON schema) is any object, and
    so is a kind that no type was generated for.
    """
    module = _types_module(group, version)
    cls = getattr(module, kind, None) if module else None
    return _inlined(cls, ()) if cls is not None else dict(_ANY_OBJECT)


def _inlined(cls: Any, above: tuple[Any, ...]) -> Schema:
    if cls in above:
        return dict(_ANY_OBJECT)
    return object_schema(_STRUCTS, cls, References(lambda inner: _inlined(inner, (*above, cls))))


def _types_module(group: str, version: str) -> ModuleType | None:
    short = group.split(".")[0] or "core"
    try:
        # Loaded on demand: a server that serves only Foos and Deployments needs few of the groups.
        return importlib.import_module(f"clientgo.kubernetes.types.{short}_{version}")
    except ModuleNotFoundError:
        return None


def _model(group: str, version: str, kind: str) -> Any:
    # Loaded on demand: importing the official client costs as much as starting the server.
    models = importlib.import_module("kubernetes.client.models")
    short, stage = (group.split(".")[0] or "core").capitalize(), version.capitalize()
    names = (f"{short}{stage}{kind}", f"{stage}{kind}")
    return next((found for name in names if (found := getattr(models, name, None)) is not None), None)


def _closure(roots: Iterable[Any], group: str, version: str) -> dict[str, Schema]:
    reached = list(_reachable(roots))
    pods = [model for model in reached if model.__name__ in {"V1PodTemplateSpec", "V1PersistentVolumeClaim"}]
    core = {_MODELS.kubernetes_name(model) for model in _reachable(pods)} | _CORE_TYPES

    def name_of(model: Any) -> str:
        short = _MODELS.kubernetes_name(model)
        if short in _META_TYPES:
            return f"{META}.{short}"
        return definition_name("", "v1", short) if short in core else definition_name(group, version, short)

    references = References(
        lambda model: _reference(name_of(model)), _reference(_QUANTITY_NAME), _reference(_INT_OR_STRING_NAME)
    )
    found = {name_of(model): object_schema(_MODELS, model, references) for model in reached}
    return {**found, _QUANTITY_NAME: QUANTITY, _INT_OR_STRING_NAME: _INT_OR_STRING}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _reachable(roots: Iterable[Any]) -> Iterator[Any]:
    seen: set[Any] = set()
    waiting = list(roots)
    while waiting:
        model = waiting.pop()
        if model in seen:
            continue
        seen.add(model)
        yield model
        object_schema(_MODELS, model, References(lambda inner: waiting.append(inner) or {}))  # type: ignore[func-returns-value]
