"""Informer of a server that sends nonsense and then recovers: it ends with what the server has.

The responses are invalid in every way that a server, or a proxy in front of it, could think of: events in a wrong
order, twice, of other kinds or with versions of another form, lists whose pages overlap or repeat, any error.
"""

import threading
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clientgo.cache import DeletedFinalStateUnknown, SharedInformer
from clientgo.errors import (
    ApiError,
    BadRequest,
    ConnectionFailed,
    Expired,
    Forbidden,
    InternalError,
    InvalidResponse,
    Status,
    Timeout,
    TooManyRequests,
    api_error,
)
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.meta import ListMeta, ObjectList, ObjectMeta, Undecodable, object_name
from clientgo.meta.codec import UnexpectedObject
from clientgo.meta.listwatch import BadEvent, Bookmark, ListOptions, WatchEvent
from clientgo.rest.transport import IdleTimeout
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.watchsource import FakeWatch
from tests.cache.scripted import config_map
from tests.models.budget import examples

MAX_REQUESTS = 30
"""Requests until an informer has recovered; more would mean that it does not."""

MAX_DELAY = 600.0

NAMES = st.sampled_from("abc")
VERSIONS = st.integers(1, 40).map(str) | st.sampled_from(["", "0", "007", "-3", "abc", "9" * 40, "1e3", "\x00"])
CHANGES = st.sampled_from(["ADDED", "MODIFIED", "DELETED"])
OBJECTS = st.builds(config_map, NAMES, VERSIONS)
METADATA = st.builds(
    lambda name, version: ObjectMeta(name=name, namespace="ns", resource_version=version), NAMES, VERSIONS
)
NONSENSE: st.SearchStrategy[Any] = st.one_of(
    st.builds(lambda meta: Secret(metadata=meta), METADATA),
    st.builds(lambda version: ConfigMap(metadata=ObjectMeta(resource_version=version)), VERSIONS),
    st.builds(lambda meta: ConfigMap(metadata=meta), st.none()),
    st.none(),
)
UNDECODABLE = st.builds(
    lambda cls, meta: cls("ConfigMap", meta, "odd"), st.sampled_from([Undecodable, UnexpectedObject]), METADATA
)
EVENTS: st.SearchStrategy[Any] = st.one_of(
    st.builds(WatchEvent, CHANGES, OBJECTS),
    st.builds(WatchEvent, CHANGES, OBJECTS | NONSENSE),
    st.builds(Bookmark, VERSIONS, st.booleans()),
    st.builds(BadEvent, CHANGES, UNDECODABLE),
)
ERRORS: st.SearchStrategy[Exception] = st.one_of(
    st.sampled_from([
        Expired("old"), Forbidden("no"), InternalError("boom"), BadRequest("invalid version"), InvalidResponse("HTML"),
        TooManyRequests("busy", retry_after=1e9), ConnectionFailed("refused", refused=True, sent=False),
        ConnectionFailed("timed out", timeout=True), ConnectionFailed("reset"), IdleTimeout("idle"),
        api_error(Status()), ApiError(), Undecodable("ConfigMapList", ObjectMeta(), "it is a table"),
    ]),
    st.builds(lambda code, reason: api_error(Status(code=code, reason=reason, message="Too large resource version")),
              st.integers(-1, 700), st.text(max_size=3)),
)  # fmt: skip


def page(version: str, token: str, items: list[Any], bad: list[Undecodable]) -> ObjectList[ConfigMap]:
    return ObjectList(ListMeta(resource_version=version, continue_=token), items, tuple(bad))


TOKENS = st.sampled_from(["", "", "x", "y"])
LISTS = st.builds(page, VERSIONS, TOKENS, st.lists(OBJECTS | NONSENSE, max_size=4), st.lists(UNDECODABLE, max_size=2))
WATCHES = st.tuples(st.lists(EVENTS, max_size=6), st.none() | ERRORS)
# FakeWatch objects are created when they are sent: a drawn one could be used once only.
STEPS = st.lists(st.tuples(LISTS | ERRORS, WATCHES | ERRORS), max_size=10)


