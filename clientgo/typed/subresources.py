"""Subresources with an input and an answer of their own: what the extra methods of generated clients call.

The methods below are for those methods alone, hence their names; each is told the subresource and the classes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from clientgo.meta.codec import codec_for, encode, encode_value
from clientgo.meta.scheme import api_of
from clientgo.rest.request import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH
from clientgo.typed.create import CreateClient
from clientgo.typed.options import write_query

T = TypeVar("T")
R = TypeVar("R")


class SubresourceClient(CreateClient[T]):
    """A client with methods for subresources; stands before the client that has the usual verbs."""

    def _get_from(self, name: str, subresource: str, result: type[R]) -> R:
        return codec_for(result).decode(self._do(self._request("get", name, subresource=subresource)))

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
        """`verb` is create or update."""
        query = write_query(field_manager=field_manager, dry_run=dry_run)
        request = self._request(verb, name, subresource=subresource, query=query, body=encode(body))
        return codec_for(result).decode(self._do(request))

    def _patch_at(
        self,
        name: str,
        subresource: str,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]] | bytes,
        result: type[R],
        *,
        content_type: str = MERGE_PATCH,
        field_manager: str = "",
        dry_run: bool = False,
    ) -> R:
        body = patch if isinstance(patch, bytes) else encode_value(patch)
        request = self._request(
            "patch",
            name,
            subresource=subresource,
            query=write_query(field_manager=field_manager, dry_run=dry_run),
            body=body,
            content_type=content_type if isinstance(patch, bytes | Mapping) else JSON_PATCH,
        )
        return codec_for(result).decode(self._do(request))

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
        """`config` is an object of the class `sent`, or a mapping of what is to be applied of one."""
        api = api_of(sent)
        named = {"apiVersion": api.api_version, "kind": api.kind}
        request = self._request(
            "apply",
            name,
            subresource=subresource,
            query=write_query(field_manager=field_manager, dry_run=dry_run, force=force),
            body=encode_value({**named, **config}) if isinstance(config, Mapping) else encode(config),
            content_type=APPLY_PATCH,
        )
        return codec_for(result).decode(self._do(request))

    def _delete_at(self, name: str, subresource: str) -> None:
        self._do(self._request("delete", name, subresource=subresource, content_type=JSON))
