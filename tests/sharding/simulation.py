"""Replicas with a simulated API server, one request at a time: anything may happen between two requests.

There are no threads: a replica acts when the test calls its tick, and inside each of its requests the test may let
others act, let time pass, and lose or delay the request or its response.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from clientgo.errors import AlreadyExists, Conflict, ConnectionFailed
from clientgo.kubernetes.types.coordination_v1 import Lease
from clientgo.leaderelection import LeaderElectionRecord
from clientgo.leaderelection.timing import Timing
from clientgo.meta import ObjectMeta
from clientgo.sharding.member import ShardMember
from clientgo.sharding.ownership import View
from clientgo.sharding.slots import Slot
from clientgo.testing.clock import FakeClock

LEASE, RENEW, RETRY = 15.0, 10.0, 2.0
TIMING = Timing(lease_duration=LEASE, renew_deadline=RENEW, retry_period=RETRY)
KEYS = [f"uid-{number}" for number in range(12)]


@dataclass
class Server:
    """Leases, and writes in progress to them."""

    slots: dict[int, Slot] = field(default_factory=dict)
    under_way: list[Callable[[], object]] = field(default_factory=list)
    _versions: int = 0

    def write(self, number: int, record: LeaderElectionRecord, view: View, version: str) -> Slot:
        stored = self.slots.get(number)
        if not version and stored is not None:
            raise AlreadyExists(f"slot {number} exists")
        if version and (stored is None or stored.lease.metadata.resource_version != version):
            raise Conflict(f"slot {number} has changed")
        self._versions += 1
        lease = Lease(metadata=ObjectMeta(resource_version=str(self._versions)), spec=record.to_spec())
        self.slots[number] = Slot(record, view or frozenset({number}), lease)
        return self.slots[number]


@dataclass
class Line:
    """Connection of one replica to the server, with faults for its next requests, in order. Implements `Slots`.

    `meanwhile()` is called at each fault named "meanwhile", before and after the request is handled.
    """

    server: Server
    clock: FakeClock
    faults: list[str] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None

    def read(self) -> Mapping[int, Slot]:
        fault = self._before()
        result = dict(self.server.slots)
        self._after(fault)
        return result

    def write(self, number: int, record: LeaderElectionRecord, view: View, seen: Slot | None) -> Slot:
        fault = self._before()
        version = seen.lease.metadata.resource_version if seen is not None else ""
        if fault == "late":
            self.server.under_way.append(lambda: self.server.write(number, record, view, version))
            raise ConnectionFailed("given up")
        written = self.server.write(number, record, view, version)
        self._after(fault)
        return written

    def _before(self) -> str:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "lost":
            raise ConnectionFailed("lost on its way there")
        if fault == "slow":
            self.clock.step(3)
        if fault == "meanwhile":
            self.meanwhile()
        return fault

    def _after(self, fault: str) -> None:
        if fault == "slow":
            self.clock.step(3)
        if fault == "meanwhile":
            self.meanwhile()
        if fault == "unanswered":
            raise ConnectionFailed("lost on its way back")


class Replica:
    """Member, and the keys its workers process."""

    def __init__(self, server: Server, clock: FakeClock, name: str, *, count: int, seed: int = 0) -> None:
        self.line = Line(server, clock)
        rand = random.Random(f"{name} {seed}").random
        self.member = ShardMember(self.line, name, count=count, timing=TIMING, clock=clock, rand=rand)
        self.name = name
        self.working: set[str] = set()

    def __repr__(self) -> str:
        return f"{self.member!r}"

    def begin(self, key: str) -> bool:
        if key not in self.working and self.member.begin(key):
            self.working.add(key)
            return True
        return False

    def begin_all(self, keys: list[str]) -> None:
        for key in keys:
            self.begin(key)

    def end(self, key: str) -> None:
        if key in self.working:
            self.working.remove(key)
            self.member.end(key)

    def busy_with(self) -> set[str]:
        """Return the keys in progress for which it may still write."""
        return {key for key in self.working if self.member.valid(key)}


class World:
    """Server and replicas, whose clocks run at the same speed."""

    def __init__(self, *, replicas: int, count: int) -> None:
        self.clock = FakeClock()
        self.server = Server()
        self.count = count
        self.born = 0
        self.replicas: list[Replica] = []
        for _ in range(replicas):
            self.start()

    def start(self, count: int | None = None) -> Replica:
        self.born += 1
        replica = Replica(self.server, self.clock, f"r{self.born}", count=count or self.count)
        self.replicas.append(replica)
        return replica

    def rounds(self, seconds: float) -> None:
        """Let this many seconds pass without faults, while every replica ticks as its `run` would."""
        until = self.clock.now() + seconds
        due = {replica.name: self.clock.now() for replica in self.replicas}
        while self.clock.now() < until:
            for replica in self.replicas:
                if due[replica.name] <= self.clock.now():
                    replica.member.tick()
                    due[replica.name] = self.clock.now() + replica.member.pause()
            self.clock.step(max(0.01, min(until, *due.values()) - self.clock.now()))

    def owners(self, key: str) -> list[Replica]:
        return [replica for replica in self.replicas if replica.member.owns(key)]

    def check(self) -> None:
        """Assert that no key is in progress at two replicas that may still write."""
        for key in KEYS:
            busy = [replica for replica in self.replicas if key in replica.busy_with()]
            assert len(busy) <= 1, f"{key}: {busy}"
