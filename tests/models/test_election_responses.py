"""Two electors behind a proxy that answers 200 with something else than the lease: never may both work at one moment.

The proxy may carry out the request, or not, and answers with a failure Status, `{}`, HTML, an older lease, or another
object. It may do so for one request, or for a while, to one elector or to both.
"""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.connections.http1 import Headers
from clientgo.rest.transport import HTTPReply, HTTPStream
from clientgo.testing.transport import FakeStream, refusal, reply
from tests.models.contest import ELECTION, Contest
from tests.models.copies import Copies
from tests.models.locks import Event
from tests.models.schedules import Chance, Failed, Program, Scheduler, execute

MODULES = [*ELECTION[:2], "clientgo.leaderelection.lock", *ELECTION[2:]]

RIGHT = Copies(MODULES)

Object = dict[str, Any]

LIES: dict[str, Callable[[list[Object]], object]] = {
    "failure": lambda _: refusal(500, "InternalError", "etcd is gone").body,
    "success": lambda _: {"kind": "Status", "apiVersion": "v1", "status": "Success"},
    "empty": lambda _: {},
    "HTML": lambda _: b"<html>log in</html>",
    "first": lambda past: past[0] if past else {},
    "previous": lambda past: past[-2] if len(past) > 1 else {},
    "last": lambda past: past[-1] if past else {},
    "other": lambda past: past[-1] | {"metadata": {"name": "other", "namespace": "ns"}} if past else {},
    "kind": lambda past: past[-1] | {"kind": "ConfigMap", "apiVersion": "v1"} if past else {},
}
"""Bodies that the proxy makes of the states that the lease had."""


class Store:
    """One lease on a server."""

    def __init__(self) -> None:
        self.past: list[Object] = []

    def request(self, method: str, body: bytes | None) -> HTTPReply:
        """Answer as a server."""
        if method == "GET":
            return reply(self.past[-1]) if self.past else refusal(404, "NotFound")
        sent: Object = json.loads(body or b"")
        if method == "POST" and self.past:
            return refusal(409, "AlreadyExists")
        if method == "PUT" and sent["metadata"].get("resourceVersion") != str(len(self.past)):
            return refusal(409, "Conflict")
        meta = sent["metadata"] | {"resourceVersion": str(len(self.past) + 1)}
        self.past.append(sent | {"metadata": meta})
        return reply(self.past[-1])


class Proxy:
    """A `Transport` of one elector, which answers some requests itself; all answers have the status 200."""

    def __init__(self, store: Store, plan: Iterator[tuple[str, bool, float]]) -> None:
        self._store = store
        self._plan = plan

    def request(self, method: str, target: str, headers: Headers, body: bytes | None, timeout: float) -> HTTPReply:
        lie, passes, seconds = next(self._plan)
        if seconds:
            Event().wait(seconds)
        if not lie:
            return self._store.request(method, body)
        if passes:
            self._store.request(method, body)
        return reply(LIES[lie](self._store.past))

    def stream(self, method: str, target: str, headers: Headers, timeout: float, *, idle_timeout: float) -> HTTPStream:
        return FakeStream(end=True)

    def reset(self) -> None:
        """Keep no connections."""

    def close(self) -> None:
        """Keep no connections."""


def plan(rng: Random) -> Iterator[tuple[str, bool, float]]:
    """Yield a lie or "", whether the request is carried out, and the seconds before: for a while the same."""
    while True:
        lie = rng.choice([*LIES]) if rng.random() < 0.5 else ""
        passes, slow = rng.random() < 0.5, rng.random() < 0.2
        for _ in range(rng.choice((1, 2, 12))):
            yield lie, passes, 2.0 if slow else 0.0


SKEWS = [(0.0, 0.0), (1e6, 1e8)]


def program(code: Copies, seed: int, led: list[int]) -> Program:
    """Run two electors, and record how often one led."""

    def prepare(scheduler: Scheduler) -> Callable[[], object]:
        scheduler.patient = seed % 2 == 0
        store, locks = Store(), []
        for number in range(2):
            transport = Proxy(store, plan(Random(f"{seed}/{number}")))
            requester = RESTClient(Config("http://api"), transport=transport)
            locks.append(code.lock.LeaseLock(requester, "ns", "lease", f"c{number}"))
        contest = Contest(code, locks, SKEWS, lambda: scheduler.now)
        contest.spawn(scheduler)
        return lambda: led.append(contest.led)

    return prepare


@pytest.mark.parametrize("runs", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_two_never_may_work_at_one_moment_whatever_is_answered(runs: int) -> None:
    led: list[int] = []
    for seed in range(runs):
        execute(program(RIGHT, seed, led), Chance(seed))
    assert sum(map(bool, led)) > runs / 2  # most of the time one led


def test_older_lease_that_counts_as_a_renewal_is_found() -> None:
    check = "if (record.holder_identity, record.renew_time) == (written.holder_identity, written.renew_time):"
    wrong = Copies(MODULES, {"lock": (check, "if True:")})

    def search() -> None:
        for seed in range(200):
            execute(program(wrong, seed, []), Chance(seed))

    with pytest.raises(Failed, match="two may work"):
        search()
