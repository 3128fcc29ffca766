"""Limit ranges: containers get the requests and limits their namespace sets for those who name none, and keep within.

Pods alone are looked at, containers and pods as a whole; claims of volumes are not limited.
"""

from collections.abc import Iterator
from typing import Any

from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.status import forbidden
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Key
from clientgo.meta.quantities import Quantity, total

Object = dict[str, Any]

KEY: Key = ("", "limitranges")
ANNOTATION = "kubernetes.io/limit-ranger"
_KINDS = {"request": "requests", "limit": "limits"}
_CONTAINERS = ("containers", "initContainers")


def with_range_defaults(state: State, write: Write, pod: Object) -> Object:
    """A new pod whose containers have what its namespace's limit ranges set where they say nothing."""
    if not state.store.count(KEY):
        return pod
    told: list[str] = []
    for item in _items(state, write.namespace, "Container"):
        spec = {**pod["spec"]}
        for field in _CONTAINERS:
            if spec.get(field):
                what = "init container" if field == "initContainers" else "container"
                spec[field] = [_filled(container, item, told, what) for container in spec[field]]
        pod = {**pod, "spec": spec}
    if not told:
        return pod
    meta, text = pod["metadata"], f"LimitRanger plugin set: {'; '.join(told)}"
    return {**pod, "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), ANNOTATION: text}}}


def check_ranges(state: State, write: Write, pod: Object, old: Object | None) -> None:
    """Refuse a new pod that asks for less or more than the limit ranges of its namespace let it.

    Raises:
        ApiFailure: 403.
    """
    if old is not None or not state.store.count(KEY):
        return
    found: list[str] = []
    containers = [one for field in _CONTAINERS for one in pod["spec"].get(field) or ()]
    for item in _items(state, write.namespace, "Container"):
        for container in containers:
            resources = container.get("resources") or {}
            found += _faults(item, {kind: _amounts(resources.get(name)) for kind, name in _KINDS.items()})
    for item in _items(state, write.namespace, "Pod"):
        found += _faults(item, {kind: _together(pod, name) for kind, name in _KINDS.items()})
    if found:
        why = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
        raise forbidden(write.resource, pod["metadata"]["name"], why)


def _items(state: State, namespace: str, kind: str) -> Iterator[Object]:
    for one in state.store.list(KEY, namespace):
        yield from (item for item in (one.get("spec") or {}).get("limits") or () if item.get("type") == kind)


def _filled(container: Object, item: Object, told: list[str], what: str) -> Object:
    resources = dict(container.get("resources") or {})
    for kind, field in (("request", "defaultRequest"), ("limit", "default")):
        own = resources.get(_KINDS[kind]) or {}
        missing = {name: amount for name, amount in (item.get(field) or {}).items() if name not in own}
        if missing:
            resources[_KINDS[kind]] = {**own, **missing}
            told.append(f"{', '.join(sorted(missing))} {kind} for {what} {container['name']}")
    return {**container, "resources": resources}


def _faults(item: Object, asked: dict[str, dict[str, Quantity]]) -> Iterator[str]:
    kind = item["type"]
    for name, bound in sorted(_amounts(item.get("min")).items()):
        yield from _below(name, kind, bound, asked)
    for name, bound in sorted(_amounts(item.get("max")).items()):
        yield from _beyond(name, kind, bound, asked)
    for name, bound in sorted(_amounts(item.get("maxLimitRequestRatio")).items()):
        limit, request = asked["limit"].get(name), asked["request"].get(name)
        if limit is None or request is None or not request.value:
            why = "but no request is specified or request is 0"
            yield f"{name} max limit to request ratio per {kind} is {bound}, {why}"
        elif limit.value / request.value > bound.value:
            ratio = float(limit.value / request.value)
            yield f"{name} max limit to request ratio per {kind} is {bound}, but provided ratio is {ratio:.6f}"


def _below(name: str, kind: str, bound: Quantity, asked: dict[str, dict[str, Quantity]]) -> Iterator[str]:
    if name not in asked["request"]:
        yield f"minimum {name} usage per {kind} is {bound}.  No request is specified"
        return
    for what in _KINDS:
        amount = asked[what].get(name)
        if amount is not None and amount.value < bound.value:
            yield f"minimum {name} usage per {kind} is {bound}, but {what} is {amount}"
            return


def _beyond(name: str, kind: str, bound: Quantity, asked: dict[str, dict[str, Quantity]]) -> Iterator[str]:
    if name not in asked["limit"]:
        yield f"maximum {name} usage per {kind} is {bound}.  No limit is specified"
        return
    for what in ("limit", "request"):
        amount = asked[what].get(name)
        if amount is not None and amount.value > bound.value:
            yield f"maximum {name} usage per {kind} is {bound}, but {what} is {amount}"
            return


def _amounts(listed: Any) -> dict[str, Quantity]:
    found = {}
    for name, text in (listed or {}).items():
        try:
            found[name] = Quantity(text)
        except ValueError:
            continue  # limits nothing, and asks for nothing
    return found


def _together(pod: Object, field: str) -> dict[str, Quantity]:
    """What all containers of a pod ask for; or one that runs before them, if that is more."""
    each = [_amounts((one.get("resources") or {}).get(field)) for one in pod["spec"].get("containers") or ()]
    first = [_amounts((one.get("resources") or {}).get(field)) for one in pod["spec"].get("initContainers") or ()]
    names = {name for amounts in (*each, *first) for name in amounts}
    found = {}
    for name in names:
        sums = [total(amounts[name] for amounts in each if name in amounts)]
        sums += [amounts[name] for amounts in first if name in amounts]
        found[name] = max(sums, key=lambda amount: amount.value)
    return found
