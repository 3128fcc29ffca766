"""Rules of kinds that configure a cluster."""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

from clientgo_apiserver.api.names import label_errors, subdomain_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, invalid_value, required
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule

_BLOCK = re.compile(rb"-----BEGIN ([^-]*)-----")


@rule(absent=True)
def signing_request(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Check that a certificate request is PEM of the right type."""
    try:
        block = _BLOCK.search(base64.b64decode(value or ""))
    except binascii.Error:
        block = None
    if block is None or block[1] != b"CERTIFICATE REQUEST":
        yield invalid_value("", value, "PEM block type must be CERTIFICATE REQUEST")


@rule(absent=True)
def signer_name(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Check that a signer's name is a domain and a path."""
    domain, *paths = (value or "").split("/")
    if not value:
        yield required("")
    elif len(paths) != 1:
        reason = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield invalid_value("", value, reason)
    else:
        for label in domain.split("."):
            if faults := [f'validating label "{label}": {reason}' for reason in label_errors(label)]:
                yield from (invalid_value("", domain, reason) for reason in faults)
                break
        if "." not in domain:
            yield invalid_value("", domain, "should be a domain with at least two segments separated by dots")


@rule()
def request_duration(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Check the lifetime of a certificate."""
    if value < 600:
        yield invalid_value("", value, "may not specify a duration less than 600 seconds (10 minutes)")


@rule(absent=True)
def node_name(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Check the name of a node, which must not be empty."""
    for reason in subdomain_errors(value or ""):
        yield invalid_value("", value or "", reason)


@rule()
def api_service(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that the name is that of the version and group."""
    spec = value.get("spec") or {}
    name, expected = value["metadata"].get("name", ""), f"{spec.get('version', '')}.{spec.get('group', '')}"
    if name != expected:
        reason = f'must be `spec.version+"."+spec.group`: "{expected}"'
        yield invalid_value("metadata.name", name, reason)


@rule()
def local_bundle(value: str, _: FieldScope) -> Iterator[Cause]:
    """Reject certificates of a server that is this one."""
    size = len(base64.b64decode(value))
    yield invalid_value("", f"{size} bytes", "local APIServices may not have a caBundle")


@rule(absent=True)
def volume_source(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Check that an attachment has exactly one source."""
    names = [name for name in ("persistentVolumeName", "inlineVolumeSpec") if (value or {}).get(name)]
    if not names:
        yield required("", "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
