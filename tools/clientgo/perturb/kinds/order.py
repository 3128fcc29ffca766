"""Order of service: values, such as addresses, that objects get from the operator one after the other."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from clientgo.perturb.compare import FieldPath, MaskedValue, StateDifference, value_at
from clientgo.perturb.record import ScenarioRun
from clientgo.perturb.state import ObjectRef


def is_order_of_service(differences: Sequence[StateDifference], run: ScenarioRun) -> bool:
    """Return whether objects have got each other's values, each different and for good.

    An operator that starts again, or sees an object late, serves others first. It must not take a value back.
    """
    groups: dict[tuple[str, FieldPath], list[StateDifference]] = defaultdict(list)
    for each in differences:
        groups[each.ref.resource, each.path].append(each)
    return bool(groups) and all(path and _are_exchanged(group, run) for (_, path), group in groups.items())


def serves_others_first(values: Iterable[tuple[Any, Any]], run: ScenarioRun) -> bool:
    """Return whether expected and actual values are the same names of the user's objects in another order.

    So it is with the holders of numbers that a system outside of the cluster gives away.
    """
    expected, actual = zip(*values, strict=True)
    by_user = (change.ref for change in run.changes if change.actor == "user" and change.kind == "ADDED")
    names = {name for ref in by_user for name in (ref.name, f"{ref.namespace}/{ref.name}")}
    texts = [value for value in expected if isinstance(value, str)]
    is_permutation = len(set(texts)) == len(expected) and sorted(texts) == sorted(map(str, actual))
    return is_permutation and names.issuperset(texts)


def is_count(difference: StateDifference) -> bool:
    """Return whether annotations differ only in numbers and times, such as a count of the changes that were seen."""
    values = [value for value in difference[2:] if isinstance(value, str | dict)]
    members = [member for value in values for member in (value.values() if isinstance(value, dict) else [value])]
    is_annotation = difference.path[:2] == ("metadata", "annotations")
    return is_annotation and all(isinstance(each, MaskedValue) or str(each).isdigit() for each in members)


def _are_exchanged(group: Sequence[StateDifference], run: ScenarioRun) -> bool:
    expected, actual = (
        [repr(value) for _, _, *values in group for value in values[index : index + 1]] for index in (0, 1)
    )
    is_permutation = len(set(expected)) == len(expected) > 1 and set(expected) == set(actual)
    path = group[0].path
    return is_permutation and path[:1] != ("spec",) and all(_is_assigned_once(run, each.ref, path) for each in group)


def _is_assigned_once(run: ScenarioRun, ref: ObjectRef, path: FieldPath) -> bool:
    values = [value_at(change.new, path) for change in run.changes if change.ref == ref and change.new is not None]
    return len({repr(value) for value in values if value not in (None, "", 0)}) <= 1
