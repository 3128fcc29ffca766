"""Limit ranges: default requests and limits of containers, and admission of pods within the ranges.

Only pods are checked, by container and as a whole; volume claims are not.
"""

from collections.abc import Iterator

from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.status import forbidden
from clientgo.apiserver.registry.defaults.pods import amounts, pod_amounts
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Key
from clientgo.meta.quantities import ParsedQuantity

KEY: Key = ("", "limitranges")
ANNOTATION = "kubernetes.io/limit-ranger"
_KINDS = {"request": "requests", "limit": "limits"}
_CONTAINERS = ("containers", "initContainers")


def with_range_defaults(state: State, write: Write, pod: Object) -> Object:
    """Return a new pod whose containers have the defaults of its namespace's limit ranges."""
    if not state.store.count(KEY):
        return pod
    notes: list[str] = []
    for item in _items(state, write.namespace, "Container"):
        spec = {**pod["spec"]}
        for field in _CONTAINERS:
            if spec.get(field):
                what = "init container" if field == "initContainers" else "container"
                spec[field] = [_filled(container, item, notes, what) for container in spec[field]]
        pod = {**pod, "spec": spec}
    if not notes:
        return pod
    meta, text = pod["metadata"], f"LimitRanger plugin set: {'; '.join(notes)}"
    return {**pod, "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), ANNOTATION: text}}}


def check_ranges(state: State, write: Write, pod: Object, old: Object | None) -> None:
    """Check a new pod against the limit ranges of its namespace (403)."""
    if old is not None or not state.store.count(KEY):
        return
    found: list[str] = []
    containers = [one for field in _CONTAINERS for one in pod["spec"].get(field) or ()]
    for item in _items(state, write.namespace, "Container"):
        for container in containers:
            resources = container.get("resources") or {}
            found += _faults(item, {kind: amounts(resources.get(name)) for kind, name in _KINDS.items()})
    for item in _items(state, write.namespace, "Pod"):
        found += _faults(item, {kind: pod_amounts(pod, name) for kind, name in _KINDS.items()})
    if found:
        why = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
        raise forbidden(write.resource, pod["metadata"]["name"], why)


def _items(state: State, namespace: str, kind: str) -> Iterator[Object]:
    for one in state.store.list(KEY, namespace):
        yield from (item for item in (one.get("spec") or {}).get("limits") or () if item.get("type") == kind)


def _filled(container: Object, item: Object, notes: list[str], what: str) -> Object:
    resources = dict(container.get("resources") or {})
    for kind, field in (("request", "defaultRequest"), ("limit", "default")):
        own = resources.get(_KINDS[kind]) or {}
        missing = {name: amount for name, amount in (item.get(field) or {}).items() if name not in own}
        if missing:
            resources[_KINDS[kind]] = {**own, **missing}
            notes.append(f"{', '.join(sorted(missing))} {kind} for {what} {container['name']}")
    return {**container, "resources": resources}


def _faults(item: Object, asked: dict[str, dict[str, ParsedQuantity]]) -> Iterator[str]:
    kind = item["type"]
    for field, told, first in (("min", "minimum", "request"), ("max", "maximum", "limit")):
        for name, bound in sorted(amounts(item.get(field)).items()):
            start = f"{told} {name} usage per {kind} is {bound}"
            if name not in asked[first]:
                yield f"{start}.  No {first} is specified"
                continue
            # The first that is beyond the bound, of the request and the limit.
            for what in dict.fromkeys((first, "request", "limit")):
                amount = asked[what].get(name)
                if amount is not None and (
                    amount.value < bound.value if field == "min" else amount.value > bound.value
                ):
                    yield f"{start}, but {what} is {asked[what][name]}"
                    break
    for name, bound in sorted(amounts(item.get("maxLimitRequestRatio")).items()):
        limit, request = asked["limit"].get(name), asked["request"].get(name)
        start = f"{name} max limit to request ratio per {kind} is {bound}, but"
        if limit is None or request is None or not request.value:
            yield f"{start} no request is specified or request is 0"
        elif limit.value / request.value > bound.value:
            yield f"{start} provided ratio is {float(limit.value / request.value):.6f}"
