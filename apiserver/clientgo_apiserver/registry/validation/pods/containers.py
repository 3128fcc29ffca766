"""Rules of containers that relate several fields or depend on the pod."""

from collections.abc import Iterator
from typing import Any

from clientgo_apiserver.api.names import qualified_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import (
    Cause,
    duplicate,
    invalid_value,
    not_found_value,
    not_supported,
    required,
)
from clientgo_apiserver.registry.validation.pods.resources import amount
from clientgo_apiserver.registry.validation.pods.volumes import no_backsteps
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_LABELS = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName", "status.phase", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_DIVISORS = ("1", *(f"1{unit}" for unit in ("k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")))
_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_DIVIDED = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}


def _pod(scope: FieldScope) -> Object:
    return scope.enclosing("PodSpec") or {}


@rule()
def env_value_sources(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Require one source of the value of a variable, and no text besides."""
    sources = sum(value.get(field) is not None for field in _SOURCES)
    if not sources:
        listed = f"{', '.join(f'`{field}`' for field in _SOURCES[:-1])} or `{_SOURCES[-1]}`"
        yield invalid_value("", "", f"must specify one of: {listed}")
    elif scope.value.get("value"):
        yield invalid_value("", "", "may not be specified when `value` is not empty")
    elif sources > 1:
        yield invalid_value("", "", "may not have more than one field specified at a time")


@rule()
def field_path(value: str, scope: FieldScope, supported: str) -> Iterator[Cause]:
    """Check the field of the pod that a variable or file has."""
    if not value:
        return
    version = scope.value.get("apiVersion") or "v1"
    if version != "v1":
        reason = f"error converting fieldPath: unsupported pod version: {version}"
        yield invalid_value("fieldPath", value, reason)
        return
    before, bracket, key = value.removesuffix("']").rpartition("['")
    subscript = bool(before and bracket) and value.endswith("']")
    path = before if subscript else value
    if subscript and path not in ("metadata.annotations", "metadata.labels"):
        reason = f"error converting fieldPath: field label does not support subscript: {value}"
        yield invalid_value("fieldPath", value, reason)
    elif subscript:
        key = key.lower() if path == "metadata.annotations" else key
        for reason in qualified_errors(key):
            yield invalid_value("", key, reason)
    elif value not in (*_LABELS, "spec.host"):
        yield invalid_value("fieldPath", value, f"error converting fieldPath: field label not supported: {value}")
    elif path not in supported.split(",") and path != "spec.host":
        yield not_supported("fieldPath", path, sorted(supported.split(",")))


@rule()
def resource_field(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the resource and its divisor that a variable or file has."""
    name = value.get("resource") or ""
    kind, resource = [*name.split(".", 1), ""][:2]
    huge = kind in ("limits", "requests") and resource.startswith("hugepages-")
    if not name:
        yield required("resource")
    elif name not in _RESOURCES and not huge:
        yield not_supported("resource", name, sorted(_RESOURCES))
    divisor = amount(value.get("divisor") or "0")
    if divisor is None or not divisor.value:
        return
    if resource == "cpu" and str(divisor) not in ("1", "1m"):
        yield invalid_value("divisor", name, "only divisor's values 1m and 1 are supported with the cpu resource")
    elif (resource in _DIVIDED or huge) and str(divisor) not in _DIVISORS:
        word = _DIVIDED.get(resource, "hugepages")
        reason = f"only divisor's values {', '.join(_DIVISORS)} are supported with the {word} resource"
        yield invalid_value("divisor", name, reason)


@rule()
def file_volume(value: str, scope: FieldScope) -> Iterator[Cause]:
    """Require that the volume of a variable's file exists and is an emptyDir."""
    volumes = _volumes(scope)
    if value not in volumes:
        yield not_found_value("", value)
    elif volumes[value].get("emptyDir") is None:
        yield invalid_value("", value, "referenced volume must be of type emptyDir")


def _volumes(scope: FieldScope) -> Object:
    """Return the valid volumes by name; those that a StatefulSet's claims add are claims."""
    if "volumes" not in scope.memo:
        scope.memo["volumes"] = _valid_volumes(scope)
    volumes: Object = scope.memo["volumes"]
    return volumes


def _valid_volumes(scope: FieldScope) -> Object:
    claims = (scope.enclosing("StatefulSetSpec") or {}).get("volumeClaimTemplates") or ()
    added: Object = {(claim.get("metadata") or {}).get("name") or "": {"persistentVolumeClaim": {}} for claim in claims}
    present: Object = {}
    for volume in _pod(scope).get("volumes") or ():
        if volume.get("name") not in present and not scope.errors_of("Volume", volume):
            present[volume.get("name") or ""] = volume
    return {**present, **added}


@rule()
def volume_mounts(value: list[Object], scope: FieldScope) -> Iterator[Cause]:
    """Check names and paths of the mounts of a container."""
    volumes = _volumes(scope)
    devices = {device.get("name"): device.get("devicePath") for device in scope.value.get("volumeDevices") or ()}
    paths: set[str] = set()
    for index, mount in enumerate(value):
        name, path = mount.get("name") or "", mount.get("mountPath") or ""
        checks = (
            (not name, required("name")),
            (name not in volumes, not_found_value("name", name)),
            (not path, required("mountPath")),
            (path in paths, invalid_value("mountPath", path, "must be unique")),
            (name in devices, invalid_value("name", name, "must not already exist in volumeDevices")),
            (
                path in devices.values(),
                invalid_value("mountPath", path, "must not already exist as a path in volumeDevices"),
            ),
            (
                mount.get("subPath") and mount.get("subPathExpr"),
                invalid_value(
                    "subPathExpr", mount.get("subPathExpr"), "subPathExpr and subPath are mutually exclusive"
                ),
            ),
        )
        paths.add(path)
        yield from (Cause(cause.reason, f"[{index}].{cause.field}", cause.message) for fails, cause in checks if fails)


@rule()
def volume_devices(value: list[Object], scope: FieldScope) -> Iterator[Cause]:
    """Check names and paths of the block devices of a container."""
    volumes = _volumes(scope)
    mounts = {mount.get("name"): mount.get("mountPath") for mount in scope.value.get("volumeMounts") or ()}
    names, paths = set[str](), set[str]()
    for index, device in enumerate(value):
        name, path = device.get("name") or "", device.get("devicePath") or ""
        volume = volumes.get(name)
        claim = volume is None or "persistentVolumeClaim" in volume or "ephemeral" in volume
        only = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        stepping = bool(list(no_backsteps(path, scope)))
        checks = (
            (not name, required("name")),
            (name in names, invalid_value("name", name, "must be unique")),
            (not claim, invalid_value("name", name, only)),
            (volume is None, not_found_value("name", name)),
            (not path, required("devicePath")),
            (path in paths, invalid_value("devicePath", path, "must be unique")),
            (stepping, invalid_value("devicePath", path, "can not contain backsteps ('..')")),
            (name in mounts, invalid_value("name", name, "must not already exist in volumeMounts")),
            (
                path in mounts.values(),
                invalid_value("devicePath", path, "must not already exist as a path in volumeMounts"),
            ),
        )
        names.add(name)
        paths.add(path)
        yield from (Cause(cause.reason, f"[{index}].{cause.field}", cause.message) for fails, cause in checks if fails)


@rule()
def target_container(value: str, scope: FieldScope) -> Iterator[Cause]:
    """Require that the container an ephemeral container targets exists."""
    pod = _pod(scope)
    if value and value not in [
        container.get("name") for field in ("containers", "initContainers") for container in pod.get(field) or ()
    ]:
        yield not_found_value("", value)


@rule()
def sleep_action(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check that a sleep is not longer than the grace period."""
    grace, seconds = _pod(scope).get("terminationGracePeriodSeconds"), value.get("seconds") or 0
    if grace is not None and not 0 <= seconds <= grace:
        reason = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield invalid_value("", seconds, reason)


@rule()
def host_ports(value: list[Object], _: FieldScope) -> Iterator[Cause]:
    """Reject a host port that two containers use."""
    seen: set[str] = set()
    for index, container in enumerate(value):
        for number, port in enumerate(container.get("ports") or ()):
            used = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{port.get('hostPort')}"
            if port.get("hostPort") and used in seen:
                yield duplicate(f"[{index}].ports[{number}].hostPort", used)
            seen.add(used)


@rule()
def init_host_ports(value: list[Object], scope: FieldScope) -> Iterator[Cause]:
    """Reject a host port that an init container uses twice; Kubernetes reports each container as the first one."""
    for container in value:
        yield from host_ports([container], scope)


@rule()
def host_network_ports(value: list[Object], scope: FieldScope) -> Iterator[Cause]:
    """Require that host ports are container ports if the pod uses the host's network."""
    pod = scope.root.name == "Pod"
    for index, container in enumerate(value):
        for number, port in enumerate(container.get("ports") or ()):
            host: Any = port.get("hostPort") or 0
            if (pod or host) and host != port.get("containerPort"):
                reason = "must match `containerPort` when `hostNetwork` is true"
                yield invalid_value(f"[{index}].ports[{number}].hostPort", host, reason)
