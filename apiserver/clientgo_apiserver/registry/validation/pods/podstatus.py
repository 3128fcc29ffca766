"""Rules of the status of pods: conditions, claims, addresses and containers."""

from collections.abc import Iterable, Iterator

from clientgo_apiserver.api.names import label_errors, qualified_errors, subdomain_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import (
    Cause,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from clientgo_apiserver.registry.validation.generic import ip_address
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule, within

_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_RESTARTS = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}
_CONTAINERS = {**_RESTARTS, "ephemeralContainerStatuses": ""}
_HEALTH = ("Healthy", "Unhealthy", "Unknown")
_MAX_HEALTH_MESSAGE = 1024
_MAX_ID = (1 << 31) - 1
_CLAIM = (
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or"
    " 'claim:<claimName>' if request is empty"
)
_ENTRY = "spec.initContainers.{0} or spec.containers.{0}"


@rule()
def pod_status(new: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check an update of a pod's status."""
    status, old = new.get("status") or {}, (scope.old or {}).get("status") or {}
    spec = new.get("spec") or {}
    yield from _condition_errors(status)
    nominated = status.get("nominatedNodeName") or ""
    if nominated and nominated != old.get("nominatedNodeName"):
        for reason in subdomain_errors(nominated):
            yield invalid_value("status.nominatedNodeName", nominated, reason)
        if spec.get("nodeName"):
            reason = "may not be set on pods that are already bound to a node"
            yield forbidden_field("status.nominatedNodeName", reason)
    if (status.get("observedGeneration") or 0) < 0:
        yield invalid_value("status.observedGeneration", status["observedGeneration"], "must be a non-negative integer")
    if status.get("qosClass") != old.get("qosClass"):
        yield invalid_value("status.qosClass", status.get("qosClass") or "", "field is immutable")
    yield from _restart_errors(status, old, spec)
    yield from _claim_errors(status, spec)
    yield from _extended_errors(status, spec)
    yield from _address_errors(status, "podIPs")
    yield from _host_errors(status)
    for field in _CONTAINERS:
        yield from _user_errors(status, spec, field)
    for field in _CONTAINERS:
        yield from _allocation_errors(status, spec, field)


def _condition_errors(status: Object) -> Iterator[Cause]:
    for index, condition in enumerate(status.get("conditions") or ()):
        if (condition.get("observedGeneration") or 0) < 0:
            reason = "must be a non-negative integer"
            yield invalid_value(
                f"status.conditions[{index}].observedGeneration", condition["observedGeneration"], reason
            )
        kind = condition.get("type") or ""
        for reason in qualified_errors(kind) if kind not in _SYSTEM_CONDITIONS else ():
            yield invalid_value(f"status.conditions[{index}].Type", kind, reason)


def _host_errors(status: Object) -> Iterator[Cause]:
    addresses = status.get("hostIPs") or ()
    if addresses and addresses[0].get("ip") != status.get("hostIP"):
        yield invalid_value("status.hostIPs[0].ip", addresses[0].get("ip") or "", "must be equal to `hostIP`")
    yield from _address_errors(status, "hostIPs")


def _claim_errors(status: Object, spec: Object) -> Iterator[Cause]:
    """Require that the claims of a status are those of the pod, each once, with valid names."""
    claims = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    names: set[str] = set()
    for index, entry in enumerate(status.get("resourceClaimStatuses") or ()):
        name, path = entry.get("name") or "", f"status.resourceClaimStatuses[{index}]"
        if name not in claims:
            yield invalid_value(f"{path}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        if name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
        for reason in subdomain_errors(entry["resourceClaimName"]) if "resourceClaimName" in entry else ():
            yield invalid_value(f"{path}.resourceClaimName", entry["resourceClaimName"], reason)


def _address_errors(status: Object, field: str) -> Iterator[Cause]:
    """Require valid addresses, at most one of each family."""
    addresses = [entry.get("ip") or "" for entry in status.get(field) or ()]
    for index, address in enumerate(addresses):
        yield from within(f"status.{field}[{index}]", ip_address(address))
    if len(addresses) > 1 and len({":" in address for address in addresses}) != len(addresses):
        go_addresses = [{"IP": address} for address in addresses]
        yield invalid_value(f"status.{field}", go_addresses, "may specify no more than one IP for each IP family")


def _restart_errors(status: Object, old: Object, spec: Object) -> Iterator[Cause]:
    """Reject containers that run again although their pod never restarts them."""
    for field, containers in _RESTARTS.items():
        specs = {container_spec.get("name"): container_spec for container_spec in spec.get(containers) or ()}
        now = {entry.get("name"): entry for entry in status.get(field) or ()}
        for index, entry in enumerate(old.get(field) or ()):
            ended = (entry.get("state") or {}).get("terminated")
            container = specs.get(entry.get("name")) or {}
            again = now.get(entry.get("name"))
            policy = container.get("restartPolicy") or spec.get("restartPolicy")
            may = policy == "Always" or (policy == "OnFailure" and ended and ended.get("exitCode"))
            running = again is not None and (again.get("state") or {}).get("terminated") is None
            if ended and running and not may and not container.get("restartPolicyRules"):
                reason = "may not be transitioned to non-terminated state"
                yield forbidden_field(f"status.{field}[{index}].state", reason)


def _extended_errors(status: Object, spec: Object) -> Iterator[Cause]:
    """Require that the requests of extended resources are those of the containers, each once."""
    claim, path = status.get("extendedResourceClaimStatus"), "status.extendedResourceClaimStatus"
    if claim is None:
        return
    containers = {each.get("name"): each for field in _RESTARTS.values() for each in spec.get(field) or ()}
    mappings, earlier = claim.get("requestMappings") or (), set[tuple[str, ...]]()
    if not mappings:
        yield required(f"{path}.requestMappings", "at least one request mapping is required")
    for index, mapping in enumerate(mappings):
        at, fields = f"{path}.requestMappings[{index}]", ("containerName", "resourceName", "requestName")
        container, resource, request = (str(mapping.get(field) or "") for field in fields)
        yield from _request_errors(at, container, resource, containers)
        for reason in label_errors(request):
            yield invalid_value(f"{path}.requestName", request, reason)
        if (container, resource, request) in earlier:
            for field in fields:
                yield duplicate(f"{at}.{field}", mapping.get(field) or "")
        earlier.add((container, resource, request))
    name = claim.get("resourceClaimName") or ""
    if not name:
        yield required(f"{path}.resourceClaimName")
    for reason in subdomain_errors(name) if name else ():
        yield invalid_value(f"{path}.resourceClaimName", name, reason)


def _request_errors(path: str, name: str, resource: str, containers: Object) -> Iterator[Cause]:
    container = containers.get(name)
    if container is None:
        reason = f"must match the name of an entry in {_ENTRY.format('name')}"
        yield invalid_value(f"{path}.containerName", name, reason)
    elif resource not in ((container.get("resources") or {}).get("requests") or {}):
        reason = f"must match the extended resource name of an entry in {_ENTRY.format('resources.requests')}"
        yield invalid_value(f"{path}.resourceName", resource, reason)


def _user_errors(status: Object, spec: Object, field: str) -> Iterator[Cause]:
    """Require valid ids of the users of containers, and none of Linux on Windows."""
    system = (spec.get("os") or {}).get("name", "linux")
    for index, entry in enumerate(status.get(field) or ()):
        user, path = (entry.get("user") or {}).get("linux"), f"status.{field}[{index}].user.linux"
        if user is None:
            continue
        if system == "windows":
            yield forbidden_field(path, "cannot be set for a windows pod")
        if system != "linux":
            continue
        groups = (
            ("supplementalGroups", index, group) for index, group in enumerate(user.get("supplementalGroups") or ())
        )
        ids = [("uid", None, user.get("uid") or 0), ("gid", None, user.get("gid") or 0), *groups]
        for name, position, number in ids:
            if not 0 <= number <= _MAX_ID:
                at = f"{path}.{name}" + ("" if position is None else f"[{position}]")
                yield invalid_value(at, number, f"must be between 0 and {_MAX_ID}, inclusive")


def _allocation_errors(status: Object, spec: Object, field: str) -> Iterator[Cause]:
    """Require that the resources allocated to a container are those that it asks for, each with a health."""
    containers = {each.get("name"): each for each in reversed(spec.get(_CONTAINERS[field]) or ())}
    for index, entry in enumerate(status.get(field) or ()):
        path = f"status.{field}[{index}].allocatedResourcesStatus"
        allocated = entry.get("allocatedResourcesStatus") or ()
        if allocated and not _CONTAINERS[field]:
            yield forbidden_field(path, "must not be specified in container status")
            continue
        for position, resource in enumerate(allocated):
            at, container = f"{path}[{position}]", containers.get(entry.get("name"))
            if container is not None:
                yield from within(
                    at, _allocated_name_errors(resource.get("name") or "", container.get("resources") or {})
                )
            yield from within(at, _health_errors(resource.get("resources") or ()))


def _allocated_name_errors(name: str, resources: Object) -> Iterator[Cause]:
    if not name.startswith("claim:"):
        if name not in (resources.get("requests") or {}):
            yield invalid_value("name", name, "must match one of the container's resource requests")
        return
    claims = resources.get("claims") or ()
    if all(name != "/".join(filter(None, (f"claim:{claim.get('name')}", claim.get("request")))) for claim in claims):
        yield invalid_value("name", name, _CLAIM)


def _health_errors(resources: Iterable[Object]) -> Iterator[Cause]:
    identifiers = set[str]()
    for index, resource in enumerate(resources):
        health, identifier = resource.get("health") or "", resource.get("resourceID") or ""
        message = resource.get("message")
        if health not in _HEALTH:
            yield not_supported(f"resources[{index}].health", health, _HEALTH)
        if message == "":
            yield required(f"resources[{index}].message", "must be non-empty if specified")
        elif message and len(message.encode()) > _MAX_HEALTH_MESSAGE:
            yield too_long(f"resources[{index}].message", _MAX_HEALTH_MESSAGE)
        if identifier in identifiers:
            yield duplicate(f"resources[{index}].resourceID", identifier)
        identifiers.add(identifier)
