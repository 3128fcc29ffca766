"""Rules of compute resources: names, quantities, requests within limits."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from clientgo.meta.quantities import ParsedQuantity
from clientgo_apiserver.api.names import label_errors, qualified_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, duplicate, forbidden_field, invalid_value, not_supported, required
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule, within

_OBJECTS = (
    "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims",
    "services.nodeports", "services.loadbalancers",
)  # fmt: skip
_CONTAINER = ("cpu", "memory", "ephemeral-storage")
_STANDARD = frozenset((
    *_CONTAINER, *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _CONTAINER),
    "storage", "requests.storage", *_OBJECTS,
))  # fmt: skip
_HUGE_PAGES = "hugepages-"
_DEFAULT_DOMAIN = "kubernetes.io/"


@lru_cache(maxsize=1024)
def amount(value: Any) -> ParsedQuantity | None:
    """Parse a quantity; return None for an invalid one, which decoding rejects. Callers share the result."""
    try:
        return ParsedQuantity(value)
    except ValueError:
        return None


def is_native(name: str) -> bool:
    """Return whether Kubernetes itself defines the resource."""
    return "/" not in name or _DEFAULT_DOMAIN in name


def is_extended(name: str) -> bool:
    """Return whether the name is that of an extended resource."""
    return not is_native(name) and not name.startswith("requests.") and not qualified_errors(f"requests.{name}")


def name_errors(name: str, kind: str) -> Iterator[Cause]:
    """Return the errors of the name of a resource of a `container`, a `pod` or anything (`any`)."""
    causes = [invalid_value("", name, reason) for reason in qualified_errors(name)]
    huge = name.startswith((_HUGE_PAGES, f"requests.{_HUGE_PAGES}"))
    if not causes and "/" not in name and name not in _STANDARD and not huge:
        causes = [invalid_value("", name, "must be a standard resource type or fully qualified")]
    yield from causes
    if kind == "pod" and not causes and name not in ("cpu", "memory") and not name.startswith(_HUGE_PAGES):
        yield not_supported("", name, ("cpu", "hugepages-", "memory"))
    if kind != "container":
        return
    if "/" not in name and name not in _CONTAINER and not name.startswith(_HUGE_PAGES):
        yield invalid_value("", name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid_value("", name, "doesn't follow extended resource name standard")


def quantity_errors(name: str, value: Any) -> Iterator[Cause]:
    """Return the errors of an amount: negative, or not whole for a resource that is counted."""
    parsed = amount(value)
    if parsed is None:
        return
    if parsed.value < 0:
        yield invalid_value("", str(parsed), "must be greater than or equal to 0")
    if (name in _OBJECTS or is_extended(name)) and (parsed.value * 1000) % 1000:
        yield invalid_value("", str(parsed), "must be an integer")


@rule()
def resources(value: Object, scope: FieldScope, kind: str) -> Iterator[Cause]:
    """Check limits, requests and claims of a container or pod."""
    limits, requests = value.get("limits") or {}, value.get("requests") or {}
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, quantity in sorted(amounts.items()):
            errors = [*name_errors(name, kind), *quantity_errors(name, quantity)]
            yield from within(f"{field}[{name}]", errors)
            if field == "requests":
                yield from _within_limit(name, quantity, limits)
            yield from _huge_page_errors(name, quantity, f"{field}[{name}]")
    names = {*limits, *requests}
    if any(name.startswith(_HUGE_PAGES) for name in names) and not names & {"cpu", "memory"}:
        yield forbidden_field("", "HugePages require cpu or memory")
    if value.get("claims"):
        yield from _claim_errors(value["claims"], scope)


def _within_limit(name: str, quantity: Any, limits: Object) -> Iterator[Cause]:
    overcommit = is_native(name) and not name.startswith(_HUGE_PAGES)
    if name not in limits:
        if not overcommit:
            yield required("limits", "Limit must be set for non overcommitable resources")
        return
    request, limit = amount(quantity), amount(limits[name])
    if request is None or limit is None:
        return
    if not overcommit and request.value != limit.value:
        yield invalid_value("requests", str(request), f"must be equal to {name} limit of {limit}")
    elif request.value > limit.value:
        yield invalid_value("requests", str(request), f"must be less than or equal to {name} limit of {limit}")


def _huge_page_errors(name: str, quantity: Any, path: str) -> Iterator[Cause]:
    if not name.startswith(_HUGE_PAGES):
        return
    page, parsed = amount(name.removeprefix(_HUGE_PAGES)), amount(quantity)
    if parsed is not None and (page is None or page.value <= 0 or parsed.value % page.value):
        yield invalid_value(path, str(parsed), f"{parsed} is not positive integer multiple of {name}")


def _claim_errors(claims: list[Object], scope: FieldScope) -> Iterator[Cause]:
    spec = scope.enclosing("PodSpec") or {}
    declared = sorted(claim.get("name") or "" for claim in spec.get("resourceClaims") or ())
    seen: set[tuple[str, str]] = set()
    for index, claim in enumerate(claims):
        name, request, field_path = claim.get("name") or "", claim.get("request") or "", f"claims[{index}]"
        if not name:
            yield required(field_path)
            continue
        for reason in label_errors(request) if request else ():
            yield invalid_value(f"{field_path}.request", request, reason)
        if (
            (name, "") in seen
            or (name, request) in seen
            or (not request and any(seen_name == name for seen_name, _ in seen))
        ):
            yield duplicate(field_path, f"{name}/{request}" if request and (name, "") not in seen else name)
        seen.add((name, request))
        if name not in declared:
            listed = f": {', '.join(declared)}" if declared else " which is empty"
            detail = f'Not found: "{name}": must be one of the names in pod.spec.resourceClaims{listed}'
            yield Cause("FieldValueNotFound", field_path, detail)


@rule()
def overhead(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check the overhead of a runtime class."""
    yield from resources({"limits": value}, scope, "container")


@rule()
def resize_policy(value: list[Object], scope: FieldScope) -> Iterator[Cause]:
    """Check the resize policies of a container."""
    never = (scope.enclosing("PodSpec") or {}).get("restartPolicy") == "Never"
    seen: set[str] = set()
    for index, entry in enumerate(value):
        name, policy = entry.get("resourceName") or "", entry.get("restartPolicy") or ""
        if name in seen:
            yield duplicate(f"[{index}]", name)
        seen.add(name)
        for text, choices in ((name, ("cpu", "memory")), (policy, ("NotRequired", "RestartContainer"))):
            if text not in choices:
                yield not_supported("", text, choices) if text else required("")
        if never and policy != "NotRequired":
            yield invalid_value("", policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
