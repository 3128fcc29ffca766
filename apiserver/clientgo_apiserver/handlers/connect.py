"""Subresources that connect to a pod, service or node: log, exec, attach, portforward and proxy.

No node and no pod can be reached from this server. Of simulated pods, logs are answered with the text of their
annotation `simulation.clientgo.dev/logs`, exec and attach by `containers`, portforward by `forwarding`. Any other
request fails as on a real server whose network is down, and before that for the same reasons as on a real server: an
unknown container, a pod without a node, no endpoints.
"""

from typing import Any

from clientgo.internal.hosts import parse_ip
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure, bad_request, forbidden_field, invalid, invalid_value, not_found
from clientgo_apiserver.handlers import containers
from clientgo_apiserver.handlers.forwarding import forward, read_ports
from clientgo_apiserver.handlers.reading import get
from clientgo_apiserver.http.messages import HTTPRequest, HTTPResponse
from clientgo_apiserver.http.options import read_number
from clientgo_apiserver.http.upgrades import Upgrade, reject_spdy
from clientgo_apiserver.printers.values import dig
from clientgo_apiserver.releases.release import current
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import ENDPOINTS, NODES

CONNECTED = ("attach", "exec", "portforward", "proxy")
"""Names of the subresources whose responses are of any type."""

LOGS = "simulation.clientgo.dev/logs"
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_ADDRESS_TYPES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")  # in order of preference
_KUBELET_PORT = 10250
# Smallest values of options of logs, and the error of smaller ones.
_LOG_OPTIONS = {
    "tailLines": (0, "must be greater than or equal to 0"),
    "limitBytes": (1, "must be greater than 0"),
    "sinceSeconds": (1, "must be greater than 0"),
}


def connect(
    state: State, resource: Resource, target: tuple[str, str, str], request: HTTPRequest
) -> HTTPResponse | Upgrade:
    """Answer a request to the subresource `target` (namespace, name and subresource)."""
    namespace, name, part = target
    if part != "log" and "dryRun" in request.query:
        raise bad_request("dryRun is not supported")
    if part == "proxy":
        raise _proxy_failure(state, resource, namespace, name)
    if part == "log":
        _check_log_options(request, name)
    if part == "portforward":
        read_ports(request)
    pod = get(state, resource, namespace, name).object
    container = "" if part == "portforward" else _container(pod, request.query.get("container", ""))
    node = dig(pod, "spec", "nodeName")
    if not node:
        if part == "log":
            return HTTPResponse(204)
        raise bad_request(f"pod {name} does not have a host assigned")
    kubelet = _kubelet(state, resource, node)
    if state.simulated:
        return _log(pod, request) if part == "log" else _run(state, pod, container, request, part)
    if part == "log":
        url = f"https://{kubelet}/containerLogs/{namespace}/{name}/{container}"
        raise ApiFailure(500, "", f'Get "{url}": {_refused(kubelet)}')
    if "upgrade" not in request.headers:
        raise bad_request("Upgrade request required")
    raise ApiFailure(500, "", f"error dialing backend: {_refused(kubelet)}")


def _run(state: State, pod: Object, container: str, request: HTTPRequest, part: str) -> Upgrade:
    """Return the upgrade to a program of a simulated container (400, 404)."""
    if dig(pod, "status", "phase") != "Running":
        raise ApiFailure(404, "NotFound", f'unable to upgrade connection: container not found ("{container}")')
    reject_spdy(request)
    if part == "portforward":
        return forward(pod, request)
    if part == "exec":
        return containers.execute(state, pod, container, request)
    return containers.attach(state, request, _log_of(pod))


def _log(pod: Object, request: HTTPRequest) -> HTTPResponse:
    """Return the log of a simulated container: the text of the pod's annotation."""
    lines = _log_of(pod).splitlines(keepends=True)
    if "tailLines" in request.query:
        lines = lines[max(0, len(lines) - read_number(request.query, "tailLines")) :]
    limit = read_number(request.query, "limitBytes")
    body = "".join(lines).encode()[: limit or None]
    return HTTPResponse(200, body, content_type="text/plain")


def _log_of(pod: Object) -> str:
    return str(dig(pod, "metadata", "annotations", LOGS) or "")


