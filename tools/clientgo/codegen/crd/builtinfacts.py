"""Formats, defaults, required fields, merge strategies and descriptions of built-in types, for CRDs that embed them.

They are from the library's table of Go types, and descriptions from the installed `kubernetes` package.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from clientgo.codegen.render.source import first_sentence
from clientgo.kubernetes.types.shared import Condition
from clientgo.meta.classes.check import is_built_in
from clientgo.meta.classes.hints import unwrap
from clientgo.meta.constraints import Quantity
from clientgo.meta.quantities import QUANTITY_FIELDS
from clientgo.meta.schema.descriptions import Descriptions, descriptions_of
from clientgo.meta.schema.gotypes import TypeOptions, builtin_types, item_of, value_of

Schema = dict[str, Any]

_QUANTITY: Schema = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": unwrap(Quantity)[1][0].pattern,
    "x-kubernetes-int-or-string": True,
}

_CONDITION: Mapping[str, Schema] = {
    "type": {
        "maxLength": 316,
        "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
        r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
    },
    "status": {"enum": ["True", "False", "Unknown"]},
    "observedGeneration": {"minimum": 0},
    "reason": {"minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
    "message": {"maxLength": 32768},
}
"""Constraints of metav1.Condition, the only built-in type with markers of kubebuilder, which OpenAPI does not have."""

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_PACKAGES: Mapping[str, str] = {
    META: "Condition DeleteOptions FieldSelectorRequirement LabelSelector LabelSelectorRequirement Preconditions",
    "io.k8s.api.authentication.v1": "BoundObjectReference TokenRequest TokenRequestSpec TokenRequestStatus",
    "io.k8s.api.core.v1": "TopologySelectorLabelRequirement TopologySelectorTerm",
    "io.k8s.api.scheduling.v1alpha3": "TopologyConstraint WorkloadPodGroupDisruptionMode"
    " WorkloadPodGroupGangSchedulingPolicy WorkloadPodGroupResourceClaim WorkloadPodGroupSchedulingConstraints"
    " WorkloadPodGroupSchedulingPolicy",
}
"""Types that other groups use, by the OpenAPI package that defines them."""
_PACKAGE_OF = {name: package for package, names in _PACKAGES.items() for name in names.split()}
_BUILT_IN = "clientgo.kubernetes.types."
_CORE = ("pods", "volumes", "core_events", "shared")
"""Modules whose types belong to the core group."""


def borrowed_name(cls: type[Any]) -> str:
    """Return the name of a built-in type; empty for other classes."""
    if cls.__module__ == "clientgo.meta.objects":
        return f"{META}.{cls.__name__}"
    return definition_name(cls.__module__.removeprefix(_BUILT_IN), cls.__name__) if is_generated(cls) else ""


def definition_name(module: str, name: str) -> str:
    """Return the name in Kubernetes' OpenAPI of the type that a module of `clientgo.kubernetes.types` defines."""
    group, _, version = ("core_v1" if module in _CORE else module).rpartition("_")
    prefix = "io.k8s.apiextensions-apiserver.pkg.apis" if group == "apiextensions" else "io.k8s.api"
    return f"{_PACKAGE_OF.get(name, f'{prefix}.{group}.{version}')}.{name}"


def is_generated(cls: type[Any]) -> bool:
    """Report whether the class is generated from a model of the official client, without its descriptions."""
    return cls.__module__.startswith(_BUILT_IN)


def short_descriptions(cls: type[Any]) -> Descriptions:
    """Return the first sentence of each description of a generated type."""
    return _first_sentences(borrowed_name(cls))


@cache
def _first_sentences(definition: str) -> Descriptions:
    described = descriptions_of(definition)
    fields = {name: first_sentence(text) for name, text in described.fields.items()}
    return Descriptions(first_sentence(described.type), fields)


def add_type_facts(cls: type[Any], schema: Schema) -> None:
    """Add the data about a built-in type to its schema."""
    entry = builtin_types().get(cls.__name__) if is_built_in(cls) else None
    if entry is None:
        return
    if "atomic" in entry.marks:
        schema["x-kubernetes-map-type"] = "atomic"
    # Lists and structs have zero values in the classes, so these do not tell which of them are required.
    needed = {*schema.get("required", ()), *(field.name for field in entry.fields if field.required)}
    if required := [name for name in schema["properties"] if name in needed]:
        schema["required"] = required


def add_field_facts(cls: type[Any], field: str, schema: Schema) -> None:
    """Add the data about a field, by its JSON name, to its schema."""
    if not is_built_in(cls):
        return
    entry = builtin_types().get(cls.__name__)
    row = next((row for row in entry.fields if row.name == field), None) if entry is not None else None
    bare = schema.get("items") or schema.get("additionalProperties") or schema
    if bare == {"type": "integer"}:
        bare["format"] = "int64" if row is not None and item_of(row.type) == "int64" else "int32"
    if field in QUANTITY_FIELDS.get(cls.__name__, ()) and bare.get("type") == "string":
        bare.clear()
        bare.update(_QUANTITY)
    if row is not None:
        _add_options(row.options, schema)
    if cls is Condition:
        schema.update(_CONDITION.get(field, {}))
    if is_generated(cls) and (description := short_descriptions(cls).fields.get(field)):
        schema.setdefault("description", description)


def _add_options(options: TypeOptions, schema: Schema) -> None:
    if "default" in options:
        schema["default"] = value_of(options["default"])
    if options.get("map") == "atomic":
        schema["x-kubernetes-map-type"] = "atomic"
    if "list" in options and schema.get("type") == "array":
        schema["x-kubernetes-list-type"], _, keys = options["list"].partition(":")
        if keys:
            schema["x-kubernetes-list-map-keys"] = keys.split(",")
