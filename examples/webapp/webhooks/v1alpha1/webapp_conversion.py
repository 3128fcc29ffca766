"""Conversion of WebApp between v1alpha1 and v1, the hub.

The route of v1alpha1 is the host and the path of v1: a host has no slash, and a path starts with one. So each version
says the same, and nothing is lost on the way there and back.
"""

from clientgo.webhook import Hub

from api.v1 import webapp_types as v1
from api.v1alpha1 import webapp_types as v1alpha1


def to_hub(obj: v1alpha1.WebApp) -> v1.WebApp:
    """Convert to v1, the hub."""
    host, slash, remainder = obj.spec.route.partition("/")
    spec = v1.WebAppSpec(obj.spec.image, obj.spec.instances, obj.spec.port, host, slash + remainder)
    status = v1.WebAppStatus(obj.status.instances, obj.status.selector, obj.status.conditions)
    return v1.WebApp(obj.metadata, spec, status)


def from_hub(hub: v1.WebApp) -> v1alpha1.WebApp:
    """Convert from v1, the hub."""
    route = hub.spec.host + hub.spec.path
    spec = v1alpha1.WebAppSpec(hub.spec.image, hub.spec.replicas, hub.spec.port, route)
    status = v1alpha1.WebAppStatus(hub.status.replicas, hub.status.selector, hub.status.conditions)
    return v1alpha1.WebApp(hub.metadata, spec, status)


def add_to(hub: Hub[v1.WebApp]) -> None:
    """Register this version with the hub."""
    hub.spoke(v1alpha1.WebApp, to_hub=to_hub, from_hub=from_hub)
