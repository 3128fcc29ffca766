"""Rules of the volumes of pods, and of paths."""

import re
from collections.abc import Iterator
from typing import Any

from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.names import subdomain_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, forbidden_field, invalid_value, not_supported, too_long
from clientgo_apiserver.registry.validation.pods.resources import amount
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule

CERTIFICATE_PATHS = ("credentialBundlePath", "keyPath", "certificateChainPath")
_ISCSI = {
    "iqn": lazy_pattern(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\s]+)$"),
    "eui": lazy_pattern(r"eui\.[A-Fa-f0-9]{16}$"),
    "naa": lazy_pattern(r"naa\.[A-Fa-f0-9]{32}$"),
}


@rule()
def no_backsteps(value: str, _: FieldScope | None = None) -> Iterator[Cause]:
    """Reject a path with `..`."""
    if ".." in value.split("/"):
        yield invalid_value("", value, "must not contain '..'")


@rule()
def descending_path(value: str, scope: FieldScope | None = None) -> Iterator[Cause]:
    """Reject a path that leaves its folder."""
    if value.startswith("/"):
        yield invalid_value("", value, "must be a relative path")
    yield from no_backsteps(value, scope)


@rule()
def local_path(value: str, scope: FieldScope) -> Iterator[Cause]:
    """Reject a path that leaves its folder or has a reserved name."""
    yield from descending_path(value, scope)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid_value("", value, "must not start with '..'")


@rule()
def size_limit(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Reject a negative size."""
    parsed = amount(value)
    if parsed is not None and parsed.value < 0:
        yield forbidden_field("", "SizeLimit field must be a valid resource quantity")


@rule()
def iscsi_name(value: str, _: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject an invalid iSCSI name, with this message if it is of no known type; an empty one is allowed."""
    if value and value[:3] not in _ISCSI:
        yield invalid_value("", value, detail)
    elif value and not _ISCSI[value[:3]].match(value):
        yield invalid_value("", value, "must be valid format")


@rule()
def driver_options(value: dict[str, str], _: FieldScope) -> Iterator[Cause]:
    """Reject options of a driver in the namespaces of Kubernetes."""
    for option in sorted(value):
        domain = "." + option.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            yield invalid_value(f"[{option}]", option, "kubernetes.io and k8s.io namespaces are reserved")


@rule()
def host_port_pairs(value: str, _: FieldScope) -> Iterator[Cause]:
    """Reject text that is not comma-separated pairs of a host and a port; an empty one is allowed."""
    for pair in value.split(",") if value else ():
        if not re.fullmatch(r"[^:\[\]]*:[^:\[\]]*|\[[^\[\]]*\]:[^:\[\]]*", pair):
            yield invalid_value("", value, "must be a host:port pair or multiple pairs separated by commas")


@rule()
def starting(value: str, _: FieldScope, start: str, form: str) -> Iterator[Cause]:
    """Reject an address that does not start with this text; the message has the form of a valid one."""
    if not value.startswith(start):
        yield not_supported("", value, (form,))


@rule()
def csi_driver(value: str, _: FieldScope) -> Iterator[Cause]:
    """Reject an invalid name of a CSI driver; an empty one is allowed."""
    if len(value) > 63:
        yield too_long("", 63)
    for reason in subdomain_errors(value.lower()) if value else ():
        yield invalid_value("", value, reason)


@rule()
def one_projection(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Reject more than one type in a source of a projected volume."""
    if sum(source is not None for source in value.values()) > 1:
        yield forbidden_field("", "may not specify more than 1 volume type per source")


def _certificate_paths(source: Object) -> Iterator[str]:
    bundle, certificate = source.get("clusterTrustBundle") or {}, source.get("podCertificate") or {}
    paths = (bundle.get("path"), *(certificate.get(name) for name in CERTIFICATE_PATHS))
    return (path for path in paths if path)


@rule()
def projected_paths(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Reject two files of a projected volume at one path."""
    seen: set[str] = set()
    for source in value.get("sources") or ():
        for path in _certificate_paths(source):
            if path in seen:
                yield invalid_value("", path, "conflicting duplicate paths")
            seen.add(path)
        for field in ("secret", "configMap", "downwardAPI"):
            inner = source.get(field) or {}
            for item in inner.get("items") or ():
                path = item.get("path") or ""
                if path and path in seen:
                    yield invalid_value("", inner.get("name") or path, "conflicting duplicate paths")
                seen.add(path)


@rule()
def one_pod_alone(value: list[str], _: FieldScope) -> Iterator[Cause]:
    """Reject ReadWriteOncePod among other access modes."""
    if "ReadWriteOncePod" in value and {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"} & set(value):
        yield forbidden_field("", "may not use ReadWriteOncePod with other access modes")


@rule()
def positive_quantity(value: Any, _: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject a quantity that is not positive, with this message."""
    parsed = amount(value)
    if parsed is not None and parsed.value <= 0:
        yield invalid_value("", str(parsed), detail)
