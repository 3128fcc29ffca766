"""Queues under load from 16 workers and 10,000 keys: no lost keys, no parallel processing of a key."""

import random
import sys
import threading
from collections.abc import Iterator

import pytest

from clientgo.stop.lifecycle import Group
from clientgo.workqueue import ItemExponentialFailureRateLimiter, PriorityQueue, RateLimitingQueue, ShutDown

KEYS, WORKERS, PRODUCERS = 10_000, 16, 4

LIMIT = 20.0
"""Seconds of real time after which the test has failed."""


@pytest.fixture(autouse=True)
def restless() -> Iterator[None]:
    """Switch threads 50,000 times a second instead of 200 times."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(2e-5)
    yield
    sys.setswitchinterval(before)


class Ledger:
    """Number of adds of each key, and of those before a worker last finished it.

    So a key that is processed once is not sufficient: every `add` must be followed by processing.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wanted, self.seen = [0] * KEYS, [0] * KEYS
        self.out: set[int] = set()
        self.finished = 0
        self.owing: set[int] = set()
        self.settled, self.half = threading.Event(), threading.Event()

    def ask(self, key: int) -> int:
        """Count an add before it happens; return the new count."""
        with self.lock:
            self.wanted[key] += 1
            self.owing.add(key)
            self.settled.clear()
            return self.wanted[key]

    def begin(self, key: int) -> int:
        with self.lock:
            assert key not in self.out, f"{key} is in two workers"
            self.out.add(key)
            return self.wanted[key]

    def finish(self, key: int, expected: int) -> None:
        with self.lock:
            self.out.remove(key)
            self.seen[key] = expected
            self.finished += 1
            if expected == self.wanted[key]:
                self.owing.discard(key)
            if not self.owing:
                self.settled.set()
            if self.finished >= KEYS // 2:
                self.half.set()


class Stress:
    """A queue with its producers and workers."""

    def __init__(self, seed: int, kind: type[RateLimitingQueue[int]] = RateLimitingQueue) -> None:
        self.queue = kind(ItemExponentialFailureRateLimiter(0.0001, 0.02))
        self.ledger, self.seed = Ledger(), seed
        self.accepted = [0] * KEYS
        self.workers, self.producers = Group(), Group()
        for number in range(WORKERS):
            self.workers.start(self.work, random.Random(f"{seed}/w{number}"), name=f"worker-{number}")
        for number in range(PRODUCERS):
            keys = range(number, KEYS, PRODUCERS)
            self.producers.start(self.produce, keys, random.Random(f"{seed}/p{number}"), name=f"producer-{number}")

    def add(self, key: int, rng: random.Random) -> None:
        number, route = self.ledger.ask(key), rng.randrange(3)
        if route == 0:
            self.queue.add(key)
            if not self.queue.shutting_down:
                # It was open after the add, hence also before: what was added must come.
                with self.ledger.lock:
                    self.accepted[key] = max(number, self.accepted[key])
        elif route == 1:
            self.queue.add_after(key, rng.random() * 0.02)
        else:
            self.queue.add_rate_limited(key)

    def produce(self, keys: range, rng: random.Random) -> None:
        for key in rng.sample(keys, len(keys)):
            for _ in range(rng.choice((1, 1, 1, 3))):
                self.add(key, rng)
            if rng.random() < 0.2:
                self.add(rng.randrange(KEYS), rng)

    def work(self, rng: random.Random) -> None:
        try:
            while True:
                with self.queue.processing() as key:
                    expected = self.ledger.begin(key)
                    if rng.random() < 0.1:
                        self.add(key, rng)
                    else:
                        self.queue.forget(key)
                    self.ledger.finish(key, expected)
        except ShutDown:
            return

    def drain(self) -> None:
        """Shut down, in a thread so that a drain that hangs fails the test; no worker has a key afterwards."""
        drainer = Group()
        drainer.start(lambda: self.queue.shut_down(drain=True), name="drainer")
        drainer.join(LIMIT)
        assert not self.ledger.out
        self.producers.join(LIMIT)
        self.workers.join(LIMIT)


@pytest.mark.feature("A-03")
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_every_add_is_followed_by_processing_and_no_key_is_in_two_workers(seed: int) -> None:
    stress = Stress(seed)
    stress.producers.join(LIMIT)
    settled = stress.ledger.settled.wait(LIMIT)
    stress.workers.raise_crash()
    assert settled, f"{len(stress.ledger.owing)} keys lost: {stress.queue!r}"
    stress.drain()
    assert stress.ledger.seen == stress.ledger.wanted
    assert min(stress.ledger.seen) >= 1
    assert repr(stress.queue) == "<RateLimitingQueue 0 ready, 0 processing, 0 delayed, shutting down>"


@pytest.mark.feature("C-54")
@pytest.mark.parametrize("kind", [RateLimitingQueue, PriorityQueue])
@pytest.mark.parametrize("seed", [4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (5, 6))])
def test_drain_under_load_processes_accepted_keys_and_ends(seed: int, kind: type[RateLimitingQueue[int]]) -> None:
    stress = Stress(seed, kind)
    assert stress.ledger.half.wait(LIMIT)
    stress.drain()
    assert sum(map(bool, stress.accepted)) > KEYS // 20
    lost = [key for key in range(KEYS) if stress.ledger.seen[key] < stress.accepted[key]]
    assert not lost
    assert len(stress.queue) == 0
