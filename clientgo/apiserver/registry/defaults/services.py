"""Addresses and node ports of Services, and the fields that a Service of another type does not have.

Addresses and ports need not be allocated, only be plausible and stay the same, so a hash of the name gives them.
"""

import ipaddress
import zlib
from collections.abc import Callable, Iterable

from clientgo.apiserver.registry.registry import Object

_NETWORK = ipaddress.ip_network("10.96.0.0/16")
_NODE_PORTS = (30000, 32767)
_IPV4: Object = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}


def service(obj: Object, old: Object | None) -> Object:
    """Return a Service with its addresses and ports, which an update keeps."""
    before: Object = (old or {}).get("spec") or {}
    spec = {"type": "ClusterIP", **(obj.get("spec") or {})}
    ports = [{**port, "targetPort": port.get("targetPort") or port.get("port", 0)} for port in spec.get("ports") or ()]
    spec |= {"ports": ports} if ports else {}
    if spec.get("sessionAffinity") in (None, "None"):
        spec.pop("sessionAffinityConfig", None)
    if spec.get("externalIPs") and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if before:
        _drop_unneeded(spec, before)
        _keep_allocated(spec, before)
    if _has_node_ports(spec):
        _set_node_ports(obj, ports)
    if _is_checked(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = _node_port(obj, "health", {port.get("nodePort") for port in ports})
    if spec["type"] != "ExternalName":
        _set_addresses(obj, spec)
    return {**obj, "spec": spec}


def _has_address(spec: Object) -> bool:
    return bool(spec["type"] != "ExternalName")


def _has_node_ports(spec: Object) -> bool:
    balanced = spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    return bool(balanced or spec["type"] == "NodePort")


def _is_balanced(spec: Object) -> bool:
    return bool(spec["type"] == "LoadBalancer")


def _is_checked(spec: Object) -> bool:
    return _is_balanced(spec) and spec.get("externalTrafficPolicy") == "Local"


def _is_external(spec: Object) -> bool:
    return spec["type"] in ("NodePort", "LoadBalancer") or bool(spec.get("externalIPs"))


_NEEDED: tuple[tuple[Callable[[Object], bool], tuple[str, ...]], ...] = (
    (_has_address, ("clusterIPs", "clusterIP", "ipFamilies", "ipFamilyPolicy")),
    (_is_checked, ("healthCheckNodePort",)),
    (_is_balanced, ("allocateLoadBalancerNodePorts", "loadBalancerClass")),
    (_is_external, ("externalTrafficPolicy",)),
)
"""Fields that only some Services have: kept if the client does not change them, and dropped with the type."""


def _drop_unneeded(spec: Object, before: Object) -> None:
    """Drop what belongs to the type that the Service had, unless the client changes it."""
    for needs, fields in _NEEDED:
        if needs(before) and not needs(spec):
            for field in fields:
                if spec.get(field) == before.get(field):
                    spec.pop(field, None)
    known = {port["nodePort"] for port in _published(before)}
    if not _has_node_ports(spec) and _has_node_ports(before) and {p["nodePort"] for p in _published(spec)} <= known:
        for port in _published(spec):
            del port["nodePort"]


def _keep_allocated(spec: Object, before: Object) -> None:
    """Take over the addresses and ports that the client does not repeat."""
    if _has_address(spec) and _has_address(before):
        if not spec.get("clusterIP") and spec.get("clusterIPs") == before.get("clusterIPs"):
            spec.pop("clusterIPs", None)
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
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


def _published(spec: Object) -> list[Object]:
    return [port for port in spec.get("ports") or () if port.get("nodePort")]


def _set_node_ports(obj: Object, ports: list[Object]) -> None:
    used = {port["nodePort"] for port in ports if port.get("nodePort")}
    by_number: dict[int, tuple[int, str]] = {}
    for port in ports:
        number, protocol = port.get("port", 0), port.get("protocol") or "TCP"
        if not port.get("nodePort"):
            # TCP and UDP of one port share a node port.
            known, other = by_number.get(number, (0, protocol))
            port["nodePort"] = known if known and other != protocol else _node_port(obj, str(number), used)
            used.add(port["nodePort"])
        by_number[number] = (port["nodePort"], protocol)


def _node_port(obj: Object, suffix: str, used: Iterable[int | None]) -> int:
    low, high = _NODE_PORTS
    size, start = high - low + 1, _hash(obj, suffix)
    taken = set(used)
    return next(port for port in (low + (start + step) % size for step in range(size)) if port not in taken)


def _set_addresses(obj: Object, spec: Object) -> None:
    address = spec.get("clusterIP") or next(iter(spec.get("clusterIPs") or ()), "")
    if address == "None" and not spec.get("selector"):
        # There are no pods whose families could decide.
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        first = (spec.get("ipFamilies") or ["IPv4"])[:2]
        dual = spec["ipFamilyPolicy"] != "SingleStack" and len(first) == 1
        spec["ipFamilies"] = [*first, "IPv6" if first[0] == "IPv4" else "IPv4"] if dual else first
    address = address or str(_NETWORK[1 + _hash(obj, "") % (_NETWORK.num_addresses - 2)])
    spec |= {"clusterIP": address, "clusterIPs": spec.get("clusterIPs") or [address]}
    spec |= {field: value for field, value in _IPV4.items() if not spec.get(field)}


def _hash(obj: Object, suffix: str) -> int:
    meta = obj["metadata"]
    return zlib.crc32(f"{meta.get('namespace')}/{meta.get('name')}/{suffix}".encode())
