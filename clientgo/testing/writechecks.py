"""Checks of a write that an API server makes for every kind: that it is an object of this kind, name and shape.

There is no validation of values, as documented: a label may be invalid, and a required field missing.
"""

from collections.abc import Mapping
from typing import Any

from clientgo.errors import (
    ApiError,
    BadRequest,
    Conflict,
    InternalError,
    Invalid,
    StatusCause,
    StatusDetails,
    UnsupportedMediaType,
)
from clientgo.meta.classes.check import is_built_in
from clientgo.meta.classes.lenient import Misfit, check_types
from clientgo.meta.declarations import client_methods
from clientgo.meta.objects import GroupVersionResource
from clientgo.meta.scheme import ApiType, api_of
from clientgo.rest.request import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH

Object = dict[str, Any]

_OBJECT_WRITES = ("", "status")
"""Subresources that are written as the whole object."""


_BUILT_IN_SUBRESOURCES = frozenset(("approval", "ephemeralcontainers", "finalize", "resize"))


def known_subresources(cls: type) -> frozenset[str]:
    """Return the subresources that an object of the class may have, and the empty text for the object itself."""
    declared = {method.subresource for method in client_methods(cls)}
    return frozenset(("", "status", "scale", *declared, *(_BUILT_IN_SUBRESOURCES if is_built_in(cls) else ())))


