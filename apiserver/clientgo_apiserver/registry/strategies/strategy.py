"""Strategies of kinds: the steps of a write that depend on the kind, with the names of kube-apiserver's strategies.

`writes/pipeline.py` has the order of the steps. Functions return objects and change none. The subresources of a kind
have strategies of their own.
"""

from typing import Any

from clientgo.meta.apply.mergerules import FieldPath
from clientgo.meta.jsonvalues import same
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import Cause
from clientgo_apiserver.crds.customobjects import object_errors
from clientgo_apiserver.crds.structural import apply_defaults, has_whole_floats, whole_numbers
from clientgo_apiserver.registry.strategies.warnings import finalizer_warnings, object_warnings
from clientgo_apiserver.registry.validation.validator import builtin_errors
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.storage.store import Store


def with_field(target: Object, source: Object, field: str) -> Object:
    """Return the target with this field of the source, or without it if the source has none."""
    if field in source:
        return {**target, field: source[field]}
    return {name: value for name, value in target.items() if name != field} if field in target else target


class Strategy:
    """Strategy of built-in kinds that need no other."""

    graceful = False
    """True if deletions may have a grace period."""

    def __init__(self, *, propagation: str = "Background") -> None:
        self.propagation = propagation
        """Propagation policy of deletions without one (DefaultGarbageCollectionPolicy); "" if the kind owns nothing."""

    def ignored_fields(self, resource: Resource) -> tuple[FieldPath, ...]:
        """Return the paths that `reset_fields` resets: field management ignores them (GetResetFields)."""
        return (("status",),) if resource.status else ()

    def reset_fields(self, context: Write, new: Object, old: Object) -> Object:
        """Return the new object of an update with the parts of the old one that this kind of update cannot change."""
        return with_field(new, old, "status") if context.resource.status else new

    def begin_create(self, _: Store, new: Object) -> Object:
        """Return an admitted new object with what it takes from the cluster, such as addresses (422, 500)."""
        return new

    def prepare_for_create(self, _: Write, new: Object) -> Object:
        """Return an admitted new object with the fields that the server sets."""
        return new

    def begin_update(self, _: Store, new: Object, __: Object) -> Object:
        """Return an admitted object with what it takes from the cluster, or keeps of the old one (422, 500)."""
        return new

    def prepare_for_update(self, context: Write, new: Object, old: Object) -> Object:
        """Return the admitted object of an update with the fields that the server sets, such as its generation."""
        return self.counted_update(context, new, old) if context.resource.generation else new

    def counted_update(self, context: Write, new: Object, old: Object) -> Object:
        """Return the object of an update with its generation."""
        if self._is_same(self._counted(context, new), self._counted(context, old)):
            return new
        generation = old["metadata"].get("generation", 0) + 1
        return {**new, "metadata": {**new["metadata"], "generation": generation}}

    def _is_same(self, new: Any, old: Any) -> bool:
        """Return whether the counted parts of two objects are equal."""
        return same(new, old)

    def _counted(self, context: Write, obj: Object) -> Any:
        """Return the part of the object whose changes metadata.generation counts."""
        return obj["spec"] if "spec" in obj else _without_metadata(context, obj)

    def validate(self, context: Write, new: Object) -> list[Cause]:
        """Return the errors of a new object, except those of its metadata."""
        return builtin_errors(context.resource, new, None)

    def validate_update(self, context: Write, new: Object, old: Object) -> list[Cause]:
        """Return the errors of an object that replaces `old`, except those of its metadata."""
        return builtin_errors(context.resource, new, old, context.subresource)

    def warnings_on_create(self, context: Write, new: Object) -> list[str]:
        """Return the warnings about a valid new object."""
        return object_warnings(context.resource, new, None)

    def warnings_on_update(self, context: Write, new: Object, old: Object) -> list[str]:
        """Return the warnings about a valid object that replaces another."""
        is_main = context.subresource in ("", "scale")  # a scale is written by the strategy of its object
        return object_warnings(context.resource, new, old) if is_main else []

    def should_delete_during_update(self, new: Object) -> bool:
        """Return whether an update ends a deletion: nothing holds the object any longer."""
        meta = new["metadata"]
        return "deletionTimestamp" in meta and not (meta.get("finalizers") or meta.get("deletionGracePeriodSeconds"))

    def terminating(self, _: str, __: Object) -> Object | None:
        """Return the object as it waits for the deletion of what belongs to it; None if nothing does."""
        return None


