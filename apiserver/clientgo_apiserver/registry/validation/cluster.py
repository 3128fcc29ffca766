"""Rules of kinds that configure a cluster."""

import base64
import ipaddress
from collections.abc import Iterator
from typing import Any

from clientgo_apiserver.api.names import label_errors, path_segment_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, duplicate, invalid_value, required
from clientgo_apiserver.gotypes.gostructs import go_struct
from clientgo_apiserver.registry.validation.generic import IMMUTABLE
from clientgo_apiserver.registry.validation.network import cidr
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule, within

_FAMILIES = 2


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
def api_service(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that the name, and the prefix of a generated one, are the version and group."""
    spec, meta = value.get("spec") or {}, value["metadata"]
    expected = f"{spec.get('version', '')}.{spec.get('group', '')}"
    for field in ("generateName", "name"):
        name = meta.get(field, "")
        if name and name != expected and not path_segment_errors(name):
            yield invalid_value(f"metadata.{field}", name, f'must be `spec.version+"."+spec.group`: "{expected}"')


@rule()
def local_bundle(value: str, _: FieldScope) -> Iterator[Cause]:
    """Reject certificates of a server that is this one."""
    size = len(base64.b64decode(value))
    yield invalid_value("", f"{size} bytes", "local APIServices may not have a caBundle")


@rule()
def distinct_tolerations(value: list[Object], _: FieldScope) -> Iterator[Cause]:
    """Check that the tolerations of a runtime class differ in more than their seconds."""
    seen = set()
    for index, toleration in enumerate(value):
        key = tuple(toleration.get(field, "") for field in ("key", "operator", "value", "effect"))
        if key in seen:
            yield duplicate(f"[{index}]", go_struct("Toleration", toleration))
        seen.add(key)


@rule(absent=True)
def service_ranges(value: list[str] | None, scope: FieldScope) -> Iterator[Cause]:
    """Check the address ranges of services: one, or one of each family."""
    ranges = value or []
    if not ranges:
        yield required("", "at least one CIDR required")
        return
    if len(ranges) > _FAMILIES:
        yield invalid_value("", {"CIDRs": ranges}, "may only hold up to 2 values")
        return
    families = [":" in text for text in ranges]
    faults = [within(f"[{index}]", _range_errors(text, scope)) for index, text in enumerate(ranges)]
    for causes in faults:
        yield from causes
    if len({*families}) < len(families) and not any(faults):
        reason = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        yield invalid_value("", ranges, reason)


def _range_errors(text: str, scope: FieldScope) -> list[Cause]:
    """Return the errors of a range, which must be in the canonical form."""
    faults = list(cidr(text, scope))
    if not faults and text != (canonical := str(ipaddress.ip_network(text))):
        faults = [invalid_value("", text, f'must be in canonical form ("{canonical}")')]
    return faults


@rule(update=True)
def service_range_updates(new: list[str] | None, old: list[str] | None, scope: FieldScope) -> Iterator[Cause]:
    """Check that an update changes no address range; it may add one of the other family."""
    ranges, before = new or [], old or []
    if len(ranges) < len(before) or len(ranges) > max(len(before), _FAMILIES):
        yield invalid_value("", ranges, IMMUTABLE)
        return
    for index, (text, earlier) in enumerate(zip(ranges, before, strict=False)):
        if text != earlier:
            yield invalid_value(f"[{index}]", text, IMMUTABLE)
    if len(ranges) > len(before):
        yield from service_ranges(ranges, scope)
