"""Rules of quotas, limit ranges and nodes."""

from collections.abc import Iterable, Iterator
from typing import Any

from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.gotext import quoted_text
from clientgo_apiserver.api.names import label_value_errors, qualified_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, duplicate, forbidden_field, invalid_value, not_supported, required
from clientgo_apiserver.gotypes.gostructs import go_struct
from clientgo_apiserver.registry.validation.network import cidr
from clientgo_apiserver.registry.validation.pods.resources import amount, is_native, name_errors, quantity_errors
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule, within

_COMPUTE = ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
_CLAIMS = ("persistentvolumeclaims", "requests.storage")
_NOT_QUOTAS = ("storage",)
# Resources that quotas with a scope can limit.
_SCOPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"),
        ("pods", *_COMPUTE),
    ),
    "BestEffort": ("pods",),
    "VolumeAttributesClass": _CLAIMS,
}
_OPPOSITES = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_EXISTING = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity")
_EXISTING_RULE = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating,"
    " ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LIMITED = ("Pod", "Container", "PersistentVolumeClaim")
_CHANGED_RANGE = 'node updates may not change podCIDR except from "" to valid'


def _is_quota_name(name: str) -> bool:
    return not list(name_errors(name, "any")) and name not in _NOT_QUOTAS


@rule()
def quota_amounts(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the names and amounts of a quota."""
    for name, quantity in sorted(value.items()):
        causes = list(name_errors(name, "any"))
        if "/" not in name and not _is_quota_name(name):
            causes.append(invalid_value("", name, "must be a standard resource for quota"))
        yield from within(f"[{name}]", [*causes, *quantity_errors(name, quantity)])


@rule()
def quota_scopes(spec: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that the scopes of a quota exist, agree, and apply to what it limits."""
    scopes, hard = spec.get("scopes") or [], sorted(spec.get("hard") or ())
    yield from (
        invalid_value("scopes", scopes, reason) for scope_name in scopes for reason in _scope_errors(scope_name, hard)
    )
    yield from (invalid_value("scopes", scopes, "conflicting scopes") for pair in _OPPOSITES if pair <= {*scopes})
    field_path, selector = "scopeSelector.matchExpressions", spec.get("scopeSelector") or {}
    for term in selector.get("matchExpressions") or ():
        name, operator, values = term.get("scopeName") or "", term.get("operator") or "", term.get("values") or []
        for reason in _scope_errors(name, hard):
            applied = reason.endswith("resource")
            invalid = go_struct("ScopeSelector", selector) if applied else name
            yield invalid_value(field_path if applied else f"{field_path}.scopeName", invalid, reason)
        if name in _EXISTING and operator != "Exists":
            yield invalid_value(f"{field_path}.operator", operator, _EXISTING_RULE)
        yield from _operator_errors(field_path, operator, values)


def _scope_errors(name: str, hard: Iterable[str]) -> Iterator[str]:
    if name not in _SCOPES:
        yield "unsupported scope"
        return
    yield from (
        "unsupported scope applied to resource"
        for resource in hard
        if _is_quota_name(resource) and "/" not in resource and resource not in _SCOPES[name]
    )


def _operator_errors(field_path: str, operator: str, values: list[str]) -> Iterator[Cause]:
    if operator in ("In", "NotIn"):
        if not values:
            reason = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(f"{field_path}.values", reason)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            reason = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield invalid_value(f"{field_path}.values", values, reason)
    else:
        yield invalid_value(f"{field_path}.operator", operator, "not a valid selector operator")


@rule()
def limit_range_item(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the limits of a type: names, and amounts in order."""
    kind = value.get("type") or ""
    errors = [invalid_value("type", kind, reason) for reason in qualified_errors(kind)]
    if not errors and "/" not in kind and kind not in _LIMITED:
        errors = [invalid_value("type", kind, "must be a standard limit type or fully qualified")]
    yield from errors
    fields = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"]
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            fields.remove(field)
            if value.get(field):
                yield forbidden_field(field, "may not be specified when `type` is 'Pod'")
    for field in fields:
        for name in sorted(value.get(field) or ()):
            yield from within(f"{field}[{name}]", name_errors(name, "container" if kind in _LIMITED[:2] else "any"))
    if kind == "PersistentVolumeClaim" and not any("storage" in (value.get(field) or ()) for field in ("min", "max")):
        reason = "either minimum or maximum storage value is required, but neither was provided"
        yield required("limits", reason)
    for name in sorted({name for field in fields for name in value.get(field) or ()}):
        yield from _amount_errors(name, {field: amount((value.get(field) or {}).get(name)) for field in fields})


_MAX_FEATURE = 253
_FEATURE = lazy_pattern("[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_FEATURE_FORM = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or"
    " MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
_LIMIT = "default limit value"
# The amounts that must not exceed others: the field of the error, of the value shown, and both with their names.
_ORDER = (
    ("min", "min", ("min", "min value"), ("max", "max value")),
    ("defaultRequest", "defaultRequest", ("min", "min value"), ("defaultRequest", "default request value")),
    ("defaultRequest", "defaultRequest", ("defaultRequest", "default request value"), ("max", "max value")),
    ("defaultRequest", "defaultRequest", ("defaultRequest", "default request value"), ("default", _LIMIT)),
    ("default", "min", ("min", "min value"), ("default", "default value")),
    ("default", "max", ("default", "default value"), ("max", "max value")),
)  # fmt: skip


def _amount_errors(name: str, amounts: dict[str, Any]) -> Iterator[Cause]:
    for field, reported, (low, low_name), (high, high_name) in _ORDER:
        less, more = amounts.get(low), amounts.get(high)
        if less is not None and more is not None and less.value > more.value:
            reason = f"{low_name} {less} is greater than {high_name} {more}"
            yield invalid_value(f"{field}[{name}]", str(amounts[reported]), reason)
    ratio, least, most = (amounts.get(field) for field in ("maxLimitRequestRatio", "min", "max"))
    field_path = f"maxLimitRequestRatio[{name}]"
    if ratio is not None and ratio.value < 1:
        yield invalid_value(field_path, str(ratio), f"ratio {ratio} is less than 1")
    if ratio is not None and least is not None and most is not None and least.value:
        limit = most.value / least.value
        if ratio.value > limit:
            yield invalid_value(field_path, str(ratio), f"ratio {ratio} is greater than max/min = {float(limit):f}")
    default, request = amounts.get("default"), amounts.get("defaultRequest")
    fixed = not is_native(name) or name.startswith("hugepages-")
    if fixed and default is not None and request is not None and default.value != request.value:
        reason = f"default value {default} must equal to defaultRequest value {request} in {name}"
        yield invalid_value(f"defaultRequest[{name}]", str(request), reason)


@rule()
def node(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check the taints and address ranges of a node."""
    spec, old = value.get("spec") or {}, scope.old
    for index, taint in enumerate(spec.get("taints") or ()):
        yield from within(f"metadata.taints[{index}]", _taint_errors(taint, spec["taints"][:index]))
    ranges = spec.get("podCIDRs") or []
    if old is None:
        for index, text in enumerate(ranges):
            yield from within(f"spec.podCIDRs[{index}]", cidr(text, scope))
        if len(ranges) > 1 and (len(ranges) > 2 or (":" in ranges[0]) == (":" in ranges[1])):
            yield invalid_value("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")
        return
    before = old.get("spec") or {}
    if before.get("podCIDRs") and before["podCIDRs"] != ranges:
        yield forbidden_field("spec.podCIDRs", _CHANGED_RANGE)
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        yield forbidden_field("spec.providerID", 'node updates may not change providerID except from "" to valid')


@rule()
def node_amounts(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check the amounts in the status of a node, and in an update its addresses."""
    status = value.get("status") or {}
    for field in ("capacity", "allocatable"):
        for name, quantity in sorted((status.get(field) or {}).items()):
            yield from within(f"status.{field}.{name}", quantity_errors(name, quantity))
    addresses = (status.get("addresses") or []) if scope.updates else []
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            yield duplicate(f"status.addresses[{index}]", go_struct("NodeAddress", address))


@rule()
def declared_features(value: list[str], _: FieldScope) -> Iterator[Cause]:
    """Check that the features that a node declares have names in camel case, and are sorted."""
    for index, feature in enumerate(value):
        reason = "" if len(feature) <= _MAX_FEATURE else f"must be no more than {_MAX_FEATURE} characters"
        reason = reason or ("" if _FEATURE.fullmatch(feature) else _FEATURE_FORM)
        if reason:
            yield invalid_value(f"[{index}]", feature, f"invalid feature name {quoted_text(feature)}: {reason}")
        if index and feature == value[index - 1]:
            yield duplicate(f"[{index}]", feature)
        elif index and feature < value[index - 1]:
            yield invalid_value(f"[{index}]", feature, "list must be sorted alphabetically")


def _taint_errors(taint: Object, earlier: list[Object]) -> Iterator[Cause]:
    key, text, effect = (taint.get(field) or "" for field in ("key", "value", "effect"))
    yield from (invalid_value("key", key, reason) for reason in qualified_errors(key))
    if errors := label_value_errors(text):
        yield invalid_value("value", text, ";".join(errors))
    if effect not in _EFFECTS:
        yield not_supported("effect", effect, _EFFECTS) if effect else required("effect")
    if any((other.get("key"), other.get("effect")) == (key, effect) for other in earlier):
        cause = duplicate("", {"Key": key, "Value": text, "Effect": effect, "TimeAdded": None})
        yield Cause(cause.reason, "", f"{cause.message}: taints must be unique by key and effect pair")
