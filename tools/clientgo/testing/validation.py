"""Validation of objects in the process, by the schema and the CEL rules of their class.

    assert validate(widget) == []
    [cause] = validate(replace(widget, spec=WidgetSpec(size=0)))
    assert (cause.field, cause.message) == ("spec.size", "Invalid value: 0: ...")

The bundled API server in memory answers, so the causes are those of a server: for unit tests, and for webhooks and
programs that have `clientgo-apiserver` installed.
"""

from typing import Any, TypeVar

from clientgo.errors import Invalid, StatusCause
from clientgo.manager.client import DirectClient
from clientgo.meta.codec import replace, to_dict
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import Scheme, api_of
from clientgo.testing.fake import FakeRequester

T = TypeVar("T", bound=ApiObject)


def validate(obj: T, old: T | None = None) -> list[StatusCause]:
    """Return what the server rejects in a new object, or in the update of `old`; none if it is valid.

    A status is validated as well, as one that is written for the valid object. Transition rules (`oldSelf`) and
    immutable fields need `old`. Fields that are invalid in `old` and unchanged are accepted, as by a server.

    Raises:
        ApiError: the server rejects the object as a whole, for example because its name changed.
    """
    requester = FakeRequester(scheme=Scheme(type(obj)))
    client = DirectClient(requester)

    def after(stored: dict[str, Any]) -> T:
        """Store an object as it is, and return `obj` as its next version."""
        requester.tracker.add(stored)
        return in_version(client.get(type(obj), object_name(obj)).metadata.resource_version)

    def in_version(version: str) -> T:
        return replace(obj, metadata=replace(obj.metadata, resource_version=version))

    try:
        if old is None:
            client.create(in_version(""), dry_run=True)
        else:
            client.update(after(to_dict(old)), dry_run=True)
        if api_of(type(obj)).status:
            before = to_dict(obj if old is None else old)
            client.update_status(after(before if old is not None else {**before, "status": {}}), dry_run=True)
    except Invalid as error:
        return list(error.details.causes)
    return []
