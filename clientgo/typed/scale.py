"""The scale subresource: actual and desired replicas of a scalable kind (autoscaling/v1 Scale)."""

from typing import TypeVar

import msgspec

from clientgo.meta.codec import codec_for
from clientgo.meta.objects import ObjectMeta
from clientgo.meta.scheme import api_type
from clientgo.rest.request import MERGE_PATCH
from clientgo.typed.client import StatusClient
from clientgo.typed.create import Patch
from clientgo.typed.options import write_query

T = TypeVar("T")


class ScaleSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The desired replicas."""

    replicas: int = 0


class ScaleStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The actual replicas."""

    replicas: int = 0
    selector: str = ""


@api_type(group="autoscaling", version="v1", plural="scales")
class Scale(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The replica counts of an object of any kind."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ScaleSpec = ScaleSpec()
    status: ScaleStatus = ScaleStatus()


_CODEC = codec_for(Scale)


class ScaleClient(StatusClient[T]):
    """A client of a kind with a scale subresource."""

    def get_scale(self, name: str) -> Scale:
        """Return the replica counts of the object of that name."""
        return self._fetch(self._request("get", name, subresource="scale"), _CODEC)

    def update_scale(self, name: str, scale: Scale, *, field_manager: str = "", dry_run: bool = False) -> Scale:
        """Set the desired replicas; raise `Conflict` if the object changed since `scale` was read."""
        query = write_query(field_manager=field_manager, dry_run=dry_run)
        body = _CODEC.encode(scale)
        return self._fetch(self._request("update", name, subresource="scale", query=query, body=body), _CODEC)

    def patch_scale(
        self,
        name: str,
        patch: Patch,
        *,
        content_type: str = MERGE_PATCH,
        field_manager: str = "",
        dry_run: bool = False,
    ) -> Scale:
        """Apply a patch to the replica counts: `{"spec": {"replicas": 3}}`."""
        query = write_query(field_manager=field_manager, dry_run=dry_run)
        return self._fetch(self._patching(name, patch, content_type, "scale", query), _CODEC)
