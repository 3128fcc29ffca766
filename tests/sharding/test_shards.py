"""Shards in a program: the thread that keeps the slot, callbacks, metrics and shutdown."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, copy_context

import pytest

from clientgo import metrics
from clientgo.errors import Forbidden, LeaseNotHeld
from clientgo.kubernetes.clients.core_v1 import CoreV1
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.fence import FencedRequester
from clientgo.sharding import NotRenewed, Shards
from clientgo.stop.lifecycle import Group
from clientgo.testing.actions import Action
from clientgo.testing.clock import FakeClock
from clientgo.testing.kubernetes import FakeClientset
from clientgo.testing.transport import FakeTransport, refusal, reply

SECONDS = 10.0
"""Real seconds after which a test that waits has failed."""

KEYS = [f"uid-{number}" for number in range(24)]


class Recording(metrics.NoMetrics):
    """Provider that keeps the last value of each metric."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> "Number":
        assert dict(labels) == {"name": "ns/foo"}
        assert help_text
        return Number(self.values, name)

    counter = gauge


class Number:
    """Counter or gauge."""

    def __init__(self, values: dict[str, float], name: str) -> None:
        self._values = values
        self._name = name

    def set(self, value: float) -> None:
        self._values[self._name] = value

    def inc(self, amount: float = 1.0) -> None:
        self._values[self._name] = self._values.get(self._name, 0.0) + amount

    def dec(self, amount: float = 1.0) -> None:
        self.inc(-amount)


