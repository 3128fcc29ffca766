"""Scripted source, recording sink, and reflectors and informers over fake sources."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from clientgo.cache import Reflector, ReflectorOptions, Registration, SharedInformer
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ListMeta, ObjectList, ObjectMeta, Undecodable
from clientgo.meta.listwatch import BadEvent, Bookmark, ListOptions, WatchEvent
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.watchsource import FakeSource, FakeWatch

Answer = ObjectList[ConfigMap] | FakeWatch[ConfigMap] | Exception


def config_map(name: str, version: int | str = "", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="ns", resource_version=str(version)), data=data)


def added(name: str, version: int) -> WatchEvent[ConfigMap]:
    return WatchEvent("ADDED", config_map(name, version))


def modified(name: str, version: int) -> WatchEvent[ConfigMap]:
    return WatchEvent("MODIFIED", config_map(name, version))


def deleted(name: str, version: int) -> WatchEvent[ConfigMap]:
    return WatchEvent("DELETED", config_map(name, version))


def list_end(version: int) -> Bookmark:
    return Bookmark(str(version), initial_events_end=True)


def page(*objects: ConfigMap, version: str = "10", continue_: str = "") -> ObjectList[ConfigMap]:
    return ObjectList(ListMeta(resource_version=version, continue_=continue_), list(objects))


def watch(*events: WatchEvent[ConfigMap] | Bookmark | BadEvent, error: Exception | None = None) -> FakeWatch[ConfigMap]:
    """Return a watch with these events that then ends, with an error if one is given."""
    fake_watch: FakeWatch[ConfigMap] = FakeWatch(list(events))
    if error is not None:
        fake_watch.fail(error)
    fake_watch.end()
    return fake_watch


class Sink:
    """Sink that records its calls and the stored objects."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.stored: dict[str, str] = {}
        self.versions: list[str] = []

    def prepare(self, page: ObjectList[ConfigMap]) -> ObjectList[ConfigMap]:
        return page

    def replace(self, objects: Iterable[ConfigMap], undecodable: Iterable[Undecodable], version: str) -> None:
        self.stored = {obj.metadata.name: obj.metadata.resource_version for obj in objects}
        self.told.append("replace " + ",".join(self.stored))
        self.versions.append(version)

    def apply(self, event: WatchEvent[ConfigMap], version: str) -> None:
        meta = event.object.metadata
        self.told.append(f"{event.type} {meta.name}")
        self.versions.append(meta.resource_version)
        if event.type == "DELETED":
            self.stored.pop(meta.name, None)
        else:
            self.stored[meta.name] = meta.resource_version

    def reject(self, event: BadEvent, version: str) -> None:
        self.told.append(f"reject {event.error.metadata.name}")

    def bookmark(self, version: str) -> None:
        self.versions.append(version)


class Script:
    """Source that responds to lists and watches from a script, and stops the reflector at its end.

    Verifications of the server are not part of the script: their versions are in `confirmed`, and they fail with the
    error in `confirms`, if any.
    """

    kind = ConfigMap

    def __init__(self, *answers: Answer, clock: FakeClock | None = None, step: float = 0.0) -> None:
        """Each response advances the clock by `step` seconds."""
        self.answers = list(answers)
        self.asked: list[tuple[str, ListOptions]] = []
        self.confirmed: list[str] = []
        self.confirms: Exception | None = None
        self.stop = threading.Event()
        self._clock = clock
        self._step = step
        self._changed = threading.Condition()

    def wait_for_requests(self, count: int, timeout: float = 10.0) -> None:
        """Wait, in real seconds, until the script has received `count` requests; raise TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.asked) >= count, timeout):
                raise TimeoutError(f"{len(self.asked)} requests came, not {count}")

    def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
        if options.limit == 1:
            self.confirmed.append(options.resource_version)
            if self.confirms is not None:
                raise self.confirms
            return page()
        response = self._next("list", options, page())
        assert isinstance(response, ObjectList)
        return response

    def watch_from(self, options: ListOptions) -> FakeWatch[ConfigMap]:
        response = self._next("watch", options, watch())
        assert isinstance(response, FakeWatch)
        return response

    def calls(self) -> list[str]:
        """Return verb and version of each request."""
        return [f"{_verb(verb, options)} {options.resource_version or 'newest'}" for verb, options in self.asked]

    def options(self, verb: str) -> list[ListOptions]:
        """Return the options of each request with that verb."""
        return [options for requested, options in self.asked if requested == verb]

    def _next(self, verb: str, options: ListOptions, last: Any) -> Any:
        if not self.answers:
            self.stop.set()
            return last
        with self._changed:
            self.asked.append((verb, options))
            self._changed.notify_all()
        if self._clock is not None:
            self._clock.step(self._step)
        response = self.answers.pop(0)
        if isinstance(response, Exception):
            raise response
        return response


def _verb(verb: str, options: ListOptions) -> str:
    return "stream" if options.send_initial_events else verb


def run(source: Script, sink: Sink | None = None, *, clock: FakeClock | None = None, **options: Any) -> list[Exception]:
    """Run a reflector through the script without a thread; return the errors it reported."""
    errors: list[Exception] = []
    rand = options.pop("rand", lambda: 0.0)
    settings = ReflectorOptions(on_error=errors.append, bookmark_notice=0.0, **options)
    reflector = Reflector(source, sink or Sink(), settings, clock=clock or FakeClock(auto=True), rand=rand)
    reflector.run(source.stop)
    return errors


@contextmanager
def following(
    source: Script | FakeSource[ConfigMap], prepare: Callable[[SharedInformer[ConfigMap]], object], **options: Any
) -> Iterator[SharedInformer[ConfigMap]]:
    """Run an informer over the source, started after `prepare`, until the end of the block."""
    options.setdefault("clock", FakeClock(auto=True))
    informer: SharedInformer[ConfigMap] = SharedInformer(source, **options)
    prepare(informer)
    group = Group()
    informer.start(group)
    try:
        yield informer
    finally:
        group.stop()
        group.join(10)


def handling(handler: RecordingHandler[ConfigMap], **options: Any) -> Callable[[SharedInformer[ConfigMap]], object]:
    """Return a function that adds the handler to an informer."""
    return lambda informer: informer.add_event_handler(
        on_add=handler.on_add, on_update=handler.on_update, on_delete=handler.on_delete, **options
    )


class RecordedWatch(FakeWatch[ConfigMap]):
    """Watch that records reads and closes; `while_read` is called by the reader."""

    def __init__(self, while_read: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.calls: list[str] = []
        self._while_read = while_read

    def __iter__(self) -> Iterator[Any]:
        self.calls.append("read")
        self._while_read()
        return super().__iter__()

    def close(self) -> None:
        self.calls.append("close")
        super().close()


class Running:
    """Informer over a fake source and a clock that only the test advances."""

    def __init__(self, *, resync: float = 0.0) -> None:
        self.clock = FakeClock()
        self.source = FakeSource(ConfigMap)
        self.informer: SharedInformer[ConfigMap] = SharedInformer(self.source, resync=resync, clock=self.clock)
        self.group = Group()

    def start(self) -> None:
        self.informer.start(self.group)
        self.source.wait_for_watch()

    def end(self) -> None:
        self.group.stop()
        self.group.join(10)

    def wait_synced(self, registration: Registration[ConfigMap]) -> None:
        assert registration.synced.wait(10)
