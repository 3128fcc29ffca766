"""Classes that promise to be thread-safe: each is used by several threads that switch between any two instructions.

The promises are those of the docstrings; one without an entry below fails.
"""

import ast
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest

import clientgo
from clientgo.backoff import KeyedBackoff
from clientgo.cache.store import Indexer
from clientgo.dynamic.mapper import RestMapper
from clientgo.errors import NotFound
from clientgo.kubernetes.types.core_events import Event
from clientgo.kubernetes.types.core_v1 import ConfigMap, Pod
from clientgo.leaderelection import HealthAdaptor, LeaderElector
from clientgo.log import Repeats
from clientgo.manager.finalizers import Finalizers
from clientgo.manager.kinds import ApiReader, Kinds
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import MicroTime, ObjectMeta
from clientgo.meta.scheme import api_of
from clientgo.perturb.programs.clock import OperatorClock, WorldTime
from clientgo.reconcile.attempts import Attempts
from clientgo.reconcile.history import History, Reconciliation
from clientgo.record.events import UniqueTimestamps
from clientgo.record.series import SeriesCache, series_key
from clientgo.rest.fence import FencedRequester
from clientgo.rest.flowcontrol import TokenBucketRateLimiter
from clientgo.rest.request import Request
from clientgo.serving.authorization import BoundedCache
from clientgo.sharding import Shards
from clientgo.stop.lifecycle import Group
from clientgo.testing.client import FakeClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.fake import FakeRequester
from clientgo.testing.kubernetes import FakeClientset
from clientgo.testing.metrics import RecordedMetric, recorded_metrics
from clientgo.testing.transport import FakeTransport, reply
from tests.leaderelection.election import lease_lock
from tests.races import CALLS, SECONDS, THREADS, TOTAL, race

ROOT = Path(__file__).parents[1]

NAME = ObjectName("ns", "a")


def config_map(name: str, version: int = 1) -> ConfigMap:
    meta = ObjectMeta(name=name, namespace="ns", resource_version=str(version), uid=name)
    return ConfigMap(metadata=meta, data={"version": str(version)})


def backoff_of_a_key_doubles_with_each_failure() -> None:
    backoff = KeyedBackoff[str](1.0, 1e308, clock=FakeClock())
    race(lambda _: backoff.next("a"), backoff.gc, lambda: backoff.reset("b"))
    assert backoff.get("a") == 2.0 ** (TOTAL - 1)


def readers_see_whole_replacements_in_the_list_and_in_indexes() -> None:
    names = [str(number) for number in range(10)]
    store = Indexer[ConfigMap]({"version": lambda obj: [obj.data["version"]]})
    store.replace([config_map(name) for name in names])

    def replace(number: int) -> None:
        objects = [config_map(name, number) for name in names]
        if number % 2:
            store.replace(objects, str(number))
        else:
            store.replace_some([], objects, str(number))

    def read() -> None:
        assert len({obj.metadata.resource_version for obj in store.list()}) == 1
        assert {len(store.by_index("version", version)) for version in store.index_values("version")} <= {0, 10}
        assert len(store.index("version", store.list()[0])) in (0, 10)

    race(replace, read, lambda: repr(store))
    assert len(store.by_index("version", store.list()[0].data["version"])) == len(store) == 10


def mapper_finds_a_kind_while_its_cache_is_cleared() -> None:
    mapper = RestMapper(FakeClientset().discovery)
    result = set[str]()
    race(lambda _: result.add(mapper.mapping("Pod").resource.resource), mapper.reset, lambda: repr(mapper))
    assert result == {"pods"}


def history_counts_every_failure_of_an_object() -> None:
    history = History(10)
    race(lambda number: history.add(Reconciliation("a", "", number, 0.0, "error", "e")), lambda: history.after(0))
    assert [item.failures for item in history.failing()] == [TOTAL]
    assert [number for number, _ in history.after(0)] == [*range(TOTAL - 9, TOTAL + 1)]