class Bench:
    """Several Shards with one fake API server and one clock; `changes` has the owned keys at each `on_change`."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.clientset = FakeClientset(clock=self.clock)
        self.stop = threading.Event()
        self.changes: list[int] = []
        self.told: list[str] = []
        self.changed = threading.Condition()

    def shards(self, identity: str, *, count: int = 2) -> Shards:
        def note() -> None:
            with self.changed:
                self.told.append(identity)
                self.changes.append(sum(built.owns(key) for key in KEYS))
                self.changed.notify_all()

        built = Shards(
            self.clientset, namespace="ns", lease_prefix="foo", count=count, identity=identity, on_change=note,
            clock=self.clock, rand=lambda: 0.0,
        )  # fmt: skip
        return built

    @contextmanager
    def running(self, shards: Shards) -> Iterator[Group]:
        group = Group()
        group.start(shards.run, self.stop, name="shards")
        try:
            yield group
        finally:
            self.stop.set()
            group.join(SECONDS)

    def holders(self) -> list[str]:
        return [lease.spec.holder_identity or "" for lease in self.clientset.coordination_v1.leases("ns").list().items]


def test_replica_alone_owns_everything_and_says_so_once() -> None:
    bench = Bench()
    shards = bench.shards("a")
    for _ in range(3):
        shards.step()
    assert bench.changes == [len(KEYS)]
    assert (shards.slot, shards.members) == (0, ("a",))
    assert repr(shards) == "<Shards ns/foo, slot 0 of 1 held>"


def test_replicas_are_notified_of_every_gain_of_keys() -> None:
    bench = Bench()
    first, other = bench.shards("a"), bench.shards("b")
    first.step()
    other.step()
    assert not any(other.owns(key) for key in KEYS)
    first.step()
    other.step()
    owned = [[key for key in KEYS if shards.owns(key)] for shards in (first, other)]
    assert sorted(owned[0] + owned[1]) == sorted(KEYS)
    assert bench.changes[0] == len(KEYS)
    assert bench.changes[-1] == len(owned[1])
    bench.clock.step(8)
    first.step()
    bench.clock.step(8)
    first.step()
    assert bench.changes[-1] == len(KEYS)
    assert first.members == ("a",)


def test_change_back_and_forth_is_reported() -> None:
    bench = Bench()
    first, other = bench.shards("a"), bench.shards("b")
    for shards in (first, other, first, other, first):
        shards.step()
    bench.clock.step(8)
    first.step()
    before, messages = first.members, bench.told.count("a")
    bench.clock.step(8)

    def renew_meanwhile(action: Action) -> tuple[bool, object]:
        if not renewed:
            renewed.append(True)
            other.step()
        return False, None

    # When its lease has just run out, another renews it: it is forgotten and seen again within one round.
    renewed: list[bool] = []
    bench.clientset.prepend_reactor("update", "leases", renew_meanwhile)
    first.step()
    assert first.members == before == ("a", "b")
    assert bench.told.count("a") == messages + 1


def test_run_keeps_the_slot_and_releases_it_at_the_end() -> None:
    bench = Bench()
    shards = bench.shards("a")
    with bench.running(shards):
        for number in range(1, 30):
            bench.clock.wait_for_sleeps(number)
            assert shards.owns("x")
            bench.clock.step(2)
    assert bench.holders() == [""]
    assert (shards.slot, shards.owns("x")) == (-1, False)
    assert bench.changes == [len(KEYS)]


def test_the_end_waits_for_work_and_begins_no_more() -> None:
    bench = Bench()
    shards = bench.shards("a")
    with bench.running(shards):
        bench.clock.wait_for_sleeps(1)
        assert shards.begin("x")
        bench.stop.set()
        bench.clock.wait_for_sleeps(2)
        assert not shards.begin("y")
        assert shards.valid("x")
        assert bench.holders() == ["a"]
        shards.end("x")
        bench.clock.step(1)
    assert bench.holders() == [""]


def test_work_that_does_not_end_keeps_the_slot_until_it_expires(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    shards = bench.shards("a")
    with bench.running(shards):
        bench.clock.wait_for_sleeps(1)
        assert shards.begin("x")
        bench.stop.set()
        bench.clock.wait_for_sleeps(2)
        bench.clock.step(10)
    assert bench.holders() == ["a"]
    assert not shards.valid("x")
    assert "leaving the shard slot to expire" in caplog.text


def test_error_of_on_change_ends_run_and_releases_the_slot() -> None:
    bench = Bench()

    def fail() -> None:
        raise RuntimeError("no such queue")

    shards = Shards(bench.clientset, namespace="ns", lease_prefix="foo", count=1, on_change=fail, clock=bench.clock)
    with pytest.raises(RuntimeError, match="no such queue"):
        shards.run(threading.Event())
    assert bench.holders() == [""]


def test_fenced_thread_writes_only_about_keys_that_are_still_its_own() -> None:
    bench = Bench()
    shards = bench.shards("a")
    shards.step()
    config_maps = CoreV1(FencedRequester(bench.clientset.requester, shards.may_write)).config_maps("ns")
    with shards.owning("x") as mine:
        assert mine
        config_maps.create(ConfigMap(metadata=ObjectMeta(name="m", namespace="ns")))
        bench.clock.step(10)
        assert not shards.may_write()
        with pytest.raises(LeaseNotHeld):
            config_maps.delete("m")
        assert config_maps.get("m").metadata.name == "m"
        shards.step()
        assert not shards.may_write()
        with shards.owning("y") as other:
            assert other
            assert not shards.may_write()
    assert shards.may_write()


def test_helper_thread_is_fenced_as_the_work_it_helps() -> None:
    bench, answers = Bench(), list[bool]()
    shards = bench.shards("a")
    shards.step()
    inherited = Context()

    def ask() -> None:
        answers.append(shards.may_write())

    def ask_from_threads() -> None:
        with Group() as helpers:
            helpers.start(ask, name="helper")
            helpers.join(SECONDS)
            helpers.start(inherited.run, ask, name="helper-in-context")
            helpers.join(SECONDS)

    with shards.owning("x"):
        inherited = copy_context()
        ask_from_threads()
        bench.clock.step(10)
        ask_from_threads()
        # A renewal after the deadline begins a new session: what has begun before stays lost.
        shards.step()
        ask_from_threads()
    # Only the second still knows which work it belongs to.
    ask_from_threads()
    assert answers == [True, True, False, False, False, False, True, False]


def test_losing_the_slot_ends_the_wait_for_a_retry() -> None:
    bench, outcome = Bench(), list[str]()
    shards, clock = bench.shards("a"), FakeClock()
    shards.step()
    transport = FakeTransport(refusal(429, retry_after=1000), reply(b"too late"))
    client = RESTClient(Config("http://api"), transport=transport, clock=clock)

    def work() -> None:
        with shards.owning("x"):
            try:
                CoreV1(FencedRequester(client, shards.may_write)).config_maps("ns").delete("m")
            except LeaseNotHeld as error:
                outcome.append(str(error))

    with Group() as group:
        group.start(work, name="worker")
        clock.wait_for_sleeps()
        bench.clock.step(10)
        group.join(SECONDS)
    assert outcome == ["delete configmaps not sent: the lease is not held"]
    assert len(transport.sent) == 1


def test_unowned_key_is_not_blocked() -> None:
    bench = Bench()
    standby = bench.shards("b", count=1)
    bench.shards("a", count=1).step()
    standby.step()
    with standby.owning("x") as mine:
        assert not mine
        assert standby.may_write()
    assert standby.slot == -1


def test_key_is_released_when_the_block_raises() -> None:
    bench = Bench()
    shards = bench.shards("a")
    shards.step()
    with pytest.raises(RuntimeError), shards.owning("x"):
        raise RuntimeError
    assert not shards.valid("x")
    assert shards.may_write()


def test_inactive_thread_fails_the_check() -> None:
    bench = Bench()
    shards = bench.shards("a")
    shards.check()
    shards.step()
    bench.clock.step(4 * 10 * 32)  # its requests, their retries, the longest Retry-After of an API server
    shards.check()
    bench.clock.step(600)
    with pytest.raises(NotRenewed, match=r"the shards of ns/foo have not been renewed for 1880 s"):
        shards.check()


def test_failed_requests_are_logged_and_retried(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()

    def refuse(action: Action) -> tuple[bool, object]:
        raise Forbidden("leases are forbidden")

    bench.clientset.prepend_reactor("*", "leases", refuse)
    shards = bench.shards("a")
    shards.step()
    shards.step()
    assert shards.slot == -1
    assert "cannot read shard slots" in caplog.text


def test_members_slot_and_moves_are_counted() -> None:
    before, recording = metrics.provider(), Recording()
    metrics.set_provider(recording)
    bench = Bench()
    first, other = bench.shards("a"), bench.shards("b")
    metrics.set_provider(before)
    for shards in (first, other, first, other):
        shards.step()
    # Both count under one name here; what was set last is the second's.
    assert recording.values["sharding_members"] == 2
    assert recording.values["sharding_slot"] == other.slot == 1
    assert recording.values["sharding_moves_total"] >= 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"count": 0}, "invalid number of shards 0"),
        ({"count": 1025}, "invalid number of shards 1025"),
        ({"count": 1, "lease_prefix": "A"}, "invalid lease prefix 'A'"),
        ({"count": 1, "renew_deadline": 20.0}, "leaseDuration must be greater than renewDeadline"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Shards(FakeClientset(), **options)  # type: ignore[arg-type]
