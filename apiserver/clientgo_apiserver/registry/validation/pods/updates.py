"""Rules of updates of pods."""

from collections.abc import Iterator
from typing import Any

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, forbidden_field, invalid_value
from clientgo_apiserver.gotypes.gostructs import go_diff
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule

_MAX_DEADLINE = 2**31 - 1
_UPDATABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)


@rule()
def pod_update(new: Object, scope: FieldScope) -> Iterator[Cause]:
    """Reject changes of a pod's spec other than of images, the deadline, tolerations and gates."""
    if scope.old is None:
        return
    spec, old = new.get("spec") or {}, scope.old.get("spec") or {}
    if spec == old:
        return
    for field in ("containers", "initContainers"):
        if len(spec.get(field) or ()) != len(old.get(field) or ()):
            yield forbidden_field(f"spec.{field}", "pod updates may not add or remove containers")
            return
    yield from _deadline_errors(spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"))
    yield from _toleration_errors(spec.get("tolerations") or [], old.get("tolerations") or [])
    yield from _gate_errors(spec.get("schedulingGates") or [], old.get("schedulingGates") or [])
    gated = bool(old.get("schedulingGates"))
    if gated:
        yield from _placement_errors(spec, old)
    fixed = _munged(spec, old, gated)
    if _filled(fixed) != _filled(old):
        yield forbidden_field("spec", _UPDATABLE + go_diff("PodSpec", old, fixed))


def _munged(spec: Object, old: Object, gated: bool) -> Object:
    """Return the new spec with the old values of the fields that an update may change."""
    free = ("activeDeadlineSeconds", "tolerations", "schedulingGates", *(("nodeSelector",) if gated else ()))
    munged = {**spec, **{field: old.get(field) for field in free}}
    for field in ("containers", "initContainers"):
        pairs = zip(spec.get(field) or (), old.get(field) or (), strict=True)
        if field in spec:
            munged[field] = [{**container, "image": before.get("image") or ""} for container, before in pairs]
    if gated:
        affinity = {key: value for key, value in (spec.get("affinity") or {}).items() if key != "nodeAffinity"}
        before = (old.get("affinity") or {}).get("nodeAffinity")
        munged["affinity"] = {**affinity, **({"nodeAffinity": before} if before else {})} or None
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    return munged


def _filled(spec: Object) -> Object:
    return {field: value for field, value in spec.items() if value not in (None, [], {})}


def _deadline_errors(new: Any, old: Any) -> Iterator[Cause]:
    field = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            yield invalid_value(field, None, "must not update from a positive integer to nil value")
        return
    if not 0 <= new <= _MAX_DEADLINE:
        yield invalid_value(field, new, f"must be between 0 and {_MAX_DEADLINE}, inclusive")
    if old is not None and old < new:
        yield invalid_value(field, new, "must be less than or equal to previous value")


def _toleration_errors(new: list[Object], old: list[Object]) -> Iterator[Cause]:
    def timeless(toleration: Object) -> Object:
        return {field: value for field, value in toleration.items() if field != "tolerationSeconds"}

    new_timeless = [timeless(toleration) for toleration in new]
    if any(timeless(toleration) not in new_timeless for toleration in old):
        reason = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden_field("spec.tolerations", reason)


def _gate_errors(new: list[Object], old: list[Object]) -> Iterator[Cause]:
    old_names = [gate.get("name") for gate in old]
    for index, gate in enumerate(new):
        if gate.get("name") not in old_names:
            reason = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield forbidden_field(f"spec.schedulingGates[{index}].name", reason)


def _placement_errors(spec: Object, old: Object) -> Iterator[Cause]:
    """Check that a gated pod's node selector and node affinity are only narrowed."""
    selector = spec.get("nodeSelector") or {}
    for key, value in (old.get("nodeSelector") or {}).items():
        if selector.get(key) != value:
            reason = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            yield invalid_value("spec.nodeSelector", selector, reason)
    before, after = (_terms(owner) for owner in (old, spec))
    field_path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    if before and len(before) != len(after):
        reason = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid_value(field_path, after, reason)
        return
    for index, (old_term, other) in enumerate(zip(before, after, strict=False)):
        if not _only_added(old_term, other):
            yield invalid_value(
                f"{field_path}[{index}]", other, "only additions are allowed (no mutations or deletions)"
            )


def _terms(spec: Object) -> list[Object]:
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return (required or {}).get("nodeSelectorTerms") or []


def _only_added(old: Object, new: Object) -> bool:
    fields = ("matchExpressions", "matchFields")
    if not any(old.get(field) for field in fields):
        return not any(new.get(field) for field in fields)
    return all((new.get(field) or [])[: len(old.get(field) or [])] == (old.get(field) or []) for field in fields)
