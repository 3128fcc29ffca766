"""Two replicas with leader election: no Foo is skipped or processed by both while the leader fails."""

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.meta import ObjectMeta
from clientgo.testing.eventually import eventually
from controller.api.v1alpha1 import Foo, FooSpec
from generated.clientset import Clientset
from tests.e2e.clusters import namespace, write_user
from tests.e2e.program import ROOT, Program
from tests.e2e.replicas.trail import Write, writes

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.requires("an audit log")]

LEASE, RENEW, RETRY = 4.0, 3.0, 0.3
FOOS = 1000
BUSY = 120.0
"""Seconds within which a busy machine has synced all Foos."""
MACHINE = 2.0
"""Seconds that a busy machine may take for what takes milliseconds."""


class Replicas:
    """Server with an audit log, and replicas of the controller, each with its own user."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.trail = folder, folder / "audit.log"
        self.environment = Environment(
            crd_paths=[ROOT / "artifacts" / "crd"],
            server=server_from(bundled=BundledServer(secure=True, audit_log=self.trail)),
        )
        self.config = self.environment.start()
        self.clientset = Clientset(self.config)
        self.foos = self.clientset.samplecontroller_v1alpha1
        self.programs: dict[str, Program] = {}

    def start(self, name: str, *flags: str) -> Program:
        config = self.environment.add_user(name, "system:masters")
        folder = self.folder / name
        path = write_user(folder / "kubeconfig", config)
        times = [f"--leader-elect-{key}={value}s" for key, value in times_of_lease().items()]
        self.programs[name] = Program([f"--kubeconfig={path}", *times, *flags], folder)
        return self.programs[name]

    def create_foos(self, place: str, first: int, last: int) -> None:
        for number in range(first, last):
            name = f"foo-{number}"
            self.foos.foos(place).create(Foo(ObjectMeta(name=name), FooSpec(name, 1)), field_manager="test")

    def synced(self, place: str) -> int:
        available = 1 if self.environment.runs_controllers else 0
        return sum(foo.status.available_replicas == available for foo in self.foos.foos(place).list().items)

    def wait_until_synced(self, place: str) -> None:
        # Not each 10 ms: to list the Foos takes longer, and the replicas need the processor as well.
        eventually(lambda: self.synced(place), FOOS.__eq__, seconds=BUSY, every=0.25)

    def writes(self) -> list[Write]:
        return [write for write in writes(self.trail) if write.user in self.programs]

    def stop(self) -> None:
        for program in self.programs.values():
            program.end(signal.SIGKILL)
        self.clientset.close()
        self.environment.stop()


def times_of_lease() -> dict[str, float]:
    return {"lease-duration": LEASE, "renew-deadline": RENEW, "retry-period": RETRY}


@pytest.fixture
def replicas(tmp_path: Path) -> Iterator[Replicas]:
    made = Replicas(tmp_path)
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def place(replicas: Replicas) -> Iterator[str]:
    with namespace(replicas.config, "ha") as name:
        yield name


def test_the_leader_is_killed_during_a_stream_of_foos(
    replicas: Replicas, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = replicas.start("one", "--leader-elect")
    one.wait_for("starting workers")
    two = replicas.start("two", "--leader-elect")
    two.wait_for("new leader elected")
    replicas.create_foos(place, 0, FOOS // 2)
    one.kill()
    killed = SYSTEM_CLOCK.now()
    replicas.create_foos(place, FOOS // 2, FOOS)
    two.wait_for("starting workers", LEASE + 2.2 * RETRY + MACHINE)
    handover = SYSTEM_CLOCK.now() - killed
    replicas.wait_until_synced(place)
    both = no_write_without_the_lease(replicas.writes())
    with capsys.disabled():
        print(f"\nhand-over after kill -9: {handover:.1f} s with a lease of {LEASE} s; {both}")


def test_a_shard_is_killed_during_a_stream_of_foos(
    replicas: Replicas, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of three replicas has its share; the two others take over the share of the killed one."""
    flags = ["--shard-count=3", "--shard-lease-prefix=shard"]
    for name in ("one", "two", "three"):
        replicas.start(name, *flags)
    for program in replicas.programs.values():
        program.wait_for('"shards moved".* members=3')
    replicas.create_foos(place, 0, FOOS // 2)
    replicas.programs["one"].kill()
    killed = SYSTEM_CLOCK.now()
    replicas.create_foos(place, FOOS // 2, FOOS)
    for name in ("two", "three"):
        replicas.programs[name].wait_for('"shards moved".* members=2', LEASE + 2.2 * RETRY + MACHINE)
    handover = SYSTEM_CLOCK.now() - killed
    replicas.wait_until_synced(place)
    both = no_foo_at_two(replicas.writes())
    with capsys.disabled():
        print(f"\nshare moved after kill -9: {handover:.1f} s with leases of {LEASE} s; {both}")


def no_foo_at_two(trail: list[Write]) -> str:
    """Fail if a Foo changed owners, except from the killed one; print how the Foos were shared."""
    last: dict[str, str] = {}
    for write in trail:
        if write.foo:
            before = last.setdefault(write.foo, write.user)
            assert before in (write.user, "one"), f"{write}, which {before} had written about"
            last[write.foo] = write.user
    return ", ".join(f"{count} Foos last by {user}" for user, count in sorted(Counter(last.values()).items()))


def no_write_without_the_lease(trail: list[Write]) -> str:
    """Fail if a replica without the lease wrote about a Foo; print the number of writes checked."""
    holder, about = "", dict.fromkeys({write.user for write in trail}, 0)
    for write in trail:
        if write.resource == "leases":
            holder = write.user
        if write.foo:
            assert write.user == holder, f"{write} while {holder} held the lease"
            about[write.user] += 1
    return ", ".join(f"{count} writes by {user}" for user, count in sorted(about.items()))


def test_a_leader_hands_over_within_a_retry_period_on_shutdown(replicas: Replicas, place: str) -> None:
    one = replicas.start("one", "--leader-elect")
    one.wait_for("starting workers")
    two = replicas.start("two", "--leader-elect")
    two.wait_for("new leader elected")
    code, output = one.end(signal.SIGTERM)
    assert (code, "Traceback" in output) == (0, False)
    two.wait_for("starting workers", 2.2 * RETRY + MACHINE)
    replicas.create_foos(place, 0, 1)
    eventually(lambda: replicas.synced(place) == 1, seconds=20)


def test_a_leader_that_was_frozen_past_its_lease_writes_nothing_and_ends(replicas: Replicas, place: str) -> None:
    one = replicas.start("one", "--leader-elect")
    one.wait_for("starting workers")
    two = replicas.start("two", "--leader-elect")
    two.wait_for("new leader elected")
    one.signal(signal.SIGSTOP)
    two.wait_for("starting workers", LEASE + 2.2 * RETRY + MACHINE)
    replicas.create_foos(place, 0, 20)
    eventually(lambda: replicas.synced(place) == 20, seconds=20)
    one.signal(signal.SIGCONT)
    code, output = one.end(seconds=15)
    assert (code, "leader election lost" in output, "Traceback" in output) == (1, True, False)
    no_write_without_the_lease(replicas.writes())
    assert {write.user for write in replicas.writes() if write.foo} == {"two"}
