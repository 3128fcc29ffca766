"""Fields that the server assigns after it has determined who owns which fields."""

from collections.abc import Mapping

from clientgo.apiserver.registry.registry import Object, Resource

_SPEC_FIELDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "namespaces"): ("finalizers",),
    ("", "persistentvolumeclaims"): ("dataSource", "dataSourceRef"),
}


def without_assigned(resource: Resource, obj: Object, sent: Object) -> Object:
    """Return a defaulted object without the assigned fields that the client did not send."""
    fields = _SPEC_FIELDS.get(resource.storage)
    if fields is None or resource.custom:
        return obj
    given = sent.get("spec") or {}
    spec = {field: value for field, value in obj["spec"].items() if field in given or field not in fields}
    return {**obj, "spec": spec}
