"""Own writes read by the threads that wrote them, while the informer applies their events.

`OWN_WRITE_READS` sets the number of reads of each test.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count

import pytest

from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ByObject, CacheOptions, Client, Manager, Options
from clientgo.meta import ObjectMeta, ObjectName, Scheme
from clientgo.rest import Config, RESTClient
from clientgo.rest.request import Requester
from clientgo.stop.lifecycle import Group
from clientgo.testing.fake import FakeRequester
from clientgo_apiserver.server import ApiServer
from tests.manager.managed import running

READS = int(os.environ.get("OWN_WRITE_READS", "2000"))
WRITERS = 4


class Writer:
    """Writer of objects with labels of its own; after each write it compares all reads with what it has written."""

    def __init__(self, client: Client, number: int, reads: int, *, selects: bool) -> None:
        self.client = client
        self._selects = selects
        self.left = reads
        self.wrong: list[str] = []
        self._label = f"w{number}"
        self._written: dict[ObjectName, ConfigMap] = {}
        self._numbers = count()

    def run(self) -> None:
        """Create, change and delete objects in all ways, until enough reads were made."""
        while self.left > 0 and not self.wrong:
            stored, built = self._create(f"{self._label}-a"), self._create("")
            for write in (self._patch, self._update, self._relabel):
                stored = write(stored)
            self.client.delete(built)
            self._gone("delete", built)
            self.client.delete(stored)
            self._gone("delete", stored)
            again = self._patch(self._create(f"{self._label}-a"))
            self._finalize(again)
            for name in ("a", "b"):
                self._create(f"{self._label}-{name}")
            self.client.delete_all_of(ConfigMap, namespace="default", label_selector=f"writer={self._label}")
            self._gone("delete_all_of", *self._written.values())

    def _create(self, name: str) -> ConfigMap:
        labels = {"writer": self._label, "keep": "yes"}
        meta = ObjectMeta(
            name=name, generate_name="" if name else f"{self._label}-", namespace="default", labels=labels
        )
        return self._wrote("create", self.client.create(ConfigMap(metadata=meta, data={"n": self._next()})))

    def _patch(self, obj: ConfigMap) -> ConfigMap:
        return self._wrote("patch", self.client.patch(obj, {"data": {"n": self._next()}}))

    def _update(self, obj: ConfigMap) -> ConfigMap:
        changed = ConfigMap(metadata=obj.metadata, data={"n": self._next()})
        return self._wrote("update", self.client.update(changed))

    def _relabel(self, obj: ConfigMap) -> ConfigMap:
        """Move the object out of the cache's selection, if it has one, and back."""
        self.client.patch(obj, {"metadata": {"labels": {"keep": "no"}}})
        stored = self.client.find(ConfigMap, ObjectName("default", obj.metadata.name))
        if (stored is None) is not self._selects:
            self.wrong.append(f"get after the label was changed: {stored}")
        return self._wrote("label", self.client.patch(obj, {"metadata": {"labels": {"keep": "yes"}}}))

    def _finalize(self, obj: ConfigMap) -> None:
        self._wrote("finalizer", self.client.patch(obj, {"metadata": {"finalizers": ["example.com/a"]}}))
        self.client.delete(obj)
        name = ObjectName("default", obj.metadata.name)
        stored = self.client.find(ConfigMap, name)
        if stored is None or stored.metadata.deletion_timestamp is None:
            self.wrong.append(f"get of a terminating object: {stored}")
        self.client.patch(obj, {"metadata": {"finalizers": None}})
        self._gone("last finalizer", obj)

    def _wrote(self, what: str, obj: ConfigMap) -> ConfigMap:
        self._written[ObjectName("default", obj.metadata.name)] = obj
        self._check(what)
        return obj

    def _gone(self, what: str, *objects: ConfigMap) -> None:
        for obj in objects:
            self._written.pop(ObjectName("default", obj.metadata.name), None)
            if self.client.find(ConfigMap, ObjectName("default", obj.metadata.name)) is not None:
                self.wrong.append(f"get of a deleted object after {what}")
        self._check(what)

    def _check(self, what: str) -> None:
        expected = {name.name: _version(obj) for name, obj in self._written.items()}
        reads: dict[str, Callable[[], list[ConfigMap]]] = {
            "get": lambda: [self.client.get(ConfigMap, name) for name in self._written],
            "list": lambda: self.client.list(ConfigMap),
            "list of a namespace": lambda: self.client.list(ConfigMap, namespace="default"),
            "list by label": lambda: self.client.list(ConfigMap, label_selector=f"writer={self._label}"),
            "list by field": lambda: self.client.list(ConfigMap, fields={"writer": self._label}),
        }
        for how, read in reads.items():
            local = {o.metadata.name: _version(o) for o in read() if o.metadata.labels.get("writer") == self._label}
            self.left -= 1
            if local != expected:
                self.wrong.append(f"{how} after {what}: {local} instead of {expected}")

    def _next(self) -> str:
        return str(next(self._numbers))


def _version(obj: ConfigMap) -> tuple[str, str]:
    return obj.metadata.uid, obj.data["n"]


def in_memory(_: ExitStack) -> Requester:
    return FakeRequester(scheme=Scheme(ConfigMap))


def bundled(stack: ExitStack) -> Requester:
    server = stack.enter_context(ApiServer())
    client = RESTClient(Config(server.url, qps=0.0))
    stack.callback(client.close)
    return client


@contextmanager
def switching_every(seconds: float | None) -> Iterator[None]:
    """Set the interval in which threads take turns."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(before if seconds is None else seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("selects", [False, True], ids=["all objects", "objects with a label"])
@pytest.mark.parametrize("interval", [None, 1e-6], ids=["default switch interval", "one microsecond"])
@pytest.mark.parametrize(
    "connect", [in_memory, pytest.param(bundled, marks=pytest.mark.integration)], ids=["in memory", "bundled server"]
)
def test_own_writes_are_read_in_every_schedule_of_real_threads(
    connect: Callable[[ExitStack], Requester], interval: float | None, selects: bool
) -> None:
    selection = ByObject(namespaces=("default",), label_selector="keep=yes") if selects else ByObject()
    cache = CacheOptions(by_object={ConfigMap: selection})
    with ExitStack() as stack:
        manager = Manager(connect(stack), options=Options(name="races", cache=cache))
        manager.cache.add_index(ConfigMap, "writer", lambda obj: [obj.metadata.labels["writer"]])
        writers = [Writer(manager.client, number, READS // WRITERS, selects=selects) for number in range(WRITERS)]
        stack.enter_context(running(manager))
        stack.enter_context(switching_every(interval))
        with Group() as group:
            for number, writer in enumerate(writers):
                group.start(writer.run, name=f"writer-{number}")
            group.join()
    assert [text for writer in writers for text in writer.wrong] == []
