"""Generated API groups, and the kinds in their official API classes."""

import importlib.metadata
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_type_hints

from clientgo.codegen.names import snake

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

EXPANSIONS = {("", "Pod"): "clientgo.typed.pods:PodExpansion"}
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
_STATUS_VERBS = ("update_status", "patch_status", "apply_status")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialKind:
    """A kind of a group; `model` is its class in the official client."""

    model: type[Any]
    group: str
    version: str
    namespaced: bool
    status: bool
    scale: bool
    verbs: frozenset[str]
    """Client verbs; empty for a kind that is only a body."""


def installed_release() -> str:
    """Return the major and minor version of the installed official client."""
    return ".".join(importlib.metadata.version("kubernetes").split(".")[:2])


def kinds_of(api_class: type[Any], models: Any) -> Iterator[OfficialKind]:
    """Yield the kinds of an API class; `models` is the module of the models."""
    group, version = GROUPS[api_class.__name__]
    methods = frozenset(
        name for name in vars(api_class) if not name.endswith(("_http_info", "_without_preload_content"))
    )
    found = dict(_creatable(api_class, methods))
    for kind, (model, noun) in sorted(found.items()):
        verbs = {verb for method, verbs in _VERBS.items() if f"{method}_{noun}" in methods for verb in verbs}
        status = f"replace_{noun}_status" in methods
        yield OfficialKind(
            model=model,
            group=group,
            version=version,
            namespaced=noun != snake(kind),
            status=status,
            scale=f"replace_{noun}_scale" in methods,
            verbs=frozenset(verbs.union(_STATUS_VERBS if status else ())),
        )
    for name in _BODIES.get(api_class.__name__, ()):
        yield OfficialKind(
            model=getattr(models, name),
            group=group,
            version=version,
            namespaced=True,
            status=False,
            scale=False,
            verbs=frozenset(),
        )


def _creatable(api_class: type[Any], methods: frozenset[str]) -> Iterator[tuple[str, tuple[type[Any], str]]]:
    # Kinds can be created by their name; create_namespaced_pod_eviction is a subresource.
    for method in methods:
        found = re.fullmatch(r"create_((?:namespaced_)?(\w+))", method)
        if found:
            model = get_type_hints(getattr(api_class, method))["return"]
            kind = plain_name(model.__name__)
            if snake(kind) == found[2].removeprefix("namespaced_"):
                yield kind, (model, found[1])


def plain_name(official: str) -> str:
    """Remove group and version from a class name: `V1Deployment` to `Deployment`, `CoreV1Event` to `Event`."""
    return re.sub(r"^(?:[A-Z][a-z]+)?V\d+(?:(?:alpha|beta)\d+)?(?=[A-Z])", "", official)
