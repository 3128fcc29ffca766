"""Rules of services, endpoints, ingresses and network policies that relate several fields."""

import ipaddress
import re
from collections.abc import Iterable, Iterator
from typing import Any

from clientgo.internal.hosts import parse_ip
from clientgo_apiserver.api import names
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, duplicate, forbidden_field, invalid_value, not_supported, required
from clientgo_apiserver.gotypes.gostructs import go_struct
from clientgo_apiserver.gotypes.metadata import service_name_errors
from clientgo_apiserver.registry.validation.generic import ip_address, port
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule, within
from clientgo_apiserver.releases.release import current

_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_WILDCARD = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NOT_A_WILDCARD = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower"
    " case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used"
    f" for validation is '{_WILDCARD}')"
)
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_RANGES = (
    ("is_unspecified", "may not be unspecified ({})"),
    ("is_loopback", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
    ("is_link_local", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
)
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_CHANGED = "may not change once set"
_LINK_LOCAL_MULTICAST = (ipaddress.ip_network("224.0.0.0/24"), ipaddress.ip_network("ff02::/16"))
ParsedNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_network(value: str) -> bool:
    """Return whether a text is an address range."""
    return _network(value) is not None


def _network(value: Any) -> ParsedNetwork | None:
    try:
        return ipaddress.ip_network(names.without_zeros(value), strict=False) if "/" in value else None
    except ValueError:
        return None


@rule()
def cidr(value: str, _: FieldScope) -> Iterator[Cause]:
    """Reject a text that is not an address range."""
    network = _network(value)
    if network is None:
        yield invalid_value("", value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
    elif current().enabled("StrictIPCIDRValidation"):  # otherwise these have warnings
        text, prefix = value.split("/")
        address = parse_ip(text)
        if address is None or prefix != str(network.prefixlen):
            yield invalid_value("", value, "must not have leading 0s in IP or prefix length")
        elif isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            yield invalid_value("", value, "must not have an IPv4-mapped IPv6 address")
        elif address != network.network_address:
            yield invalid_value("", value, "must not have bits set beyond the prefix length")


@rule()
def special_ip(value: str, _: FieldScope) -> Iterator[Cause]:
    """Reject the address of an endpoint that is not one of a host."""
    address = parse_ip(names.without_zeros(value))
    if address is None:
        yield invalid_value("", value, "must be a valid IP address")
        return
    for name, reason in _RANGES:
        if getattr(address, name) and not (name == "is_link_local" and address.is_multicast):
            yield invalid_value("", value, reason.format(value))
    if any(address in network for network in _LINK_LOCAL_MULTICAST if network.version == address.version):
        yield invalid_value("", value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


@rule()
def endpoint_ip(value: str, scope: FieldScope) -> Iterator[Cause]:
    """Reject an invalid address, or one that is not one of a host."""
    errors = list(ip_address(value, scope))
    yield from errors or special_ip(value, scope)


@rule()
def no_address(value: str, _: FieldScope) -> Iterator[Cause]:
    """Reject an address where a name is needed."""
    if parse_ip(value) is not None:
        yield invalid_value("", value, "must be a DNS name, not an IP address")


@rule()
def host_name(value: str, _: FieldScope) -> Iterator[Cause]:
    """Reject a text that is neither a DNS name nor a wildcard."""
    if "*" in value:
        if not re.fullmatch(_WILDCARD, value):
            yield invalid_value("", value, _NOT_A_WILDCARD)
    else:
        for reason in names.subdomain_errors(value):
            yield invalid_value("", value, reason)


@rule(absent=True)
def canonical_name(value: str | None, _: FieldScope) -> Iterator[Cause]:
    """Require a DNS name, possibly with a trailing dot."""
    name = (value or "").removesuffix(".")
    if not name:
        yield required("")
    else:
        for reason in names.subdomain_errors(name):
            yield invalid_value("", name, reason)


@rule(absent=True)
def domain_prefixed_path(value: str | None, __: FieldScope) -> Iterator[Cause]:
    """Require a domain and a path, such as `acme.io/foo`."""
    domain, _, path = (value or "").partition("/")
    if not value:
        yield required("")
    elif not domain or not path:
        yield invalid_value("", value, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        for reason in names.subdomain_errors(domain):
            yield invalid_value("", domain, reason)
        if not re.fullmatch(_HTTP_PATH, path):
            yield invalid_value("", path, f"Invalid path (regex used for validation is '{_HTTP_PATH}')")


@rule(update=True)
def service_update(new: Object, old: Object, _: FieldScope) -> Iterator[Cause]:
    """Check what an update of a Service cannot change: its first address and family, its load balancer."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        yield from _family_changes(spec, before)
    if spec.get("type") == before.get("type") == "LoadBalancer":
        if spec.get("loadBalancerClass") != before.get("loadBalancerClass"):
            yield invalid_value("spec.loadBalancerClass", spec.get("loadBalancerClass"), _CHANGED)
        checked = spec.get("externalTrafficPolicy") == before.get("externalTrafficPolicy") == "Local"
        if checked and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
            yield forbidden_field("spec.healthCheckNodePort", "field is immutable")


def _family_changes(spec: Object, before: Object) -> Iterator[Cause]:
    headless, was_headless = spec.get("clusterIP") == "None", before.get("clusterIP") == "None"
    for field, skipped in (("clusterIPs", headless and was_headless), ("ipFamilies", headless or was_headless)):
        values, old_values = spec.get(field) or [], before.get(field) or []
        if skipped:
            continue
        if len(values) == len(old_values):
            changed = [
                index for index, (value, other) in enumerate(zip(values, old_values, strict=True)) if value != other
            ]
        else:
            changed = [0] if values and old_values and values[0] != old_values[0] else []
        for index in changed:
            yield invalid_value(f"spec.{field}[{index if field == 'clusterIPs' else 0}]", values, _CHANGED)


@rule()
def named_ports(value: list[Object], _: FieldScope) -> Iterator[Cause]:
    """Check that several ports have different names."""
    seen: set[str] = set()
    for index, named in enumerate(value):
        name = named.get("name") or ""
        if not name and len(value) > 1:
            yield required(f"[{index}].name")
        if name and name in seen:
            yield duplicate(f"[{index}].name", name)
        seen.add(name)


@rule(absent=True)
def required_of_several(value: str | None, scope: FieldScope) -> Iterator[Cause]:
    """Require names of several ports."""
    if not value and len((scope.enclosing("EndpointSubset") or {}).get("ports") or ()) > 1:
        yield required("")


@rule()
def slice_ports(value: list[Object], _: FieldScope) -> Iterator[Cause]:
    """Check that the ports of an EndpointSlice have different names, of which one may be empty."""
    seen: set[str] = set()
    for index, named in enumerate(value):
        name = named.get("name") or ""
        if name in seen:
            yield duplicate(f"[{index}].name", name)
        seen.add(name)


@rule()
def distinct_ports(value: list[Object], _: FieldScope) -> Iterator[Cause]:
    """Check that ports, and node ports, of one protocol differ."""
    for field in ("nodePort", "port"):
        seen: set[tuple[Any, Any]] = set()
        for index, service_port in enumerate(value):
            key = (service_port.get("protocol"), service_port.get(field))
            if key in seen and field == "nodePort" and service_port.get(field):
                yield duplicate(f"[{index}].nodePort", service_port[field])
            elif key in seen and field == "port":
                yield duplicate(f"[{index}]", go_struct("ServicePort", {"protocol": key[0], "port": key[1]}))
            seen.add(key)


@rule()
def source_ranges(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check the address ranges that a load balancer admits, of the field or else of the annotation."""
    spec, text = value["spec"], (value["metadata"].get("annotations") or {}).get(_SOURCE_RANGES)
    ranges = spec.get("loadBalancerSourceRanges")
    path = "spec.LoadBalancerSourceRanges" if ranges else f"metadata.annotations[{_SOURCE_RANGES}]"
    if not ranges and text is None:
        return
    if spec.get("type") != "LoadBalancer":
        yield forbidden_field(path, "may only be used when `type` is 'LoadBalancer'")
    for index, each in enumerate(ranges or ()):
        yield from within(f"{path}[{index}]", cidr(each.strip(), scope))
    for each in text.split(",") if not ranges and text and text.strip() else ():
        yield from within(path, cidr(each.strip(), scope))


@rule()
def external_traffic(spec: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the policy of traffic from outside the cluster, and the port of its health check."""
    kind, policy, check = spec.get("type"), spec.get("externalTrafficPolicy"), spec.get("healthCheckNodePort")
    external = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if not external:
        if policy:
            yield invalid_value("externalTrafficPolicy", policy, "may only be set for externally-accessible services")
    elif policy not in ("Cluster", "Local"):
        field = "externalTrafficPolicy"
        yield not_supported(field, policy, ("Cluster", "Local")) if policy else required(field)
    if check and not (kind == "LoadBalancer" and policy == "Local"):
        reason = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid_value("healthCheckNodePort", check, reason)


@rule()
def slice_addresses(value: list[str], scope: FieldScope) -> Iterator[Cause]:
    """Check that the addresses of an endpoint are of the type of its slice."""
    kind = scope.root.value.get("addressType")
    for index, address in enumerate(value):
        field_path, errors = f"[{index}]", list(ip_address(address, scope)) if kind != "FQDN" else []
        if kind == "FQDN":
            yield from _domain_errors(field_path, address)
        elif kind in ("IPv4", "IPv6"):
            if not errors and f"IPv{getattr(parse_ip(address), 'version', '')}" != kind:
                yield invalid_value("", address, f"must be an {kind} address")
            if kind == "IPv6" and not errors and str(parse_ip(address)) != address:
                errors = [invalid_value("", address, f'must be in canonical form ("{parse_ip(address)}")')]
            yield from within(field_path, errors or special_ip(address, scope))


def _domain_errors(field_path: str, value: str) -> Iterator[Cause]:
    name = value.removesuffix(".")
    if not value:
        yield required(field_path)
    elif errors := names.subdomain_errors(name):
        yield invalid_value(field_path, name, ",".join(errors))
    elif "." not in name:
        yield invalid_value(field_path, name, "should be a domain with at least two segments separated by dots")


@rule()
def ingress_class_annotation(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that the annotation of the class and the class agree."""
    name, in_spec = "kubernetes.io/ingress.class", (value.get("spec") or {}).get("ingressClassName")
    annotation = (value["metadata"].get("annotations") or {}).get(name)
    if annotation is not None and in_spec is not None and annotation != in_spec:
        yield invalid_value(f"annotations.{name}", annotation, "must match `ingressClassName` when both are specified")


@rule()
def ingress_path(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the path of a rule by its type."""
    kind, path = value["pathType"], value.get("path") or ""
    strict = kind in ("Exact", "Prefix")
    if not path.startswith("/") and (strict or (kind == "ImplementationSpecific" and path)):
        yield invalid_value("path", path, "must be an absolute path")
    if strict:
        reasons = [f"must not contain '{sequence}'" for sequence in _BAD_SEQUENCES if sequence in path]
        reasons += [f"cannot end with '{end}'" for end in _BAD_ENDS if path.endswith(end)]
        yield from (invalid_value("path", path, reason) for reason in reasons)


@rule()
def ingress_backend(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check that a backend is either a resource or the port of a service."""
    resource, service = value.get("resource"), value.get("service")
    if resource is not None and service is not None:
        yield invalid_value("", "", "cannot set both resource and service backends")
    elif resource is not None:
        group = resource.get("apiGroup")
        yield from (
            invalid_value("resource.apiGroup", group, reason)
            for reason in (() if group is None else names.subdomain_errors(group))
        )
        for field in ("kind", "name"):
            text = resource.get(field) or ""
            errors = [invalid_value(f"resource.{field}", text, reason) for reason in names.path_segment_errors(text)]
            yield from errors if text else (required(f"resource.{field}"),)
    elif service is None:
        yield invalid_value("", "", "resource or service backend is required")
    else:
        yield from _service_backend(service, scope)


def _service_backend(service: Object, scope: FieldScope) -> Iterable[Cause]:
    name, chosen = service.get("name") or "", service.get("port") or {}
    set_fields = [field for field in ("name", "number") if chosen.get(field)]
    if not name:
        yield required("service.name")
    for reason in service_name_errors(name) if name else ():
        yield invalid_value("service.name", name, reason)
    if len(set_fields) != 1:
        both = invalid_value("", "", "cannot set both port name & port number")
        yield both if set_fields else required("", "port name or number is required")
    else:
        yield from within(f"service.port.{set_fields[0]}", port(chosen[set_fields[0]], scope))


@rule()
def policy_types(value: list[str], _: FieldScope) -> Iterator[Cause]:
    """Check the types of a network policy."""
    choices = ("Ingress", "Egress")
    if len(value) > len(choices):
        yield invalid_value("", value, "may not specify more than two policyTypes")
        return
    yield from (not_supported(f"[{index}]", kind, choices) for index, kind in enumerate(value) if kind not in choices)


@rule()
def policy_port(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check a port, or a range of ports, of a network policy."""
    first, last = value.get("port"), value.get("endPort")
    if first is None:
        if last is not None:
            yield invalid_value("endPort", last, "may not be specified when `port` is not specified")
    elif isinstance(first, int):
        yield from within("port", port(first, scope))
        if last is not None and last < first:
            yield invalid_value("endPort", first, "must be greater than or equal to `port`")
        if last is not None:
            yield from within("endPort", port(last, scope))
    else:
        if last is not None:
            yield invalid_value("endPort", last, "may not be specified when `port` is non-numeric")
        yield from within("port", port(first, scope))


@rule()
def within_block(value: list[str], scope: FieldScope) -> Iterator[Cause]:
    """Check that excepted ranges are smaller parts of the range."""
    block = _network(scope.value.get("cidr") or "")
    for index, text in enumerate(value):
        yield from within(f"[{index}]", cidr(text, scope))
        part = _network(text)
        if block is None or part is None:
            continue
        inside = block.version == part.version and part.network_address in block
        if not inside or part.prefixlen <= block.prefixlen:
            yield invalid_value(f"[{index}]", text, "must be a strict subset of `cidr`")
