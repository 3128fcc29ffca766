"""EndpointSlices and Endpoints of Services with a selector: the addresses of their pods."""

import ipaddress
from typing import Any

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import InternalController, annotation, controller_reference, is_deleting
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.podcontrol import FINISHED, is_ready, phase_of
from clientgo_apiserver.cluster.selectorindex import SelectorIndex
from clientgo_apiserver.storage.keys import ENDPOINTS, NODES, PODS, SERVICES, SLICES
from clientgo_apiserver.storage.stored import Key, Name, name_of

MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
SERVICE_NAME = "kubernetes.io/service-name"
"""Labels of EndpointSlices: their controller, and their Service."""

_MANAGER = "endpointslice-controller.k8s.io"
_ENDPOINTS_LABEL = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
_MAX_ENDPOINTS = 100  # kube-controller-manager's --max-endpoints-per-slice
_MAX_ADDRESSES = 1000  # of Endpoints
_HEADLESS = "service.kubernetes.io/headless"
_CAPACITY = "endpoints.kubernetes.io/over-capacity"
_PAUSE_SECONDS = 0.001  # between the syncs of a Service, for each pod, because all are looked at


class EndpointsController(InternalController):
    """Keeps the slices and the Endpoints of every Service that selects pods."""

    _service_account = "endpoint-controller"
    _sources = (SERVICES,)
    _further = (PODS,)

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._selectors = SelectorIndex()
        self._sizes: dict[Name, int] = {}  # pods that a Service selected last
        self._delayed: set[Name] = set()

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == SERVICES:
            name = name_of(new or old or {})
            self._schedule(*name)
            if new is not None and new["spec"].get("selector"):
                self._selectors.add(name, {"matchLabels": new["spec"]["selector"]})
            else:
                self._selectors.discard(name)
        elif key == PODS and self._selectors and _offered(old) != _offered(new):
            for pod in (old, new):
                self._follow(pod)

    def _follow(self, pod: Object | None) -> None:
        """Sync the Services of a pod: soon, or, those of many pods, less often."""
        if pod is None:
            return
        for name in self._selectors.candidates(pod["metadata"]["namespace"], pod["metadata"].get("labels") or {}):
            service = self._store.get(SERVICES, *name)
            if service is None or not _selects(service, pod):
                continue
            size = self._sizes.get(name, 0)
            if size <= _MAX_ENDPOINTS:
                self._schedule(*name, rank=1)
            elif name not in self._delayed:
                self._delayed.add(name)
                self._later(size * _PAUSE_SECONDS, self._resume, name)

    def _resume(self, name: Name) -> None:
        self._delayed.discard(name)
        self._schedule(*name)

    def _sync(self, *names: str) -> None:
        namespace, name = names
        service = self._store.get(SERVICES, namespace, name)
        if service is None:
            self._sizes.pop((namespace, name), None)
            if (stored := self._store.get(ENDPOINTS, namespace, name)) is not None:
                self._internal.delete(ENDPOINTS, namespace, name, uid=stored["metadata"]["uid"])
            return  # the slices are deleted by the garbage collector
        if not service["spec"].get("selector") or is_deleting(service):
            return
        pods = [
            pod
            for pod in self._store.list(PODS, namespace)
            if _selects(service, pod) and phase_of(pod) not in FINISHED and _has_place(pod)
        ]
        self._sizes[namespace, name] = len(pods)
        self._write_slices(service, pods)
        self._write_endpoints(service, [pod for pod in pods if not is_deleting(pod)])

    def _write_slices(self, service: Object, pods: list[Object]) -> None:
        namespace, name = name_of(service)
        label = {SERVICE_NAME: name}
        stored = [
            each
            for each in self._store.list(SLICES, namespace)
            if label.items() <= (each["metadata"].get("labels") or {}).items()
            and (each["metadata"].get("labels") or {}).get(MANAGED_BY) == _MANAGER
        ]
        groups = [pods[start : start + _MAX_ENDPOINTS] for start in range(0, len(pods), _MAX_ENDPOINTS)] or [[]]
        ports = _ports(service, pods) if pods else []
        labels = _labels(service, {**label, MANAGED_BY: _MANAGER})
        for number, group in enumerate(groups):
            endpoints = [self._endpoint(service, pod) for pod in group]
            if number < len(stored):
                current = self._labelled(SLICES, stored[number], labels)
                if (current.get("endpoints") or [], current.get("ports") or []) != (endpoints, ports):
                    self._replace(SLICES, current, {"endpoints": endpoints, "ports": ports})
                continue
            meta = {
                "generateName": f"{name}-",
                "namespace": namespace,
                "labels": labels,
                "ownerReferences": [controller_reference(service)],
            }
            endpoint_slice = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": meta}
            content = {"endpoints": endpoints, "ports": ports}
            created = {**endpoint_slice, "addressType": _family(service), **content}
            self._internal.create(SLICES, namespace, created)
        for surplus in stored[len(groups) :]:
            self._internal.delete(SLICES, *name_of(surplus), uid=surplus["metadata"]["uid"])

    def _endpoint(self, service: Object, pod: Object) -> Object:
        leaving = is_deleting(pod)
        serving = is_ready(pod)
        published = bool(service["spec"].get("publishNotReadyAddresses"))
        ready = published or (serving and not leaving)
        node = self._store.get(NODES, "", pod["spec"].get("nodeName", "")) or {}
        zone = ((node.get("metadata") or {}).get("labels") or {}).get("topology.kubernetes.io/zone")
        return {
            "addresses": [pod["status"]["podIP"]],
            "conditions": {"ready": ready, "serving": serving, "terminating": leaving},
            **_location(service, pod),
            "targetRef": _target(pod),
            **({"zone": zone} if zone else {}),
        }

    def _write_endpoints(self, service: Object, pods: list[Object]) -> None:
        namespace, name = name_of(service)
        published = bool(service["spec"].get("publishNotReadyAddresses"))
        is_truncated = len(pods) > _MAX_ADDRESSES
        if is_truncated:  # ready pods first, as upstream
            pods = sorted(pods, key=lambda pod: not is_ready(pod))[:_MAX_ADDRESSES]
        addresses = [
            (
                published or is_ready(pod),
                {"ip": pod["status"]["podIP"], **_location(service, pod), "targetRef": _target(pod)},
            )
            for pod in pods
        ]
        subset: dict[str, Any] = {
            "addresses": [address for ready, address in addresses if ready],
            "notReadyAddresses": [address for ready, address in addresses if not ready],
            "ports": [{name: value for name, value in port.items() if value} for port in _ports(service, pods)],
        }
        subsets = [{field: value for field, value in subset.items() if value}] if addresses else []
        stored, labels = self._store.get(ENDPOINTS, namespace, name), _labels(service, _ENDPOINTS_LABEL)
        stored = stored and self._labelled(ENDPOINTS, stored, labels)
        if stored is None:
            meta = {"name": name, "namespace": namespace, "labels": labels}
            endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": subsets}
            self._internal.create(ENDPOINTS, namespace, endpoints)
        elif (stored.get("subsets") or []) != subsets:
            if annotation(stored, _CAPACITY) != ("truncated" if is_truncated else ""):
                capacity = {"annotations": {_CAPACITY: "truncated" if is_truncated else None}}
                stored = self._internal.patch(ENDPOINTS, namespace, name, {"metadata": capacity})
            self._replace(ENDPOINTS, stored, {"subsets": subsets})

    def _labelled(self, key: Key, stored: Object, labels: dict[str, str]) -> Object:
        """Return a stored object with these labels, which are those of its Service."""
        present = stored["metadata"].get("labels") or {}
        if present == labels:
            return stored
        changes = {**dict.fromkeys(present), **labels}
        return self._internal.patch(key, *name_of(stored), {"metadata": {"labels": changes}})

    def _replace(self, key: Key, stored: Object, fields: dict[str, list[Any]]) -> None:
        """Replace lists of an object. Those of many addresses are stored as they are: to check them takes long."""
        name = name_of(stored)
        if all(bool(stored.get(field)) == bool(value) for field, value in fields.items()):
            self._store.put(key, {**stored, **fields})  # the owners of the fields stay the same
        else:
            absent: list[Any] | None = None if key == ENDPOINTS else []
            self._internal.patch(key, *name, {field: value or absent for field, value in fields.items()})


