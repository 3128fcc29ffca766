"""OpenAPI schemas of the built-in kinds, built at run time from Python types.

The types are the official client's models, which have descriptions and required fields; importing the models of a group
takes tenths of a second, so it happens when a document is first requested.
"""

import importlib
import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from clientgo.apiserver.registry.registry import Resource
from clientgo.meta.apply.mergerules import TYPE_RULES
from clientgo.meta.quantities import QUANTITY_FIELDS

Schema = dict[str, Any]

_SCALARS: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
    object: {"type": "object"},
}
INT_OR_STRING: Schema = {
    "x-kubernetes-int-or-string": True,
    "format": "int-or-string",
    "oneOf": [{"type": "integer"}, {"type": "string"}],
}
QUANTITY: Schema = {
    "description": "A fixed-point number such as 1500m or 1Gi, written as a string or as a number.",
    "oneOf": [{"type": "string"}, {"type": "number"}],
}


class Field(NamedTuple):
    """One field of a type, with its JSON name."""

    name: str
    annotation: Any
    required: bool = False
    description: str = ""


class References(NamedTuple):
    """Schemas of fields whose type has a schema of its own: that schema, or a `$ref` to it."""

    model: Callable[[Any], Schema]
    quantity: Schema = QUANTITY
    int_or_string: Schema = INT_OR_STRING


def object_schema(cls: Any, references: References) -> Schema:
    """Return the schema of a class."""
    go_name = _go_name(cls)
    rules = TYPE_RULES.get(go_name, {})
    quantities = QUANTITY_FIELDS.get(go_name, frozenset())
    properties: Schema = {}
    fields = list(_fields(cls))
    for each in fields:
        schema = annotation_schema(each.annotation, references)
        if each.name in quantities:
            number = references.quantity
            inside = next((key for key in ("additionalProperties", "items") if key in schema), "")
            schema = {**schema, inside: number} if inside else number
        extra: Schema = {"description": each.description} if each.description else {}
        extra |= rules[each.name].extensions() if each.name in rules else {}
        # Beside a `$ref` they would be ignored.
        properties[each.name] = {**extra, "allOf": [schema]} if extra and "$ref" in schema else {**schema, **extra}
    found = {
        "description": " ".join((cls.__doc__ or "").partition("Attributes:")[0].split()),
        "required": [each.name for each in fields if each.required],
        "properties": properties,
    }
    return {"type": "object", **{key: value for key, value in found.items() if value}}


