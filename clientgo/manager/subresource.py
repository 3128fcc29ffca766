"""Parts of an object that have a path of their own, whatever class they are sent and answered in.

client.subresource("eviction").create(pod, Eviction(metadata=pod.metadata))
scale = client.subresource("scale").get(deployment, Scale)
client.subresource("scale").update(deployment, replace(scale, spec=ScaleSpec(replicas=3)))
"""

from typing import TypeVar

from clientgo.manager.kinds import check_scope
from clientgo.meta.codec import codec_for, encode, encode_value
from clientgo.meta.names import object_name
from clientgo.meta.objects import EMPTY_MAP, ApiObject
from clientgo.meta.scheme import api_of
from clientgo.rest.request import JSON, JSON_PATCH, MERGE_PATCH, Request, Requester
from clientgo.typed.client import Patch
from clientgo.typed.options import write_query

R = TypeVar("R", bound=ApiObject)


class Subresource:
    """One subresource of whatever kinds have it. What is written here no cached read shows before the cache does.

    Each method raises `ApiError`, `ConnectionFailed`, and, but for `get`, `LeaseNotHeld`; `Undecodable` for an answer
    that its class can't hold.
    """

    def __init__(self, name: str, requester: Requester, *, field_manager: str) -> None:
        self.name = name
        self._requester = requester
        self._field_manager = field_manager

    def __repr__(self) -> str:
        return f"<Subresource {self.name}>"

    def get(self, obj: ApiObject, cls: type[R]) -> R:
        """The subresource of the object that is called as `obj` is, as a `cls`."""
        return self._ask("get", obj, cls)

    def create(self, obj: ApiObject, body: R, *, dry_run: bool = False) -> R:
        """Have `body` done to the object; what is answered must be of the class of `body`."""
        return self._ask("create", obj, type(body), encode(body), dry_run=dry_run)

    def update(self, obj: ApiObject, body: R, *, dry_run: bool = False) -> R:
        """Replace the subresource; `Conflict` if the object changed since `body` was read."""
        return self._ask("update", obj, type(body), encode(body), dry_run=dry_run)

    def patch(
        self, obj: ApiObject, patch: Patch, cls: type[R], *, content_type: str = MERGE_PATCH, dry_run: bool = False
    ) -> R:
        """Change what `patch` names of it; a list of operations is a JSON patch, whatever `content_type` says."""
        body = patch if isinstance(patch, bytes) else encode_value(patch)
        kind = JSON_PATCH if isinstance(patch, list | tuple) else content_type
        return self._ask("patch", obj, cls, body, content_type=kind, dry_run=dry_run)

    def _ask(
        self,
        verb: str,
        obj: ApiObject,
        cls: type[R],
        body: bytes | None = None,
        *,
        content_type: str = JSON,
        dry_run: bool = False,
    ) -> R:
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
        return codec_for(cls).decode(self._requester.do(request))