class HostileServer:
    """Source that sends the drawn responses, one pair for each request, and then behaves."""

    kind = ConfigMap

    def __init__(self, steps: list[tuple[Any, Any]], truth: dict[str, int], clock: FakeClock) -> None:
        self.recovered = threading.Event()
        self.stream: FakeWatch[ConfigMap] = FakeWatch()
        self.objects = [config_map(name, version) for name, version in truth.items()]
        self._steps = steps
        self._clock = clock
        self._requests = 0

    def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
        if self._steps:
            page = self._steps.pop(0)[0]
            if isinstance(page, Exception):
                raise page
            return page  # type: ignore[no-any-return]
        self._count()
        self._check(options.resource_version)
        return ObjectList(ListMeta(resource_version="100"), self.objects[: options.limit or None])

    def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
        if self._steps:
            return self._nonsense(self._steps.pop(0)[1])
        self._count()
        if options.send_initial_events:
            raise BadRequest("sendInitialEvents is forbidden")
        self._check(options.resource_version)
        if options.resource_version != "100":
            raise Expired("too old resource version")
        self.recovered.set()
        return self.stream

    def _nonsense(self, response: Any) -> FakeWatch[ConfigMap]:
        if isinstance(response, Exception):
            raise response
        events, error = response
        stream: FakeWatch[ConfigMap] = FakeWatch(events)
        if error is not None:
            stream.fail(error)
        stream.end()
        self._clock.step(2.0)  # not a very short watch
        return stream

    def _count(self) -> None:
        self._requests += 1
        if self._requests > MAX_REQUESTS:
            self.recovered.set()
            raise AssertionError(f"the informer has not recovered after {MAX_REQUESTS} requests")

    def _check(self, version: str) -> None:
        if version and (not version.isdigit() or (version[0] == "0" and version != "0")):
            raise BadRequest(f"Invalid value: {version!r}")
        if version and int(version) > 100:
            raise Timeout("Too large resource version")


class Copy:
    """Handler's copy of the objects, with the inconsistent calls in `problems`."""

    def __init__(self) -> None:
        self.objects: dict[str, ConfigMap] = {}
        self.problems: list[str] = []
        self.last_came = threading.Event()

    def added(self, obj: ConfigMap) -> None:
        name = obj.metadata.name
        self._check(name not in self.objects, f"{name} was added twice")
        self.objects[name] = obj
        if name == "last":
            self.last_came.set()

    def updated(self, old: ConfigMap, new: ConfigMap) -> None:
        self._check(self.objects.get(old.metadata.name) is old, f"{old.metadata.name} was updated from another state")
        self.objects[new.metadata.name] = new

    def deleted(self, deleted: ConfigMap | DeletedFinalStateUnknown[ConfigMap]) -> None:
        self.objects.pop(object_name(deleted).name, None)

    def _check(self, holds: bool, problem: str) -> None:
        if not holds:
            self.problems.append(problem)


@given(STEPS, st.dictionaries(NAMES, st.integers(41, 99)), st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_informer_ends_with_what_the_server_has(
    steps: list[tuple[Any, Any]], truth: dict[str, int], streamed: bool
) -> None:
    clock = FakeClock(auto=True)
    server, copy = HostileServer([*steps], truth, clock), Copy()
    informer: SharedInformer[ConfigMap] = SharedInformer(server, watch_list=streamed, clock=clock)
    informer.add_event_handler(on_add=copy.added, on_update=copy.updated, on_delete=copy.deleted)
    group = Group()
    informer.start(group)
    try:
        assert server.recovered.wait(20)
        server.stream.send(WatchEvent("ADDED", last := config_map("last", 101)))
        assert copy.last_came.wait(20)
        expected = {obj.metadata.name: obj for obj in (*server.objects, last)}
        assert {obj.metadata.name: obj for obj in informer.indexer.list()} == copy.objects == expected
        assert copy.problems == []
        assert informer.has_synced
        assert (informer.last_sync_resource_version, informer.state().last_error) == ("101", "")
        assert max(clock.slept, default=0.0) <= MAX_DELAY
    finally:
        group.stop()
        group.join(10)
