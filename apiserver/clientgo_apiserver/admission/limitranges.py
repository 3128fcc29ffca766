"""Limit ranges: default requests and limits of containers, and admission of pods and volume claims within them."""

from collections.abc import Iterator

from clientgo.meta.quantities import ParsedQuantity
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import forbidden, joined
from clientgo_apiserver.registry.defaults.pods import CONTAINERS, amounts, pod_amounts, quality_of_service
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import PODS
from clientgo_apiserver.storage.stored import Key

KEY: Key = ("", "limitranges")
ANNOTATION = "kubernetes.io/limit-ranger"
_KINDS = {"request": "requests", "limit": "limits"}
_CLAIM = "PersistentVolumeClaim"


def with_range_defaults(state: State, write: Write, pod: Object) -> Object:
    """Return a new pod whose containers have the defaults of its namespace's limit ranges."""
    if not state.store.count(KEY):
        return pod
    filled, text = pod, ""
    for limit_range in state.store.list(KEY, write.namespace):
        filled, notes = _with_defaults(filled, limit_range)
        text = f"LimitRanger plugin set: {'; '.join(notes)}" if notes else text  # of the last one that sets any
    if not text:
        return pod
    meta, status = pod["metadata"], dict(pod.get("status") or {})
    if status.get("qosClass") == quality_of_service(pod["spec"]):  # else it was sent with the pod
        status["qosClass"] = quality_of_service(filled["spec"])
    return {
        **filled,
        "status": status,
        "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), ANNOTATION: text}},
    }


def _with_defaults(pod: Object, limit_range: Object) -> tuple[Object, list[str]]:
    """Return the pod with the defaults of a limit range, and a note for each."""
    notes: list[str] = []
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        if item.get("type") != "Container":
            continue
        spec = {**pod["spec"]}
        for field in CONTAINERS:
            if spec.get(field):
                what = "init container" if field == "initContainers" else "container"
                spec[field] = [_filled(container, item, notes, what) for container in spec[field]]
        pod = {**pod, "spec": spec}
    return pod, notes


def check_ranges(state: State, write: Write, obj: Object, old: Object | None) -> None:
    """Check a new or resized pod, or a volume claim, against the limit ranges of its namespace (403)."""
    keeps = old is not None and write.resource.storage == PODS and write.subresource != "resize"
    if not state.store.count(KEY) or keeps:
        return
    violations: list[str] = []
    measured = _measured_pod(obj) if write.resource.storage == PODS else _measured_claim(obj)
    for limit_range in state.store.list(KEY, write.namespace):
        for item in (limit_range.get("spec") or {}).get("limits") or ():
            for usage in measured.get(item.get("type", ""), ()):
                violations += [fault for fault in _faults(item, usage) if fault not in violations]
    if violations:
        raise forbidden(write.resource, obj["metadata"]["name"], joined(violations))


Resources = dict[str, dict[str, ParsedQuantity]]


def _measured_pod(pod: Object) -> dict[str, list[Resources]]:
    containers = [
        container.get("resources") or {} for field in CONTAINERS for container in pod["spec"].get(field) or ()
    ]
    return {
        "Container": [
            {kind: amounts(container_resources.get(name)) for kind, name in _KINDS.items()}
            for container_resources in containers
        ],
        "Pod": [{kind: pod_amounts(pod, name) for kind, name in _KINDS.items()}],
    }


def _measured_claim(claim: Object) -> dict[str, list[Resources]]:
    requests = amounts((claim["spec"].get("resources") or {}).get("requests"))
    return {_CLAIM: [{"request": requests, "limit": {}}]}


def _filled(container: Object, item: Object, notes: list[str], what: str) -> Object:
    resources = dict(container.get("resources") or {})
    for kind, field in (("request", "defaultRequest"), ("limit", "default")):
        declared = resources.get(_KINDS[kind]) or {}
        missing = {name: amount for name, amount in (item.get(field) or {}).items() if name not in declared}
        if missing:
            resources[_KINDS[kind]] = {**declared, **missing}
            notes.append(f"{', '.join(sorted(missing))} {kind} for {what} {container['name']}")
    return {**container, "resources": resources}


def _faults(item: Object, used: Resources) -> Iterator[str]:
    kind = item["type"]
    largest = "request" if kind == _CLAIM else "limit"  # a claim has no limits
    for field, extreme, first in (("min", "minimum", "request"), ("max", "maximum", largest)):
        for name, bound in sorted(amounts(item.get(field)).items()):
            start = f"{extreme} {name} usage per {kind} is {bound}"
            if name not in used[first]:
                yield f"{start}.  No {first} is specified"
                continue
            # The first that is beyond the bound, of the request and the limit.
            for what in dict.fromkeys((first, "request", "limit")):
                amount = used[what].get(name)
                if amount is not None and (
                    amount.value < bound.value if field == "min" else amount.value > bound.value
                ):
                    yield f"{start}, but {what} is {used[what][name]}"
                    break
    yield from () if kind == _CLAIM else _ratio_faults(item, used)


def _ratio_faults(item: Object, used: Resources) -> Iterator[str]:
    kind = item["type"]
    for name, bound in sorted(amounts(item.get("maxLimitRequestRatio")).items()):
        start = f"{name} max limit to request ratio per {kind} is {bound}, but"
        for what in ("request", "limit"):
            if name not in used[what] or not used[what][name].value:
                yield f"{start} no {what} is specified or {what} is 0"
                break
        else:
            ratio = used["limit"][name].value / used["request"][name].value
            if ratio > bound.value:
                yield f"{start} provided ratio is {float(ratio):.6f}"
