"""Requests for subresources with input and result classes of their own, of any kind and for generated clients."""

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from clientgo.errors import BadRequest
from clientgo.meta.codec import ObjectList, codec_for, encode, encode_value
from clientgo.meta.listwatch import ListOptions
from clientgo.meta.names import object_name
from clientgo.meta.objects import EMPTY_MAP, ApiObject
from clientgo.meta.scheme import api_of, check_scope
from clientgo.meta.typemeta import ANY_OBJECT
from clientgo.rest.request import APPLY_PATCH, JSON, MERGE_PATCH, Request, Requester
from clientgo.typed.create import CreateClient, Patch, encode_patch
from clientgo.typed.options import write_query
from clientgo.typed.response import fetch_list, fetch_object, fetch_success
from clientgo.typed.watch import ObjectWatch, open_watch

T = TypeVar("T")
R = TypeVar("R")
A = TypeVar("A", bound=ApiObject)

_EVERYTHING = ListOptions()


class SubresourceClient(CreateClient[T]):
    """A mixin with protected methods for subresources; precedes the client class with the usual verbs."""

    def _get_from(self, name: str, subresource: str, result: type[R]) -> R:
        return self._fetch(self._request("get", name, subresource=subresource), codec_for(result))

    def _list_at(self, name: str, subresource: str, result: type[R], options: ListOptions | None) -> ObjectList[R]:
        request = self._collection_request("list", name, subresource, options or _EVERYTHING)
        self._need_namespace(request)
        return fetch_list(self._requester, request, codec_for(result))

    def _watch_at(self, name: str, subresource: str, result: type[R], options: ListOptions | None) -> ObjectWatch[R]:
        watching = replace(options or _EVERYTHING, allow_watch_bookmarks=True, watch=True)
        request = self._collection_request("watch", name, subresource, watching)
        self._need_namespace(request)
        return ObjectWatch(open_watch(self._requester, request, codec_for(result)))

    def _collection_request(self, verb: str, name: str, subresource: str, options: ListOptions) -> Request:
        if not name:
            # Without a name, the path would be that of the collection.
            raise BadRequest("resource name may not be empty")
        return self._request(
            verb,
            name,
            subresource=subresource,
            query=options.query(),
            timeout=(float(options.timeout_seconds) or None) if verb == "list" else None,
            retry_lagging=options.retry_lagging,
        )

    def _send_to(
        self,
        verb: str,
        name: str,
        subresource: str,
        body: object,
        result: type[R],
        *,
        field_manager: str = "",
        dry_run: bool = False,
    ) -> R:
        """Send an object; `verb` is create or update."""
        query = write_query(field_manager=field_manager, dry_run=dry_run)
        request = self._request(verb, name, subresource=subresource, query=query, body=encode(body))
        return self._fetch(request, codec_for(result), sent=body if isinstance(body, result) else None)

    def _patch_at(
        self,
        name: str,
        subresource: str,
        patch: Patch,
        result: type[R],
        *,
        content_type: str = MERGE_PATCH,
        field_manager: str = "",
        dry_run: bool = False,
    ) -> R:
        query = write_query(field_manager=field_manager, dry_run=dry_run)
        request = self._patching(name, patch, content_type, subresource, query)
        return self._fetch(request, codec_for(result))

    def _apply_to(
        self,
        name: str,
        subresource: str,
        config: object,
        sent: type[Any],
        result: type[R],
        *,
        field_manager: str,
        force: bool = False,
        dry_run: bool = False,
    ) -> R:
        """Apply `config`: an object of the class `sent`, or a mapping of its fields."""
        api = api_of(sent)
        named = {"apiVersion": api.api_version, "kind": api.kind}
        if isinstance(config, Mapping):
            body = encode_value({**named, **config})
        else:
            body = codec_for(type(config)).encode_applied(config, subresource)
        query = write_query(field_manager=field_manager, dry_run=dry_run, force=force)
        request = self._patching(name, body, APPLY_PATCH, subresource, query)
        return self._fetch(request, codec_for(result))

    def _delete_at(self, name: str, subresource: str) -> None:
        request = self._request("delete", name, subresource=subresource, content_type=JSON)
        self._need_namespace(request)
        fetch_success(self._requester, request, ANY_OBJECT)


class Subresource:
    """One subresource of any kind that has it.

        client.subresource("eviction").create(pod, Eviction(metadata=pod.metadata))
        scale = client.subresource("scale").get(deployment, Scale)
        client.subresource("scale").update(deployment, replace(scale, spec=ScaleSpec(replicas=3)))

    Each method raises `ApiError`, `ConnectionFailed` and, except for `get`, `LeaseNotHeld`; `Undecodable` if the
    response does not match its class.
    """

    def __init__(self, name: str, requester: Requester, *, field_manager: str) -> None:
        self.name = name
        self._requester = requester
        self._field_manager = field_manager

    def __repr__(self) -> str:
        return f"<Subresource {self.name}>"

    def get(self, obj: ApiObject, cls: type[A]) -> A:
        """Return the subresource of the object with the name of `obj`, as a `cls`."""
        return self._ask("get", obj, cls)

    def create(self, obj: ApiObject, body: A, *, dry_run: bool = False) -> A:
        """Post `body` to the object's subresource; return the response, or `body` if that is only a Status."""
        return self._ask("create", obj, type(body), encode(body), sent=body, dry_run=dry_run)

    def update(self, obj: ApiObject, body: A, *, dry_run: bool = False) -> A:
        """Replace the subresource; `Conflict` if the object changed since `body` was read."""
        return self._ask("update", obj, type(body), encode(body), dry_run=dry_run)

    def patch(
        self, obj: ApiObject, patch: Patch, cls: type[A], *, content_type: str = MERGE_PATCH, dry_run: bool = False
    ) -> A:
        """Patch the subresource; a list of operations is sent as JSON Patch regardless of `content_type`."""
        body, content_type = encode_patch(patch, content_type)
        return self._ask("patch", obj, cls, body, content_type=content_type, dry_run=dry_run)

    def _ask(
        self,
        verb: str,
        obj: ApiObject,
        cls: type[A],
        body: bytes | None = None,
        *,
        sent: A | None = None,
        content_type: str = JSON,
        dry_run: bool = False,
    ) -> A:
        api, name = api_of(type(obj)), object_name(obj)
        check_scope(api, name)
        request = Request(
            verb=verb,
            resource=api.gvr,
            namespace=name.namespace,
            name=name.name,
            subresource=self.name,
            query=EMPTY_MAP if verb == "get" else write_query(field_manager=self._field_manager, dry_run=dry_run),
            body=body,
            content_type=content_type,
        )
        return fetch_object(self._requester, request, codec_for(cls), sent=sent)
