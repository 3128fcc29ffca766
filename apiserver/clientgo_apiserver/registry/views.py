"""Views of a stored object: its form in each version and group that serves it.

Custom kinds differ only in `apiVersion`, unless their definition has a conversion webhook. Event and
HorizontalPodAutoscaler, the built-in kinds with two shapes, are converted by a pair of functions each.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from clientgo.errors import Restorable
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.crds.structural import apply_defaults, prune, whole_numbers
from clientgo_apiserver.gotypes.decoding import decode, message_of
from clientgo_apiserver.gotypes.structs import in_order
from clientgo_apiserver.http.messages import HTTPRequest
from clientgo_apiserver.http.steps import run_step
from clientgo_apiserver.registry.autoscalers import autoscaler_v1_to_v2, autoscaler_v2_to_v1
from clientgo_apiserver.registry.defaults.types import complete
from clientgo_apiserver.storage.stored import Entry

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


# Conversions from and to the stored form.
_CONVERSIONS: dict[tuple[str, str, str], tuple[Callable[[Object], Object], Callable[[Object], Object]]] = {
    ("events.k8s.io", "v1", "events"): (event_from_core, event_to_core),
    ("autoscaling", "v1", "horizontalpodautoscalers"): (autoscaler_v2_to_v1, autoscaler_v1_to_v2),
}

_VERSIONS = {("autoscaling", "horizontalpodautoscalers"): ("autoscaling/v1", "autoscaling/v2")}
"""apiVersions of the kinds whose managed fields are converted; those of events are lost through the other API."""


def as_stored(resource: Resource) -> bool:
    """Return whether this resource serves objects in their stored form, so that stored bytes can be sent."""
    return resource.stored_version == resource.api_version


def in_stored_version(resource: Resource, api_version: str) -> Resource:
    """Return the resource as it would be if this was the version in which its objects are stored."""
    version = api_version.rpartition("/")[2]
    schema = resource.schemas.get(api_version)
    return replace(resource, version=version, storage_version=version, schema=schema, converter=None)


async def to_storage(resource: Resource, obj: Object, request: HTTPRequest | None = None, size: int = 0) -> Object:
    """Convert an object of this resource to its stored form, with the defaults of the stored version (500).

    An object of `size` bytes, or from a large `request`, is read in a thread.
    """
    if resource.custom:
        # A null that was applied is validated as it is, and dropped when it is read back if the field cannot be null.
        read_back = partial(_read_back, resource.schema if request and b"null" in request.body else None)
        obj = read_back(obj) if request is None else await run_step(request, size, read_back, obj)
    if as_stored(resource):
        return obj
    if resource.converter is not None:
        (obj,) = await resource.converter.convert([obj], resource.stored_version)
        return _fitted(resource, obj)
    stored = _converted(resource, obj, resource.stored_version, 1)
    return _fitted(resource, stored) if resource.schemas else stored


def _read_back(schema: Object | None, obj: Object) -> Object:
    """Return a custom object as it is read from the storage: with whole numbers, completed by the schema if given."""
    normalized = {
        field: whole_numbers(child) if field != "metadata" and child.__class__ is not str else child
        for field, child in obj.items()
    }
    completed: Object = apply_defaults(schema, normalized)
    return completed


async def from_storage(resource: Resource, obj: Object) -> Object:
    """Convert a stored object, possibly of an older version, to the form of this resource (500).

    Objects older than the schema of their version are pruned and defaulted first, as by a real server's storage.
    """
    if resource.converter is None:
        return shown(resource, obj)
    (converted,) = await all_from_storage(resource, [obj])
    return converted


async def all_from_storage(resource: Resource, objects: Sequence[Object]) -> list[Object]:
    """Convert stored objects, with one call if a webhook converts them (500)."""
    if resource.converter is None:
        return [shown(resource, obj) for obj in objects]
    return await _by_webhook(resource, objects, resource.api_version)


async def served(resource: Resource, entries: list[Entry]) -> list[Entry]:
    """Return stored entries as this resource shows them (500)."""
    if resource.converter is None:
        # Most are shown as they are stored: their JSON is enough, which is not decoded.
        since, start = resource.schemas_since, resource.json_start
        return [
            entry if entry.revision >= since and entry.raw.startswith(start) else shown_entry(resource, entry)
            for entry in entries
        ]
    objects = await all_from_storage(resource, [entry.object for entry in entries])
    return [_entry_with(obj, entry) for obj, entry in zip(objects, entries, strict=True)]


def shown_entry(resource: Resource, entry: Entry) -> Entry:
    """Return a stored entry as this resource shows it, unless a webhook has to convert it."""
    if entry.revision >= resource.schemas_since and entry.raw.startswith(resource.json_start):
        return entry
    return _entry_with(shown(resource, entry.object), entry)


def _entry_with(obj: Object, entry: Entry) -> Entry:
    return entry if obj is entry.object else Entry(obj, entry.revision)


async def current(resource: Resource, obj: Object) -> Object:
    """Convert a stored object, possibly of an older version, to the version that is stored now (500)."""
    (converted,) = await _by_webhook(resource, [obj], resource.stored_version)
    return {**converted, "apiVersion": resource.stored_version}


async def _by_webhook(resource: Resource, objects: Sequence[Object], api_version: str) -> list[Object]:
    complete = [_complete(resource, obj) for obj in objects]
    if resource.converter is None:
        return complete
    converted = await resource.converter.convert(complete, api_version)
    return [new if new is old else _pruned(resource, new) for new, old in zip(converted, complete, strict=True)]


def shown(resource: Resource, obj: Object) -> Object:
    """Convert a stored object to the form of this resource, unless a webhook has to: that leaves it as it is."""
    obj = _complete(resource, obj)
    if obj["apiVersion"] == resource.api_version or resource.converter is not None:
        return obj
    return _converted(resource, obj, resource.api_version, 0)


def _converted(resource: Resource, obj: Object, api_version: str, direction: int) -> Object:
    convert = _CONVERSIONS.get((resource.group, resource.version, resource.plural))
    converted = {**(convert[direction](obj) if convert else obj), "apiVersion": api_version}
    if convert:
        # Each version has zeros of its own, which it always writes.
        message = message_of(api_version, resource.kind)
        return in_order(complete(message, decode(message, converted, [])))
    same = resource.schemas.get(api_version) is resource.schemas.get(obj["apiVersion"])
    return converted if same else _pruned(resource, converted)


def versions_of(resource: Resource) -> tuple[str, ...]:
    """Return the apiVersions of a built-in kind."""
    return _VERSIONS.get(resource.storage, (resource.api_version,))


Conversions = Sequence[tuple[Object, str, Object]]
"""Objects with a version, and what a webhook converted them to."""


class ConversionNeeded(Restorable, Exception):
    """A webhook has to convert an object before a step can go on."""

    def __init__(self, obj: Object, api_version: str) -> None:
        super().__init__(f"conversion to {api_version}")
        self.obj = obj
        self.api_version = api_version


def in_version(resource: Resource, api_version: str, obj: Object, conversions: Conversions = ()) -> Object:
    """Convert an object of any version of a kind; zero values may be missing.

    Raises:
        ConversionNeeded: a webhook has to convert it, and `conversions` does not have it.
    """
    if obj["apiVersion"] == api_version:
        return obj
    if resource.converter is not None:
        matches = (new for old, version, new in conversions if version == api_version and old == obj)
        if (converted := next(matches, None)) is None:
            raise ConversionNeeded(obj, api_version)
        return converted
    (_, to_stored), (from_stored, _) = (
        _CONVERSIONS.get((*_group_version(version), resource.plural), (_same, _same))
        for version in (obj["apiVersion"], api_version)
    )
    return {**from_stored(to_stored(obj)), "apiVersion": api_version}


async def converted(resource: Resource, needed: ConversionNeeded) -> tuple[Object, str, Object]:
    """Return a conversion by the webhook (500)."""
    (new,) = await _by_webhook(resource, [needed.obj], needed.api_version)
    return needed.obj, needed.api_version, new


def _group_version(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version


def _same(obj: Object) -> Object:
    return obj


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


def with_version(response: Object, stored: Object) -> Object:
    """Return an object that was converted for the response before it was stored, with the resourceVersion it got."""
    version = {field: value for field, value in stored["metadata"].items() if field == "resourceVersion"}
    return {**response, "metadata": {**response["metadata"], **version}}
