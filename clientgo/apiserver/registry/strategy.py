"""What differs by kind when an object is written: which fields it may have, their defaults, what is checked.

Custom kinds go by their schema, built-in kinds by our tables; the handlers ask here and know neither.
"""

from typing import Any

from clientgo.apiserver.apiextensions.cel import cel_faults
from clientgo.apiserver.apiextensions.defaulting import apply_defaults
from clientgo.apiserver.apiextensions.pruning import prune
from clientgo.apiserver.apiextensions.schema import schema_faults
from clientgo.apiserver.handlers.fieldvalidation import report_unknown
from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.status import Cause
from clientgo.apiserver.registry.builtinrules import builtin_faults, clean
from clientgo.apiserver.registry.defaults import job_identity, set_defaults
from clientgo.apiserver.registry.registry import Resource
from clientgo.apiserver.state import State

Object = dict[str, Any]


def refine(state: State, write: Write, obj: Object, old: Object | None) -> Object:
    """The object as it would be decoded: unknown fields dropped (or refused), defaults set.

    Raises:
        ApiFailure: 400 or 422, strict field validation met a field that is not known.
    """
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
    """Every rule of its kind that the object breaks; `old` is what it replaces."""
    if not resource.custom:
        return builtin_faults(resource, new, old)
    causes = schema_faults(resource.schema, new)
    return causes or cel_faults(resource.schema, new, old)


def drop_status(resource: Resource, obj: Object) -> Object:
    """A new object without the status a client sent, where status is a subresource."""
    if not resource.status or "status" not in obj or not resource.custom:
        return obj
    return {field: value for field, value in obj.items() if field != "status"}


def identify(resource: Resource, obj: Object) -> Object:
    """A new object with what follows from its uid: a Job's selector and the labels of its pods."""
    return job_identity(obj) if resource.storage == ("batch", "jobs") else obj


def keep_status(resource: Resource, new: Object, old: Object) -> Object:
    """An update of the object itself: status stays as it was, where it is a subresource."""
    return _taken(new, old, "status") if resource.status else new


def keep_spec(resource: Resource, new: Object, old: Object) -> Object:
    """An update of the status: everything else stays as it was."""
    meta = new["metadata"]
    # Built-in kinds let a status update change annotations and finalizers, not labels; custom kinds nothing.
    kept = old["metadata"] if resource.custom else _taken({**old["metadata"], **meta}, old["metadata"], "labels")
    versions = {field: meta[field] for field in ("managedFields", "resourceVersion") if field in meta}
    return {**_taken(old, new, "status"), "metadata": {**kept, **versions}}


def desired(resource: Resource, obj: Object) -> Any:
    """What metadata.generation counts the changes of."""
    if not resource.custom and "spec" in obj:
        return obj["spec"]
    left_out = ("metadata", "status") if resource.status else ("metadata",)
    return {field: value for field, value in obj.items() if field not in left_out}


def _taken(target: Object, source: Object, field: str) -> Object:
    kept = {name: value for name, value in target.items() if name != field}
    return {**kept, field: source[field]} if field in source else kept
