"""Objects that a custom resource depends on, changed, deleted or late, and objects of others under a child's name."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clientgo.perturb.differences import StateDifference, value_at
from clientgo.perturb.kinds.derived import template_of
from clientgo.perturb.kinds.refusals import refuses
from clientgo.perturb.kinds.rehearsal import (
    Moment,
    Rehearsal,
    Verdict,
    ended_early,
    identified,
    is_left_alone,
    not_applicable,
    refused,
    short_name,
)
from clientgo.perturb.kinds.remains import compare_outside
from clientgo.perturb.kinds.userobjects import UserObject, custom_objects, edits, merge, schemas, user_objects
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.state import Object, ObjectRef, content_of, owner_uids
from clientgo.perturb.steps import AS_WRITTEN, ScenarioStep, ScenarioUser, UserInputs
from clientgo.perturb.values import other_text

LATE, DELETED = "late", "deleted"
MAX_KEYS = 4
"""Keys of a ConfigMap or Secret that are changed."""

MAX_FOREIGN = 4
"""Children whose names are in use."""

_WITH_DATA = ("configmaps", "secrets")
_OTHER_OWNER = "someone-else"


def derive_dependencies(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: resource, name, and what happens to the object."""
    customs = {each.ref.resource for each, _ in custom_objects(run, user_objects(run))}
    for user_object in user_objects(run).values():
        ref = user_object.ref
        if ref.resource not in run.read:
            continue
        kinds = customs - {ref.resource}
        if kinds and user_object.creation.step >= 0:
            yield ref.resource, short_name(ref), LATE
        if kinds and ref.resource not in customs:
            yield ref.resource, short_name(ref), DELETED
            for key in _data(user_object)[:MAX_KEYS]:
                yield ref.resource, short_name(ref), f"data.{key}"


