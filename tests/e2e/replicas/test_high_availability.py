"""Two replicas with leader election: no Foo is skipped or processed by both while the leader fails."""

import signal
from collections import Counter

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.testing.eventually import eventually
from tests.e2e.replicas.elected import FOOS, LEASE, RETRY, Replicas, replicas, temporary_namespace
from tests.e2e.replicas.trail import Write

# The fixtures.
__all__ = ["temporary_namespace", "replicas"]

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.requires("an audit log")]

MACHINE = 2.0
"""Seconds that a busy machine may take for what takes milliseconds."""


@pytest.mark.feature("A-14", "C-51")
def test_the_leader_is_killed_during_a_stream_of_foos(
    replicas: Replicas, temporary_namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, two = replicas.start_pair()
    replicas.create_foos(temporary_namespace, 0, FOOS // 2)
    first.kill()
    killed = SYSTEM_CLOCK.now()
    replicas.create_foos(temporary_namespace, FOOS // 2, FOOS)
    two.wait_for("starting workers", LEASE + 2.2 * RETRY + MACHINE)
    handover = SYSTEM_CLOCK.now() - killed
    # The lease was renewed at most one period before, and was seen then.
    assert handover > LEASE - RETRY - MACHINE
    replicas.wait_until_synced(temporary_namespace)
    both = no_write_without_the_lease(replicas.writes())
    with capsys.disabled():
        print(f"\nhand-over after kill -9: {handover:.1f} s with a lease of {LEASE} s; {both}")


def test_shard_is_killed_during_a_stream_of_foos(
    replicas: Replicas, temporary_namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of three replicas has its share; the two others take over the share of the killed one."""
    flags = ["--shard-count=3", "--shard-lease-prefix=shard"]
    for name in ("one", "two", "three"):
        replicas.start(name, *flags)
    for program in replicas.programs.values():
        program.wait_for('"shards moved".* members=3')
    replicas.create_foos(temporary_namespace, 0, FOOS // 2)
    replicas.programs["one"].kill()
    killed = SYSTEM_CLOCK.now()
    replicas.create_foos(temporary_namespace, FOOS // 2, FOOS)
    for name in ("two", "three"):
        replicas.programs[name].wait_for('"shards moved".* members=2', LEASE + 2.2 * RETRY + MACHINE)
    handover = SYSTEM_CLOCK.now() - killed
    assert handover > LEASE - RETRY - MACHINE
    replicas.wait_until_synced(temporary_namespace)
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


@pytest.mark.feature("A-14")
def test_leader_hands_over_within_a_retry_period_on_shutdown_and_the_last_one_frees_the_lease(
    replicas: Replicas, temporary_namespace: str
) -> None:
    first, two = replicas.start_pair()
    code, output = first.end(signal.SIGTERM)
    assert (code, "Traceback" in output) == (0, False)
    two.wait_for("starting workers", 2.2 * RETRY + MACHINE)
    lease = replicas.lease()
    assert (bool(lease.holder_identity), lease.lease_duration_seconds, lease.lease_transitions) == (True, LEASE, 1)
    replicas.create_foos(temporary_namespace, 0, 1)
    eventually(lambda: replicas.synced(temporary_namespace) == 1, seconds=20)
    assert two.end(signal.SIGTERM)[0] == 0
    lease = replicas.lease()
    assert (lease.holder_identity, lease.lease_duration_seconds) == ("", 1)


def test_leader_that_was_frozen_past_its_lease_writes_nothing_and_ends(
    replicas: Replicas, temporary_namespace: str
) -> None:
    first, two = replicas.start_pair()
    first.signal(signal.SIGSTOP)
    two.wait_for("starting workers", LEASE + 2.2 * RETRY + MACHINE)
    replicas.create_foos(temporary_namespace, 0, 20)
    eventually(lambda: replicas.synced(temporary_namespace) == 20, seconds=20)
    first.signal(signal.SIGCONT)
    code, output = first.end(seconds=15)
    assert (code, "leader election lost" in output, "Traceback" in output) == (1, True, False)
    no_write_without_the_lease(replicas.writes())
    assert {write.user for write in replicas.writes() if write.foo} == {"two"}
