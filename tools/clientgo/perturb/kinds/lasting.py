"""Effects that an operator leaves on purpose: work that was done, data, and objects that it has released."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clientgo.perturb.elections import is_renewal
from clientgo.perturb.record import ScenarioRun
from clientgo.perturb.state import Object, ObjectChange, ObjectRef, is_deleting, owner_uids

LASTING = frozenset(
    (
        "customresourcedefinitions.apiextensions.k8s.io",
        "jobs.batch",
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
    )
)
"""Resources whose objects an operator may leave: deleting them loses data, or they have done their work."""

_RETAIN = re.compile("retain|orphan|keep|preserv", re.IGNORECASE)


def released(run: ScenarioRun) -> set[ObjectRef]:
    """Return the objects that the operator has changed after the user's last deletion, such as shared counts."""
    last = max((change.revision for change in run.changes if change.actor == "user" and _ends(change)), default=0)
    return {
        change.ref
        for change in run.changes
        if change.actor == "operator"
        and change.kind == "MODIFIED"
        and change.revision > last
        and not is_renewal(change)
    }


def leftovers(run: ScenarioRun, lasting: Iterable[str] = ()) -> set[ObjectRef]:
    """Return the operator's objects that are still there at the end of a run, without an owner, and not on purpose."""
    final = run.states[-1]
    added = [change for change in run.changes if change.actor == "operator" and change.kind == "ADDED"]
    by_operator = {change.ref for change in added} - {change.ref for change in added if change.step < 0}  # at its start
    removed = {ref.resource for ref in _removed_without_user(run)}
    stays = {*lasting, *(LASTING - removed)}
    uids = {obj["metadata"]["uid"] for obj in final.values()}
    return {
        ref
        for ref in by_operator & final.keys()
        if ref.resource not in stays
        and not uids.intersection(owner_uids(final[ref]))
        and not asks_to_retain(run, final[ref])
    } - released(run)


def _removed_without_user(run: ScenarioRun) -> Iterator[ObjectRef]:
    """Yield the objects whose deletion the user has requested neither for themselves nor for their namespace."""
    requested = {change.ref for change in run.changes if change.actor == "user" and _ends(change)}
    for change in run.changes:
        namespace = ObjectRef("namespaces", "", change.ref.namespace)
        if change.kind == "DELETED" and not {change.ref, namespace} & requested:
            yield change.ref


def _ends(change: ObjectChange) -> bool:
    return change.kind == "DELETED" or change.new is None or is_deleting(change.new)


def asks_to_retain(run: ScenarioRun, child: Object) -> bool:
    """Return whether an object of the user, or the child's metadata, says that children are retained."""
    metadata = child["metadata"]
    texts = [metadata.get("labels") or {}, metadata.get("annotations") or {}]
    for change in run.changes:
        if change.actor == "user" and change.new is not None:
            created = change.new["metadata"]
            texts += [change.new.get("spec") or {}, created.get("annotations") or {}, created.get("labels") or {}]
    return any(map(_says_retain, texts))


def _says_retain(value: Any, key: str = "") -> bool:
    return any(_RETAIN.search(text) for text in _statements(value, key))


def _statements(value: Any, key: str) -> Iterator[str]:
    """Yield the texts of a value, and the names of what is true."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _statements(member, str(name))
    elif isinstance(value, list):
        for member in value:
            yield from _statements(member, key)
    elif value is True or value == "true":
        yield key
    elif isinstance(value, str):
        yield value
