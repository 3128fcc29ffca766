"""Kinds to explain: a class with fields of each sort, and the definition of a custom resource."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from clientgo.kubernetes.types.core_v1 import PodTemplateSpec
from clientgo.meta import EMPTY_MAP, Meta, ObjectMeta, api_type
from tests.definitions import custom_kind


class Size(enum.Enum):
    SMALL = "Small"
    LARGE = "Large"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """A shelf with books."""

    height: float
    books: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySpec:
    """Desired state of a library."""

    city: str
    """City in which it stands."""
    size: Size = Size.SMALL
    opening: Literal["Daily", "Weekly"] = "Daily"
    shelves: tuple[Shelf, ...] = ()
    """Shelves from left to right."""
    rooms: Mapping[str, Shelf] = EMPTY_MAP
    open: bool = True
    most_loans: Annotated[int, Meta(ge=1)] = 3
    port: int | str | None = None
    template: PodTemplateSpec | None = None


@api_type(group="towns.example.com", version="v1")
@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A public library."""

    spec: LibrarySpec
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


def library_crd(*versions: str) -> dict[str, Any]:
    """Return a CRD with these versions, whose schemas differ in one field."""

    def schema(version: str) -> dict[str, Any]:
        book = {"type": "object", "description": "A book.", "properties": {"title": {"type": "string"}}}
        properties = {
            "books": {"type": "array", "description": "All books.", "items": book},
            "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
            "port": {"x-kubernetes-int-or-string": True, "default": 80},
            "lang": {"type": "string", "enum": ["de", "en"], "description": f"Language in {version}."},
        }
        spec = {"type": "object", "required": ["books"], "properties": properties}
        return {"type": "object", "description": "A public library.", "properties": {"spec": spec}}

    names = {"kind": "Library", "plural": "libraries", "singular": "library", "shortNames": ["lib"]}
    crd = custom_kind("Library", "towns.example.com", *versions, names=names)
    for version in crd["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": schema(version["name"])}
    return crd
