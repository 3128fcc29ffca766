"""Kinds for tests, and their clients."""

from dataclasses import dataclass
from typing import Any

from clientgo.meta import ObjectMeta, ScaleSubresource, api_type
from clientgo.typed import CreateClient, ScaleClient, TypedClient


@dataclass(frozen=True, slots=True)
class GadgetSpec:
    replicas: int = 0
    color: str = ""


@dataclass(frozen=True, slots=True)
class GadgetStatus:
    ready: int = 0


@api_type(group="shop.example.com", version="v1", scale=ScaleSubresource(".spec.replicas", ".status.ready"))
@dataclass(frozen=True, slots=True)
class Gadget:
    metadata: ObjectMeta
    spec: GadgetSpec = GadgetSpec()
    status: GadgetStatus = GadgetStatus()


@api_type(group="", version="v1", scope="Cluster", status=False)
@dataclass(frozen=True, slots=True)
class Realm:
    metadata: ObjectMeta


class Gadgets(ScaleClient[Gadget]):
    kind = Gadget


class Realms(TypedClient[Realm]):
    kind = Realm


class GadgetReviews(CreateClient[Gadget]):
    kind = Gadget


def gadget(name: str = "g", *, replicas: int = 0) -> Gadget:
    return Gadget(ObjectMeta(name=name, namespace="ns"), GadgetSpec(replicas))


WIRE = {
    "apiVersion": "shop.example.com/v1",
    "kind": "Gadget",
    "metadata": {"name": "g", "namespace": "ns", "resourceVersion": "7"},
    "spec": {"replicas": 3, "color": "red"},
    "status": {"ready": 2},
}
"""A Gadget as a server sends it."""

SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
"""The response to most deletions."""


def page(*items: Any, kind: str = "Gadget", **metadata: str) -> dict[str, Any]:
    """Return a list as a server sends it."""
    return {"kind": f"{kind}List", "metadata": metadata, "items": items}
