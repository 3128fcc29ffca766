"""Subresources through which one part of an object is changed: of pods, and the approval of certificate requests."""

from collections.abc import Iterator

from clientgo.apiserver.http.status import Cause, forbidden_field, invalid_value, not_supported
from clientgo.apiserver.registry.defaults.pods import quality_of_service
from clientgo.apiserver.registry.registry import Object

PARTS = ("approval", "ephemeralcontainers", "resize")
"""Names of these subresources."""

_RESIZED = ("resources", "resizePolicy")
REQUESTS = ("certificates.k8s.io", "certificatesigningrequests")
"""Key of certificate requests, whose spec never changes."""

_FINAL = ("Approved", "Denied", "Failed")
_MIRROR = "kubernetes.io/config.mirror"


def with_part(part: str, new: Object, old: Object) -> Object:
    """Return the old object with the part of the new one that the subresource writes."""
    if part == "approval":
        conditions = {"conditions": (new.get("status") or {}).get("conditions") or []}
        return {**old, "metadata": new["metadata"], "status": {**(old.get("status") or {}), **conditions}}
    old_spec, new_spec = old["spec"], new.get("spec") or {}
    if part == "resize":
        kinds = ("containers", "initContainers")
        if any(len(new_spec.get(kind) or ()) != len(old_spec.get(kind) or ()) for kind in kinds):
            return new  # rejected by `part_errors`
        changed = {kind: _resized(new_spec[kind], old_spec[kind]) for kind in kinds if old_spec.get(kind)}
    else:
        changed = {"ephemeralContainers": new_spec.get("ephemeralContainers") or []}
    spec = {field: value for field, value in {**old_spec, **changed}.items() if value != []}
    versions = {
        field: new["metadata"][field] for field in ("managedFields", "resourceVersion") if field in new["metadata"]
    }
    return {**old, "spec": spec, "metadata": {**old["metadata"], **versions}}


def conditions_of(obj: Object) -> list[Object]:
    """Return the conditions in the object's status."""
    return (obj.get("status") or {}).get("conditions") or []


def stamped(request: Object, old: Object, now: str) -> Object:
    """Return a certificate request whose conditions have their times."""
    known = {(one.get("type"), one.get("status")): one.get("lastTransitionTime") for one in conditions_of(old)}
    conditions = [
        {
            **one,
            "lastUpdateTime": one.get("lastUpdateTime") or now,
            "lastTransitionTime": one.get("lastTransitionTime")
            or known.get((one.get("type"), one.get("status")))
            or now,
        }
        for one in conditions_of(request)
    ]
    return {**request, "status": {**request["status"], "conditions": conditions}} if conditions else request


def _approval_errors(new: list[Object], old: list[Object]) -> Iterator[Cause]:
    types = [one.get("type") for one in new]
    for one in old:
        if one.get("type") in _FINAL and one.get("type") not in types:
            yield forbidden_field("status.conditions", f'updates may not remove a condition of type "{one["type"]}"')
    for index, one in enumerate(new):
        if one.get("type") in _FINAL and one.get("status") != "True":
            yield not_supported(f"status.conditions[{index}].status", one.get("status", ""), ("True",))
    if {"Approved", "Denied"} <= set(types):
        last = "Denied" if types.index("Denied") > types.index("Approved") else "Approved"
        yield invalid_value("status.conditions", last, "Approved and Denied conditions are mutually exclusive")


def _resized(new: list[Object], old: list[Object]) -> list[Object]:
    if [one.get("name") for one in new] != [one["name"] for one in old]:
        return new
    return [
        {
            **{field: value for field, value in before.items() if field not in _RESIZED},
            **{field: after[field] for field in _RESIZED if field in after},
        }
        for before, after in zip(old, new, strict=True)
    ]


def part_errors(part: str, new: Object, old: Object) -> list[Cause]:
    """Return the errors of a change through the subresource."""
    if part == "approval":
        return list(_approval_errors(conditions_of(new), conditions_of(old)))
    static = _MIRROR in (old["metadata"].get("annotations") or {})
    if part == "resize":
        return [forbidden_field("", "static pods cannot be resized")] if static else _resize_errors(new, old)
    if static:
        return [forbidden_field("", "static pods do not support ephemeral containers")]
    after = {one.get("name"): one for one in new["spec"].get("ephemeralContainers") or ()}
    causes = []
    for one in old["spec"].get("ephemeralContainers") or ():
        what = "" if after.get(one["name"]) == one else "changed" if one["name"] in after else "removed"
        if what:
            why = f'existing ephemeral containers "{one["name"]}" may not be {what}\n'
            causes.append(forbidden_field("spec.ephemeralContainers", why))
    return causes


def _resize_errors(new: Object, old: Object) -> list[Cause]:
    causes = []
    quality = quality_of_service(old["spec"])
    if quality != quality_of_service(new["spec"]):
        causes.append(invalid_value("spec", quality, "Pod QOS Class may not change as a result of resizing"))
    for kind in ("containers", "initContainers"):
        before, after = old["spec"].get(kind) or [], new["spec"].get(kind) or []
        if len(before) != len(after):
            causes.append(forbidden_field(f"spec.{kind}", f"{kind} may not be added or removed on resize"))
            continue
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            path = f"spec.{kind}[{index}]"
            if one["name"] != other.get("name"):
                why = f"{kind} may not be renamed or reordered on resize"
                causes.append(forbidden_field(f"{path}.name", why))
            else:
                causes += _container_errors(one.get("resources") or {}, other.get("resources") or {}, path)
    return causes


def _container_errors(before: Object, after: Object, path: str) -> list[Cause]:
    causes = []
    for kind in ("requests", "limits"):
        old, new = before.get(kind) or {}, after.get(kind) or {}
        if not set(old) <= set(new):
            causes.append(forbidden_field(f"{path}.resources.{kind}", f"resource {kind} cannot be removed"))
        if any(old.get(name) != new.get(name) for name in {*old, *new} - {"cpu", "memory"}):
            causes.append(forbidden_field("spec", "only cpu and memory resources are mutable"))
    return causes
