"""Three processes and sixty keys: when a member ends in any way, others take its keys in time, never before."""

import json
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.testing.eventually import eventually
from tests.e2e.clusters import kubeconfig_of, namespace
from tests.e2e.replicas.shard_program import KEYS
from tests.processes import Child

pytestmark = pytest.mark.e2e

PROGRAM = Path(__file__).parent / "shard_program.py"
LEASE, RENEW, RETRY = 2.0, 1.4, 0.4
MACHINE = 1.0
"""Seconds that a busy machine may take for what takes milliseconds."""


@dataclass(frozen=True)
class Work:
    """One piece of work on a key, in monotonic seconds."""

    key: str
    began: float
    ended: float
    valid: bool


class Member:
    """One process, and what it has written."""

    def __init__(self, folder: Path, kubeconfig: Path, temporary_namespace: str, identity: str) -> None:
        self._file = folder / f"{identity}.jsonl"
        self._file.touch()
        command = [sys.executable, str(PROGRAM), str(kubeconfig), temporary_namespace, identity, str(self._file)]
        self.child = Child([*command, *map(str, (LEASE, RENEW, RETRY))], folder / f"{identity}.out")

    def work(self) -> list[Work]:
        # The last line may be cut, if the process was killed or is at it.
        lines = [line for line in self._file.read_text().splitlines(keepends=True) if line.endswith("\n")]
        entries = map(json.loads, lines)
        return [Work(entry["key"], entry["from"], entry["to"], entry["valid"]) for entry in entries]

    def keys_since(self, moment: float) -> set[str]:
        return {work.key for work in self.work() if work.began > moment and work.valid}


@dataclass
class Members:
    """Three members that share all keys."""

    all: list[Member]

    def shared(self, moment: float, members: list[Member]) -> bool:
        """Return whether exactly these members have worked since then, and every key was processed."""
        owners = [member.keys_since(moment) for member in members]
        return all(owners) and set().union(*owners) == set(KEYS)

    def check_no_shared_keys(self) -> None:
        """Fail if two processes worked on one key at the same time."""
        work = sorted((w.key, w.began, w.ended) for member in self.all for w in member.work() if w.valid)
        assert len(work) > len(KEYS)
        for (key, _, ended), (other, began, _) in pairwise(work):
            assert key != other or ended <= began, (key, ended, began)


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Members]:
    environment, built = (
        Environment(server=server_from(bundled=BundledServer(kubeconfig=tmp_path / "kubeconfig"))),
        Members([]),
    )
    with environment as config, namespace(config, "shards") as temporary_namespace:
        kubeconfig = kubeconfig_of(environment, tmp_path / "kubeconfig")
        try:
            built.all += [Member(tmp_path, kubeconfig, temporary_namespace, name) for name in ("a", "b", "c")]
            eventually(lambda: built.shared(0.0, built.all), seconds=20.0)
            SYSTEM_CLOCK.sleep(threading.Event(), 2 * RETRY)
            yield built
        finally:
            for member in built.all:
                member.child.kill()


def test_member_hands_over_at_once_on_shutdown(members: Members) -> None:
    leaving, *other_items = members.all
    assert leaving.child.end(signal.SIGTERM, seconds=10)[0] == 0
    moment = SYSTEM_CLOCK.now()
    eventually(lambda: members.shared(moment, other_items), seconds=20.0)
    took = SYSTEM_CLOCK.now() - moment
    print(f"hand-over {took:.2f} s after the shutdown of a member")
    assert took < 2 * RETRY + MACHINE
    members.check_no_shared_keys()


def test_member_that_is_suspended_past_its_lease_shares_no_key_when_it_wakes(members: Members) -> None:
    suspended, *other_items = members.all
    suspended.child.signal(signal.SIGSTOP)
    moment = SYSTEM_CLOCK.now()
    eventually(lambda: members.shared(moment + LEASE, other_items), seconds=20.0)
    suspended.child.signal(signal.SIGCONT)
    awake = SYSTEM_CLOCK.now()
    eventually(lambda: members.shared(awake + 4 * RETRY, members.all), seconds=20.0)
    members.check_no_shared_keys()
