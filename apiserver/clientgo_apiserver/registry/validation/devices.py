"""Rules of dynamic resource allocation: requests for devices, their results, and the devices of slices."""

from collections.abc import Iterator
from typing import Any

import msgspec

from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.jsonvalues import canonical, same
from clientgo_apiserver.api.names import label_errors, qualified_errors, subdomain_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, duplicate, forbidden_field, invalid_value, required, too_long
from clientgo_apiserver.gotypes.gostructs import go_struct
from clientgo_apiserver.registry.validation.generic import IMMUTABLE
from clientgo_apiserver.registry.validation.pods.resources import is_extended
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule

_MAX_RAW, _MAX_NAME, _MAX_ID, _MAX_ATTRIBUTES = 10 * 1024, 253, 32, 32
_IDENTIFIER = lazy_pattern("[A-Za-z_][A-Za-z0-9_]*")
_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_NODES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_SLICE_NODES = f"exactly one of {', '.join(f'`{field}`' for field in _NODES)} is required"
_DEVICE_NODES = "`nodeName`, `nodeSelector`"
_PER_DEVICE = "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"


@rule()
def distinct(value: list[Any], _: FieldScope, field: str = "") -> Iterator[Cause]:
    """Reject items that occur twice, or whose field does, even an empty one."""
    seen: set[bytes] = set()
    for index, item in enumerate(value):
        key = (item.get(field) or "") if field else item
        if (text := canonical(key)) in seen:
            yield duplicate(f"[{index}]", key)
        seen.add(text)


@rule()
def request_name(value: str, scope: FieldScope) -> Iterator[Cause]:
    """Check a reference to a request of the claim, or to one of its subrequests."""
    text = value or ""
    name, *below = text.split("/")
    if len(below) > 1:
        yield invalid_value("", text, _REQUEST)
        return
    for part in (name, *below):
        yield from (invalid_value("", part, reason) for reason in label_errors(part))
    claim = scope.enclosing("DeviceClaim") or (scope.root.value.get("spec") or {}).get("devices") or {}
    by_name = {each.get("name", ""): each for each in claim.get("requests") or ()}
    choices = [each.get("name") for each in by_name.get(name, {}).get("firstAvailable") or ()]
    if name not in by_name or (below and below[0] not in choices):
        yield invalid_value("", text, _REQUEST)


@rule()
def qualified_attribute(value: str, _: FieldScope) -> Iterator[Cause]:
    """Check the name of an attribute, which needs a domain."""
    yield from _attribute_errors(value)
    if "/" not in value:
        reason = "a fully qualified name must be a domain and a name separated by a slash"
        yield invalid_value("", value, reason)


def _attribute_errors(name: str) -> Iterator[Cause]:
    domain, *below = name.split("/")
    if len(below) > 1:
        yield invalid_value("", name, "must not contain more than one slash")
        return
    if not below:
        yield from _identifier_errors(name)
        return
    if domain:
        yield from _driver_errors(domain)
    else:
        yield invalid_value("", "", "the domain must not be empty")
    if below[0]:
        yield from _identifier_errors(below[0])
    else:
        yield invalid_value("", "", "the name must not be empty")


def _driver_errors(name: str) -> Iterator[Cause]:
    if len(name) > 63:
        yield too_long("", 63)
    yield from (invalid_value("", name, reason) for reason in subdomain_errors(name.lower()))


def _identifier_errors(name: str) -> Iterator[Cause]:
    if len(name) > _MAX_ID:
        yield too_long("", _MAX_ID)
    if _IDENTIFIER.fullmatch(name) is None:
        reason = (
            "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric"
        )
        reason += " characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is"
        yield invalid_value("", name, f"{reason} '{_IDENTIFIER.pattern}')")