def _check_log_options(request: HTTPRequest, name: str) -> None:
    """Check the options of a log (400, 422)."""
    query = request.query
    numbers = {option: read_number(query, option) for option in ("sinceSeconds", "tailLines", "limitBytes")}
    causes = []
    for option, (least, requirement) in _LOG_OPTIONS.items():
        if query.get(option) and numbers[option] < least:
            causes.append(invalid_value(option, numbers[option], requirement))
    if query.get("sinceSeconds") and query.get("sinceTime"):
        reason = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append(forbidden_field("[]", reason))
    if query.get("stream") and not current().enabled("PodLogsQuerySplitStreams"):
        causes.append(forbidden_field("stream", "may not be specified"))
    if causes:
        raise invalid("PodLogOptions", "", name, causes)


def _container(pod: Object, requested: str) -> str:
    """Return the name of the container; it may be empty if the pod has only one (400)."""
    name, containers = pod["metadata"]["name"], pod["spec"].get("containers") or []
    every = [container["name"] for kind in _CONTAINERS for container in pod["spec"].get(kind) or ()]
    if requested:
        if requested not in every:
            raise bad_request(f"container {requested} is not valid for pod {name}")
        return requested
    if len(containers) != 1:
        raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{' '.join(every)}]")
    first: str = containers[0]["name"]
    return first


def _kubelet(state: State, resource: Resource, name: str) -> str:
    """Return the address of a node's kubelet (404, 500); errors name the requested resource, as on a real server."""
    node = state.store.get(NODES, "", name)
    if node is None:
        raise not_found(resource, name)
    listed = {
        address.get("type"): address.get("address") for address in reversed(dig(node, "status", "addresses") or ())
    }
    host = next((listed[kind] for kind in _ADDRESS_TYPES if listed.get(kind)), None)
    if host is None:
        raise ApiFailure(500, "", "no preferred addresses found; known addresses: []")
    return _join(host, dig(node, "status", "daemonEndpoints", "kubeletEndpoint", "Port") or _KUBELET_PORT)


def _proxy_failure(state: State, resource: Resource, namespace: str, request: str) -> ApiFailure:
    """Return the error of a proxied request, for `name`, `name:port` or `scheme:name:port` (400, 404, 503)."""
    components = request.split(":")
    scheme = components.pop(0) if len(components) > 2 else ""
    name, port = [*components, ""][:2]
    if len(components) > 2 or not name or scheme not in ("", "http", "https"):
        raise bad_request(f'invalid {resource.singular} request "{request}"')
    if resource.plural == "nodes":
        address = _kubelet(state, resource, name)
    elif resource.plural == "services":
        address = _endpoint(state, resource, (namespace, name, port), request)
    else:
        address = _pod_address(get(state, resource, namespace, name).object, port)
    return _unavailable(f"error trying to reach service: {_refused(address)}")


def _pod_address(pod: Object, port: str) -> str:
    text = next((entry["ip"] for entry in dig(pod, "status", "podIPs") or () if entry.get("ip")), "")
    address = parse_ip(text)
    if (
        address is None
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
    ):
        raise bad_request("address not allowed")
    declared = (
        declared_port for container in pod["spec"]["containers"] for declared_port in container.get("ports") or ()
    )
    return _join(text, port or next((declared_port["containerPort"] for declared_port in declared), 80))


def _endpoint(state: State, resource: Resource, target: tuple[str, str, str], request: str) -> str:
    namespace, name, port = target
    if port.isdecimal():
        ports = dig(get(state, resource, namespace, name).object, "spec", "ports") or ()
        named = next(
            (service_port.get("name", "") for service_port in ports if service_port.get("port") == int(port)), None
        )
        if named is None:
            raise _unavailable(f'no service port {port} found for service "{name}"')
        port = named
    endpoints = state.store.get(ENDPOINTS, namespace, name)
    if endpoints is None:
        raise not_found(resource, name)
    if not endpoints.get("subsets"):
        raise _unavailable(f'no endpoints available for service "{name}"')
    for subset in endpoints["subsets"]:
        for endpoint_port in subset.get("ports") or ():
            for address in subset.get("addresses") or ():
                if endpoint_port.get("name", "") == port and address.get("targetRef"):
                    return _join(address["ip"], endpoint_port["port"])
    raise _unavailable(f'no endpoints available for service "{request}"')


def _unavailable(message: str) -> ApiFailure:
    return ApiFailure(503, "ServiceUnavailable", message)


def _join(host: str, port: Any) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _refused(address: str) -> str:
    return f"dial tcp {address}: connect: connection refused"
