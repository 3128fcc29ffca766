"""One stored object, several versions: how it looks through each resource that serves it.

Custom kinds differ in `apiVersion` alone, unless their definition names a converter. Built-in kinds that have two
shapes, events and horizontal pod autoscalers, are converted by a pair of functions each.
"""

from collections.abc import Callable, Iterable
from typing import Any

from clientgo.apiserver.apiextensions.defaulting import apply_defaults
from clientgo.apiserver.registry.registry import Resource
from clientgo.apiserver.registry.viewkinds import event_from_core, event_to_core, hpa_v1_to_v2, hpa_v2_to_v1

Object = dict[str, Any]

_FROM_STORAGE: dict[tuple[str, str, str], Callable[[Object], Object]] = {
    ("events.k8s.io", "v1", "events"): event_from_core,
    ("autoscaling", "v1", "horizontalpodautoscalers"): hpa_v2_to_v1,
}
_TO_STORAGE: dict[tuple[str, str, str], Callable[[Object], Object]] = {
    ("events.k8s.io", "v1", "events"): event_to_core,
    ("autoscaling", "v1", "horizontalpodautoscalers"): hpa_v1_to_v2,
}


def as_stored(resource: Resource) -> bool:
    """Whether this resource shows objects as they are stored, so that stored bytes can be sent."""
    return resource.stored_version == resource.api_version


def to_storage(resource: Resource, obj: Object) -> Object:
    """The object, given as the resource shows it, as it is stored.

    Raises:
        Paused: a webhook has to convert it first.
        ApiFailure: 500, it cannot be converted.
    """
    if as_stored(resource):
        return obj
    if resource.converter is not None:
        return resource.converter.convert([obj], resource.stored_version)[0]
    convert = _TO_STORAGE.get((resource.group, resource.version, resource.plural))
    return {**(convert(obj) if convert else obj), "apiVersion": resource.stored_version}


def from_storage(resource: Resource, obj: Object) -> Object:
    """The stored object as the resource shows it; an object stored in an older version is shown in this one too.

    What was stored before its version had a default is shown with it, as a real server's storage gives it out: filled
    in first, then converted.

    Raises:
        Paused: a webhook has to convert it first.
        ApiFailure: 500, it cannot be converted.
    """
    return _converted(resource, _complete(resource, obj))


def has_its_defaults(resource: Resource, obj: Object) -> bool:
    """Whether a stored object was written when its kind had the defaults that it has now."""
    since = resource.defaults_since
    return not since or int(obj["metadata"].get("resourceVersion") or 0) >= since


def _complete(resource: Resource, obj: Object) -> Object:
    return obj if has_its_defaults(resource, obj) else apply_defaults(resource.filling.get(obj["apiVersion"]), obj)


def _converted(resource: Resource, obj: Object) -> Object:
    if obj["apiVersion"] == resource.api_version:
        return obj
    if resource.converter is not None:
        return resource.converter.convert([obj], resource.api_version)[0]
    convert = _FROM_STORAGE.get((resource.group, resource.version, resource.plural))
    return {**(convert(obj) if convert else obj), "apiVersion": resource.api_version}


def shown_once_stored(resource: Resource, stored: Object, store: Callable[[], Object]) -> Object:
    """Store an object and return it in the requested version.

    Conversion happens before the object is stored, so a suspended request has stored nothing.

    Raises:
        Paused: a webhook has to convert it first.
        ApiFailure: 500, it cannot be converted.
    """
    if resource.converter is None or as_stored(resource):
        return from_storage(resource, store())
    shown = from_storage(resource, stored)
    given = {field: value for field, value in store()["metadata"].items() if field == "resourceVersion"}
    return {**shown, "metadata": {**shown["metadata"], **given}}


def current(resource: Resource, obj: Object) -> Object:
    """A stored object, maybe of an older version, in the version that is stored now.

    Raises:
        Paused: a webhook has to convert it first.
        ApiFailure: 500, it cannot be converted.
    """
    wanted, obj = resource.stored_version, _complete(resource, obj)
    if resource.converter is None or obj["apiVersion"] == wanted:
        return {**obj, "apiVersion": wanted}
    return resource.converter.convert([obj], wanted)[0]


def prepare(resource: Resource, objects: Iterable[Object]) -> None:
    """Have many stored objects converted at once, before each is shown.

    Raises:
        Paused: a webhook has to convert some of them first.
        ApiFailure: 500, some cannot be converted.
    """
    if resource.converter is not None:
        others = [_complete(resource, obj) for obj in objects if obj["apiVersion"] != resource.api_version]
        resource.converter.convert(others, resource.api_version)