@rule()
def raw_object(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Check free-form parameters: an object of limited size."""
    if len(msgspec.json.encode(value)) > _MAX_RAW:
        yield too_long("", _MAX_RAW)
    elif not isinstance(value, dict):
        yield invalid_value("", "<value omitted>", "must be a valid JSON object")


@rule()
def extended_resource(value: str, _: FieldScope) -> Iterator[Cause]:
    """Check the name by which pods request a class of devices."""
    if not is_extended(value) or qualified_errors(value):
        yield invalid_value("", value, "must be a valid extended resource name")


@rule(absent=True)
def pool_name(value: str | None, _: FieldScope) -> Iterator[Cause]:
    """Check the name of a pool: subdomains separated by slashes."""
    name = value or ""
    if not name:
        yield required("")
        return
    if len(name) > _MAX_NAME:
        yield too_long("", _MAX_NAME)
    for part in name.split("/"):
        yield from (invalid_value("", part, reason) for reason in subdomain_errors(part))


@rule()
def reserved(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check that only an allocated claim is reserved, and that one that is being deleted gets no new users."""
    status, before = value.get("status") or {}, (scope.old or {}).get("status") or {}
    consumers = status.get("reservedFor") or []
    if consumers and not status.get("allocation"):
        yield forbidden_field("status.reservedFor", "may not be specified when `allocated` is not set")
    added = [consumer for consumer in consumers if consumer not in (before.get("reservedFor") or ())]
    if added and status.get("allocation") and "deletionTimestamp" in value["metadata"]:
        reason = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        yield forbidden_field("status.reservedFor", reason)


@rule(update=True)
def allocation_change(new: Object | None, old: Object | None, _: FieldScope) -> Iterator[Cause]:
    """Reject the change of an allocation, which may only be added and removed."""
    if new and old and not same(new, old):
        yield invalid_value("", go_struct("AllocationResult", new), IMMUTABLE)


@rule()
def allocated_device(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check that a status is that of a device of the allocation."""
    allocation = (scope.root.value.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    fields = ("driver", "pool", "device", "shareID")
    identity = [value.get(field) for field in fields]
    if not any([each.get(field) for field in fields] == identity for each in results):
        names = "/".join(str(part) for part in identity if part)
        yield invalid_value("", names, "must be an allocated device in the claim")


@rule()
def slice_nodes(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that a slice says in one way which nodes have its devices."""
    yield from _node_errors(value, _NODES, _SLICE_NODES, f"{_SLICE_NODES}, but multiple fields are set", "unset")


def _node_errors(value: Object, fields: tuple[str, ...], none: str, several: str, empty: str) -> Iterator[Cause]:
    chosen = []
    for field in fields:
        choice = value.get(field)
        if choice is False:
            yield invalid_value(field, False, "must be either unset or set to true")
        elif choice == "":
            reason = "must be either unset or set to a non-empty string" if empty == "unset" else "must not be empty"
            yield invalid_value(field, "", reason)
        elif choice is not None:
            chosen.append(f"`{field}`")
            if field == "nodeName":
                yield from (invalid_value(field, choice, reason) for reason in subdomain_errors(choice))
    if not chosen:
        yield required("", none)
    elif len(chosen) > 1:
        yield invalid_value("", f"{{{', '.join(chosen)}}}", several)


@rule()
def single_term(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Require one term of a selector, so that selectors of slices can be merged."""
    terms = value.get("nodeSelectorTerms")
    if len(terms or ()) != 1:
        yield invalid_value("nodeSelectorTerms", terms, "must have exactly one node selector term")


@rule()
def counter_names(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the names of counters."""
    for name in sorted(value):
        yield from (invalid_value("", name, reason) for reason in label_errors(name))


@rule()
def device_members(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the number of attributes and capacities of a device."""
    count = len(value.get("attributes") or ()) + len(value.get("capacity") or ())
    if count > _MAX_ATTRIBUTES:
        reason = f"the total number of attributes and capacities must not exceed {_MAX_ATTRIBUTES}"
        yield invalid_value("", count, reason)


@rule()
def attribute_names(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the names of attributes or capacities."""
    for name in sorted(value):
        yield from _attribute_errors(name)


@rule()
def one_attribute(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that an attribute has one value."""
    if len(value) != 1:
        text = go_struct("DeviceAttribute", value) if value else ""
        yield invalid_value("", text, "exactly one value must be specified")


@rule()
def device_nodes(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check the nodes of a device, which it has only with `perDeviceNodeSelection` of its slice."""
    spec, fields = scope.root.value.get("spec") or {}, _NODES[:3]
    if spec.get("perDeviceNodeSelection"):
        reason = f"exactly one of {_DEVICE_NODES}, or `allNodes` is required when {_PER_DEVICE}"
        yield from _node_errors(value, fields, reason, reason, "empty")
    elif any(value.get(field) is not None for field in fields):
        yield invalid_value("", None, f"{_DEVICE_NODES} and `allNodes` can only be set if {_PER_DEVICE}")