def _selects(service: Object, pod: Object) -> bool:
    selector = service["spec"].get("selector") or {}
    return bool(selector) and selector.items() <= (pod["metadata"].get("labels") or {}).items()


def _labels(service: Object, reserved: dict[str, str]) -> dict[str, str]:
    """Return the labels of what describes a Service: its own, and those of the controller."""
    labels = {name: value for name, value in (service["metadata"].get("labels") or {}).items() if name != _HEADLESS}
    headless = {_HEADLESS: ""} if service["spec"].get("clusterIP") in (None, "", "None") else {}
    return {**labels, **headless, **reserved}


def _location(service: Object, pod: Object) -> Object:
    """Return the host name of a pod within the Service's domain, and its node."""
    spec = pod["spec"]
    is_named = spec.get("hostname") and spec.get("subdomain") == service["metadata"]["name"]
    return {**({"hostname": spec["hostname"]} if is_named else {}), "nodeName": spec["nodeName"]}


def _has_place(pod: Object) -> bool:
    """Return whether a pod has an address and a node."""
    return bool((pod.get("status") or {}).get("podIP") and pod["spec"].get("nodeName"))


def _target(pod: Object) -> Object:
    meta = pod["metadata"]
    return {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}


def _ports(service: Object, pods: list[Object]) -> list[Object]:
    ports = []
    for port in service["spec"].get("ports") or ():
        target = port.get("targetPort", port["port"])
        number = target if isinstance(target, int) else _named_port(pods, target)
        if number is not None:
            protocol = {"appProtocol": port["appProtocol"]} if port.get("appProtocol") else {}
            name = port.get("name") or ""
            ports.append({"name": name, "port": number, "protocol": port.get("protocol", "TCP"), **protocol})
    return ports


def _named_port(pods: list[Object], name: str) -> int | None:
    declared = (port for pod in pods for each in pod["spec"]["containers"] for port in each.get("ports") or ())
    return next((port["containerPort"] for port in declared if port.get("name") == name), None)


def _family(service: Object) -> str:
    address = service["spec"].get("clusterIP") or ""
    is_v6 = address not in ("", "None") and ipaddress.ip_address(address).version == 6
    return "IPv6" if is_v6 else "IPv4"


def _offered(pod: Object | None) -> tuple[object, ...]:
    """Return what a Service shows of a pod."""
    if pod is None:
        return ()
    return (
        pod["metadata"].get("labels"),
        (pod.get("status") or {}).get("podIP"),
        is_ready(pod),
        is_deleting(pod),
        phase_of(pod),
    )
