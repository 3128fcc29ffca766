"""Generated API groups, and the kinds in their official API classes."""

import importlib.metadata
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, get_type_hints

from clientgo.codegen.model import STATUS_VERBS
from clientgo.meta.classes.hints import snake
from clientgo.meta.scheme import ALL_VERBS, ApiType, ScaleSubresource, plural_of

OFFICIAL_VERSION = "37.0"
"""Release of the official client that the committed files are generated from."""

GROUPS: dict[str, tuple[str, str]] = {
    "AdmissionregistrationV1Api": ("admissionregistration.k8s.io", "v1"),
    "ApiextensionsV1Api": ("apiextensions.k8s.io", "v1"),
    "AppsV1Api": ("apps", "v1"),
    "AuthenticationV1Api": ("authentication.k8s.io", "v1"),
    "AuthorizationV1Api": ("authorization.k8s.io", "v1"),
    "AutoscalingV1Api": ("autoscaling", "v1"),
    "AutoscalingV2Api": ("autoscaling", "v2"),
    "BatchV1Api": ("batch", "v1"),
    "CertificatesV1Api": ("certificates.k8s.io", "v1"),
    "CoordinationV1Api": ("coordination.k8s.io", "v1"),
    "CoreV1Api": ("", "v1"),
    "DiscoveryV1Api": ("discovery.k8s.io", "v1"),
    "EventsV1Api": ("events.k8s.io", "v1"),
    "NetworkingV1Api": ("networking.k8s.io", "v1"),
    "PolicyV1Api": ("policy", "v1"),
    "RbacAuthorizationV1Api": ("rbac.authorization.k8s.io", "v1"),
    "SchedulingV1Api": ("scheduling.k8s.io", "v1"),
    "StorageV1Api": ("storage.k8s.io", "v1"),
}

_BODIES = {"PolicyV1Api": ("V1Eviction",), "AuthenticationV1Api": ("AuthenticationV1TokenRequest",)}
"""Kinds that are only bodies of subresources: they have a type but no client."""


@dataclass(frozen=True, slots=True)
class OfficialMethod:
    """A client method for a subresource; `body` is the official class it sends and returns (default: the kind)."""

    name: str
    subresource: str
    verb: str = "update"
    body: str = ""


METHODS: dict[tuple[str, str], tuple[OfficialMethod, ...]] = {
    ("", "Namespace"): (OfficialMethod("finalize", "finalize"),),
    ("", "Pod"): (
        OfficialMethod("update_ephemeral_containers", "ephemeralcontainers"),
        OfficialMethod("update_resize", "resize"),
    ),
    ("", "ServiceAccount"): (OfficialMethod("create_token", "token", "create", "AuthenticationV1TokenRequest"),),
    ("certificates.k8s.io", "CertificateSigningRequest"): (OfficialMethod("update_approval", "approval"),),
}
"""Methods for subresources other than status and scale, by group and kind."""

CLIENT_BASES = {("", "Pod"): "clientgo.typed.pods:PodExpansion"}
"""Hand-written base classes of clients, by group and kind."""

_VERBS = {
    "create": ("create",),
    "read": ("get",),
    "list": ("list", "watch"),
    "replace": ("update",),
    "patch": ("patch", "apply"),
    "delete": ("delete",),
    "delete_collection": ("delete_collection",),
}


class OfficialKind(NamedTuple):
    """A kind of a group, and its class in the official client; one that is only a body has no verbs."""

    model: type[Any]
    api: ApiType


def installed_release() -> str:
    """Return the major and minor version of the installed official client."""
    return ".".join(importlib.metadata.version("kubernetes").split(".")[:2])


def kinds_of(api_class: type[Any], models: Any) -> Iterator[OfficialKind]:
    """Yield the kinds of an API class; `models` is the module of the models."""
    group, version = GROUPS[api_class.__name__]
    methods = frozenset(
        name for name in vars(api_class) if not name.endswith(("_http_info", "_without_preload_content"))
    )
    verbs_by_kind = _creatable(api_class, methods)
    bodies = ((plain_name(name), (getattr(models, name), "")) for name in _BODIES.get(api_class.__name__, ()))
    for kind, (model, noun) in (*sorted(verbs_by_kind.items()), *bodies):
        verbs = {verb for method, verbs in _VERBS.items() if f"{method}_{noun}" in methods for verb in verbs}
        status = f"replace_{noun}_status" in methods
        api = ApiType(
            group=group,
            version=version,
            kind=kind,
            plural=plural_of(kind.lower()),
            singular=kind.lower(),
            scope="Cluster" if noun == snake(kind) else "Namespaced",
            status=status,
            scale=ScaleSubresource(".spec.replicas", ".status.replicas")
            if f"replace_{noun}_scale" in methods
            else None,
            verbs=tuple(verb for verb in ALL_VERBS if verb in verbs or (status and verb in STATUS_VERBS)),
        )
        yield OfficialKind(model, api)


def _creatable(api_class: type[Any], methods: frozenset[str]) -> dict[str, tuple[type[Any], str]]:
    """Return model and noun of the kinds with a method `create_<noun>` named after them (no subresource)."""
    creatable = {}
    for method in methods:
        if noun := re.fullmatch(r"create_((?:namespaced_)?(\w+))", method):
            model = get_type_hints(getattr(api_class, method))["return"]
            kind = plain_name(model.__name__)
            if snake(kind) == noun[2].removeprefix("namespaced_"):
                creatable[kind] = (model, noun[1])
    return creatable


def plain_name(official: str) -> str:
    """Remove group and version from a class name: `V1Deployment` to `Deployment`, `CoreV1Event` to `Event`."""
    return re.sub(r"^(?:[A-Z][a-z]+)?V\d+(?:(?:alpha|beta)\d+)?(?=[A-Z])", "", official)
