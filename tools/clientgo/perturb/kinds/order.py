"""Order of service: values, such as addresses, that objects get from the operator one after the other; and logs."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from clientgo.perturb.differences import FieldPath, MaskedValue, StateDifference, is_absent, time_of, value_at
from clientgo.perturb.record import ScenarioRun
from clientgo.perturb.state import ClusterState, Object, ObjectRef


def is_order_of_service(
    differences: Sequence[StateDifference], run: ScenarioRun, reference: ScenarioRun, number: int
) -> bool:
    """Return whether objects have got each other's values after a step, each a different one and for good.

    An operator that starts again, or sees an object late, serves others first. It must not take a value back.
    """
    runs = reference, run
    counted = [each for each in differences if not _is_last_serial(each, differences, runs, number)]
    remaining = [leaf for each in counted for leaf in _leaves(each)]
    groups: dict[tuple[str, FieldPath], list[StateDifference]] = defaultdict(list)
    for each in remaining:
        groups[each.ref.resource, each.path].append(each)
    serials = {field for field in groups if len(counted) < len(differences) and _are_serial(*field, run.states[number])}
    holders = [each.ref.name for group in groups.values() if _are_exchanged(group) for each in group]
    by_operator = {change.ref for change in run.changes if change.actor == "operator" and change.kind == "ADDED"}
    return bool(groups) and all(
        path
        and (path[0] != "spec" or by_operator.issuperset(each.ref for each in group))
        and (
            (resource, path) in serials
            or all(each.expected in holders and each.actual in holders for each in group)
            or _are_assigned(group, run, reference, number)
        )
        and all(_is_assigned_once(run, each.ref, path) for each in group)
        for (resource, path), group in groups.items()
    )


def serves_others_first(values: Iterable[tuple[Any, Any]], run: ScenarioRun) -> bool:
    """Return whether expected and actual values are the same names of the user's objects in another order.

    So it is with the holders of numbers that a system outside of the cluster gives away.
    """
    expected, actual = zip(*values, strict=True)
    names = {name for ref in run.created_by_user for name in (ref.name, f"{ref.namespace}/{ref.name}")}
    texts = [value for value in expected if isinstance(value, str)]
    is_permutation = len(set(texts)) == len(expected) and sorted(texts) == sorted(map(str, actual))
    return is_permutation and names.issuperset(texts)


def are_exchanged(
    differences: Sequence[StateDifference], expected: Mapping[ObjectRef, Any], actual: Mapping[ObjectRef, Any]
) -> bool:
    """Return whether two objects have exchanged their places, as the holder of a lock and one that waits for it.

    Each has the status of the other, and texts name the other.
    """
    refs = sorted({each.ref for each in differences if each.path[:1] == ("status",)})
    if len(refs) != 2 or refs[0].resource != refs[1].resource or any(ref not in actual for ref in refs):
        return False
    names = {refs[0].name: refs[1].name, refs[1].name: refs[0].name}

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: renamed(member) for key, member in value.items()}
        if isinstance(value, list):
            return [renamed(member) for member in value]
        return _WORD.sub(lambda match: names.get(match[0], match[0]), value) if isinstance(value, str) else value

    statuses = [(expected[ref], actual[other]) for ref, other in zip(refs, reversed(refs), strict=True)]
    return all(renamed(before.get("status")) == after.get("status") for before, after in statuses) and all(
        each.path and renamed(each.expected) == each.actual for each in differences if each.ref not in refs
    )


def is_count(difference: StateDifference) -> bool:
    """Return whether annotations differ only in numbers and times, such as a count of the changes that were seen.

    So do the server's numbers of revisions.
    """
    if difference.ref.resource == "controllerrevisions.apps":
        return difference.path == ("revision",)
    values = [value for value in difference[2:] if isinstance(value, str | dict)]
    members = [member for value in values for member in (value.values() if isinstance(value, dict) else [value])]
    is_annotation = difference.path[:2] == ("metadata", "annotations")
    return is_annotation and all(isinstance(each, MaskedValue) or str(each).isdigit() for each in members)


def counts_attempts(difference: StateDifference) -> bool:
    """Return whether numbers or times in a record differ whose name says that they are of attempts, as `retries`."""
    _, path, *values = difference
    is_named = bool(path) and _ATTEMPTS.search(path[-1]) is not None
    return is_named and is_record(path) and not any(map(_is_text, values))


def _is_text(value: Any) -> bool:
    is_time = isinstance(value, MaskedValue) or time_of(value) is not None
    return isinstance(value, str) and not value.isdigit() and not is_time


_WORD = re.compile(r"[\w.-]+")
_ATTEMPTS = re.compile(r"attempt|retr(y|ies)|tries|failures|reconcil", re.IGNORECASE)


def is_record(path: Sequence[str]) -> bool:
    """Return whether a field is one in which operators record what they have done."""
    return path[:1] == ("status",) or path[:2] == ("metadata", "annotations")


def is_logged(difference: StateDifference, *states: Mapping[ObjectRef, Any], is_blind: bool = False) -> bool:
    """Return whether a list of dated entries in a status has got its newest entry once more.

    Entries in between tell of changes that were undone; a blind operator has missed some.
    """
    ref, path = difference[:2]
    for length in range(2, len(path) + 1):
        if path[0] == "status" and all(isinstance(value_at(state[ref], path[:length]), list) for state in states):
            expected, actual = (value_at(state[ref], path[:length]) for state in states)
            if not all(map(_dates, [*expected, *actual])):
                return False
            is_part = is_blind and all(entry in expected for entry in actual)
            return any(
                expected[newest] == actual[newest] and (is_part or _dates(expected[newest]) < _dates(actual[newest]))
                for newest in (0, -1)
            )
    return False


def _dates(entry: Any) -> list[datetime]:
    values = entry.values() if isinstance(entry, dict) else ()
    times = (time_of(value.value if isinstance(value, MaskedValue) else value) for value in values)
    return [time for time in times if time is not None]


def _are_assigned(group: Sequence[StateDifference], run: ScenarioRun, reference: ScenarioRun, number: int) -> bool:
    return _are_exchanged(group) or all(
        _is_of_another(each, run, reference, number) or _was_in_use(each, run) for each in group
    )


def _leaves(difference: StateDifference) -> Iterator[StateDifference]:
    """Yield the members of a dict that one state does not have, else the difference."""
    ref, path, *values = difference
    members = next((value for value in values if isinstance(value, dict)), None)
    if not path or not members or not any(map(is_absent, values)):
        yield difference
        return
    absent = next(value for value in values if is_absent(value))
    for key, member in members.items():
        yield from _leaves(
            StateDifference(ref, (*path, key), *(member if each is members else absent for each in values))
        )


def _are_exchanged(group: Sequence[StateDifference]) -> bool:
    """Return whether objects have each other's values, or lists in which the same items are at other objects."""
    expected, actual = zip(*(each[2:] for each in group), strict=True)
    return len(group) > 1 and any(
        len(set(before)) == len(before) and set(before) == set(after)
        for before, after in (([*map(repr, expected)], [*map(repr, actual)]), (_items(expected), _items(actual)))
    )


