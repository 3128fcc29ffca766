"""Label selectors of pods whose values are those of the pod's own labels: matchLabelKeys and mismatchLabelKeys."""

from collections.abc import Callable

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.releases.release import current

_REQUIRED, _PREFERRED = (f"{kind}DuringSchedulingIgnoredDuringExecution" for kind in ("required", "preferred"))
_OPERATORS = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))


def with_selected_labels(pod: Object) -> Object:
    """Return a new pod with an expression for each of its labels that such a key names."""
    spec, labels = pod["spec"], pod["metadata"].get("labels") or {}
    if not labels or not (spec.get("affinity") or spec.get("topologySpreadConstraints")):
        return pod
    changed = dict(spec)
    for field in ("podAffinity", "podAntiAffinity"):
        if terms := (spec.get("affinity") or {}).get(field):
            changed["affinity"] = {**changed["affinity"], field: _affinity(terms, labels)}
    constraints = spec.get("topologySpreadConstraints")
    if constraints and current().enabled("MatchLabelKeysInPodTopologySpreadSelectorMerge"):
        changed["topologySpreadConstraints"] = [_selecting(constraint, labels) for constraint in constraints]
    return {**pod, "spec": changed}


def _affinity(affinity: Object, labels: Object) -> Object:
    changes: dict[str, Callable[[Object], Object]] = {
        _REQUIRED: lambda term: _selecting(term, labels),
        _PREFERRED: lambda term: {**term, "podAffinityTerm": _selecting(term.get("podAffinityTerm") or {}, labels)},
    }
    selecting = {field: [*map(change, affinity[field])] for field, change in changes.items() if affinity.get(field)}
    return {**affinity, **selecting}


def _selecting(term: Object, labels: Object) -> Object:
    """Return a term whose selector has the pod's labels; one without a selector matches nothing."""
    selector = term.get("labelSelector")
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in _OPERATORS
        for key in term.get(field) or ()
        if key in labels
    ]
    if selector is None or not added:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}
