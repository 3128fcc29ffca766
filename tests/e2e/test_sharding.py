"""Three processes and sixty keys: whoever goes, however it goes, others take its keys in time, and never before."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.envtest import Environment
from tests.e2e.shard_program import KEYS

pytestmark = pytest.mark.e2e

PROGRAM = Path(__file__).parent / "shard_program.py"
LEASE, RENEW, RETRY = 2.0, 1.4, 0.4
MACHINE = 1.0
"""Seconds that a busy machine may take for what takes milliseconds."""


@dataclass(frozen=True)
class Work:
    """One piece of work on a key, in this machine's monotonic seconds."""

    key: str
    began: float
    ended: float
    valid: bool


class Member:
    """One process, and what it has written."""

    def __init__(self, folder: Path, kubeconfig: Path, identity: str) -> None:
        self._file = folder / f"{identity}.jsonl"
        self._file.touch()
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(kubeconfig), identity, str(self._file), *map(str, (LEASE, RENEW, RETRY))]
        )

    def work(self) -> list[Work]:
        # The last line may be cut, if the process was killed or is at it.
        lines = [line for line in self._file.read_text().splitlines(keepends=True) if line.endswith("\n")]
        entries = map(json.loads, lines)
        return [Work(entry["key"], entry["from"], entry["to"], entry["valid"]) for entry in entries]

    def keys_since(self, moment: float) -> set[str]:
        return {work.key for work in self.work() if work.began > moment and work.valid}


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    never, deadline = threading.Event(), SYSTEM_CLOCK.now() + seconds
    while not condition():
        assert SYSTEM_CLOCK.now() < deadline, "it did not come about in time"
        SYSTEM_CLOCK.sleep(never, 0.05)


@dataclass
class Members:
    """Three members that share all keys."""

    all: list[Member]

    def shared(self, moment: float, members: list[Member]) -> bool:
        """Whether each of these, and nobody else, has worked since then, and every key was worked on."""
        owners = [member.keys_since(moment) for member in members]
        return all(owners) and set().union(*owners) == set(KEYS)

    def nobody_shared_a_key(self) -> None:
        """No two pieces of work on one key at once, in two processes."""
        work = sorted((w.key, w.began, w.ended) for member in self.all for w in member.work() if w.valid)
        assert len(work) > len(KEYS)
        for (key, _, ended), (other, began, _) in pairwise(work):
            assert key != other or ended <= began, (key, ended, began)


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Members]:
    kubeconfig = tmp_path / "kubeconfig"
    with Environment(kubeconfig=kubeconfig, bundled=True):
        made = Members([Member(tmp_path, kubeconfig, name) for name in ("a", "b", "c")])
        try:
            wait_until(lambda: made.shared(0.0, made.all))
            SYSTEM_CLOCK.sleep(threading.Event(), 2 * RETRY)
            yield made
        finally:
            for member in made.all:
                member.process.kill()
                member.process.wait()


def test_the_keys_of_a_killed_member_move_when_its_lease_expires_and_not_before(members: Members) -> None:
    settled = SYSTEM_CLOCK.now()
    wait_until(lambda: members.shared(settled, members.all))
    killed, *others = members.all
    lost, kept = killed.keys_since(settled), [member.keys_since(settled) for member in others]
    killed.process.send_signal(signal.SIGKILL)
    moment = SYSTEM_CLOCK.now()
    wait_until(lambda: members.shared(moment + MACHINE / 2, others))
    taken = [work for member in others for work in member.work() if work.key in lost and work.began > moment]
    first = {key: min(work.began for work in taken if work.key == key) - moment for key in lost}
    print(f"hand-over of {len(lost)} keys {min(first.values()):.2f} to {max(first.values()):.2f} s after the kill")
    assert min(first.values()) > LEASE - RETRY - MACHINE / 2
    assert max(first.values()) < LEASE + RETRY + MACHINE
    # What the others had stayed theirs.
    since = moment + LEASE + RETRY + MACHINE
    wait_until(lambda: members.shared(since, others))
    assert all(had <= member.keys_since(since) for had, member in zip(kept, others, strict=True))
    members.nobody_shared_a_key()


def test_a_member_that_is_told_to_stop_hands_over_at_once(members: Members) -> None:
    leaving, *others = members.all
    leaving.process.send_signal(signal.SIGTERM)
    assert leaving.process.wait(timeout=10) == 0
    moment = SYSTEM_CLOCK.now()
    wait_until(lambda: members.shared(moment, others))
    took = SYSTEM_CLOCK.now() - moment
    print(f"hand-over {took:.2f} s after the end of a member that was told to stop")
    assert took < 2 * RETRY + MACHINE
    members.nobody_shared_a_key()


def test_a_member_that_is_suspended_past_its_lease_shares_no_key_when_it_wakes(members: Members) -> None:
    suspended, *others = members.all
    suspended.process.send_signal(signal.SIGSTOP)
    moment = SYSTEM_CLOCK.now()
    wait_until(lambda: members.shared(moment + LEASE, others))
    suspended.process.send_signal(signal.SIGCONT)
    awake = SYSTEM_CLOCK.now()
    wait_until(lambda: members.shared(awake + 4 * RETRY, members.all))
    members.nobody_shared_a_key()
