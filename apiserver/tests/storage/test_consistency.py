"""Consistency: with three clients and killed servers, every acknowledged write exists and is delivered once."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from apiserver.tests.inprocess import FOOS, MERGE, Kube, foo
from clientgo_apiserver.handlers.watching import WatchServer
from clientgo_apiserver.state import ServerOptions
from clientgo_apiserver.storage.sqlite import SqliteJournal
from tests.models.budget import examples

Object = dict[str, Any]

CLIENTS = st.integers(0, 2)
NAMES = st.sampled_from(["a", "b", "c", "d"])
VALUES = st.integers(1, 10)


def version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


def by_name(listed: Object) -> dict[str, Object]:
    return {item["metadata"]["name"]: item for item in listed["items"]}


class Watching:
    """A client that lists, watches, and starts over when its version is too old."""

    def __init__(self, kube: Kube) -> None:
        self.kube = kube
        self.relists = 0
        self.known: dict[str, Object] = {}
        self.version = ""
        self.stream: WatchServer | None = None
        self.resume()

    def resume(self) -> None:
        """Continue the watch from the last version seen, as after a broken connection."""
        if not self.version:
            listed = self.kube.ok("GET", FOOS)
            self.known, self.version = by_name(listed), listed["metadata"]["resourceVersion"]
            self.relists += 1
        if self.stream is not None:
            self.stream.close()
        self.stream = self.kube.watch(f"{FOOS}?resourceVersion={self.version}&allowWatchBookmarks=true")

    def catch_up(self) -> None:
        """Apply received events; every event must be newer than those before it."""
        assert self.stream is not None
        for frame in self.stream.take():
            if frame["type"] == "ERROR":
                assert frame["object"]["code"] == 410, frame
                self.version = ""
                self.resume()
                return
            obj = frame["object"]
            assert version(obj) > int(self.version), "told twice, or out of order"
            self.version = obj["metadata"]["resourceVersion"]
            self._apply(frame["type"], obj)

    def _apply(self, kind: str, obj: Object) -> None:
        name = obj["metadata"]["name"]
        assert (kind == "ADDED") is (name not in self.known), (kind, name)
        if kind == "DELETED":
            del self.known[name]
        else:
            self.known[name] = obj


class Consistency(RuleBasedStateMachine):
    """Model of the clients' last known objects, some of them stale, and of the current ones."""

    @initialize(history=st.sampled_from([1, 3, 1000]))
    def begin(self, history: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.options = ServerOptions(history=history)
        self.journal: SqliteJournal | None = None
        self.model: dict[str, Object] = {}
        self.held: list[dict[str, Object]] = [{}, {}, {}]
        self.newest = 0
        self.serve()
        self.watching = Watching(self.kube)

    def serve(self) -> None:
        """Start a server on the data of the last one."""
        if self.journal is not None:
            self.journal.close()
        self.journal = SqliteJournal(Path(self.folder.name))
        self.kube = Kube(self.options, journal=self.journal)

    def acknowledged(self, client: int, obj: Object) -> None:
        """Record an acknowledged write."""
        assert version(obj) > self.newest, "versions only grow"
        self.newest = version(obj)
        self.held[client][obj["metadata"]["name"]] = obj
        self.model[obj["metadata"]["name"]] = obj

    def deleted(self, name: str) -> None:
        """Record an acknowledged deletion."""
        del self.model[name]
        self.newest = max(self.newest, self.kube.api.state.store.revision)

    @rule(client=CLIENTS, name=NAMES, value=VALUES, held=st.booleans())
    def create(self, client: int, name: str, value: int, held: bool) -> None:
        obj = foo(name, replicas=value)
        if held:
            obj["metadata"]["finalizers"] = ["example.com/hold"]
        response = self.kube.send("POST", FOOS, obj)
        assert response.status == (409 if name in self.model else 201), response.body
        if response.status == 201:
            self.acknowledged(client, response.json())

    @rule(client=CLIENTS, name=NAMES, value=VALUES)
    def update(self, client: int, name: str, value: int) -> None:
        mine, stored = self.held[client].get(name), self.model.get(name)
        if mine is None:
            return
        expected = {**mine, "spec": {**mine["spec"], "replicas": value}}
        response = self.kube.send("PUT", f"{FOOS}/{name}", expected)
        if stored is None:
            assert response.status == 404, response.body
        elif version(mine) != version(stored):
            assert response.status == 409, response.body
        elif expected["spec"] == stored["spec"]:
            assert (response.status, response.json()) == (200, stored), "an update without changes does not write"
        else:
            assert response.status == 200, response.body
            self.acknowledged(client, response.json())

    @rule(client=CLIENTS, name=NAMES, value=VALUES)
    def patch_status(self, client: int, name: str, value: int) -> None:
        stored = self.model.get(name)
        response = self.kube.send("PATCH", f"{FOOS}/{name}/status", {"status": {"availableReplicas": value}}, MERGE)
        assert response.status == (200 if stored else 404), response.body
        if stored is not None and stored.get("status") != {"availableReplicas": value}:
            self.acknowledged(client, response.json())

    @rule(client=CLIENTS, name=NAMES)
    def read(self, client: int, name: str) -> None:
        response = self.kube.send("GET", f"{FOOS}/{name}")
        assert response.status == (200 if name in self.model else 404)
        if response.status == 200:
            self.held[client][name] = response.json()

    @rule(client=CLIENTS, name=NAMES)
    def delete(self, client: int, name: str) -> None:
        stored = self.model.get(name)
        response = self.kube.send("DELETE", f"{FOOS}/{name}")
        assert response.status == (200 if stored else 404), response.body
        if stored is None:
            return
        if not stored["metadata"].get("finalizers"):
            self.deleted(name)
        elif "deletionTimestamp" not in stored["metadata"]:
            self.acknowledged(client, response.json())

    @rule(client=CLIENTS, name=NAMES)
    def release(self, client: int, name: str) -> None:
        stored = self.model.get(name)
        response = self.kube.send("PATCH", f"{FOOS}/{name}", {"metadata": {"finalizers": None}}, MERGE)
        assert response.status == (200 if stored else 404), response.body
        if stored is None or not stored["metadata"].get("finalizers"):
            return
        if "deletionTimestamp" not in stored["metadata"]:
            self.acknowledged(client, response.json())
            return
        assert version(response.json()) == version(stored), "the state without finalizers is never stored"
        self.held[client][name] = response.json()
        self.deleted(name)

    @rule(written=st.lists(NAMES, max_size=4))
    def break_the_watch_while_others_write(self, written: list[str]) -> None:
        self.write(written)
        self.watching.resume()

    def write(self, names: list[str]) -> None:
        """Yield one change to each of these."""
        for name in names:
            self.patch_status(0, name, self.newest)
            self.create(1, name, 1, held=False)

    @rule(limit=st.integers(1, 3), written=st.lists(NAMES, min_size=1, max_size=3))
    def read_pages_across_writes(self, limit: int, written: list[str]) -> None:
        before = self.kube.ok("GET", FOOS)["items"]
        page = self.kube.ok("GET", f"{FOOS}?limit={limit}")
        items = page["items"]
        self.write(written)
        while token := page["metadata"].get("continue"):
            response = self.kube.send("GET", f"{FOOS}?limit={limit}&continue={token}")
            if response.status == 410 and self.options.history < 1000:
                return
            assert response.status == 200, response.body
            page = response.json()
            items += page["items"]
        assert items == before

    @precondition(lambda self: self.journal is not None)
    @rule()
    def restart(self) -> None:
        revision = self.kube.api.state.store.revision
        self.serve()
        assert self.kube.api.state.store.revision == revision
        self.watching.kube = self.kube
        self.watching.resume()

    @invariant()
    def nothing_acknowledged_is_lost(self) -> None:
        assert by_name(self.kube.ok("GET", FOOS)) == self.model

    @rule()
    def the_replay_equals_the_list(self) -> None:
        self.watching.catch_up()
        assert self.watching.known == self.model

    def teardown(self) -> None:
        if getattr(self, "journal", None) is None:
            return  # never begun
        try:
            self.the_replay_equals_the_list()
        finally:
            assert self.journal is not None
            self.journal.close()
            self.folder.cleanup()


TestConsistency = Consistency.TestCase
TestConsistency.settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