class WriteCheck:
    """Checks of writes to one resource; `cls` is the class of its kind, None if it is not known.

    Without `versioned` they are as lenient as client-go's tracker: objects have the uids and versions that tests give
    them, any kind takes a strategic patch, and an applied configuration may omit the name.
    """

    def __init__(self, resource: GroupVersionResource, cls: type | None, subresource: str, *, versioned: bool) -> None:
        self._resource = resource
        self._versioned = versioned
        self._cls = cls if subresource in _OBJECT_WRITES else None
        self._api: ApiType | None = None if self._cls is None else api_of(self._cls)
        self._built_in = self._cls is not None and is_built_in(self._cls)

    def submitted(self, value: Any) -> Object:
        """Return the object of a create or update, with its kind.

        Raises:
            BadRequest: it is not an object of this kind.
            Invalid: a field of a custom kind has another type.
        """
        obj = self._object({} if value is None else value)
        if self._api is None:
            return obj
        api, kind, version = self._api, obj.get("kind"), obj.get("apiVersion")
        if not (kind and version) and not self._built_in:
            missing = "Kind" if not kind else "apiVersion"
            raise BadRequest(
                f"the object provided is unrecognized (must be of type {api.kind}): Object '{missing}' is missing"
            )
        obj = {**obj, "kind": kind or api.kind, "apiVersion": version or api.api_version}
        if obj["apiVersion"] != api.api_version:
            raise BadRequest(
                f"the API version in the data ({version}) does not match the expected API version ({api.api_version})"
            )
        if obj["kind"] != api.kind:
            if not self._built_in:
                raise self.invalid(obj, "kind", f"must be {api.kind}")
            raise BadRequest(f'{kind} in version "{version}" cannot be handled as a {api.kind}')
        self._types(obj, f'{api.kind} in version "{api.api_version}" cannot be handled as a {api.kind}', BadRequest)
        if not api.namespaced and obj["metadata"].get("namespace"):
            obj["metadata"] = {field: value for field, value in obj["metadata"].items() if field != "namespace"}
        return obj

    def has_version(self, obj: Object) -> None:
        """Check that an update of a custom kind has a resourceVersion, which built-in kinds may omit.

        Raises:
            Invalid: it has none.
        """
        custom = self._api is not None and not self._built_in
        if self._versioned and custom and not obj["metadata"].get("resourceVersion"):
            raise self.invalid(obj, "metadata.resourceVersion", "Invalid value: 0: must be specified for an update")

    def patch_type(self, media_type: str) -> None:
        """Check that the kind supports a type of patch.

        Raises:
            UnsupportedMediaType: a strategic patch of a custom kind.
        """
        custom = self._api is not None and not self._built_in
        if self._versioned and custom and media_type == STRATEGIC_PATCH:
            accepted = ", ".join((JSON_PATCH, MERGE_PATCH, APPLY_PATCH))
            raise UnsupportedMediaType(
                f"the body of the request was in an unknown format - accepted media types include: {accepted}"
            )

    def patched(self, old: Object, value: Any, name: str) -> Object:
        """Return the result of a patch.

        Raises:
            BadRequest: it has no name, or nothing says what it is.
            Invalid: it is of another kind or uid, or a field has another type.
        """
        if not isinstance(value, dict):
            raise BadRequest("Invalid JSON Patch")
        meta = value.get("metadata")
        if meta is None or (isinstance(meta, Mapping) and not meta.get("name")):
            raise _nameless(name)
        if self._built_in and not value.get("apiVersion"):
            raise _nameless(name)
        if self._built_in and not value.get("kind"):
            value = {**value, "kind": old.get("kind")}
        for field in ("kind", "apiVersion"):
            if value.get(field) != old.get(field):
                raise self.invalid(value, field, f"must be {old.get(field)}")
        if not isinstance(meta, Mapping):
            raise self.invalid(value, "metadata", "must be an object")
        self._uid(old, value)
        self._types(value, '"" is invalid: patch', Invalid)
        return dict(value)

    def applied(self, live: Object, value: Any, name: str) -> Object:
        """Return an apply configuration.

        Raises:
            BadRequest: it is not one of this kind and name.
            Invalid, Conflict: it has another uid.
            InternalError: a field has another type.
        """
        config = self._object(value)
        kind = (config.get("apiVersion", ""), config.get("kind", ""))
        if self._api is not None and kind != (self._api.api_version, self._api.kind):
            raise BadRequest(f"invalid object type: {kind[0]}, Kind={kind[1]}")
        meta = config.get("metadata")
        meta = {} if meta is None else meta
        if not isinstance(meta, dict):
            raise BadRequest(
                f"invalid metadata in an apply configuration: expected an object, got {type(meta).__name__}"
            )
        if not meta.get("name"):
            if self._versioned:
                raise _nameless(name)
            config = {**config, "metadata": (meta := {**meta, "name": name})}
        if meta["name"] != name:
            raise BadRequest(f"the name of the object ({meta['name']}) does not match the name on the URL ({name})")
        if meta.get("managedFields"):
            raise BadRequest("metadata.managedFields must be nil")
        if live:
            self._uid(live, config)
        elif self._versioned and meta.get("uid"):
            text = f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing object was found"
            target = f'{self._resource.group_resource} "{name}"'
            raise Conflict(f"Operation cannot be fulfilled on {target}: {text}")
        self._types(config, f"failed to create typed patch object ({meta.get('namespace', '')}/{name})", InternalError)
        return config

    def invalid(self, obj: Object, field: str, message: str) -> Invalid:
        """Return the error for a field."""
        meta = obj.get("metadata")
        kind, name = str(obj.get("kind", "")), str(meta.get("name", "")) if isinstance(meta, Mapping) else ""
        cause = StatusCause(reason="FieldValueInvalid", message=message, field=field)
        details = StatusDetails(name=name, group=self._resource.group, kind=kind, causes=(cause,))
        group = f".{self._resource.group}" if self._resource.group else ""
        return Invalid(f'{kind}{group} "{name}" is invalid: {field}: {message}', details=details)

    def _object(self, value: Any) -> Object:
        if isinstance(value, dict):
            return dict(value)
        kind = self._api.kind if self._api is not None else self._resource.resource
        raise BadRequest(f"the object provided is unrecognized (must be of type {kind})")

    def _uid(self, old: Object, new: Object) -> None:
        uid = new["metadata"].get("uid")
        if self._versioned and uid and uid != old["metadata"].get("uid"):
            raise self.invalid(new, "metadata.uid", "field is immutable")

    def _types(self, obj: Object, message: str, error: type[ApiError]) -> None:
        if self._cls is None:
            return
        try:
            check_types(self._cls, obj)
        except Misfit as misfit:
            if error is BadRequest and not self._built_in:
                raise self.invalid(obj, "", str(misfit)) from misfit
            raise error(f"{message}: {misfit}") from misfit


def _nameless(name: str) -> BadRequest:
    return BadRequest(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
