"""Objects of the user in a scenario: as they are at the end, without what the operator and the server wrote to them."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clientgo.meta.patches import mergepatch
from clientgo.perturb.differences import StateDifference, value_at
from clientgo.perturb.kinds.derived import schemas_of, template_of
from clientgo.perturb.kinds.rehearsal import identified
from clientgo.perturb.record import ScenarioRun
from clientgo.perturb.state import Object, ObjectChange, ObjectRef
from clientgo.perturb.steps import ScenarioStep, ScenarioUser
from clientgo.perturb.values import Schema

_SERVER_FIELDS = frozenset(("metadata", "status"))


@dataclass
class UserObject:
    """Object that the user created: its creation, its content now, and the earlier specs by step."""

    creation: ObjectChange
    content: Object
    specs: dict[int, Any] = field(default_factory=dict)
    changed_at: list[int] = field(default_factory=list)

    @property
    def ref(self) -> ObjectRef:
        """Name of the object."""
        return self.creation.ref


def user_objects(run: ScenarioRun, step: int | None = None) -> dict[ObjectRef, UserObject]:
    """Return the objects that the user has created and not deleted, up to a step (default: all), in this order."""
    results: dict[ObjectRef, UserObject] = {}
    for change in run.changes:
        if change.actor != "user" or change.step < 0 or (step is not None and change.step > step):
            continue
        if change.kind == "DELETED" or (change.new or {}).get("metadata", {}).get("deletionTimestamp"):
            results.pop(change.ref, None)
        elif change.kind == "ADDED" and change.new is not None:
            results[change.ref] = UserObject(change, _created(change.new), {change.step: change.new.get("spec")})
        elif change.ref in results and change.new is not None:
            _apply(results[change.ref], change.old or {}, change.new, change.step)
    return {ref: each for ref, each in results.items() if not run.states or step is not None or ref in run.states[-1]}


def is_released(difference: StateDifference, created: ScenarioRun, objects: Mapping[ObjectRef, UserObject]) -> bool:
    """Return whether a user's object, which the operator leaves alone now, keeps a value that it was changed to.

    Nothing says what it had before: numbers and texts are no additions, which are undone. A workload's pods and status
    follow from its spec.
    """
    ref, path = template_of(difference.ref, difference.path)
    if ref not in objects or not path or any(each.ref == ref and each.actor == "operator" for each in created.changes):
        return False
    is_number_of_pods = ref != difference.ref and not difference.path
    if is_number_of_pods or (ref.resource.endswith(".apps") and path[0] == "status"):
        return True
    user_value = value_at(objects[ref].content, path)
    return isinstance(user_value, str | int) and user_value != difference.actual


def at_fullest(run: ScenarioRun) -> ScenarioRun:
    """Return a run up to the last step after which most objects of the user exist that the operator reads.

    Many scenarios end with deletions, after which nothing is left that could be changed.
    """
    counts = [sum(ref.resource in run.read for ref in user_objects(run, number)) for number in range(len(run.states))]
    end = max((number + 1 for number, count in enumerate(counts) if count == max(counts)), default=0)
    return replace(
        run,
        steps=run.steps[:end], states=run.states[:end], revisions=run.revisions[:end], outside=run.outside[:end],
        changes=[change for change in run.changes if change.step < end],
        writes=[write for write in run.writes if write.step < end],
    )  # fmt: skip


def is_timed(run: ScenarioRun) -> bool:
    """Return whether steps of a scenario change no object, as when time passes, or the status of a user's object."""
    by_user, objects = [change for change in run.changes if change.actor == "user"], user_objects(run)
    return len({change.step for change in by_user} - {-1}) < len(run.states) or any(
        change.kind == "MODIFIED"
        and change.ref in objects
        and (change.old or {}).get("status") != (change.new or {}).get("status")
        for change in by_user
    )