def elector_answers_while_it_runs() -> None:
    stop = threading.Event()
    elector = LeaderElector(
        lease_lock(FakeClientset()), on_started_leading=lambda ended: ended.wait(), on_stopped_leading=lambda: None,
        lease_duration=0.03, renew_deadline=0.02, retry_period=0.001,
    )  # fmt: skip

    def ask(_: int) -> None:
        assert not elector.may_work() or elector.is_leader
        elector.check(SECONDS)
        repr(elector)

    with Group(stop=stop) as group:
        group.start(elector.run, stop, name="elector")
        race(ask)


def check_uses_the_elector_that_another_thread_sets() -> None:
    health = HealthAdaptor(1.0)
    elector = LeaderElector(lease_lock(FakeClientset()), on_started_leading=print, on_stopped_leading=print)
    race(lambda _: health.set_leader_election(elector), health.check, lambda: repr(health))


def repeated_line_is_due_once_and_the_others_are_counted() -> None:
    repeats, due = Repeats(60.0, clock=FakeClock()), list[int]()
    race(
        lambda _: due.extend(remaining for remaining in [repeats.due("a")] if remaining is not None),
        lambda: repeats.last("a"),
    )
    assert (due, repeats.last("a")) == ([0], (0.0, TOTAL - 1))


def objects_are_finalized_once_each() -> None:
    finalizers, cleaned = Finalizers(client := FakeClient()), list[str]()
    finalizers.register("example.com/a", lambda obj: cleaned.append(obj.metadata.name))
    finalizers.register("example.com/b", lambda obj: None)

    def finalize(number: int) -> None:
        obj, _ = finalizers.finalize(client.create(ConfigMap(metadata=ObjectMeta(name=str(number), namespace="ns"))))
        client.delete(obj)
        finalizers.finalize(client.get(ConfigMap, ObjectName("ns", str(number))))

    race(finalize, calls=5)
    assert sorted(map(int, cleaned)) == [*range(5 * THREADS)]
    assert client.list(ConfigMap) == []


def kind_has_one_client_class() -> None:
    programs, classes = [Kinds() for _ in range(CALLS)], set[type]()
    race(lambda number: classes.add(programs[number % CALLS].client_class(ConfigMap)))
    assert len(classes) == len(programs)


def reader_reads_the_objects() -> None:
    reader = ApiReader(FakeRequester(config_map("a")), Kinds())
    race(lambda _: reader.get(ConfigMap, NAME) == reader.list(ConfigMap)[0] or pytest.fail("another object"))


def attempts_are_all_counted_and_recorded() -> None:
    with recorded_metrics() as metrics:
        attempts = Attempts("Foo", clock=FakeClock())
    attempts.history = History(TOTAL)

    def reconcile(number: int) -> None:
        with attempts.at(ObjectName("ns", str(number))) as attempt:
            attempt.succeeded()

    race(reconcile, attempts.workers, attempts._warn_of_blocked)
    assert sum(metrics.times("controller_runtime_reconcile_total").values()) == TOTAL
    assert {item.key for _, item in attempts.history.after(0)} == {ObjectName("ns", str(n)) for n in range(TOTAL)}


def timestamps_are_unique() -> None:
    timestamps, seen = UniqueTimestamps(FakeClock()), list[int]()
    race(lambda _: seen.append(timestamps.next()))
    assert len(set(seen)) == TOTAL


def equal_events_are_one_series() -> None:
    cache, sent = SeriesCache(), list[bytes]()
    event = Event(metadata=ObjectMeta(name="a"), event_time=MicroTime(2024, 1, 1))

    def correlate(_: int) -> None:
        if not (correlated := cache.correlate(event)).skip:
            sent.append(correlated.patch)

    race(correlate, lambda: cache.update_state(event, series_key(event)), cache.running)
    # In either order: the threads note theirs after the cache has decided.
    assert sorted(bool(patch) for patch in sent) == [False, True]
    assert [series.series.count for series in cache.running() if series.series is not None] == [TOTAL]