def judge_dependency(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Create an object after all others, delete and create it again, or change a value of its data.

    Raises:
        ValueError: there is no such object.
    """
    resource, name, what = (*arguments, "", "", "")[:3]
    for user_object in user_objects(rehearsal.reference).values():
        if (user_object.ref.resource, short_name(user_object.ref)) == (resource, name):
            if what == LATE:
                return _created_late(user_object, rehearsal)
            if what == DELETED:
                return _created_again(user_object, rehearsal)
            return _changed(user_object, what.removeprefix("data."), rehearsal)
    raise ValueError(f"object {resource} {name} not found: the scenario has changed")


def _created_late(user_object: UserObject, rehearsal: Rehearsal) -> Verdict:
    late = ScenarioStep(f"create {user_object.ref} late", ScenarioUser.create_late)
    text = f"with {user_object.ref} created late the state is not as in the scenario"
    inside = (each.ref for each in _inside(user_object, rehearsal))
    return _replayed([late], rehearsal, text, UserInputs(late=frozenset((user_object.ref, *inside))))


def _inside(user_object: UserObject, rehearsal: Rehearsal) -> list[UserObject]:
    """Return what the user has created in a namespace; nothing for other objects."""
    name = user_object.ref.name if user_object.ref.resource == "namespaces" else None
    return [each for each in user_objects(rehearsal.reference).values() if each.ref.namespace == name]


def _created_again(user_object: UserObject, rehearsal: Rehearsal) -> Verdict:
    content = user_object.content
    inside = [each.content for each in _inside(user_object, rehearsal)]  # goes with its namespace

    def create_all(user: ScenarioUser) -> None:
        for each in (content, *inside):
            user.create(each)

    delete = ScenarioStep(f"delete {user_object.ref}", lambda user: user.delete(content))
    create = ScenarioStep(f"create {user_object.ref} again", create_all)
    nested = _created_in_namespaces_of_operator(rehearsal.reference)
    text = f"after {user_object.ref} is deleted and created again the state is not as before"
    return _replayed([delete, create, *nested, *edits(rehearsal.reference)], rehearsal, text)


def _created_in_namespaces_of_operator(run: ScenarioRun) -> Iterator[ScenarioStep]:
    """Yield the steps that create what the user has in a namespace of the operator, if it went with that.

    In the order of the scenario, in which an object leads to the namespace of the following ones.
    """
    contents: dict[str, dict[ObjectRef, Object]] = {}
    for each in user_objects(run).values():
        contents.setdefault(each.ref.namespace, {})[each.ref] = each.content
    for ref, kind, actor in ((each.ref, each.kind, each.actor) for each in run.changes):
        if ref.resource == "namespaces" and (kind, actor) == ("ADDED", "operator") and ref.name in contents:
            yield _create_missing(ref, contents.pop(ref.name))


def _create_missing(namespace: ObjectRef, objects: Mapping[ObjectRef, Object]) -> ScenarioStep:
    def act(user: ScenarioUser) -> None:
        for ref, content in objects.items():
            if namespace in user.state and ref not in user.state:
                user.create(content)

    return ScenarioStep(f"create what was in {namespace} again", act)


def _replayed(
    more: Sequence[ScenarioStep], rehearsal: Rehearsal, text: str, inputs: UserInputs = AS_WRITTEN
) -> Verdict:
    """Compare the state after further steps, which change nothing in the end, with that of the scenario."""
    steps = [*rehearsal.steps, *more]
    run = rehearsal.run(steps, inputs)
    if ended_early(run):
        return not_applicable(run)
    again = rehearsal.repeated(rehearsal.playing(rehearsal.steps), rehearsal.playing(steps, inputs))
    moments = Moment(rehearsal.reference, -1), Moment(run, -1)

    def dismisses(each: StateDifference) -> bool:
        return _is_another(rehearsal, each) or _comes_by_the_clock(rehearsal.reference, each)

    violations = [*rehearsal.compare("transition", text, *moments, again, counts=True, dismisses=dismisses)]
    return run, [*violations, *compare_outside(text, *moments, again, rehearsal)]


def _is_another(rehearsal: Rehearsal, difference: StateDifference) -> bool:
    """Return whether another object of the user is chosen, such as the oldest one, or one that is kept once chosen."""
    values = {difference.expected, difference.actual} if isinstance(difference.expected, str) else set()
    kinds: dict[tuple[str, str], set[str]] = {}
    for ref in user_objects(rehearsal.reference):
        kinds.setdefault(ref[:2], set()).add(ref.name)
    return bool(values) and any(values <= names for names in kinds.values())


def _comes_by_the_clock(run: ScenarioRun, difference: StateDifference) -> bool:
    """Return whether a value changed while only time passed: a later object has not lived so long.

    What the server changed, such as the pods of a workload, followed from what the operator wrote.
    """
    fields = (difference[:2], template_of(*difference[:2]))
    by_user = {change.step for change in run.changes if change.actor == "user"}
    return any(
        _is_named(each.ref, ref) and value_at(each.new, path) != value_at(each.old, path)
        for each in run.changes
        if each.step not in by_user
        for ref, path in fields
    )


def _is_named(ref: ObjectRef, template: ObjectRef) -> bool:
    """Return whether an object has this name, or this generated name, which is shown as `web-*1`."""
    prefix, is_generated, _ = template.name.partition("*")
    return ref[:2] == template[:2] and (ref.name.startswith(prefix) if is_generated else ref.name == template.name)


def _changed(user_object: UserObject, key: str, rehearsal: Rehearsal) -> Verdict:
    ref, content = user_object.ref, user_object.content
    data = {**content["data"], key: _other(ref, content["data"][key])}
    step = merge(content, {"data": {key: data[key]}}, f"change {ref} data.{key}")
    run = rehearsal.run([*rehearsal.steps, step])
    if ended_early(run) or run.bugs or refused(run, len(run.states) - 1):
        return not_applicable(run, "the operator does not understand the value")

    def fresh(*more: ScenarioStep) -> ScenarioRun:
        return rehearsal.run([*rehearsal.steps, *more], UserInputs({ref: {"data": data}}))

    created = fresh()
    if ended_early(created) or created.bugs or (is_left_alone(created) and not is_left_alone(rehearsal.reference)):
        return run, []
    if not Moment(run, -1).changed and _is_refused(created, rehearsal.reference):
        return run, []  # nothing is undone for an input that cannot be used
    again = rehearsal.repeated(fresh, rehearsal.playing([*rehearsal.steps, step]))
    text = f"after a change of {ref} data.{key} the state is not as created"
    moments = Moment(created, -1), Moment(run, -1)
    violations = [*rehearsal.compare("transition", text, *moments, again)]
    return run, [*violations, *compare_outside(text, *moments, again, rehearsal)]


def _is_refused(created: ScenarioRun, usual: ScenarioRun) -> bool:
    """Return whether a custom resource's status says that it cannot be carried out, unlike that of the usual run."""
    resources = {resource for resource, _ in schemas(created)}
    statuses = ((ref, obj) for ref, obj in created.states[-1].items() if ref.resource in resources)
    return any(refuses(obj, usual.states[-1].get(ref, {})) for ref, obj in statuses)


def _data(user_object: UserObject) -> list[str]:
    """Return the keys of an object's data, if no step changes it."""
    data = user_object.content.get("data")
    is_unchanged = data == (user_object.creation.new or {}).get("data")
    has_data = user_object.ref.resource in _WITH_DATA and isinstance(data, dict) and is_unchanged
    return sorted(data or {}) if has_data and not user_object.content.get("immutable") else []


def _other(ref: ObjectRef, value: str) -> str:
    if ref.resource == "secrets":
        return base64.b64encode(other_text(base64.b64decode(value).decode("latin-1")).encode("latin-1")).decode()
    return other_text(value)


def derive_foreign(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the plans: resource and name of a child that has an owner."""
    for ref in list(_children(run))[:MAX_FOREIGN]:
        yield ref.resource, short_name(ref)


def _children(run: ScenarioRun) -> dict[ObjectRef, tuple[Object, int]]:
    """Return the children that another controller could have created, and the number of steps before it does.

    Their namespace exists before the step in which the operator creates them.
    """
    namespaces: dict[str, int] = {}
    children: dict[ObjectRef, tuple[Object, int]] = {}
    for change in run.changes:
        if change.kind != "ADDED" or change.new is None:
            continue
        if change.ref.resource == "namespaces":
            namespaces[change.ref.name] = change.step + 1
        step = namespaces.get(change.ref.namespace, 0)
        is_child = change.actor == "operator" and owner_uids(change.new) and change.ref.namespace
        if is_child and step <= change.step and not change.new["metadata"].get("generateName"):
            children.setdefault(change.ref, (change.new, step))
    return children


def judge_foreign(arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
    """Create an object with a child's name that another controller owns; the operator must leave it to that.

    Raises:
        ValueError: there is no such child.
    """
    children = _children(rehearsal.reference)
    ref = next((each for each in children if (each.resource, short_name(each)) == arguments), None)
    if ref is None:
        raise ValueError(f"child {':'.join(arguments)} not found: the scenario has changed")
    child, step = children[ref]
    create = ScenarioStep(f"create {ref} of another controller", lambda user: _create_foreign(user, child))
    run = rehearsal.run([*rehearsal.steps[:step], create, *rehearsal.steps[step:]])
    if len(run.states) <= step:
        return not_applicable(run)
    run.failure = ""
    owner = run.states[step][ObjectRef("configmaps", ref.namespace, _OTHER_OWNER)]["metadata"]["uid"]
    for change in run.changes:
        is_foreign = change.ref == ref and change.old is not None and owner in owner_uids(change.old)
        if is_foreign and change.actor == "operator" and change.kind == "MODIFIED":
            owners = {*owner_uids(change.new or {})}
            is_overwritten = len(owners) > 1 and _claimed(change.old or {}) != _claimed(change.new or {})
            if owner not in owners or is_overwritten:
                return run, [Violation("foreign", f"{ref} is taken over, which another controller owns")]
    return run, []


def _claimed(obj: Object) -> tuple[Object, Any]:
    """Return what the owners of an object cannot share: its content, and who has to agree to its deletion."""
    return content_of(obj), value_at(obj, ("metadata", "finalizers"))


def _create_foreign(user: ScenarioUser, child: Object) -> None:
    namespace = child["metadata"]["namespace"]
    metadata = {"name": _OTHER_OWNER, "namespace": namespace}
    owner = user.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    reference = {
        "apiVersion": "v1", "kind": "ConfigMap", "name": _OTHER_OWNER, "uid": owner["metadata"]["uid"],
        "controller": True,
    }  # fmt: skip
    named = identified(child)
    user.create({**content_of(child), **named, "metadata": {**named["metadata"], "ownerReferences": [reference]}})
