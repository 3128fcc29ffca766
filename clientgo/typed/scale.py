"""The scale subresource: how many replicas any scalable kind has and should have (autoscaling/v1 Scale)."""

from typing import TypeVar

import msgspec

from clientgo.meta.codec import codec_for
from clientgo.meta.objects import ObjectMeta
from clientgo.meta.scheme import api_type
from clientgo.rest.request import Request
from clientgo.typed.client import StatusClient

T = TypeVar("T")


class ScaleSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is wanted."""

    replicas: int = 0


class ScaleStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is there."""

    replicas: int = 0
    selector: str = ""


@api_type(group="autoscaling", version="v1", plural="scales")
class Scale(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The replica counts of one object, whatever its kind."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ScaleSpec = ScaleSpec()
    status: ScaleStatus = ScaleStatus()


_CODEC = codec_for(Scale)


class ScaleClient(StatusClient[T]):
    """A client of a kind that can be scaled."""

    def get_scale(self, name: str) -> Scale:
        """The replica counts of the object of that name."""
        return _CODEC.decode(self._requester.do(self._scale_request("get", name, None)))

    def update_scale(self, name: str, scale: Scale) -> Scale:
        """Ask for `scale.spec.replicas`; `Conflict` if the object changed since `scale` was read."""
        return _CODEC.decode(self._requester.do(self._scale_request("update", name, _CODEC.encode(scale))))

    def _scale_request(self, verb: str, name: str, body: bytes | None) -> Request:
        return Request(
            verb=verb, resource=self._gvr, namespace=self._namespace, name=name, subresource="scale", body=body
        )
