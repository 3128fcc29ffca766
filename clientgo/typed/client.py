"""Typed client of one kind: the base class of generated clients.

A client has a requester, a namespace (empty for all namespaces, or a cluster-scoped kind) and the class of its objects,
and no state. All verbs raise `ApiError` for errors of the server, `ConnectionFailed` for errors of the network, and
`Undecodable` for an object that does not fit its class.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from clientgo.meta.codec import ObjectList, encode_value
from clientgo.meta.listwatch import ListOptions
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject
from clientgo.meta.patches.difference import difference, for_object, for_version
from clientgo.meta.patches.overlay import changed
from clientgo.meta.selectors import SelectorLike, selector_text
from clientgo.rest.request import APPLY_PATCH, MERGE_PATCH, Request
from clientgo.typed.create import CreateClient, Patch, metadata_in
from clientgo.typed.options import DeleteOptions, write_query
from clientgo.typed.response import fetch_list, fetch_list_parts, fetch_success, fetch_with_json, kinds_of
from clientgo.typed.watch import DecodedWatch, ObjectWatch, open_watch

T = TypeVar("T")


class TypedClient(CreateClient[T]):
    """A client of one kind, in one namespace or in all."""

    def get(self, name: str, *, resource_version: str = "") -> T:
        """Return the object of that name; raise `NotFound` if it does not exist."""
        query = {"resourceVersion": resource_version} if resource_version else {}
        return self._fetch(self._request("get", name, query=query), self._codec)

    def list(
        self,
        *,
        label_selector: SelectorLike = "",
        field_selector: str = "",
        resource_version: str = "",
        resource_version_match: str = "",
        limit: int = 0,
        continue_: str = "",
        timeout_seconds: int = 0,
    ) -> ObjectList[T]:
        """Return all objects that match, or one page of at most `limit`, within `timeout_seconds` if given."""
        return self.list_page(
            ListOptions(
                label_selector=selector_text(label_selector),
                field_selector=field_selector,
                resource_version=resource_version,
                resource_version_match=resource_version_match,
                limit=limit,
                continue_=continue_,
                timeout_seconds=timeout_seconds,
            )
        )

    @property
    def lists_in_parts(self) -> bool:
        """Return whether `list_parts` reads a list while it arrives."""
        return getattr(self._requester, "lists_in_parts", False) is True

    def list_parts(self, options: ListOptions) -> Iterator[ObjectList[T]]:
        """Yield the list for these options in parts; the last one has its metadata."""
        return fetch_list_parts(self._requester, self._listing("list", options), self._codec)

    def list_page(self, options: ListOptions) -> ObjectList[T]:
        """Return the list, or one page of it, for these options."""
        return fetch_list(self._requester, self._listing("list", options), self._codec)

    def watch(
        self,
        *,
        label_selector: SelectorLike = "",
        field_selector: str = "",
        resource_version: str = "",
        timeout_seconds: int = 0,
    ) -> ObjectWatch[T]:
        """Watch changes since `resource_version`; if it is empty, existing objects and then changes."""
        options = ListOptions(
            label_selector=selector_text(label_selector),
            field_selector=field_selector,
            resource_version=resource_version,
            timeout_seconds=timeout_seconds,
            allow_watch_bookmarks=True,
            watch=True,
        )
        return ObjectWatch(self.watch_from(options))

    def watch_from(self, options: ListOptions) -> DecodedWatch[T]:
        """Open a watch with these options; its events include bookmarks and undecodable objects."""
        request = self._request("watch", query=options.query(), retry_lagging=options.retry_lagging)
        return open_watch(self._requester, request, self._codec)

    def update(self, obj: T, *, field_manager: str = "", subresource: str = "", dry_run: bool = False) -> T:
        """Replace the object of that name; raise `Conflict` if it changed since `obj` was read.

        Of a kind whose class is `partial`, values that the class does not hold stay: the stored object is read first,
        which takes the permission to `get` it.
        """
        body = self._codec.encode(obj)
        query, name = write_query(field_manager=field_manager, dry_run=dry_run), metadata_in(obj, body).name
        request = self._request("update", name, subresource=subresource, query=query, body=body)
        if self._api.partial and subresource in ("", "status") and isinstance(obj, self._codec.cls):
            self._need_namespace(request)
            request = replace(request, body=self._with_stored(obj, name, body))
        return self._fetch(request, self._codec)

    def patch(
        self,
        name: str,
        patch: Patch,
        *,
        content_type: str = MERGE_PATCH,
        field_manager: str = "",
        subresource: str = "",
        dry_run: bool = False,
        force: bool = False,
    ) -> T:
        """Apply a patch: a merge patch (a mapping), a JSON patch (a list of operations), or bytes.

        `content_type` is the media type of a mapping or bytes. `force` applies to server-side apply only.
        """
        query = write_query(field_manager=field_manager, dry_run=dry_run, force=force)
        return self._fetch(self._patching(name, patch, content_type, subresource, query), self._codec)

    def patch_to(
        self, old: T, new: T, *, optimistic_lock: bool = False, field_manager: str = "", dry_run: bool = False
    ) -> T:
        """Send what differs between two states of an object as merge patches; return the object, `old` if nothing does.

        Fields that both have alike stay as they are on the server, also those that the class lacks (client-go's
        `MergeFrom`). A list that differs is sent whole: `optimistic_lock` prevents that it replaces the changes of
        others, but fields of its items that the class lacks are lost. A merge patch cannot set a null: those in changed
        lists or free-form content are lost, too. A status subresource has a patch of its own.

        Raises:
            Conflict: the object changed since `old` was read, with `optimistic_lock`.
            Invalid: another object was created under the name since `old` was read (its uid is immutable).
            ValueError: the names differ, or `optimistic_lock` is set and `old` was not read from the server.
        """
        name, changed_name = object_name(cast(ApiObject, old)), object_name(cast(ApiObject, new))
        if name != changed_name:
            raise ValueError(f"{name} was changed into {changed_name}: the name of an object cannot change")
        done, condition = old, for_version if optimistic_lock else for_object
        for subresource, patch in zip(("", "status"), difference(old, new), strict=True):
            if patch:
                patch = condition(cast(ApiObject, done).metadata, patch)
                done = self.patch(
                    name.name, patch, field_manager=field_manager, subresource=subresource, dry_run=dry_run
                )
        return done

    def apply(
        self,
        obj: T | Mapping[str, Any],
        *,
        field_manager: str,
        subresource: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> T:
        """Set the fields in `obj` by server-side apply; `field_manager` then owns them.

        Raises:
            Conflict: another manager owns one of them, and `force` is not set.
            ValueError: `obj` has no name.
        """
        if isinstance(obj, Mapping):
            body = encode_value({"apiVersion": self._api.api_version, "kind": self._api.kind, **obj})
        else:
            body = self._codec.encode_applied(obj, subresource)
        name = metadata_in(obj, body).name
        if not name:
            raise ValueError(f"{self._api.kind}: metadata.name is required for apply")
        query = write_query(field_manager=field_manager, dry_run=dry_run, force=force)
        return self._fetch(self._patching(name, body, APPLY_PATCH, subresource, query), self._codec)

    def delete(self, name: str, options: DeleteOptions | None = None) -> None:
        """Delete the object of that name; raise `NotFound` if it does not exist. Finalizers may delay the deletion."""
        request = self._request("delete", name, body=options.body() if options is not None else None)
        self._need_namespace(request)
        # The object itself, if finalizers or a grace period delay the deletion.
        fetch_success(self._requester, request, kinds_of(self._codec, success=True))

    def delete_collection(
        self,
        options: DeleteOptions | None = None,
        *,
        label_selector: SelectorLike = "",
        field_selector: str = "",
        timeout_seconds: int = 0,
    ) -> None:
        """Delete all objects that match, within `timeout_seconds` if given."""
        which = ListOptions(
            label_selector=selector_text(label_selector), field_selector=field_selector, timeout_seconds=timeout_seconds
        )
        body = options.body() if options is not None else None
        accepted = kinds_of(self._codec, suffix="List", success=True)
        fetch_success(self._requester, self._listing("deletecollection", which, body), accepted)

    def _with_stored(self, obj: T, name: str, body: bytes) -> bytes:
        """Return the stored object, from which `obj` was read, with the changes in `obj`; else `body`."""
        version = getattr(obj, "metadata").resource_version  # noqa: B009  # every kind has metadata
        if not (name and version) or "get" not in self._api.verbs:
            return body
        before, stored = fetch_with_json(self._requester, self._request("get", name), self._codec)
        if getattr(before, "metadata").resource_version != version:  # noqa: B009
            return body  # the server answers with a conflict
        return encode_value(changed(msgspec.json.decode(stored), before, obj))

    def _listing(self, verb: str, options: ListOptions, body: bytes | None = None) -> Request:
        timeout, retry = float(options.timeout_seconds) or None, options.retry_lagging
        return self._request(verb, query=options.query(), body=body, timeout=timeout, retry_lagging=retry)


class StatusClient(TypedClient[T]):
    """A client of a kind with a status subresource."""

    def update_status(self, obj: T, *, field_manager: str = "", dry_run: bool = False) -> T:
        """Replace only the status; raise `Conflict` if the object changed since `obj` was read."""
        return self.update(obj, field_manager=field_manager, subresource="status", dry_run=dry_run)

    def patch_status(
        self,
        name: str,
        patch: Patch,
        *,
        content_type: str = MERGE_PATCH,
        field_manager: str = "",
        dry_run: bool = False,
    ) -> T:
        """Apply a patch to the status."""
        return self.patch(
            name, patch, content_type=content_type, field_manager=field_manager, subresource="status", dry_run=dry_run
        )

    def apply_status(
        self, obj: T | Mapping[str, Any], *, field_manager: str, force: bool = False, dry_run: bool = False
    ) -> T:
        """Set fields of the status by server-side apply."""
        return self.apply(obj, field_manager=field_manager, subresource="status", force=force, dry_run=dry_run)
