"""Comparison of states outside the cluster, which may have uids of objects, and ids in the order of creation."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from clientgo.perturb.compare import OUTSIDE, UUID, Masks, normalized
from clientgo.perturb.differences import FieldPath, MaskedValue, differences, time_of
from clientgo.perturb.kinds.order import serves_others_first
from clientgo.perturb.kinds.rehearsal import Moment
from clientgo.perturb.record import ScenarioRun

MIN_RANDOM = 6
"""Length of a text from which it is looked for in texts outside."""

OutsideDifference = tuple[FieldPath, Any, Any]
"""Path, expected and actual value."""


def outside_differences(expected: Moment, actual: Moment, masks: Masks) -> list[OutsideDifference]:
    """Return the differences of the states outside, except those of ids and of the order of service."""
    before, after = (_named(each.run.outside[each.number], _uids(each), {}) for each in (expected, actual))
    if not _counting(before, after, masks):  # random texts are in all states of a run: looked for only if needed
        return []
    before, after = (
        _named(each.run.outside[each.number], _uids(each), _random_texts(each, masks)) for each in (expected, actual)
    )
    results = _counting(before, after, masks)
    if not results or serves_others_first((each[1:] for each in results), actual.run):
        return []
    names = {change.ref.name for each in (expected, actual) for change in each.run.changes}
    return results if _counting(_without_ids(before, names), _without_ids(after, names), masks) else []


def learn_outside(first: ScenarioRun, second: ScenarioRun, masks: Masks) -> None:
    """Mask what differs outside between two learning runs, such as random passwords."""
    for number in range(min(len(first.outside), len(second.outside))):
        differing = outside_differences(Moment(first, number), Moment(second, number), masks)
        masks.outside |= {path for path, *_ in differing}


def _counting(before: Any, after: Any, masks: Masks) -> list[OutsideDifference]:
    return [each for each in differences(before, after) if not masks.ignores(OUTSIDE, each[0])]


def _uids(moment: Moment) -> dict[str, str]:
    """Return the texts that stand for uids: those of present and former objects."""
    changed = {obj["metadata"]["uid"]: change.ref for change in moment.run.changes if (obj := change.new or change.old)}
    present = {obj["metadata"]["uid"] for obj in moment.state.values()}
    return {uid: f"({'uid' if uid in present else 'former uid'} of {ref})" for uid, ref in changed.items()}


def _random_texts(moment: Moment, masks: Masks) -> dict[str, str]:
    """Return the texts that stand for random values of present and former objects, such as generated names."""
    return {
        value: f"({'.'.join(path)} of {ref})"
        for state in moment.run.states[: moment.number % len(moment.run.states) + 1]
        for ref, obj in normalized(state, masks).items()
        for path, value in _masked_texts(obj)
    }


def _masked_texts(value: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    if isinstance(value, MaskedValue):
        if isinstance(value.value, str) and len(value.value) >= MIN_RANDOM and time_of(value.value) is None:
            yield path, value.value
    elif isinstance(value, dict | list):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _masked_texts(member, (*path, str(key)))


def _named(value: Any, uids: Mapping[str, str], randoms: Mapping[str, str]) -> Any:
    """Return a value with names in place of uids and random texts; keys are texts."""
    if isinstance(value, Mapping):
        return {_named(str(key), uids, randoms): _named(member, uids, randoms) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_named(item, uids, randoms) for item in value]
    if not isinstance(value, str):
        return value
    for text, name in randoms.items():
        value = value.replace(text, name)
    return UUID.sub(lambda match: uids.get(match[0], "(uid)"), value)


def _without_ids(value: Any, names: set[str]) -> Any:
    """Return a value with numbers, in the order of the records, in place of keys that are ids."""
    if isinstance(value, list):
        return [_without_ids(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    members = {key: _without_ids(member, names) for key, member in value.items()}
    ids = sorted((key for key in members if _is_id(key, names)), key=lambda key: json.dumps(members[key], default=str))
    return {
        **{key: member for key, member in members.items() if key not in ids},
        **{f"(id {number})": members[key] for number, key in enumerate(ids, 1)},
    }


def _is_id(key: str, names: set[str]) -> bool:
    """Return whether a key has a number, and no name of an object."""
    words = set(re.split(r"[^A-Za-z0-9]", key))
    return bool(re.search(r"\d", key)) and not any(name in key if len(name) > 1 else name in words for name in names)
