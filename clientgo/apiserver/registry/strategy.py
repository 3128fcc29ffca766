"""Write strategies: decoding, defaults and validation by kind.

Custom kinds follow their schema, built-in kinds the tables of this package; handlers do not distinguish them.
"""

from typing import Any

from clientgo.apiserver.apiextensions.cel import cel_errors
from clientgo.apiserver.apiextensions.schema import schema_errors
from clientgo.apiserver.apiextensions.structural import apply_defaults, prune
from clientgo.apiserver.handlers.writes import Write, report_unknown
from clientgo.apiserver.http.status import Cause
from clientgo.apiserver.registry.defaults import job_identity, set_defaults
from clientgo.apiserver.registry.registry import Object, Resource
from clientgo.apiserver.registry.validation import builtin_errors, clean
from clientgo.apiserver.state import State


def refine(state: State, write: Write, obj: Object, old: Object | None) -> Object:
    """Return the object as decoded: unknown fields dropped or rejected, defaults set (400, 422)."""
    resource = write.resource
    unknown = write.unknown
    if resource.custom:
        new = prune(resource.schema, obj, unknown)
        new = apply_defaults(resource.schema, new)
    else:
        new = set_defaults(resource, clean(resource, obj, old, unknown), old)
    report_unknown(write, unknown)
    return new


def validate(resource: Resource, new: Object, old: Object | None) -> list[Cause]:
    """Return the errors of the object by the rules of its kind; `old` is the object it replaces."""
    if not resource.custom:
        return builtin_errors(resource, new, old)
    causes = schema_errors(resource.schema, new)
    return causes or cel_errors(resource.schema, new, old)


def drop_status(resource: Resource, obj: Object) -> Object:
    """Return a new object without the status a client sent, if status is a subresource."""
    if not resource.status or "status" not in obj or not resource.custom:
        return obj
    return {field: value for field, value in obj.items() if field != "status"}


def identify(resource: Resource, obj: Object) -> Object:
    """Return a new object with the fields that depend on its uid: a Job's selector and pod labels."""
    return job_identity(obj) if resource.storage == ("batch", "jobs") else obj


def keep_status(resource: Resource, new: Object, old: Object) -> Object:
    """Return an update of the object with its old status, if status is a subresource."""
    return _taken(new, old, "status") if resource.status else new


def keep_spec(resource: Resource, new: Object, old: Object) -> Object:
    """Return an update of the status with everything else unchanged."""
    meta = new["metadata"]
    # A status update of built-in kinds may change annotations and finalizers, but not labels; of custom kinds none.
    kept = old["metadata"] if resource.custom else _taken({**old["metadata"], **meta}, old["metadata"], "labels")
    versions = {field: meta[field] for field in ("managedFields", "resourceVersion") if field in meta}
    return {**_taken(old, new, "status"), "metadata": {**kept, **versions}}


def desired(resource: Resource, obj: Object) -> Any:
    """Return the part of the object whose changes metadata.generation counts."""
    if not resource.custom and "spec" in obj:
        return obj["spec"]
    left_out = ("metadata", "status") if resource.status else ("metadata",)
    return {field: value for field, value in obj.items() if field not in left_out}


def _taken(target: Object, source: Object, field: str) -> Object:
    kept = {name: value for name, value in target.items() if name != field}
    return {**kept, field: source[field]} if field in source else kept