class StatusStrategy(Strategy):
    """Strategy of the status of built-in kinds; it may change metadata except for the fields in `unchanged`."""

    def __init__(self, *unchanged: str) -> None:
        super().__init__()
        self._unchanged = unchanged

    def ignored_fields(self, _: Resource) -> tuple[FieldPath, ...]:
        """Return the paths of the spec and of the metadata that do not change."""
        return (("spec",), *(("metadata", field) for field in self._unchanged))

    def reset_fields(self, _: Write, new: Object, old: Object) -> Object:
        """Return the old object with the new status and metadata."""
        meta = new["metadata"]
        for field in self._unchanged:
            meta = with_field(meta, old["metadata"], field)
        return {**with_field(old, new, "status"), "metadata": meta}

    def prepare_for_update(self, _: Write, new: Object, __: Object) -> Object:
        """Return the object: a status has no generation."""
        return new


class BareStatusStrategy(StatusStrategy):
    """Strategy of the status of kinds whose metadata it does not change."""

    def ignored_fields(self, _: Resource) -> tuple[FieldPath, ...]:
        """Return the paths of the spec and the metadata."""
        return (("metadata",), ("spec",))

    def reset_fields(self, _: Write, new: Object, old: Object) -> Object:
        """Return the old object with the new status."""
        return {**with_field(old, new, "status"), "metadata": with_versions(old["metadata"], new["metadata"])}


def with_versions(meta: Object, new: Object) -> Object:
    """Return metadata with the resourceVersion and managedFields of an update, or without them if it has none."""
    for field in ("managedFields", "resourceVersion"):
        if field in new:
            meta = {**meta, field: new[field]}
    return meta


class CustomStrategy(Strategy):
    """Strategy of custom kinds."""

    def warnings_on_create(self, _: Write, new: Object) -> list[str]:
        """Return the warnings about finalizers; those of rules come with the errors."""
        return finalizer_warnings(new, None)

    def warnings_on_update(self, _: Write, new: Object, old: Object) -> list[str]:
        """Return the warnings about new finalizers; those of rules come with the errors."""
        return finalizer_warnings(new, old)

    def prepare_for_create(self, context: Write, new: Object) -> Object:
        """Return the object with the default of its status at most, if that is a subresource."""
        if not context.resource.status:
            return new
        status = ((context.resource.schema or {}).get("properties") or {}).get("status") or {}
        has_default = "default" in status
        return with_field(new, apply_defaults({"properties": {"status": status}}, {}) if has_default else {}, "status")

    def _is_same(self, new: Object, old: Object) -> bool:
        """Return whether the objects are equal; a float is never equal to the integer that is stored for it."""
        return new.keys() == old.keys() and all(
            value is old[field] or (same(whole_numbers(value), old[field]) and not has_whole_floats(value))
            for field, value in new.items()
        )

    def _counted(self, context: Write, obj: Object) -> Any:
        return _without_metadata(context, obj)

    def validate(self, context: Write, new: Object) -> list[Cause]:
        """Return the errors of a new object by the schema of its definition."""
        warnings = context.request.warnings
        return object_errors(context.resource, new, None, conforming=context.conforming, warnings=warnings)

    def validate_update(self, context: Write, new: Object, old: Object) -> list[Cause]:
        """Return the errors of an object that replaces `old`, by the schema of its definition."""
        target, warnings = context.subresource, context.request.warnings
        return object_errors(context.resource, new, old, target, conforming=context.conforming, warnings=warnings)


class CustomStatusStrategy(BareStatusStrategy, CustomStrategy):
    """Strategy of the status of custom kinds."""


def _without_metadata(context: Write, obj: Object) -> Object:
    left_out = ("metadata", "status") if context.resource.status else ("metadata",)
    return {field: value for field, value in obj.items() if field not in left_out}
