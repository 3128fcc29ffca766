"""Injection of the CA into webhook configurations and CRDs with conversion (`caBundle`).

Each write contains the resourceVersion it is based on, so that no change of another client is lost; a conflict is
retried.
"""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from clientgo.dynamic.client import DynamicClient, dynamic_client
from clientgo.meta.objects import GroupVersionResource
from clientgo.reconcile.retry import DEFAULT_BACKOFF, retry_on_conflict
from clientgo.rest.request import Requester

_REGISTRATION = "admissionregistration.k8s.io"
MUTATING = GroupVersionResource(_REGISTRATION, "v1", "mutatingwebhookconfigurations")
VALIDATING = GroupVersionResource(_REGISTRATION, "v1", "validatingwebhookconfigurations")
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")

Object = dict[str, Any]

UpdateBundle = Callable[[bytes], bytes]
"""Returns the new bundle (PEM) for the current one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Names of the objects that refer to the webhooks of one server."""

    mutating: tuple[str, ...] = ()
    validating: tuple[str, ...] = ()
    crds: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[tuple[GroupVersionResource, str]]:
        """Yield each name with its resource."""
        for resource, names in ((MUTATING, self.mutating), (VALIDATING, self.validating), (CRDS, self.crds)):
            for name in names:
                yield resource, name


def inject_ca(requester: Requester, targets: Targets, bundle: UpdateBundle) -> None:
    """Set the `caBundle` of each webhook of the targets to the result of `bundle`.

    Raises:
        ApiError: a target does not exist, or may not be read or patched.
    """
    for resource, name in targets:
        retry_on_conflict(partial(_inject, requester, resource, name, bundle), DEFAULT_BACKOFF)


def server_names(requester: Requester, targets: Targets) -> list[str]:
    """Return the host names of the targets' webhooks, for which their certificate must be valid.

    Raises:
        ApiError: a target does not exist, or may not be read.
    """
    names: dict[str, None] = {}
    for resource, name in targets:
        for _, client in _client_configs(_get(requester, resource, name)):
            service = client.get("service") or {}
            host = (
                f"{service.get('name')}.{service.get('namespace')}.svc"
                if service
                else urlsplit(client.get("url") or "").hostname
            )
            if host:
                names[host] = None
    return list(names)


def _inject(requester: Requester, resource: GroupVersionResource, name: str, bundle: UpdateBundle) -> None:
    obj = _get(requester, resource, name)
    patch: list[Object] = []
    for path, client in _client_configs(obj):
        now = _decoded(client.get("caBundle"))
        if (then := bundle(now)) != now:
            patch.append({"op": "add", "path": f"{path}/caBundle", "value": b64encode(then).decode()})
    if patch:
        version = obj["metadata"]["resourceVersion"]
        patch.append({"op": "replace", "path": "/metadata/resourceVersion", "value": version})
        _client(requester, resource).patch(name, patch)


def _get(requester: Requester, resource: GroupVersionResource, name: str) -> Object:
    return _client(requester, resource).get(name).to_dict()


def _client(requester: Requester, resource: GroupVersionResource) -> DynamicClient:
    return dynamic_client(resource, namespaced=False)(requester)


def _client_configs(obj: Object) -> Iterator[tuple[str, Object]]:
    """Yield each `clientConfig` of a webhook configuration or CRD with its path."""
    for index, hook in enumerate(obj.get("webhooks") or ()):
        yield f"/webhooks/{index}/clientConfig", hook.get("clientConfig") or {}
    conversion = (obj.get("spec") or {}).get("conversion") or {}
    client = (conversion.get("webhook") or {}).get("clientConfig")
    if client is not None:
        yield "/spec/conversion/webhook/clientConfig", client


def _decoded(text: str | None) -> bytes:
    try:
        return b64decode(text or "", validate=True)
    except NotBase64:
        return b""  # a placeholder that is not a certificate
