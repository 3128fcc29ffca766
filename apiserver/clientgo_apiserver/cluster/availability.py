"""Availability of API services: the condition `Available` of those that another server is to serve.

This server has no network of services, so such a group is never available; the condition says what is missing first, as
on a cluster whose server cannot be reached. Local API services are available once they are created.
"""

from collections.abc import Iterator

from clientgo_apiserver.api.conditions import condition_of, other_conditions
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import InternalController
from clientgo_apiserver.cluster.endpoints import SERVICE_NAME
from clientgo_apiserver.storage.keys import SERVICES, SLICES
from clientgo_apiserver.storage.stored import Key

API_SERVICES: Key = ("apiregistration.k8s.io", "apiservices")


class AvailabilityController(InternalController):
    """Writes the condition of API services when they, their Services or the endpoints of these change."""

    _sources = (API_SERVICES,)
    _further = (SERVICES, SLICES)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        meta = (new or old or {})["metadata"]
        if key == API_SERVICES and new is not None:
            self._schedule(meta["name"])
        elif key == SERVICES:
            self._schedule_users(meta["namespace"], meta["name"])
        elif key == SLICES:
            self._schedule_users(meta["namespace"], (meta.get("labels") or {}).get(SERVICE_NAME, ""))

    def _schedule_users(self, namespace: str, name: str) -> None:
        for obj in self._store.list(API_SERVICES):
            service = obj["spec"].get("service") or {}
            if (service.get("namespace"), service.get("name")) == (namespace, name):
                self._schedule(obj["metadata"]["name"])

    def _sync(self, *names: str) -> None:
        obj = self._store.get(API_SERVICES, "", *names)
        if obj is None or not obj["spec"].get("service"):
            return
        reason, message = self._missing(obj["spec"])
        condition = {"type": "Available", "status": "False", "reason": reason, "message": message}
        stored = condition_of(obj, "Available")
        if {**stored, **condition} != stored:
            since = stored["lastTransitionTime"] if stored.get("status") == "False" else self._now()
            conditions = [*other_conditions(obj, "Available"), {**condition, "lastTransitionTime": since}]
            self._write_status(API_SERVICES, obj, {"conditions": conditions})

    def _missing(self, spec: Object) -> tuple[str, str]:
        """Return the reason why the server of a group is not available, and the message."""
        reference = spec["service"]
        namespace, name, number = reference["namespace"], reference["name"], reference.get("port") or 443
        service = self._store.get(SERVICES, namespace, name)
        if service is None:
            return "ServiceNotFound", f'service/{name} in "{namespace}" is not present'
        address = service["spec"].get("clusterIP") or name
        if service["spec"].get("type") == "ClusterIP":
            ports = {each["port"]: each.get("name", "") for each in service["spec"].get("ports") or ()}
            if number not in ports:
                return "ServicePortError", f'service/{name} in "{namespace}" is not listening on port {number}'
            slices = [*self._slices(namespace, name)]
            if not slices:
                return "EndpointsNotFound", f'cannot find endpointslices for service/{name} in "{namespace}"'
            if not any(_has_endpoint(each, ports[number]) for each in slices):
                missing = f'have no addresses with port name "{ports[number]}"'
                return "MissingEndpoints", f'endpointslices for service/{name} in "{namespace}" {missing}'
        url = f"https://{address}:{number}/apis/{spec.get('group', '')}/{spec.get('version', '')}"
        reason = "this server has no network of services"
        return "FailedDiscoveryCheck", f"failing or missing response from {url}: {reason}"

    def _slices(self, namespace: str, service: str) -> Iterator[Object]:
        for each in self._store.list(SLICES, namespace):
            if (each["metadata"].get("labels") or {}).get(SERVICE_NAME) == service:
                yield each


def _has_endpoint(endpoint_slice: Object, port: str) -> bool:
    """Return whether a slice has a ready endpoint, and a port of this name."""
    endpoints = endpoint_slice.get("endpoints") or ()
    ports = endpoint_slice.get("ports") or ()
    return any((each.get("conditions") or {}).get("ready") is not False for each in endpoints) and any(
        each.get("name") == port and each.get("port") is not None for each in ports
    )
