"""Deletion of namespaces, and the objects that each namespace has."""

from typing import Any

import pytest

from apiserver.tests.costs import calls_of, longest_call_of
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.namespaces import NamespaceController
from clientgo_apiserver.server import build
from clientgo_apiserver.serving.scheduling import ManualScheduler
from clientgo_apiserver.state import ServerOptions
from clientgo_apiserver.storage.stored import Key

Object = dict[str, Any]

MAPS: Key = ("", "configmaps")
NAMESPACES: Key = ("", "namespaces")
HOLD: Object = {"finalizers": ["example.com/hold"]}


class Server:
    """A server in process with the namespace `team`."""

    def __init__(self, *, simulate: bool = False, **spec: Any) -> None:
        self.clock = FakeClock()
        self.scheduler = ManualScheduler(self.clock)
        options = ServerOptions(root_ca="CA", simulate=simulate, ready_seconds=1.0)
        self.internal = Internal(build(self.scheduler, options, clock=self.clock))
        self.store = self.internal.state.store
        self.internal.create(NAMESPACES, "", {"metadata": {"name": "team"}, "spec": spec})
        self.scheduler.run()

    def make(self, name: str, key: Key = MAPS, spec: Object | None = None, **metadata: Any) -> None:
        obj = {"metadata": {"name": name, **metadata}, **({"spec": spec} if spec else {})}
        self.internal.create(key, "team", obj)
        self.scheduler.run()

    def release(self, name: str, key: Key = MAPS) -> None:
        self.internal.patch(key, "team", name, {"metadata": {"finalizers": None}})
        self.scheduler.run()

    def delete(self) -> None:
        self.internal.delete(NAMESPACES, "", "team")
        self.scheduler.run()

    def step(self, seconds: float) -> None:
        self.clock.step(seconds)
        self.scheduler.run()

    @property
    def namespace(self) -> Object | None:
        return self.store.get(NAMESPACES, "", "team")

    def conditions(self) -> dict[str, tuple[str, str, str]]:
        status = (self.namespace or {}).get("status") or {}
        return {
            each["type"].removeprefix("Namespace"): (each["status"], each["reason"], each["message"])
            for each in status.get("conditions") or ()
        }

    def names(self, key: Key = MAPS) -> list[str]:
        return [obj["metadata"]["name"] for obj in self.store.list(key, "team")]


def test_namespace_goes_with_its_objects() -> None:
    server = Server()
    for number in range(500):
        server.make(f"m{number}")
    server.delete()
    assert (server.namespace, server.names()) == (None, [])


def test_conditions_of_a_terminating_namespace_tell_what_remains() -> None:
    server = Server()
    server.make("a", **HOLD)
    server.make("b", finalizers=["example.com/hold", "example.com/more"])
    server.make("c")
    server.delete()
    assert server.names() == ["a", "b"]
    conditions = server.conditions()
    assert list(conditions) == [
        "DeletionDiscoveryFailure", "DeletionGroupVersionParsingFailure", "DeletionContentFailure",
        "ContentRemaining", "FinalizersRemaining",
    ]  # fmt: skip
    assert [status for status, _, _ in conditions.values()] == ["False", "False", "False", "True", "True"]
    text = "Some resources are remaining: configmaps. has 2 resource instances"
    assert conditions["ContentRemaining"][1:] == ("SomeResourcesRemain", text)
    text = "example.com/hold in 2 resource instances, example.com/more in 1 resource instances"
    assert conditions["FinalizersRemaining"][1:] == (
        "SomeFinalizersRemain",
        f"Some content in the namespace has finalizers remaining: {text}",
    )


def test_conditions_follow_the_objects_that_go() -> None:
    server = Server()
    for name in ("a", "b"):
        server.make(name, **HOLD)
    server.delete()
    server.release("a")
    server.step(1)
    assert "has 1 resource instances" in server.conditions()["ContentRemaining"][2]
    server.release("b")
    assert server.namespace is None


def test_further_finalizer_of_the_spec_keeps_an_empty_namespace_until_it_is_finalized() -> None:
    server = Server(finalizers=["example.com/team"])
    server.make("a", **HOLD)
    server.delete()
    assert (server.namespace or {})["spec"]["finalizers"] == ["example.com/team", "kubernetes"]
    server.release("a")
    namespace = server.namespace or {}
    assert (namespace["spec"], namespace["status"]["phase"]) == ({"finalizers": ["example.com/team"]}, "Terminating")
    assert {status for status, _, _ in server.conditions().values()} == {"False"}
    server.internal.patch(NAMESPACES, "", "team", {"spec": {"finalizers": None}})
    assert server.namespace is not None  # only the subresource changes them
    server.internal.patch(NAMESPACES, "", "team", {"spec": {"finalizers": None}}, subresource="finalize")
    assert server.namespace is None


def test_finalizer_of_the_metadata_keeps_an_empty_namespace() -> None:
    server = Server()
    server.internal.patch(NAMESPACES, "", "team", {"metadata": HOLD})
    server.delete()
    assert (server.namespace or {})["spec"] == {}
    server.internal.patch(NAMESPACES, "", "team", {"metadata": {"finalizers": None}})
    assert server.namespace is None


def test_each_namespace_has_an_account_and_a_certificate_which_come_back() -> None:
    server = Server(simulate=True)
    for key, name in ((("", "serviceaccounts"), "default"), (MAPS, "kube-root-ca.crt")):
        for namespace in ("default", "kube-system", "team"):
            assert server.store.get(key, namespace, name) is not None
        server.internal.delete(key, "team", name)
        server.scheduler.run()
        assert server.names(key) == [name]
    server.internal.patch(MAPS, "team", "kube-root-ca.crt", {"data": {"ca.crt": "other", "more": "x"}})
    server.scheduler.run()
    assert server.store.list(MAPS, "team")[0]["data"] == {"ca.crt": "CA"}
    server.delete()
    assert server.namespace is None


def test_deletion_of_a_namespace_whose_objects_are_released_one_by_one_is_linear() -> None:
    def delete(count: int) -> int:
        server = Server()
        for number in range(count):
            server.make(f"m{number}", **HOLD)

        def run() -> None:
            server.delete()
            for number in range(count):
                server.release(f"m{number}")
            assert server.namespace is None

        return calls_of(run)

    delete(10)
    assert delete(400) < 4.2 * delete(100)


@pytest.mark.parametrize("meta", [{}, HOLD], ids=["free", "held"])
def test_steps_of_a_deletion_are_as_long_in_a_full_namespace(meta: Object) -> None:
    def longest(count: int) -> int:
        server = Server()
        for number in range(count):
            server.make(f"m{number}", **meta)
        return longest_call_of(NamespaceController._sync.__code__, server.delete)

    longest(10)
    assert longest(800) < 1.5 * longest(100)