def afresh(
    run: ScenarioRun,
    step: int | None = None,
    *,
    changed: Mapping[ObjectRef, Object] | None = None,
    without: Container[ObjectRef] = (),
) -> list[ScenarioStep]:
    """Return the steps that create the objects that the user has at a step, with other contents if they are `changed`.

    The last ones repeat what the user has changed in objects of the operator.
    """
    contents = {ref: each.content for ref, each in user_objects(run, step).items() if ref not in without}
    created = [_create(ref, content) for ref, content in {**contents, **(changed or {})}.items()]
    return [*created, *edits(run, step)]


def edits(run: ScenarioRun, step: int | None = None) -> Iterator[ScenarioStep]:
    """Yield the steps that repeat what the user has changed, up to a step, in objects of the operator that stay."""
    state = run.states[-1 if step is None else step]
    for change in run.changes:
        old, new = change.old, change.new
        if change.actor != "user" or change.ref in run.created_by_user or not 0 <= change.step < len(run.states):
            continue
        if old is None or new is None or (step is not None and change.step > step) or change.ref not in state:
            continue
        if new["metadata"]["uid"] != state[change.ref]["metadata"]["uid"]:
            continue
        if patch := mergepatch.create(_created(old), _created(new)):
            yield _edit(change.ref, new, patch)
        if patch := mergepatch.create(_status(old), _status(new)):
            yield _edit(change.ref, new, patch, "status")


def _status(obj: Object) -> Object:
    return {"status": obj["status"]} if obj.get("status") else {}


def _edit(ref: ObjectRef, obj: Object, patch: Object, subresource: str = "") -> ScenarioStep:
    def act(user: ScenarioUser) -> None:
        if ref in user.state:
            user.change(identified(obj), patch, subresource=subresource)

    return ScenarioStep(f"change {ref}", act)


def _create(ref: ObjectRef, content: Object) -> ScenarioStep:
    return ScenarioStep(f"create {ref}", lambda user: user.create(content))


def set_spec(obj: Object, former: Object, spec: Object, text: str) -> ScenarioStep:
    """Return the step that changes an object's spec; what the operator has set beside the former one stays."""
    return merge(obj, {"spec": mergepatch.create(former, spec)}, text)


def merge(obj: Object, patch: Object, text: str) -> ScenarioStep:
    """Return the step that applies a merge patch to an object."""
    return ScenarioStep(text, lambda user: user.change(identified(obj), patch))


def _created(obj: Object) -> Object:
    metadata = {name: dict(obj["metadata"][name]) for name in ("labels", "annotations") if obj["metadata"].get(name)}
    fields = {name: value for name, value in obj.items() if name not in _SERVER_FIELDS}
    return {**fields, "metadata": {**identified(obj)["metadata"], **metadata}}


def _apply(target: UserObject, old: Object, new: Object, step: int) -> None:
    target.changed_at.append(step)
    target.content = _with_change(target.content, _created(old), _created(new))
    if old.get("spec") != new.get("spec"):
        target.specs[step] = target.content.get("spec")


def _with_change(content: Any, old: Any, new: Any) -> Any:
    """Return a content of the user with a change: what the operator has beside it stays the operator's."""
    if isinstance(old, dict) and isinstance(new, dict):
        results = dict(content) if isinstance(content, dict) else {}
        for name in {**old, **new}:
            if name not in new:
                results.pop(name, None)
            elif name not in old or old[name] != new[name]:
                results[name] = _with_change(results.get(name), old.get(name), new[name])
        return results
    if isinstance(old, list) and isinstance(new, list):
        present = content if isinstance(content, list) else []
        return [item for item in new if item in present or item not in old]
    return new


def custom_objects(run: ScenarioRun, objects: Mapping[ObjectRef, UserObject]) -> Iterator[tuple[UserObject, Schema]]:
    """Yield the custom resources among objects, and the schemas of their specs."""
    served = schemas(run)
    for each in objects.values():
        schema = served.get((each.ref.resource, str(each.content.get("apiVersion", ""))))
        if schema is not None:
            yield each, schema


def schemas(run: ScenarioRun) -> dict[tuple[str, str], Schema]:
    """Return the schema of the spec by resource and apiVersion."""
    return {
        (resource, api_version): (schema.get("properties") or {}).get("spec") or {}
        for resource, api_version, schema in schemas_of(run.definitions)
    }
