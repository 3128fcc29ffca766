"""Strategy of Services: allocation of their addresses and node ports, and the fields that a type does not have."""

import ipaddress
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from weakref import WeakKeyDictionary

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import (
    ApiFailure,
    Cause,
    duplicate,
    internal_error,
    invalid,
    invalid_value,
    not_supported,
)
from clientgo_apiserver.registry.strategies.strategy import Strategy
from clientgo_apiserver.registry.validation.generic import ip_address
from clientgo_apiserver.registry.validation.scopes import FieldScope, within
from clientgo_apiserver.storage.keys import SERVICES
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import Key

_NETWORK = ipaddress.ip_network("10.96.0.0/16")
_LOW, _HIGH = 30000, 32767
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_ADDRESSES = "spec.clusterIPs"
_ALLOCATED = "provided port is already allocated"
_SEVERAL = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"


class ServiceStrategy(Strategy):
    """Strategy of Services."""

    def begin_create(self, store: Store, new: Object) -> Object:
        """Return the Service with its addresses and ports (422, 500)."""
        return _allocate(store, new, None)

    def begin_update(self, store: Store, new: Object, old: Object) -> Object:
        """Return the Service with its addresses and ports, those of the old one where it keeps them (422, 500)."""
        new = _allocate(store, new, old)
        if _is_balanced(old["spec"]) and not _is_balanced(new["spec"]):
            new = {**new, "status": {**(new.get("status") or {}), "loadBalancer": {}}}
        return new


