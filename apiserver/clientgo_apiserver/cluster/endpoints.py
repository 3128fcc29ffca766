"""EndpointSlices and Endpoints of Services with a selector: the addresses of their pods."""

import ipaddress
from collections.abc import Iterable
from typing import Any

from clientgo_apiserver.cluster.podcontrol import FINISHED, PODS, is_ready, phase_of
from clientgo_apiserver.controllers.base import InternalController, controller_reference, is_deleting
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.stored import Key, name_of

SERVICES: Key = ("", "services")
ENDPOINTS: Key = ("", "endpoints")
SLICES: Key = ("discovery.k8s.io", "endpointslices")
_MANAGER = "endpointslice-controller.k8s.io"
_MAX_ENDPOINTS = 100  # kube-controller-manager's --max-endpoints-per-slice


class EndpointsController(InternalController):
    """Keeps the slices and the Endpoints of every Service that selects pods."""

    _sources = (SERVICES,)

    def _watched(self) -> Iterable[Key] | None:
        return (SERVICES, PODS)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == SERVICES:
            self._schedule(*name_of(new or old or {}))
        elif key == PODS and _offered(old) != _offered(new):
            namespace = (new or old or {})["metadata"]["namespace"]
            for service in self._store.list(SERVICES, namespace):
                if any(pod is not None and _selects(service, pod) for pod in (old, new)):
                    self._schedule(*name_of(service))

    def _sync(self, *names: str) -> None:
        namespace, name = names
        service = self._store.get(SERVICES, namespace, name)
        if service is None:
            if (stored := self._store.get(ENDPOINTS, namespace, name)) is not None:
                self._internal.delete(ENDPOINTS, namespace, name, uid=stored["metadata"]["uid"])
            return  # the slices are deleted by the garbage collector
        if not service["spec"].get("selector") or is_deleting(service):
            return
        pods = [
            pod
            for pod in self._store.list(PODS, namespace)
            if _selects(service, pod) and phase_of(pod) not in FINISHED and (pod.get("status") or {}).get("podIP")
        ]
        self._write_slices(service, pods)
        self._write_endpoints(service, [pod for pod in pods if not is_deleting(pod)])

    def _write_slices(self, service: Object, pods: list[Object]) -> None:
        namespace, name = name_of(service)
        label = {"kubernetes.io/service-name": name}
        stored = [
            each
            for each in self._store.list(SLICES, namespace)
            if label.items() <= (each["metadata"].get("labels") or {}).items()
            and (each["metadata"].get("labels") or {}).get("endpointslice.kubernetes.io/managed-by") == _MANAGER
        ]
        groups = [pods[start : start + _MAX_ENDPOINTS] for start in range(0, len(pods), _MAX_ENDPOINTS)] or [[]]
        ports = _ports(service, pods)
        for number, group in enumerate(groups):
            endpoints = [self._endpoint(service, pod) for pod in group]
            if number < len(stored):
                current = stored[number]
                if (current.get("endpoints") or [], current.get("ports") or []) != (endpoints, ports):
                    patch = {"endpoints": endpoints, "ports": ports}
                    self._internal.patch(SLICES, *name_of(current), patch)
                continue
            labels = {**label, "endpointslice.kubernetes.io/managed-by": _MANAGER}
            meta = {
                "generateName": f"{name}-",
                "namespace": namespace,
                "labels": {**(service["metadata"].get("labels") or {}), **labels},
                "ownerReferences": [controller_reference(service)],
            }
            endpoint_slice = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": meta}
            content = {"addressType": _family(service), "endpoints": endpoints, "ports": ports}
            self._internal.create(SLICES, namespace, {**endpoint_slice, **content})
        for surplus in stored[len(groups) :]:
            self._internal.delete(SLICES, *name_of(surplus), uid=surplus["metadata"]["uid"])

    def _endpoint(self, service: Object, pod: Object) -> Object:
        leaving = is_deleting(pod)
        serving = is_ready(pod)
        published = bool(service["spec"].get("publishNotReadyAddresses"))
        ready = published or (serving and not leaving)
        node = self._store.get(("", "nodes"), "", pod["spec"].get("nodeName", "")) or {}
        zone = ((node.get("metadata") or {}).get("labels") or {}).get("topology.kubernetes.io/zone")
        return {
            "addresses": [pod["status"]["podIP"]],
            "conditions": {"ready": ready, "serving": serving, "terminating": leaving},
            "nodeName": pod["spec"]["nodeName"],
            "targetRef": _target(pod),
            **({"zone": zone} if zone else {}),
        }

    def _write_endpoints(self, service: Object, pods: list[Object]) -> None:
        namespace, name = name_of(service)
        published = bool(service["spec"].get("publishNotReadyAddresses"))
        addresses = [
            (
                published or is_ready(pod),
                {"ip": pod["status"]["podIP"], "nodeName": pod["spec"]["nodeName"], "targetRef": _target(pod)},
            )
            for pod in pods
        ]
        subset: dict[str, Any] = {
            "addresses": [address for ready, address in addresses if ready],
            "notReadyAddresses": [address for ready, address in addresses if not ready],
            "ports": _ports(service, pods),
        }
        subsets = [{field: value for field, value in subset.items() if value}] if addresses else []
        stored = self._store.get(ENDPOINTS, namespace, name)
        if stored is None:
            meta = {"name": name, "namespace": namespace, "labels": service["metadata"].get("labels") or {}}
            endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": subsets}
            self._internal.create(ENDPOINTS, namespace, endpoints)
        elif (stored.get("subsets") or []) != subsets:
            self._internal.patch(ENDPOINTS, namespace, name, {"subsets": subsets or None})


def _selects(service: Object, pod: Object) -> bool:
    selector = service["spec"].get("selector") or {}
    return bool(selector) and selector.items() <= (pod["metadata"].get("labels") or {}).items()


def _target(pod: Object) -> Object:
    meta = pod["metadata"]
    return {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}


def _ports(service: Object, pods: list[Object]) -> list[Object]:
    ports = []
    for port in service["spec"].get("ports") or ():
        target = port.get("targetPort", port["port"])
        number = target if isinstance(target, int) else _named_port(pods, target)
        if number is not None:
            named = {"name": port["name"]} if port.get("name") else {"name": ""}
            ports.append({**named, "port": number, "protocol": port.get("protocol", "TCP")})
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
