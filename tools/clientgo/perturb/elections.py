"""Leases by which replicas of an operator elect a leader, and renewals of other Leases."""

import re
from collections.abc import Iterable, Sequence

from clientgo.meta.codec import identity
from clientgo.perturb.programs.gate import Outgoing
from clientgo.perturb.state import ObjectChange, ObjectRef

LEASES = "leases.coordination.k8s.io"
NODE_LEASES = "kube-node-lease"
"""Namespace of the Leases that simulated nodes renew."""

_NUMBER = re.compile(r"-\d+$")


class Elections:
    """Leases that are not part of the scenario: those of nodes, and those that the operator uses before the first step.

    An operator elects its leader before it looks at any object. Its work on Leases follows from the scenario's steps.
    Leases that differ only in a number at the end, by which replicas share the work, are alike.
    """

    def __init__(self) -> None:
        self._refs: set[ObjectRef] = set()

    def __repr__(self) -> str:
        return f"<Elections {len(self._refs)} Leases>"

    def __contains__(self, ref: ObjectRef) -> bool:
        if ref.resource != LEASES:
            return False
        return ref.namespace == NODE_LEASES or _without_number(ref) in self._refs

    def concern(self, outgoing: Outgoing, step: int) -> bool:
        """Return whether a request of the operator is about such a Lease; the step before the first one is -1."""
        if outgoing.subject.resource != LEASES:
            return False
        ref = ObjectRef(LEASES, outgoing.subject.namespace, outgoing.subject.name or identity(outgoing.body).name)
        if step < 0 and ref.name:
            self._refs.add(_without_number(ref))
        return ref in self

    def without(self, waiting: Iterable[Outgoing], step: int) -> list[Outgoing]:
        """Return the writes among these requests that are about other objects."""
        return [outgoing for outgoing in waiting if outgoing.is_write and not self.concern(outgoing, step)]


def _without_number(ref: ObjectRef) -> ObjectRef:
    return ref._replace(name=_NUMBER.sub("-#", ref.name))


def only_renew(changes: Sequence[ObjectChange]) -> bool:
    """Return whether these are changes, and each does nothing but renew a Lease."""
    return bool(changes) and all(map(is_renewal, changes))


def is_renewal(change: ObjectChange) -> bool:
    """Return whether nothing but the time of a Lease changed, as a holder's heartbeat does for as long as it works."""
    if change.ref.resource != LEASES or change.old is None or change.new is None:
        return False
    before, after = ({**(obj.get("spec") or {}), "renewTime": None} for obj in (change.old, change.new))
    return before == after and all(
        change.old["metadata"].get(name) == change.new["metadata"].get(name) for name in _DECIDED_BY_WRITERS
    )


_DECIDED_BY_WRITERS = ("labels", "annotations", "ownerReferences", "finalizers", "deletionTimestamp")
