"""Other writers of the operator's children: `kubectl edit`, a scaler, and an admission webhook."""

from collections.abc import Iterator
from typing import Any

import msgspec

from clientgo.perturb.differences import FieldPath, value_at
from clientgo.perturb.kinds.derived import scaler_of
from clientgo.perturb.kinds.endings import deletions, list_paths
from clientgo.perturb.kinds.faults import Down, Ticking
from clientgo.perturb.kinds.refusals import claims_ready
from clientgo.perturb.kinds.rehearsal import Rehearsal, Verdict, ended_early, identified, not_applicable, short_name
from clientgo.perturb.kinds.userobjects import custom_objects, merge, user_objects
from clientgo.perturb.programs.gate import Outgoing
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.state import Object, ObjectRef, owner_uids
from clientgo.perturb.steps import AS_WRITTEN, ScenarioStep, ScenarioUser, UserInputs
from clientgo.perturb.values import other_item
from clientgo.perturb.world import Perturbation, World

SCALE, EDIT, OWN, DELETE, BESIDE, BEFORE = "scale", "edit", "own", "delete", "beside", "before"
MAX_EDITED = 4
"""Children that another writer changes."""

KEY = "perturb.clientgo.dev/added"
_SCALABLE = ("deployments.apps", "statefulsets.apps", "replicasets.apps")
_OTHER_OWNER, _OTHER_FINALIZER = "other-owner", "perturb.clientgo.dev/other"
_CONFLICT = 409
_SIDECAR = {"name": "added", "image": "added:1"}


