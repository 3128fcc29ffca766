"""Fit of pods and nodes: selectors, affinity, taints and resources, as kube-scheduler's filters decide."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from clientgo.meta.quantities import ParsedQuantity
from clientgo_apiserver.api.resources import Object

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}

_OPERATORS: Mapping[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, values: _number(value) > _number(values[0]),
    "Lt": lambda value, values: value is not None and _number(value) < _number(values[0]),
}


def matches_node(spec: Object, node: Object) -> bool:
    """Return whether a pod's `nodeSelector` and required node affinity select the node."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
    return affinity is None or any(_term_matches(term, node) for term in affinity.get("nodeSelectorTerms") or ())


def tolerates(spec: Object, node: Object, effects: Iterable[str]) -> bool:
    """Return whether a pod tolerates the node's taints with these effects."""
    return untolerated(spec, node, effects) is None


def untolerated(spec: Object, node: Object, effects: Iterable[str]) -> Object | None:
    """Return the first taint of the node with one of these effects that the pod does not tolerate, or None."""
    taints = list(node["spec"].get("taints") or ())
    if node["spec"].get("unschedulable"):
        taints.append(_UNSCHEDULABLE)
    tolerations = spec.get("tolerations") or ()
    for taint in taints:
        if taint.get("effect") in effects and not any(tolerates_taint(each, taint) for each in tolerations):
            return dict(taint)
    return None


def tolerates_taint(toleration: Object, taint: Object) -> bool:
    """Return whether a toleration is for the taint."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def lacking(requests: Mapping[str, Any], used: Mapping[str, Any], node: Object) -> list[str]:
    """Return the resources that the node has too little of; `requests` and `used` are amounts by name."""
    status = node.get("status") or {}
    allocatable = status.get("allocatable") or status.get("capacity") or {}
    return [
        name
        for name, amount in requests.items()
        if amount and used.get(name, 0) + amount > _amount(str(allocatable.get(name, 0)))
    ]


@lru_cache(maxsize=256)
def _amount(text: str) -> Fraction | int:
    value = ParsedQuantity(text).value
    return int(value) if value.denominator == 1 else value


def _term_matches(term: Object, node: Object) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    labels = node["metadata"].get("labels") or {}
    if not expressions and not fields:
        return False  # an empty term selects nothing
    return all(_requirement_holds(each, labels) for each in expressions) and all(
        _requirement_holds(each, {"metadata.name": node["metadata"]["name"]}) for each in fields
    )


def _requirement_holds(requirement: Object, values: Mapping[str, str]) -> bool:
    return _OPERATORS[requirement["operator"]](values.get(requirement["key"]), requirement.get("values") or [])


def _number(text: str | None) -> float:
    try:
        return float(int(text or ""))
    except ValueError:
        return float("nan")  # neither greater nor less than anything
