"""Views of a stored object: its form in each version and group that serves it.

Custom kinds differ only in `apiVersion`, unless their definition has a conversion webhook. Event and
HorizontalPodAutoscaler, the built-in kinds with two shapes, are converted by a pair of functions each.
"""

from collections.abc import Callable, Iterable

from clientgo.apiserver.apiextensions.structural import apply_defaults, prune, whole_numbers
from clientgo.apiserver.registry.decoding import decode, message_of
from clientgo.apiserver.registry.defaults.types import complete
from clientgo.apiserver.registry.gotypes import in_order
from clientgo.apiserver.registry.registry import Object, Resource

# core/v1 field -> events.k8s.io/v1 field; what is named the same in both is not listed.
_EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_EVENT_BACK = {new: old for old, new in _EVENT_FIELDS.items()}


def event_from_core(obj: Object) -> Object:
    """Convert a stored (core/v1) event to events.k8s.io/v1."""
    absent = {field for field in ("firstTimestamp", "lastTimestamp") if obj.get(field) is None}
    absent |= {field for field in ("reportingComponent", "reportingInstance") if not obj.get(field)}
    return {_EVENT_FIELDS.get(field, field): value for field, value in obj.items() if field not in absent}


def event_to_core(obj: Object) -> Object:
    """Convert an events.k8s.io/v1 event to its stored form."""
    return {_EVENT_BACK.get(field, field): value for field, value in obj.items()}


def hpa_v2_to_v1(obj: Object) -> Object:
    """Convert a stored (autoscaling/v2) autoscaler to v1, in which the CPU utilization target is a field."""
    spec = dict(obj.get("spec") or {})
    rest = []
    for metric in spec.pop("metrics", None) or ():
        resource = metric.get("resource") or {}
        target = resource.get("target") or {}
        if resource.get("name") == "cpu" and target.get("type") == "Utilization":
            spec["targetCPUUtilizationPercentage"] = target.get("averageUtilization")
        else:
            rest.append(metric)
    return {**obj, "spec": {**spec, **({"metrics": rest} if rest else {})}}


def hpa_v1_to_v2(obj: Object) -> Object:
    """Convert an autoscaling/v1 autoscaler to its stored form."""
    spec = dict(obj.get("spec") or {})
    percentage = spec.pop("targetCPUUtilizationPercentage", None)
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        spec["metrics"] = [
            {"type": "Resource", "resource": {"name": "cpu", "target": target}},
            *spec.get("metrics", ()),
        ]
    return {**obj, "spec": spec}


# Conversions from and to the stored form.
_CONVERSIONS: dict[tuple[str, str, str], tuple[Callable[[Object], Object], Callable[[Object], Object]]] = {
    ("events.k8s.io", "v1", "events"): (event_from_core, event_to_core),
    ("autoscaling", "v1", "horizontalpodautoscalers"): (hpa_v2_to_v1, hpa_v1_to_v2),
}


def as_stored(resource: Resource) -> bool:
    """Return whether this resource serves objects in their stored form, so that stored bytes can be sent."""
    return resource.stored_version == resource.api_version


def to_storage(resource: Resource, obj: Object) -> Object:
    """Convert an object of this resource to its stored form, with the defaults of the stored version (500)."""
    if resource.custom:
        obj = {field: child if field == "metadata" else whole_numbers(child) for field, child in obj.items()}
    if as_stored(resource):
        return obj
    stored = _converted(resource, obj, resource.stored_version, 1)
    return _fitted(resource, stored) if resource.schemas else stored


def from_storage(resource: Resource, obj: Object) -> Object:
    """Convert a stored object, possibly of an older version, to the form of this resource.

    Objects older than the schema of their version are pruned and defaulted first, as by a real server's storage.
    """
    obj = _complete(resource, obj)
    return obj if obj["apiVersion"] == resource.api_version else _converted(resource, obj, resource.api_version, 0)


def _converted(resource: Resource, obj: Object, api_version: str, direction: int) -> Object:
    if resource.converter is not None:
        return _pruned(resource, resource.converter.convert([obj], api_version)[0])
    convert = _CONVERSIONS.get((resource.group, resource.version, resource.plural))
    converted = {**(convert[direction](obj) if convert else obj), "apiVersion": api_version}
    if convert:
        # Each version has zeros of its own, which it always writes.
        message = message_of(api_version, resource.kind)
        return in_order(complete(message, decode(message, converted, [])))
    same = resource.schemas.get(api_version) is resource.schemas.get(obj["apiVersion"])
    return converted if same else _pruned(resource, converted)


def fits_schema(resource: Resource, obj: Object) -> bool:
    """Return whether a stored object was written with the current schemas of its kind."""
    since = resource.schemas_since
    return not since or int(obj["metadata"].get("resourceVersion") or 0) >= since


def _complete(resource: Resource, obj: Object) -> Object:
    return obj if fits_schema(resource, obj) else _fitted(resource, obj)


def _fitted(resource: Resource, obj: Object) -> Object:
    completed: Object = apply_defaults(resource.schemas.get(obj["apiVersion"]), _pruned(resource, obj))
    return in_order(completed)


def _pruned(resource: Resource, obj: Object) -> Object:
    """Return a custom object without the fields that the schema of its version does not have."""
    return in_order(prune(resource.schemas.get(obj["apiVersion"]), obj, []))


def shown_once_stored(resource: Resource, stored: Object, store: Callable[[], Object]) -> Object:
    """Store an object and return it as shown.

    It is converted before it is stored, because a suspended request must not have changed anything.
    """
    if resource.converter is None or as_stored(resource):
        return from_storage(resource, store())
    shown = from_storage(resource, stored)
    given = {field: value for field, value in store()["metadata"].items() if field == "resourceVersion"}
    return {**shown, "metadata": {**shown["metadata"], **given}}


def current(resource: Resource, obj: Object) -> Object:
    """Convert a stored object, possibly of an older version, to the version that is stored now (500)."""
    wanted, obj = resource.stored_version, _complete(resource, obj)
    if resource.converter is None or obj["apiVersion"] == wanted:
        return {**obj, "apiVersion": wanted}
    return _pruned(resource, resource.converter.convert([obj], wanted)[0])


def prepare(resource: Resource, objects: Iterable[Object]) -> None:
    """Convert many stored objects at once, before each is shown (500)."""
    if resource.converter is not None:
        others = [_complete(resource, obj) for obj in objects if obj["apiVersion"] != resource.api_version]
        resource.converter.convert(others, resource.api_version)
