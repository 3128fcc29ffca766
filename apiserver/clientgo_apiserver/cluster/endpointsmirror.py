"""EndpointSlices of Endpoints that clients write themselves, for a Service without a selector."""

from collections.abc import Iterable
from typing import Any

from clientgo.internal.hosts import parse_ip
from clientgo.meta.jsonvalues import canonical
from clientgo_apiserver.api.names import without_zeros
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import InternalController, annotation, controller_reference
from clientgo_apiserver.cluster.endpoints import MANAGED_BY, SERVICE_NAME
from clientgo_apiserver.storage.keys import ENDPOINTS, SERVICES, SLICES
from clientgo_apiserver.storage.stored import Key, name_of

_MANAGER = "endpointslicemirroring-controller.k8s.io"
_SKIPPED, _LEADER = "endpointslice.kubernetes.io/skip-mirror", "control-plane.alpha.kubernetes.io/leader"
_OWN_ANNOTATIONS = (
    "endpoints.kubernetes.io/last-change-trigger-time",
    "kubectl.kubernetes.io/last-applied-configuration",
)
_MAX_ADDRESSES = 1000  # of a subset
Slices = dict[tuple[str, bytes], Object]
"""Slices to be, by the family of their addresses and by their ports."""


class EndpointsMirror(InternalController):
    """Keeps a slice for each family of addresses and set of ports of mirrored Endpoints."""

    _service_account = "endpointslicemirroring-controller"
    _sources = (ENDPOINTS,)
    _further = (SERVICES,)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key in (ENDPOINTS, SERVICES):
            self._schedule(*name_of(new or old or {}))

    def _sync(self, *names: str) -> None:
        namespace, name = names
        service, endpoints = self._store.get(SERVICES, namespace, name), self._store.get(ENDPOINTS, namespace, name)
        is_mirrored = service is not None and "selector" not in service["spec"] and endpoints is not None
        missing = _slices(endpoints) if is_mirrored and endpoints is not None else {}
        label = {SERVICE_NAME: name, MANAGED_BY: _MANAGER}
        for stored in self._store.list(SLICES, namespace):
            if not label.items() <= (stored["metadata"].get("labels") or {}).items():
                continue
            target = missing.pop((stored["addressType"], canonical(stored.get("ports") or [])), None)
            if target is None:
                self._internal.delete(SLICES, *name_of(stored), uid=stored["metadata"]["uid"])
            else:
                self._update(stored, target)
        for target in missing.values():
            self._internal.create(SLICES, namespace, target)

    def _update(self, stored: Object, target: Object) -> None:
        changes: Object = {}
        for field in ("labels", "annotations"):
            present, expected = (each["metadata"].get(field) or {} for each in (stored, target))
            if present != expected:
                changes.setdefault("metadata", {})[field] = {**dict.fromkeys(present), **expected}
        if (stored.get("endpoints") or []) != target["endpoints"]:
            changes["endpoints"] = target["endpoints"]
        if changes:
            self._internal.patch(SLICES, *name_of(stored), changes)


def _slices(endpoints: Object) -> Slices:
    """Return the slices of Endpoints; none of those that are not to be mirrored."""
    meta = endpoints["metadata"]
    labels = meta.get("labels") or {}
    if labels.get(_SKIPPED, "").lower() == "true" or annotation(endpoints, _LEADER):
        return {}
    annotations = {
        name: value for name, value in (meta.get("annotations") or {}).items() if name not in _OWN_ANNOTATIONS
    }
    owned: Object = {
        "generateName": f"{meta['name']}-",
        "namespace": meta["namespace"],
        "labels": {**labels, SERVICE_NAME: meta["name"], MANAGED_BY: _MANAGER},
        "ownerReferences": [controller_reference(endpoints)],
        **({"annotations": annotations} if annotations else {}),
    }
    slices: Slices = {}
    for subset in endpoints.get("subsets") or ():
        ports = [_port(port) for port in subset.get("ports") or ()]
        for family, endpoint in _endpoints(subset):
            head = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": owned}
            empty = {**head, "addressType": family, "endpoints": [], "ports": ports}
            slices.setdefault((family, canonical(ports)), empty)["endpoints"].append(endpoint)
    return slices


def _endpoints(subset: Object) -> Iterable[tuple[str, Object]]:
    """Yield the family and the endpoint of each address."""
    states = (("addresses", True), ("notReadyAddresses", False))
    addresses = [(address, ready) for field, ready in states for address in subset.get(field) or ()]
    for address, ready in addresses[:_MAX_ADDRESSES]:
        parsed = parse_ip(without_zeros(address["ip"]))
        if parsed is None:
            continue
        details = {field: address[field] for field in ("hostname", "nodeName", "targetRef") if field in address}
        yield f"IPv{parsed.version}", {"addresses": [str(parsed)], "conditions": {"ready": ready}, **details}


def _port(port: Object) -> dict[str, Any]:
    protocol = {"appProtocol": port["appProtocol"]} if "appProtocol" in port else {}
    return {"name": port.get("name", ""), "port": port["port"], "protocol": port.get("protocol", "TCP"), **protocol}
