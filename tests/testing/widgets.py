"""A custom kind and its client, for fakes."""

from dataclasses import dataclass

from clientgo.meta import ObjectMeta, ScaleSubresource, api_type
from clientgo.typed.client import StatusClient
from clientgo.typed.scale import ScaleClient


@dataclass(frozen=True, slots=True)
class WidgetSpec:
    replicas: int = 0


@dataclass(frozen=True, slots=True)
class WidgetStatus:
    ready: int = 0


@api_type(group="shop.example.com", version="v1", scale=ScaleSubresource(".spec.replicas", ".status.ready"))
@dataclass(frozen=True, slots=True)
class Widget:
    metadata: ObjectMeta
    spec: WidgetSpec = WidgetSpec()
    status: WidgetStatus = WidgetStatus()


class Widgets(ScaleClient[Widget], StatusClient[Widget]):
    kind = Widget


def widget(name: str, namespace: str = "ns", replicas: int = 0, **labels: str) -> Widget:
    return Widget(ObjectMeta(name=name, namespace=namespace, labels=labels), WidgetSpec(replicas))