def derive_edits(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: resource and name of an object, and what another writer does.

    That is `edit`, `own`, `delete` or `scale` of a child, or an item `beside` what the operator has added to the user's
    object, or `before` that.
    """
    children = [ref for ref in run.states[-1] if ref in _created(run)]
    firsts = list({ref.resource: ref for ref in reversed(children)}.values())
    for ref in (firsts + children)[:MAX_EDITED]:
        yield ref.resource, short_name(ref), EDIT
    for ref in firsts:
        if ref.namespace and owner_uids(run.states[-1][ref]):
            yield ref.resource, short_name(ref), OWN
    for ref in firsts:
        if ref.resource in run.watched and owner_uids(run.states[-1][ref]):
            yield ref.resource, short_name(ref), DELETE
    for ref in children:
        if ref.resource in _SCALABLE and (scaler_of(run.states[-1], ref) or _leaves_replicas_open(run)):
            yield ref.resource, short_name(ref), SCALE
    for ref in {ref.resource: ref for ref in reversed(user_objects(run)) if any(_extended(run, ref))}.values():
        yield ref.resource, short_name(ref), BESIDE
        if any(_open_lists(run, ref)):
            yield ref.resource, short_name(ref), BEFORE


def judge_edit(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Change or delete a child by another writer: the operator may undo an edit, and must become quiet.

    It must leave a number of replicas that is open, and owners that others have added, and notice a deletion.

    Raises:
        ValueError: there is no such child.
    """
    resource, name, what = (*arguments, "", "", "")[:3]
    final = rehearsal.reference.states[-1]
    for ref, child in final.items():
        if (ref.resource, short_name(ref)) == (resource, name):
            return _EDITS.get(what, _edited)(ref, child, rehearsal)
    raise ValueError(f"child {resource} {name} not found: the scenario has changed")


def _edited(ref: ObjectRef, child: Object, rehearsal: Rehearsal) -> Verdict:
    patch: dict[str, Any] = {"metadata": {"labels": {KEY: "true"}, "annotations": {KEY: "true"}}}
    data = child.get("data")
    if ref.resource == "configmaps" and isinstance(data, dict) and data and not child.get("immutable"):
        key = min(data)
        patch["data"] = {key: f"{data[key]}-b", "added": "true"}
    run = rehearsal.run([*rehearsal.steps, merge(child, patch, f"edit {ref}")])
    if all(write.status == _CONFLICT for write in run.writes if write.step == len(rehearsal.steps)):
        run.noise = ""  # it leaves the fields to their new manager, although it asks for them again and again
    return not_applicable(run) if run.failure else (run, [])


def _scaled(ref: ObjectRef, child: Object, rehearsal: Rehearsal) -> Verdict:
    """Scale a workload that has an autoscaler, or whose number of replicas the custom resource leaves open."""
    before = (child.get("spec") or {}).get("replicas", 1)
    step = merge(child, {"spec": {"replicas": before + 2}}, f"scale {ref}")
    run = rehearsal.run([*rehearsal.steps, step])
    if ended_early(run):
        return not_applicable(run)
    scaler = scaler_of(rehearsal.reference.states[-1], ref)
    after = run.states[-1].get(ref)
    if after is None or (after.get("spec") or {}).get("replicas") != before:
        futile = _futile(rehearsal.run([*rehearsal.steps, step, rehearsal.patience()])) if scaler else ""
        text = f"{ref} is scaled by {scaler}, and then {futile}"
        return run, [Violation("second-writer", text)] if futile else []
    reason = f"{scaler} scales it" if scaler else "no custom resource says how many replicas it has"
    text = f"{ref} is scaled back to {before}, although {reason}"
    return run, [Violation("second-writer", text)]


def _owned(ref: ObjectRef, child: Object, rehearsal: Rehearsal) -> Verdict:
    """Add an owner to a child, which exists until its last owner is gone."""
    metadata = {"name": _OTHER_OWNER, "namespace": ref.namespace}

    def add(user: ScenarioUser) -> None:
        other = user.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": _OTHER_OWNER, "uid": other["metadata"]["uid"]}
        owners = [*user.get(identified(child))["metadata"].get("ownerReferences", ()), reference]
        user.change(identified(child), {"metadata": {"ownerReferences": owners}})

    run = rehearsal.run([*rehearsal.steps, ScenarioStep(f"add an owner to {ref}", add)])
    if ended_early(run):
        return not_applicable(run)
    owner, after = run.states[-1].get(ObjectRef("configmaps", ref.namespace, _OTHER_OWNER)), run.states[-1].get(ref)
    before = run.states[-2].get(ref)
    is_same = after is not None and before is not None and after["metadata"]["uid"] == before["metadata"]["uid"]
    if owner is None or not is_same or owner["metadata"]["uid"] in owner_uids(after or {}):
        return run, []
    return run, [Violation("second-writer", f"the owner that another writer added to {ref} is removed")]


def _beside(ref: ObjectRef, obj: Object, rehearsal: Rehearsal) -> Verdict:
    """Add an item to a list to which the operator has added one; with the custom resources only that one goes."""
    path, item = next(_extended(rehearsal.reference, ref))
    added = _OTHER_FINALIZER if path[-1] == "finalizers" else other_item(item)

    def items(obj: Object | None) -> list[Any]:
        return value_at(obj, path) or []

    def add(user: ScenarioUser) -> None:
        changed = {path[-1]: [*items(user.get(identified(obj))), added]}
        user.change(identified(obj), {path[0]: changed} if len(path) > 1 else changed)

    step = ScenarioStep(f"add {added!r} to {path[-1]} of {ref}", add)
    customs, *_ = deletions(rehearsal.reference, user_objects(rehearsal.reference))
    run = rehearsal.run([*rehearsal.steps, step, customs])
    before, after = (state.get(ref) for state in run.states[-2:])
    if ended_early(run) or added not in items(before) or (after is None and added != _OTHER_FINALIZER):
        return not_applicable(run, "the object is gone, or does not keep what is added")
    if added in items(after):
        return run, []
    text = f"with its own item the operator removes {added!r} from {path[-1]} of {ref}, which another writer has added"
    return run, [Violation("left-behind", text)]


def _before(ref: ObjectRef, _: Object, rehearsal: Rehearsal) -> Verdict:
    """Create an object with an item in a list to which the operator will add one: that must stay."""
    path, item = next(_open_lists(rehearsal.reference, ref))
    content, added = user_objects(rehearsal.reference)[ref].content, other_item(item)
    items = [added, *(value_at(content, path) or ())]
    changed = {path[0]: {**(content.get(path[0]) or {}), path[1]: items} if len(path) > 1 else items}
    run = rehearsal.run(rehearsal.steps, UserInputs({ref: changed}))
    changes = [change for change in run.changes if change.ref == ref]
    if ended_early(run) or run.bugs or ref not in run.states[-1] or added not in value_at(changes[0].new, path):
        return not_applicable(run, "the object is gone, or does not keep what is added")
    for change in changes[1:]:
        if change.actor == "operator" and added not in (value_at(change.new, path) or ()):
            text = f"the operator removes {added!r} from {path[-1]} of {ref}, which was there before its own item"
            return run, [Violation("second-writer", text)]
    return run, []


def _open_lists(run: ScenarioRun, ref: ObjectRef) -> Iterator[tuple[FieldPath, Any]]:
    """Yield the lists of an object to which the operator has added an item that no list of a custom resource has."""
    specs = [each.content.get("spec") or {} for each, _ in custom_objects(run, user_objects(run))]
    listed = [item for spec in specs for value in spec.values() if isinstance(value, list) for item in value]
    for path, item in _extended(run, ref):
        if path[-1] != "finalizers" and item not in listed:
            yield path, item


def _extended(run: ScenarioRun, ref: ObjectRef) -> Iterator[tuple[FieldPath, Any]]:
    """Yield the lists of an object to which the operator has added an item, and that."""
    final = run.states[-1][ref]
    for path in [("metadata", "finalizers"), *list_paths(final)]:
        for change in run.changes:
            if change.ref == ref and change.actor == "operator":
                old, new, last = (value_at(each, path) or [] for each in (change.old, change.new, final))
                yield from ((path, item) for item in new if item not in old and item in last)


def _deleted(ref: ObjectRef, child: Object, rehearsal: Rehearsal) -> Verdict:
    """Delete a child: its owner must not be ready for ever without it, nor create it again only after a restart."""
    step = ScenarioStep(f"delete {ref}", lambda user: user.delete(child))
    run = rehearsal.run([*rehearsal.steps, step])
    if ended_early(run):
        return not_applicable(run)
    if ref in run.states[-1]:
        return run, []
    later = rehearsal.run([*rehearsal.steps, step, rehearsal.patience()])
    if ended_early(later) or ref in later.states[-1]:
        return run, []
    if futile := _futile(later):
        return run, [Violation("second-writer", f"{ref} is deleted by another writer, and then {futile}")]
    owners, final = owner_uids(later.states[-3].get(ref) or {"metadata": {}}), later.states[-1]
    if ready := [owner for owner, obj in final.items() if obj["metadata"]["uid"] in owners and claims_ready(obj)]:
        text = f"{', '.join(map(str, ready))} is ready without {ref}, which another writer has deleted"
        return run, [Violation("status", text)]
    steps = [*rehearsal.steps, step, rehearsal.patience(), ScenarioStep("restart the operator", lambda _: None)]
    restarted = rehearsal.run(steps, AS_WRITTEN, Down(str(len(steps))))
    if ended_early(restarted) or ref not in restarted.states[-1]:
        return run, []
    text = f"{ref} is deleted by another writer, which is not noticed: only a restart creates it again"
    return run, [Violation("second-writer", text)]


def _futile(run: ScenarioRun) -> str:
    """Return which write the server rejects for ever, if all those of the last step are in conflict with others."""
    writes = [write for write in run.writes if write.step == len(run.steps) - 1]
    if not writes or any(write.status != _CONFLICT or write.injected for write in writes):
        return ""
    return f"write {writes[-1]} is rejected again and again: {writes[-1].message}"


_EDITS = {SCALE: _scaled, OWN: _owned, DELETE: _deleted, BESIDE: _beside, BEFORE: _before}


def _leaves_replicas_open(run: ScenarioRun) -> bool:
    """Return whether there is a custom resource whose kind has an optional number of replicas that it does not use."""
    open_numbers = [
        "replicas" in (each.content.get("spec") or {}) or not _is_optional(schema)
        for each, schema in custom_objects(run, user_objects(run))
        if "replicas" in (schema.get("properties") or {})
    ]
    return bool(open_numbers) and not any(open_numbers)


def _is_optional(schema: Any) -> bool:
    return "replicas" not in (schema.get("required") or ()) and "default" not in schema["properties"]["replicas"]


def derive_ticks(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield no arguments, if the operator writes."""
    if run.writes:
        yield ()


def judge_ticks(_: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Let a second pass at each change of the operator, which must become quiet: a time that it writes is another."""
    run = rehearsal.run(rehearsal.steps, AS_WRITTEN, Ticking())
    return not_applicable(run) if run.failure else (run, [])


def derive_webhooks(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: the resource of children."""
    for resource in sorted({ref.resource for ref in _created(run)}):
        yield (resource,)


def judge_webhook(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Run the scenario while the server adds a label, an annotation and a container to the children of a resource."""
    [resource] = arguments
    run = rehearsal.run(rehearsal.steps, AS_WRITTEN, Webhook(resource))
    return not_applicable(run) if run.failure else (run, [])


class Webhook(Perturbation):
    """Admission webhook that adds to the objects of a resource what they do not have."""

    def __init__(self, resource: str) -> None:
        self._resource = resource

    def admit(self, world: World, outgoing: Outgoing) -> bytes:
        """Return the body with a label, an annotation, and a container beside others."""
        subject = outgoing.subject
        if subject.resource != self._resource or subject.subresource or outgoing.method not in ("POST", "PUT"):
            return outgoing.body
        obj = msgspec.json.decode(outgoing.body)
        metadata = obj.setdefault("metadata", {})
        for name in ("labels", "annotations"):
            metadata[name] = {KEY: "true", **(metadata.get(name) or {})}
        spec = obj.get("spec") or {}
        template = spec.get("template") or {}
        for pod in (template.get("spec"), spec):
            if isinstance(pod, dict) and pod.get("containers") and _SIDECAR not in pod["containers"]:
                pod["containers"] = [*pod["containers"], _SIDECAR]
        return msgspec.json.encode(obj)


def _created(run: ScenarioRun) -> set[ObjectRef]:
    """Return the objects that the operator created, with names that are the same each time."""
    return {
        change.ref
        for change in run.changes
        if change.actor == "operator"
        and change.kind == "ADDED"
        and not (change.new or {})["metadata"].get("generateName")
    }
