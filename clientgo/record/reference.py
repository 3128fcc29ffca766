"""What an event points at: the reference to an object that is in hand."""

from collections.abc import Mapping
from typing import Any

from clientgo.kubernetes.types.core_v1 import ObjectReference
from clientgo.meta.objects import ObjectMeta
from clientgo.meta.scheme import ApiType


def reference_to(obj: object, *, field_path: str | None = None) -> ObjectReference:
    """The reference to `obj`; one that is a reference already is returned as it is.

    An object of a class marked with `@api_type`, a dict with apiVersion and kind, and an object of the official
    client's models are understood. `field_path` names the part that is meant, as in `spec.containers[2]`.

    Raises:
        TypeError: `obj` is none of these, so that nobody can say what kind it is.
    """
    if isinstance(obj, ObjectReference):
        return obj
    kind, api_version = _kind_of(obj)
    meta = getattr(obj, "metadata", None)
    if type(meta) is not ObjectMeta and isinstance(obj, Mapping):
        meta = obj.get("metadata") or {}
    return ObjectReference(
        kind=kind,
        api_version=api_version,
        namespace=_field(meta, "namespace"),
        name=_field(meta, "name"),
        uid=_field(meta, "uid"),
        resource_version=_field(meta, "resource_version", "resourceVersion"),
        field_path=field_path,
    )


def _kind_of(obj: object) -> tuple[str, str]:
    note = vars(type(obj)).get("__api_type__")
    if isinstance(note, ApiType):
        return note.kind, note.api_version
    if isinstance(obj, Mapping):
        kind, api_version = obj.get("kind"), obj.get("apiVersion")
    else:
        kind, api_version = getattr(obj, "kind", None), getattr(obj, "api_version", None)
    if not kind or not api_version:
        raise TypeError(f"{type(obj).__qualname__} has no kind, so no event can refer to it: mark it with @api_type")
    return str(kind), str(api_version)


def _field(meta: Any, attribute: str, key: str = "") -> str | None:
    # Empty reads as absent, so that a reference compares equal however it came about.
    if type(meta) is ObjectMeta:  # as nearly always: asking whether something is a Mapping takes far longer
        return getattr(meta, attribute) or None
    found = meta.get(key or attribute) if isinstance(meta, Mapping) else getattr(meta, attribute, None)
    return str(found) if found else None
