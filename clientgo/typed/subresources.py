"""Requests for subresources with their own input and result classes, for additional methods of generated clients."""

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from clientgo.errors import BadRequest
from clientgo.meta.codec import ObjectList, codec_for, encode, encode_value
from clientgo.meta.listwatch import ListOptions
from clientgo.meta.scheme import api_of
from clientgo.meta.typemeta import ANY_OBJECT
from clientgo.rest.request import APPLY_PATCH, JSON, MERGE_PATCH, Request
from clientgo.typed.create import CreateClient, Patch
from clientgo.typed.options import write_query
from clientgo.typed.response import fetch_list, fetch_success
from clientgo.typed.watch import ObjectWatch, open_watch

T = TypeVar("T")
R = TypeVar("R")

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
