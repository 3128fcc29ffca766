"""Create-only clients, for reviews and Binding; the base class of all other typed clients."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from clientgo.errors import BadRequest
from clientgo.meta.codec import Codec, codec_for, encode_value, identity
from clientgo.meta.objects import EMPTY_MAP, ObjectMeta
from clientgo.meta.scheme import ApiType, check_namespace
from clientgo.rest.request import APPLY_PATCH, JSON, JSON_PATCH, Request, Requester
from clientgo.typed.options import write_query
from clientgo.typed.response import fetch_object

T = TypeVar("T")
R = TypeVar("R")

Patch = Mapping[str, Any] | Sequence[Mapping[str, Any]] | bytes
"""A merge patch (a mapping), a JSON patch (a list of operations), or bytes of any media type."""


def encode_patch(patch: Patch, content_type: str) -> tuple[bytes, str]:
    """Return the body of a patch and its media type: that of JSON patches for a list, otherwise `content_type`."""
    if isinstance(patch, bytes):
        return patch, content_type
    return encode_value(patch), content_type if isinstance(patch, Mapping) else JSON_PATCH


class ClientGroup:
    """Base class of generated accessors for the clients of a group version."""

    def __init__(self, requester: Requester) -> None:
        self._requester = requester


class CreateClient(Generic[T]):
    """A client that creates objects of one kind, in a namespace or in the cluster.

    A subclass may request other representations of objects: `accept` is the media type for single objects and watches,
    `accept_list` for lists. Responses to deletions are ignored.
    """

    kind: ClassVar[type[Any]]
    accept: ClassVar[str] = JSON
    accept_list: ClassVar[str] = JSON

    def __init__(self, requester: Requester, namespace: str = "") -> None:
        self._requester = requester
        self._namespace = namespace
        self._codec: Codec[T] = codec_for(self.kind)
        self._api: ApiType = self._codec.api
        check_namespace(self._api, namespace)
        self._gvr = self._api.gvr

    def __repr__(self) -> str:
        suffix = f" in {self._namespace}" if self._namespace else ""
        return f"<{type(self).__name__} {self._gvr.group_resource}{suffix}>"

    def create(self, obj: T, *, field_manager: str = "", dry_run: bool = False) -> T:
        """Create `obj` and return the stored object; raise `AlreadyExists` if its name is taken."""
        query = write_query(field_manager=field_manager, dry_run=dry_run)
        body = self._codec.encode(obj)
        sent = metadata_in(obj, body)
        # Reviews have no name.
        name = sent.name if sent.name or sent.generate_name else None
        return self._fetch(self._request("create", query=query, body=body), self._codec, name=name)

    def _request(
        self,
        verb: str,
        name: str = "",
        *,
        subresource: str = "",
        query: Mapping[str, str] = EMPTY_MAP,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float | None = None,
        retry_lagging: bool = True,
    ) -> Request:
        return Request(
            verb=verb,
            resource=self._gvr,
            kind=self._api.kind,
            namespace=self._namespace,
            name=name,
            subresource=subresource,
            query=query,
            body=body,
            content_type=content_type,
            timeout=timeout,
            accept=self._accepted(verb),
            retry_lagging=retry_lagging,
        )

    def _patching(
        self, name: str, patch: Patch, content_type: str, subresource: str, query: Mapping[str, str]
    ) -> Request:
        body, content_type = encode_patch(patch, content_type)
        verb = "apply" if content_type == APPLY_PATCH else "patch"
        return self._request(verb, name, subresource=subresource, query=query, body=body, content_type=content_type)

    def _accepted(self, verb: str) -> str:
        if verb == "list":
            return self.accept_list
        return JSON if verb in ("delete", "deletecollection") else self.accept

    def _fetch(self, request: Request, codec: Codec[R], *, name: str | None = None, sent: R | None = None) -> R:
        """Return the object that answers a request; raise `BadRequest` if its namespace is missing."""
        self._need_namespace(request)
        return fetch_object(self._requester, request, codec, name=name, sent=sent)

    def _need_namespace(self, request: Request) -> None:
        # An empty namespace means all of them: the server would return an unclear 405 or 404.
        if not self._namespace and self._api.namespaced:
            raise BadRequest(f"a namespace must be given to {request.verb} a {self._api.kind}")


def metadata_in(obj: object, body: bytes) -> ObjectMeta:
    """Return the metadata of an object with this JSON; mappings and the official client's models have no ObjectMeta."""
    meta = getattr(obj, "metadata", None)
    return meta if isinstance(meta, ObjectMeta) else identity(body)