def limiter_accepts_no_more_than_the_burst() -> None:
    limiter, accepted = TokenBucketRateLimiter(1.0, TOTAL // 2, clock=FakeClock()), list[bool]()
    race(lambda _: accepted.append(limiter.try_accept()), lambda: repr(limiter))
    assert sum(accepted) == TOTAL // 2


def cache_has_at_most_its_size_and_the_value_of_each_key() -> None:
    cache = BoundedCache[int, int](60.0, 5, FakeClock())

    def use(number: int) -> None:
        cache.put(number, -number)
        assert cache.get(number) in (-number, None)
        assert len(cache) <= 5

    race(use, lambda: repr(cache))


def key_is_owned_by_one_member_at_a_time() -> None:
    clientset, clock = FakeClientset(), FakeClock()
    names = (f"member-{number}" for number in count())

    def member() -> Shards:
        return Shards(clientset, count=2, identity=next(names), clock=clock, rand=lambda: 0.0, lease_prefix="foo")

    members = [member(), member()]
    working, guard = list[tuple[str, str]](), threading.Lock()

    def work(number: int) -> None:
        key = str(number % 16)
        for member in members:
            with member.owning(key) as owned:
                if owned:
                    with guard:
                        working.append((key, member.identity))
                        assert len({item for item in working.copy() if item[0] == key}) == 1, "two members work on it"
                    for _ in range(10):
                        assert member.may_write()
                    working.remove((key, member.identity))
            repr(member)
            member.check()

    def join_and_leave() -> None:
        for entry in 4 * members:
            entry.step()
        members[1].leave()
        while not members[1].idle():
            members[0].step()
        members[1].release()
        members[1] = member()

    race(work, join_and_leave, calls=400)


def time_is_the_sum_of_all_steps() -> None:
    clock = FakeClock()
    race(lambda _: clock.step(1.0), lambda: repr(clock))
    assert clock.now() == float(TOTAL)


def waits_end_when_their_time_has_come() -> None:
    world = WorldTime()
    clock, ended = OperatorClock(world), list[int]()

    def wait(number: int) -> None:
        clock.sleep(threading.Event(), 1.0)
        ended.append(number)

    def advance() -> None:
        world.step(1.0)
        clock.wake_due()

    race(wait, advance, calls=200)
    assert sorted(ended) == [*range(THREADS * 200)]
    assert clock.next_due() is None


def reactors_are_all_kept() -> None:
    fake, called = FakeRequester(), list[int]()
    request = Request(verb="get", resource=api_of(Pod).gvr, namespace="ns", name="a")

    def react(number: int) -> tuple[bool, None]:
        called.append(number)
        return False, None

    def send() -> None:
        with pytest.raises(NotFound):
            fake.do(request)

    race(lambda number: fake.add_reactor("*", "*", lambda _: react(number)), send)
    called.clear()
    send()
    assert sorted(called) == [*range(TOTAL)]


def changes_of_a_metric_are_all_recorded() -> None:
    metric = RecordedMetric()
    race(lambda _: metric.inc(), lambda: repr(metric))
    assert metric.history == [float(number) for number in range(1, TOTAL + 1)]


def steps_of_a_script_are_used_once_each() -> None:
    transport, bodies = FakeTransport(*(reply(str(number).encode()) for number in range(TOTAL))), list[bytes]()
    race(lambda _: bodies.append(transport.request("GET", "/", (), None, 1.0).body), lambda: repr(transport))
    assert sorted(map(int, bodies)) == [*range(TOTAL)]


def kinds_are_discovered() -> None:
    discovery = FakeClientset().discovery
    race(lambda _: discovery.serves("v1", "Pod") or pytest.fail("not found"), calls=2)


def fence_forwards_to_the_requester() -> None:
    fenced = FencedRequester(FakeRequester(config_map("a")), lambda: True)
    race(lambda _: Kinds().client(ConfigMap, fenced, "ns").get("a"), lambda: repr(fenced))


Check = Callable[[], None]

CHECKS: Mapping[str, Check | str] = {
    "backoff:KeyedBackoff": backoff_of_a_key_doubles_with_each_failure,
    "cache/store:Indexer": readers_see_whole_replacements_in_the_list_and_in_indexes,
    "dynamic/mapper:RestMapper": mapper_finds_a_kind_while_its_cache_is_cleared,
    "reconcile/history:History": history_counts_every_failure_of_an_object,
    "leaderelection/elector:HealthAdaptor": check_uses_the_elector_that_another_thread_sets,
    "leaderelection/elector:LeaderElector": elector_answers_while_it_runs,
    "log/repeats:Repeats": repeated_line_is_due_once_and_the_others_are_counted,
    "manager/cache:Cache": "tests/manager/test_cache_removal.py",
    "manager/client:Client": "tests/manager/test_cache_races.py",
    "manager/finalizers:Finalizers": objects_are_finalized_once_each,
    "manager/kinds:ApiReader": reader_reads_the_objects,
    "manager/kinds:Kinds": kind_has_one_client_class,
    "meta/codec:Codec": "tests/meta/test_codec_threads.py",
    "reconcile/attempts:Attempts": attempts_are_all_counted_and_recorded,
    "record/broadcaster:EventBroadcaster": "tests/record/test_broadcaster.py",
    "record/events:UniqueTimestamps": timestamps_are_unique,
    "record/series:SeriesCache": equal_events_are_one_series,
    "perturb/programs/clock:OperatorClock": waits_end_when_their_time_has_come,
    "rest/auth:Credentials": "tests/rest/test_auth.py",
    "rest/client:RESTClient": "tests/rest/test_fork.py",
    "rest/connections/tcp:Connector": "tests/rest/connections/test_pool.py",
    "rest/fence:FencedRequester": fence_forwards_to_the_requester,
    "rest/flowcontrol:RequestRateLimiter": limiter_accepts_no_more_than_the_burst,
    "rest/transport:Transport": "tests/rest/connections/test_pool.py",
    "serving/authorization:BoundedCache": cache_has_at_most_its_size_and_the_value_of_each_key,
    "sharding/member:ShardMember": key_is_owned_by_one_member_at_a_time,
    "sharding/shards:Shards": key_is_owned_by_one_member_at_a_time,
    "stop/stopping:StopScope": "tests/stop/test_stopping.py",
    "testing/clock:FakeClock": time_is_the_sum_of_all_steps,
    "testing/fake:FakeRequester": reactors_are_all_kept,
    "testing/metrics:RecordedMetric": changes_of_a_metric_are_all_recorded,
    "testing/server:FakeServer": "tests/testing/test_fake_clientset.py",
    "testing/transport:FakeTransport": steps_of_a_script_are_used_once_each,
    "internal/tokenbucket:TokenBucket": "tests/workqueue/test_ratelimiters.py",
    "typed/discovery:Discovery": kinds_are_discovered,
    "reconcile/workers:Workers": "tests/reconcile/test_workers.py",
    "workqueue/queue:WorkQueue": "tests/workqueue/test_stress.py",
}
"""A check, or the file of tests that use the class in several threads."""

PROMISE = re.compile(r"(?<!not )thread-safe|any number of threads", re.IGNORECASE)
REQUIRED_OF_PROGRAMS = {"manager/predicates:Predicate"}


def promising() -> Iterator[str]:
    """Yield the classes whose docstring promises it."""
    for library, path in ((folder, path) for folder in map(Path, clientgo.__path__) for path in folder.rglob("*.py")):
        if path.relative_to(library).parts[0] == "kubernetes":
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and PROMISE.search(ast.get_docstring(node) or ""):
                yield f"{path.relative_to(library).with_suffix('').as_posix()}:{node.name}"


def test_every_class_that_promises_it_is_checked() -> None:
    assert {*promising()} - REQUIRED_OF_PROGRAMS == CHECKS.keys()
    assert [file for file in CHECKS.values() if isinstance(file, str) and not (ROOT / file).is_file()] == []


@pytest.mark.parametrize("check", dict.fromkeys(check for check in CHECKS.values() if not isinstance(check, str)))
def test_class_is_thread_safe(check: Check) -> None:
    check()
