"""Invariants that must hold after every fault, and measurements.

Requests of this module bypass the fault and reach the server directly.
"""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from clientgo.cache.backoff import REFLECTOR_BACKOFF
from clientgo.meta import object_name
from tests.e2e.replicas.trail import writes
from tests.faults.rig import Rig

ROUND = 3
"""Lists of one kind that one step of the backoff may cost: streamed, then plain, then the newest state."""

MEGABYTES = 64
"""How much a fault may leave the process larger: what the allocator keeps, and a gigantic frame or two."""

_READS = frozenset(("get", "list", "watch"))


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of a process."""

    files: int
    threads: int
    megabytes: float

    @classmethod
    def now(cls, pid: int | None = None) -> "Resources":
        """Measure a process, by default this one."""
        path = Path(f"/proc/{pid or 'self'}")
        pages = int((path / "statm").read_text().split()[1])
        return cls(
            sum(1 for _ in (path / "fd").iterdir()),
            sum(1 for _ in (path / "task").iterdir()),
            pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        )


def converged(rig: Rig) -> bool:
    """Return whether exactly the wanted Foos exist, each with its Deployment and a correct status."""
    deployments = {
        (item.metadata.namespace, item.metadata.name): item for item in rig.kube.apps_v1.deployments("").list().items
    }
    foos = rig.foos_api.samplecontroller_v1alpha1.foos("").list().items
    result = {}
    for foo in foos:
        key = (foo.metadata.namespace, foo.metadata.name)
        deployment = deployments.get((foo.metadata.namespace, foo.spec.deployment_name))
        if deployment is None or deployment.spec.replicas != foo.spec.replicas:
            return False
        if foo.status.available_replicas != (deployment.status.available_replicas or 0):
            return False
        result[key] = foo.spec.replicas
    return result == rig.wanted


def caches_agree(rig: Rig) -> bool:
    """Return whether the caches equal the server, version for version, and all notifications are handled."""
    foos = rig.foos_api.samplecontroller_v1alpha1.foos("").list().items
    deployments = rig.kube.apps_v1.deployments("").list().items
    existing = {
        "Foo": {object_name(item): item.metadata.resource_version for item in foos},
        "Deployment": {object_name(deployment): deployment.metadata.resource_version for deployment in deployments},
    }
    for informer in rig.informers:
        held = {object_name(entry): entry.metadata.resource_version for entry in informer.indexer.list()}
        if held != existing[informer.state().kind] or informer.waiting:
            return False
    return len(rig.informers) == 2


def queue_is_idle(rig: Rig) -> bool:
    """Return whether no key is queued, processing or waiting for a retry."""
    # One of a Foo that is gone may wait long: it failed often, and nothing is lost by it.
    keys = {(key.namespace, key.name) for queue in rig.diagnostics.queues for key in queue.state().keys}
    return not keys & rig.wanted.keys()


def healthy(rig: Rig) -> bool:
    """Return whether all eventual invariants hold now."""
    return converged(rig) and caches_agree(rig) and queue_is_idle(rig)


def one_worker_a_key(rig: Rig) -> None:
    """Fail if two workers ever wrote about one Foo at the same time."""
    assert not rig.requests.together, f"two workers at one Foo: {rig.requests.together}"
    for queue in rig.diagnostics.queues:
        processing = [key for key, _ in queue.state().processing]
        assert len(processing) == len(set(processing))


def lists_are_bounded(rig: Rig, since: float, now: float) -> int:
    """Fail if lists came faster than the backoff allows; return the maximum per kind within its smallest step."""
    times: dict[str, list[float]] = {}
    for at, kind in rig.requests.lists:
        if at >= since:
            times.setdefault(kind, []).append(at)
    most = 0
    for kind, result in times.items():
        for begin in result:
            burst = sum(begin <= at < begin + REFLECTOR_BACKOFF.duration * 0.95 for at in result)
            assert burst <= ROUND, f"{burst} lists of {kind} within one step of the backoff"
            most = max(most, burst)
        assert len(result) <= ROUND * (steps(now - since) + 2), f"{len(result)} lists of {kind} in {now - since:.1f} s"
    return most


def steps(seconds: float) -> int:
    """Return the maximum number of backoff steps in a time: an unavailable server is tried each second."""
    return int(seconds / REFLECTOR_BACKOFF.duration) + 1


def no_write_without_the_lease(trail: Path, members: set[str]) -> Counter[str]:
    """Fail if a member wrote about a Foo while another held the lease; return the number of writes of each."""
    holder = ""
    built: Counter[str] = Counter()
    for write in writes(trail):
        if write.user not in members or write.verb in _READS:
            continue
        if write.resource == "leases":
            holder = write.user
        if write.foo:
            assert write.user == holder, f"{write} while {holder} held the lease"
            built[write.user] += 1
    return built
