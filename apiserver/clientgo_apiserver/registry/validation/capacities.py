"""Rules of devices: what requests may take of a capacity, and the addresses of a network interface."""

import ipaddress
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from clientgo.meta.quantities import ParsedQuantity, total
from clientgo_apiserver.api.names import without_zeros
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, duplicate, forbidden_field, invalid_value, required, too_many
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule, within

_MAX_VALUES = 10
_ONE = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
_NO_DEFAULT = "default value is not valid according to the requestPolicy"
_NO_ADDRESS = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"


@rule()
def request_policy(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check what requests may take of a capacity; none for a device that only one of them can have."""
    policy = value.get("requestPolicy")
    if policy is None:
        return
    if not scope.value.get("allowMultipleAllocations"):
        yield forbidden_field("requestPolicy", "allowMultipleAllocations must be true")
        return
    values, limits = policy.get("validValues") or (), policy.get("validRange")
    if values and limits is not None:
        yield forbidden_field("requestPolicy", _ONE)
        return
    field = "validValues" if values else "validRange"
    if not values and limits is None:
        return
    if policy.get("default") is None:
        yield required("requestPolicy.default", f"required when {field} is defined")
        return
    default, most = ParsedQuantity(policy["default"]), ParsedQuantity(value["value"])
    if values:
        errors = _value_errors([*map(ParsedQuantity, values)], default, most)
    else:
        parsed = {name: ParsedQuantity(each) for name, each in limits.items() if each is not None}
        errors = _range_errors(parsed, default, most)
    yield from within(f"requestPolicy.{field}", errors)


def _value_errors(values: list[ParsedQuantity], default: ParsedQuantity, most: ParsedQuantity) -> Iterator[Cause]:
    for index, (previous, value) in enumerate(pairwise(values)):
        if previous.value > value.value:
            yield invalid_value(f"[{index + 1}]", str(value), "values must be sorted in ascending order")
    if len(values) > _MAX_VALUES:
        yield too_many("", len(values), _MAX_VALUES)
    else:
        for index, value in enumerate(values):
            if value.value > most.value:
                yield invalid_value(f"[{index}]", str(value), f"option is larger than capacity value: {most}")
        for index, value in enumerate(values):
            if value.value in (each.value for each in values[:index]):
                yield duplicate(f"[{index}]", str(int(value.value)))
    if len(values) > _MAX_VALUES or default.value not in (value.value for value in values):
        yield invalid_value("", str(default), _NO_DEFAULT)


def _range_errors(limits: dict[str, ParsedQuantity], default: ParsedQuantity, most: ParsedQuantity) -> Iterator[Cause]:
    least, top, step = limits.get("min"), limits.get("max"), limits.get("step")
    if least is None:
        yield required("min", "required when validRange is defined")
        return
    comparisons = [
        ("min", least, least, most, f"min is larger than capacity value: {most}"),
        ("min", default, least, default, f"default is less than min: {least}"),
    ]
    if top is not None:
        comparisons += [
            ("max", least, least, top, f"min is larger than max: {top}"),
            ("max", top, top, most, f"max is larger than capacity value: {most}"),
            ("max", default, default, top, f"default is more than max: {top}"),
        ]
    if step is not None:
        first = total((least, step))
        comparisons.append(("step", step, first, most, f"one step {first} is larger than capacity value: {most}"))
    for field, quantity, smaller, larger, reason in comparisons:
        if smaller.value > larger.value:
            yield invalid_value(field, str(quantity), reason)
    if step is None or not step.value:
        return
    for each in (default, *(() if top is None else (top,))):
        if (each.value - least.value) % step.value:
            yield invalid_value("step", str(each), f"value is not a multiple of a given step ({step}) from ({least})")


@rule()
def interface_address(value: str, _: FieldScope) -> Iterator[Cause]:
    """Check an address with the length of its prefix, which must be in the canonical form."""
    canonical = _canonical(value)
    if not canonical:
        yield invalid_value("", value, _NO_ADDRESS)
    elif canonical != value:
        yield invalid_value("", value, f'must be in canonical form ("{canonical}")')


def _canonical(value: Any) -> str:
    """Return an interface's address in the canonical form; empty if it is invalid."""
    address, slash, length = value.partition("/")
    plain = without_zeros(address)
    try:
        interface = ipaddress.ip_interface(f"{plain}/{length}")
    except ValueError:
        return ""
    mapped = interface.ip.ipv4_mapped if isinstance(interface, ipaddress.IPv6Interface) else None
    return f"{mapped or interface.ip}/{interface.network.prefixlen}" if slash and length.isdecimal() else ""