def annotation_schema(annotation: Any, references: References) -> Schema:
    """Return the schema of a type annotation; `{}` (any value) if it has none."""
    if inspect.isclass(annotation) and hasattr(annotation, "model_fields"):
        return references.model(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return annotation_schema(arguments[0], references)
    if origin in {Union, types.UnionType}:
        return _union_schema([item for item in arguments if item is not type(None)], references)
    if origin in {list, tuple, set, frozenset}:
        return {"type": "array", "items": annotation_schema(arguments[0], references)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        values = annotation_schema(arguments[1], references)
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    is_time = isinstance(annotation, type) and issubclass(annotation, datetime)
    return dict(_SCALARS.get(datetime if is_time else annotation, {}))


def _union_schema(choices: list[Any], references: References) -> Schema:
    schemas = [annotation_schema(item, references) for item in choices]
    kinds = {schema.get("type") for schema in schemas}
    if len(schemas) == 1:
        return schemas[0]
    if kinds == {"integer", "string"}:
        return dict(references.int_or_string)
    if kinds == {"string"}:
        return next((schema for schema in schemas if "format" in schema), schemas[0])
    return {"type": "number"} if kinds == {"integer", "number"} else {}


META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_QUANTITY_NAME = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING_NAME = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_INT_OR_STRING: Schema = {key: value for key, value in INT_OR_STRING.items() if not key.startswith("x-")}
_ANY_OBJECT: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_PACKAGES = {"": "io.k8s.api.core", "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions"}
_META_TYPES = frozenset((
    "Condition", "DeleteOptions", "FieldSelectorRequirement", "LabelSelector", "LabelSelectorRequirement",
    "ListMeta", "ManagedFieldsEntry", "ObjectMeta", "OwnerReference", "Preconditions", "Status", "StatusCause",
    "StatusDetails", "FieldsV1", "MicroTime", "Patch", "ShardInfo", "Time",
))  # fmt: skip
# Core types that kinds of other groups refer to without having a pod template.
_CORE_TYPES = frozenset((
    "EventSource", "LocalObjectReference", "NodeSelector", "ObjectReference", "SecretReference",
    "TopologySelectorTerm", "TypedLocalObjectReference", "PersistentVolumeSpec",
))  # fmt: skip
# The official client prefixes a name with its group where two groups have a type of that name.
_PREFIXED = re.compile(
    r"^(?:Admissionregistration|Apiextensions|Authentication|Core|Discovery|Events|Rbac|Storage)?V\d\w*?(?=[A-Z])"
)


def _fields(cls: Any) -> Iterator[Field]:
    """Yield the fields of a pydantic model of the official client."""
    for name, info in cls.model_fields.items():
        wire = info.serialization_alias or info.alias or name
        yield Field(wire, info.annotation, info.is_required(), " ".join((info.description or "").split()))


def _go_name(cls: Any) -> str:
    """Return the Go type's name: `Deployment` for a model named `V1Deployment`."""
    return _PREFIXED.sub("", cls.__name__)


def definition_name(group: str, version: str, kind: str) -> str:
    """Return the schema name of a built-in type: `io.k8s.api.apps.v1.Deployment`."""
    package = _PACKAGES.get(group) or f"io.k8s.api.{group.removesuffix('.k8s.io').removesuffix('.authorization')}"
    return f"{package}.{version}.{kind}"


def custom_definition_name(group: str, version: str, kind: str) -> str:
    """Return the schema name of a custom type, with its group reversed: `io.k8s.samplecontroller.v1alpha1.Foo`."""
    return f"{'.'.join(reversed(group.split('.')))}.{version}.{kind}"


def components(group: str, version: str, resources: Iterable[Resource]) -> dict[str, Schema]:
    """Return the schemas of these resources, their lists and everything they refer to, by name."""
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
    """Return the schemas of types that every document needs (`ObjectMeta`, `Status`, ...), with their references."""
    roots = [model for name in names if (model := _model("", "v1", name)) is not None]
    return _closure(roots, "", "v1")


def _model(group: str, version: str, kind: str) -> Any:
    # Loaded on demand: importing the official client costs as much as starting the server.
    models = importlib.import_module("kubernetes.client.models")
    short, stage = (group.split(".")[0] or "core").capitalize(), version.capitalize()
    names = (f"{short}{stage}{kind}", f"{stage}{kind}")
    return next((found for name in names if (found := getattr(models, name, None)) is not None), None)


def _closure(roots: Iterable[Any], group: str, version: str) -> dict[str, Schema]:
    reached = list(_reachable(roots))
    pods = [model for model in reached if model.__name__ in {"V1PodTemplateSpec", "V1PersistentVolumeClaim"}]
    core = {_go_name(model) for model in _reachable(pods)} | _CORE_TYPES

    def name_of(model: Any) -> str:
        short = _go_name(model)
        if short in _META_TYPES:
            return f"{META}.{short}"
        return definition_name("", "v1", short) if short in core else definition_name(group, version, short)

    references = References(
        lambda model: _reference(name_of(model)), _reference(_QUANTITY_NAME), _reference(_INT_OR_STRING_NAME)
    )
    found = {name_of(model): object_schema(model, references) for model in reached}
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
        object_schema(model, References(lambda inner: waiting.append(inner) or {}))  # type: ignore[func-returns-value]
