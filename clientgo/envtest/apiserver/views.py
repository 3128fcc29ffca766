"""One stored object, several versions: how it looks through each resource that serves it.

Custom kinds differ in `apiVersion` alone (conversion strategy None). Built-in kinds that have two shapes, events and
horizontal pod autoscalers, are converted by a pair of functions each.
"""

from collections.abc import Callable
from typing import Any

from clientgo.envtest.apiserver.registry import Resource
from clientgo.envtest.apiserver.viewkinds import event_from_core, event_to_core, hpa_v1_to_v2, hpa_v2_to_v1

Object = dict[str, Any]

_FROM_STORAGE: dict[tuple[str, str, str], Callable[[Object], Object]] = {
    ("events.k8s.io", "v1", "events"): event_from_core,
    ("autoscaling", "v1", "horizontalpodautoscalers"): hpa_v2_to_v1,
}
_TO_STORAGE: dict[tuple[str, str, str], Callable[[Object], Object]] = {
    ("events.k8s.io", "v1", "events"): event_to_core,
    ("autoscaling", "v1", "horizontalpodautoscalers"): hpa_v1_to_v2,
}


def stored_api_version(resource: Resource) -> str:
    """The apiVersion under which objects of this resource are stored."""
    group = resource.group if resource.storage_group is None else resource.storage_group
    version = resource.storage_version or resource.version
    return f"{group}/{version}" if group else version


def as_stored(resource: Resource) -> bool:
    """Whether this resource shows objects as they are stored, so that stored bytes can be sent."""
    return stored_api_version(resource) == resource.api_version


def to_storage(resource: Resource, obj: Object) -> Object:
    """The object, given as the resource shows it, as it is stored."""
    if as_stored(resource):
        return obj
    convert = _TO_STORAGE.get((resource.group, resource.version, resource.plural))
    return {**(convert(obj) if convert else obj), "apiVersion": stored_api_version(resource)}


def from_storage(resource: Resource, obj: Object) -> Object:
    """The stored object as the resource shows it; an object stored in an older version is shown in this one too."""
    if obj["apiVersion"] == resource.api_version:
        return obj
    convert = _FROM_STORAGE.get((resource.group, resource.version, resource.plural))
    return {**(convert(obj) if convert else obj), "apiVersion": resource.api_version}