class ServiceAllocations:
    """Addresses and ports that the stored Services use."""

    def __init__(self, store: Store) -> None:
        self._used: Counter[str | int] = Counter()
        for obj in store.list(SERVICES):
            self._changed("ADDED", SERVICES, None, obj)
        store.subscribe(self._changed)

    def __contains__(self, value: str | int) -> bool:
        return self._used[value] > 0

    def _changed(self, _: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == SERVICES:
            self._used.subtract(_values(old["spec"]) if old else ())
            self._used.update(_values(new["spec"]) if new else ())


_ALLOCATIONS: WeakKeyDictionary[Store, ServiceAllocations] = WeakKeyDictionary()


def _values(spec: Object) -> list[str | int]:
    ports = [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
    checked = [spec["healthCheckNodePort"]] if spec.get("healthCheckNodePort") else []
    return [*(address for address in spec.get("clusterIPs") or () if address != "None"), *ports, *checked]


def _allocate(store: Store, service: Object, old: Object | None) -> Object:
    allocated = _ALLOCATIONS.get(store)
    if allocated is None:
        allocated = _ALLOCATIONS[store] = ServiceAllocations(store)
    spec = dict(service["spec"])
    before: Object = (old or {}).get("spec") or _NOTHING
    if "ports" in spec:
        spec["ports"] = [dict(port) for port in spec["ports"]]
    rejected = partial(_rejected, service)
    if old is not None:
        _keep_allocated(spec, before)
    _sync_addresses(spec, before)
    if _has_address(spec):
        _set_families(spec, before, rejected)
        if not _has_address(before):
            _set_address(spec, allocated, _hash(service, ""), rejected)
    _set_node_ports(service, spec, before, allocated, rejected)
    if old is not None:
        _drop_unneeded(spec, before)
    return {**service, "spec": spec}


Rejection = Callable[[list[Cause]], None]
Allocate = Callable[[int, int], None]
"""Reserves a requested node port of an entry, by its index."""
AllocateNext = Callable[[Object], int]
"""Reserves a free node port for an entry."""
_NOTHING: Object = {"type": "ExternalName"}
"""Spec of the Service that a new one replaces."""


def _rejected(service: Object, causes: list[Cause]) -> None:
    if causes:
        raise invalid("Service", "", service["metadata"].get("name", ""), causes)


def _has_address(spec: Object) -> bool:
    return bool(spec["type"] != "ExternalName")


def _has_node_ports(spec: Object) -> bool:
    return spec["type"] in ("NodePort", "LoadBalancer")


def _is_balanced(spec: Object) -> bool:
    return bool(spec["type"] == "LoadBalancer")


def _is_checked(spec: Object) -> bool:
    return _is_balanced(spec) and spec.get("externalTrafficPolicy") == "Local"


def _is_external(spec: Object) -> bool:
    return _has_node_ports(spec) or bool(spec.get("externalIPs"))


_NEEDED: tuple[tuple[Callable[[Object], bool], tuple[str, ...]], ...] = (
    (_has_address, ("clusterIPs", "clusterIP", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")),
    (_is_checked, ("healthCheckNodePort",)),
    (_is_balanced, ("allocateLoadBalancerNodePorts", "loadBalancerClass")),
    (_is_external, ("externalTrafficPolicy",)),
)
"""Fields that only some Services have: dropped with the type unless the client changes them."""


def _drop_unneeded(spec: Object, before: Object) -> None:
    """Drop what belongs to the type that the Service had."""
    for needs, fields in _NEEDED:
        if needs(before) and not needs(spec):
            for field in fields:
                if spec.get(field) == before.get(field):
                    spec.pop(field, None)
    published = {port["nodePort"] for port in _published(before)}
    if _has_node_ports(before) and not _has_node_ports(spec) and {p["nodePort"] for p in _published(spec)} <= published:
        for port in _published(spec):
            del port["nodePort"]


def _published(spec: Object) -> list[Object]:
    return [port for port in spec.get("ports") or () if port.get("nodePort")]


def _keep_allocated(spec: Object, before: Object) -> None:
    """Take over the addresses and ports that the client does not repeat."""
    if _has_address(spec) and _has_address(before):
        for field in ("clusterIP", "clusterIPs"):
            if not spec.get(field) and field in before:
                spec[field] = before[field]
    if _is_checked(spec) and _is_checked(before):
        spec.setdefault("healthCheckNodePort", before.get("healthCheckNodePort"))
    if _has_node_ports(spec) and _has_node_ports(before):
        named = {port.get("name"): port["nodePort"] for port in _published(before)}
        used = set(named.values()) & {port["nodePort"] for port in _published(spec)}
        for port in spec.get("ports") or ():
            number = named.get(port.get("name"))
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number


def _sync_addresses(spec: Object, before: Object) -> None:
    """Set clusterIPs for clients that only know clusterIP."""
    address, addresses, old_addresses = spec.get("clusterIP"), spec.get("clusterIPs"), before.get("clusterIPs")
    if address and (not addresses or (addresses == old_addresses and address != before.get("clusterIP"))):
        spec["clusterIPs"] = [address]
    elif not address and addresses and addresses == old_addresses:
        del spec["clusterIPs"]


def _set_families(spec: Object, before: Object, rejected: Rejection) -> None:
    """Check addresses, families and their policy, and set those that the client leaves out."""
    headless = spec.get("clusterIP") == "None" and not spec.get("selector")
    default = "RequireDualStack" if headless else "SingleStack"
    policy = spec["ipFamilyPolicy"] = spec.get("ipFamilyPolicy", before.get("ipFamilyPolicy") or default)
    released = _release_second(spec, before)
    rejected(list(_address_errors(spec, before.get("clusterIPs") or [])))
    addresses, families = spec.get("clusterIPs") or [], list(spec.get("ipFamilies") or before.get("ipFamilies") or ())
    causes = list(released)
    if policy == "SingleStack":
        lists = (("cluster IPs", addresses), ("IP families", families))
        causes += [invalid_value("spec.ipFamilyPolicy", policy, _SEVERAL.format(name)) for name, of in lists if of[1:]]
    for index, address in enumerate(addresses[len(families) :], start=len(families)):
        if ":" in address:
            causes.append(
                invalid_value(f"spec.clusterIPs[{index}]", addresses, "IPv6 is not configured on this cluster")
            )
        elif address != "None":
            families.append("IPv4")
    rejected(causes)
    spec["ipFamilies"] = families = families or ["IPv4"]
    if headless:
        # There are no pods whose families could decide.
        if policy != "SingleStack" and len(families) == 1:
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        return
    if policy == "RequireDualStack":
        causes.append(
            invalid_value("spec.ipFamilyPolicy", policy, "this cluster is not configured for dual-stack services")
        )
    for index, family in enumerate(families):
        if family != "IPv4":
            causes.append(invalid_value(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    rejected(causes)


def _release_second(spec: Object, before: Object) -> list[Cause]:
    """Drop the second address and family of a Service that becomes single-stack, unless the client changes them.

    Return the errors of one that drops them, and does not become single-stack.
    """
    if not before:
        return []
    causes = []
    for field, name in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        old, new = before.get(field) or [], spec.get(field) or []
        is_kept = new == old or (not new and field == "ipFamilies")
        if spec["ipFamilyPolicy"] == "SingleStack" and old and is_kept:
            spec[field] = old[:1]
        elif spec["ipFamilyPolicy"] != "SingleStack" and 0 < len(new) < len(old):
            reason = f"must be 'SingleStack' to release the secondary {name}"
            causes.append(invalid_value("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], reason))
    return causes


def _address_errors(spec: Object, old_addresses: list[str]) -> Iterator[Cause]:
    first, addresses = spec.get("clusterIP"), spec.get("clusterIPs") or []
    if first and addresses[0] != first:
        yield invalid_value(_ADDRESSES, addresses, "first value must match `clusterIP`")
    elif not first and addresses:
        yield invalid_value(_ADDRESSES, addresses, "must be empty when `clusterIP` is not specified")
    yield from _family_errors(spec)
    malformed = list(_form_errors(addresses, old_addresses))
    yield from malformed
    if len(addresses) > 2:
        yield invalid_value(_ADDRESSES, addresses, "may only hold up to 2 values")
    if not malformed:
        yield from _pair_errors(addresses, spec.get("ipFamilies") or [])


def _family_errors(spec: Object) -> Iterator[Cause]:
    families, policy = spec.get("ipFamilies") or [], spec["ipFamilyPolicy"]
    for index, family in enumerate(families):
        if family not in ("IPv4", "IPv6"):
            yield not_supported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6"))
        if family in families[:index]:
            yield duplicate(f"spec.ipFamilies[{index}]", family)
    if policy not in _POLICIES:
        yield not_supported("spec.ipFamilyPolicy", policy, _POLICIES)


def _form_errors(addresses: list[str], old_addresses: list[str]) -> Iterator[Cause]:
    for index, address in enumerate(addresses):
        if (index, address) == (0, "None"):
            if len(addresses) > 1:
                yield invalid_value(_ADDRESSES, addresses, "'None' must be the first and only value")
        elif address not in old_addresses:
            yield from within(f"{_ADDRESSES}[{index}]", ip_address(address, FieldScope("", addresses, None)))


def _pair_errors(addresses: list[str], families: list[str]) -> Iterator[Cause]:
    if len(addresses) > 1 and len({":" in address for address in addresses}) == 1:
        yield invalid_value(_ADDRESSES, addresses, "may specify no more than one IP for each IP family")
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if address != "None" and (":" in address) != (family == "IPv6"):
            reason = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield invalid_value(f"{_ADDRESSES}[{index}]", address, reason)


def _set_address(spec: Object, allocated: ServiceAllocations, start: int, rejected: Rejection) -> None:
    size, address = _NETWORK.num_addresses - 2, spec.get("clusterIP") or ""
    if address == "None":
        return
    if not address:
        candidates = (str(_NETWORK[1 + (start + step) % size]) for step in range(size))
        address = next(candidate for candidate in candidates if candidate not in allocated)
        spec |= {"clusterIP": address, "clusterIPs": [address]}
        return
    parsed, reason = ipaddress.ip_address(address), ""
    if parsed not in _NETWORK or parsed in (_NETWORK[0], _NETWORK[-1]):
        reason = "the provided network does not match the current range"
    elif address in allocated:
        reason = "provided IP is already allocated"
    if reason:
        message = f"failed to allocate IP {address}: {reason}"
        rejected([invalid_value(_ADDRESSES, spec["clusterIPs"], message)])


def _set_node_ports(
    service: Object, spec: Object, before: Object, allocated: ServiceAllocations, rejected: Rejection
) -> None:
    """Allocate the ports of a Service that is reached through nodes, and that of its health check."""
    new: set[int] = set()
    reserved = {port["nodePort"] for port in _published(spec)}

    def allocate(index: int, number: int) -> None:
        reason = "" if _LOW <= number <= _HIGH else _OUTSIDE
        reason = reason or (_ALLOCATED if number in allocated or number in new else "")
        rejected([invalid_value(f"spec.ports[{index}].nodePort", number, reason)] if reason else [])
        new.add(number)

    def allocate_next(port: Object) -> int:
        number = _free_port(service, str(port.get("port", 0)), allocated, reserved)
        new.add(number)
        reserved.add(number)
        return number

    if _has_node_ports(spec):
        is_new = before is _NOTHING
        (_init_node_ports if is_new else partial(_update_node_ports, before))(spec, allocate, allocate_next)
    check = spec.get("healthCheckNodePort")
    if _is_checked(spec) and not _is_checked(before):
        if check and (reason := _OUTSIDE if not _LOW <= check <= _HIGH else _ALLOCATED if check in allocated else ""):
            raise internal_error(f"failed to allocate requested HealthCheck NodePort {check}: {reason}")
        spec["healthCheckNodePort"] = check or _free_port(service, "health", allocated, new)


def _init_node_ports(spec: Object, allocate: Allocate, allocate_next: AllocateNext) -> None:
    """Set the node ports of a new Service; entries of one port share a node port."""
    ports, by_number = spec.get("ports") or [], dict[int, int]()
    first_requested = {port.get("port", 0): port["nodePort"] for port in reversed(ports) if port.get("nodePort")}
    for index, port in enumerate(ports):
        number, requested = port.get("port", 0), port.get("nodePort")
        if not requested and not _allocates_ports(spec):
            continue
        shared = by_number.get(number)
        if shared is None:
            if first := first_requested.get(number):
                allocate(index, first)
            by_number[number] = port["nodePort"] = first or allocate_next(port)
        elif not requested:
            port["nodePort"] = shared
        elif requested != shared:
            allocate(index, requested)


def _update_node_ports(before: Object, spec: Object, allocate: Allocate, allocate_next: AllocateNext) -> None:
    """Set the node ports of a changed Service; here entries of one port do not share a node port."""
    earlier, entries = {port["nodePort"] for port in _published(before)}, set[tuple[str, int]]()
    for index, port in enumerate(spec.get("ports") or ()):
        requested = port.get("nodePort")
        if requested:
            if requested not in earlier:
                allocate(index, requested)
                earlier.add(requested)
        elif not _allocates_ports(spec):
            continue
        else:
            port["nodePort"] = allocate_next(port)
        entry = (port.get("protocol") or "TCP", port["nodePort"])
        if entry in entries:
            raise ApiFailure(500, "", f"duplicate nodePort: {{{entry[0]} {entry[1]}}}")
        entries.add(entry)


def _allocates_ports(spec: Object) -> bool:
    return spec["type"] == "NodePort" or spec.get("allocateLoadBalancerNodePorts") is not False


_OUTSIDE = f"provided port is not in the valid range. The range of valid ports is {_LOW}-{_HIGH}"


def _free_port(service: Object, suffix: str, allocated: ServiceAllocations, reserved: set[int]) -> int:
    size, start = _HIGH - _LOW + 1, _hash(service, suffix)
    candidates = (_LOW + (start + step) % size for step in range(size))
    return next(candidate for candidate in candidates if candidate not in allocated and candidate not in reserved)


def _hash(service: Object, suffix: str) -> int:
    """Return a number that stays the same: equal programs give a Service the same address."""
    meta = service["metadata"]
    return zlib.crc32(f"{meta.get('namespace')}/{meta.get('name')}/{suffix}".encode())