def _items(values: Iterable[Any]) -> list[str]:
    present = [value for value in values if not is_absent(value)]
    return [repr(item) for value in present for item in (value if isinstance(value, list) else [value])]


def _is_of_another(each: StateDifference, run: ScenarioRun, reference: ScenarioRun, number: int) -> bool:
    """Return whether another object had a number, or a name with one, in the reference, and none has it now.

    So it is once the object that it was exchanged with is gone.
    """
    ref, path, _, value = each
    if isinstance(value, bool) or not re.search(r"\d", str(value)):
        return False
    before = (change for change in reference.changes if change.ref.resource == ref.resource and change.ref != ref)
    neighbours = (obj for other, obj in run.states[number].items() if other.resource == ref.resource and other != ref)
    return any(value_at(change.new, path) == value for change in before) and all(
        value_at(other, path) != value for other in neighbours
    )


def _was_in_use(each: StateDifference, run: ScenarioRun) -> bool:
    """Return whether another object, or key of a map, had the expected value when the object got one that is free.

    So it is while an operator has not seen that the other one is being deleted.
    """
    ref, path, expected, actual = each
    objects: dict[ObjectRef, Object] = {}
    if isinstance(expected, bool) or not re.search(r"\d", str(expected)):
        return False
    for change in run.changes:
        change.apply(objects)
        if change.ref == ref and value_at(change.new, path) == actual != value_at(change.old, path):
            above = value_at(change.new, path[:-1])
            values = [member for key, member in above.items() if key != path[-1]] if isinstance(above, dict) else []
            alike = (obj for other, obj in objects.items() if other.resource == ref.resource and other != ref)
            values += (value_at(obj, path) for obj in alike)
            return expected in values and actual not in values
    return False


def _is_last_serial(
    counter: StateDifference, differences: Sequence[StateDifference], runs: Sequence[ScenarioRun], number: int
) -> bool:
    """Return whether a number is the last, or the next, of the serial numbers that objects of another kind have got."""
    fields = {(each.ref.resource, each.path) for each in differences if each.ref.resource != counter.ref.resource}
    values = _integer(counter.expected), _integer(counter.actual)
    for field in fields:
        states = (run.states[number] for run in runs)
        lasts = [max(_serials(*field, state)) for state in states if _are_serial(*field, state)]
        steps = {value - last for value, last in zip(values, lasts, strict=False) if value is not None}
        if len(lasts) == len(values) and None not in values and steps in ({0}, {1}):
            return True
    return False


def _are_serial(resource: str, path: FieldPath, state: ClusterState) -> bool:
    """Return whether several objects have numbers, which are all different."""
    numbers = _serials(resource, path, state)
    return len(numbers) > 1 and len(set(numbers)) == len(numbers)


def _serials(resource: str, path: FieldPath, state: ClusterState) -> list[int]:
    values = (_integer(value_at(obj, path)) for ref, obj in state.items() if ref.resource == resource)
    return [value for value in values if value is not None]


def _integer(value: Any) -> int | None:
    if isinstance(value, bool) or not re.fullmatch(r"\d+", str(value)):
        return None
    return int(value)


def _is_assigned_once(run: ScenarioRun, ref: ObjectRef, path: FieldPath) -> bool:
    """Return whether the last object of a name has had one value, or a list from which nothing was taken."""
    objects = [change.new for change in run.changes if change.ref == ref and change.new is not None]
    uids = [obj["metadata"]["uid"] for obj in objects]
    values = [value_at(obj, path) for obj, uid in zip(objects, uids, strict=True) if uid == uids[-1]]
    present = [value for value in values if value not in (None, "", 0)]
    if all(isinstance(value, list) for value in present):
        return all(item in after for before, after in pairwise(present) for item in before)
    return len({repr(value) for value in present}) <= 1
