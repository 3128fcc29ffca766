"""Requests that the manager's client sends."""

from collections.abc import Iterator

import pytest

from clientgo.dynamic.waiting import WaitTimeout
from clientgo.kubernetes.types.core_v1 import ConfigMap, Pod
from clientgo.kubernetes.types.policy_v1 import Eviction
from clientgo.manager import Client, Manager, Options
from clientgo.manager.client import DirectClient
from clientgo.manager.kinds import ApiReader, Kinds
from clientgo.manager.requesters import limited
from clientgo.meta import ObjectMeta, replace
from clientgo.rest.request import EventStream, Request
from clientgo.testing.client import FakeClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.fake import FakeRequester
from clientgo.typed.options import DeleteOptions, Preconditions
from clientgo.typed.scale import Scale, ScaleSpec
from controller.api.v1alpha1 import Foo
from tests.manager.managed import declared_foo, fake, new_foo, running
from tests.workloads import deployment

pytestmark = pytest.mark.feature("B-CR-04")


class Noting:
    """Requester that records requests, except those of events and informers."""

    def __init__(self, inner: FakeRequester) -> None:
        self.requests: list[Request] = []
        self._inner = inner

    def do(self, request: Request) -> bytes:
        self.requests.append(request)
        return self._inner.do(request)

    def watch(self, request: Request) -> EventStream:
        return self._inner.watch(request)

    def queries(self) -> list[tuple[str, dict[str, str]]]:
        requests, self.requests = self.requests, []
        return [(item.verb, dict(item.query)) for item in requests]


@pytest.fixture
def server() -> Noting:
    return Noting(fake(new_foo("a"), new_foo("b"), new_foo("c")))


@pytest.fixture
def manager(server: Noting) -> Iterator[Manager]:
    built = Manager(server, options=Options(name="test"))
    with running(built):
        built.client.list(Foo)
        server.requests.clear()
        yield built


def write_in_every_way(client: Client) -> None:
    foo = client.create(new_foo("d"))
    foo = client.update(replace(foo, spec=replace(foo.spec, replicas=2)))
    foo = client.update_status(foo)
    client.patch(foo, {"spec": {"replicas": 3}})
    client.apply(declared_foo("e"))
    client.delete(foo)


def test_every_write_has_the_field_validation(manager: Manager, server: Noting) -> None:
    write_in_every_way(manager.client.writing(field_validation="Strict"))
    strict = {"fieldManager": "test", "fieldValidation": "Strict"}
    writes = [("create", strict), ("update", strict), ("update", strict), ("patch", strict), ("apply", strict)]
    assert server.queries() == [*writes, ("delete", {})]
    write_in_every_way(manager.client)
    assert {query.get("fieldValidation") for _, query in server.queries()} == {None}


def test_cluster_options_set_the_field_validation(server: Noting) -> None:
    manager = Manager(server, options=Options(name="test", field_validation="Warn"))
    with running(manager):
        manager.client.create(new_foo("d"))
        manager.client.writing(field_manager="other").create(new_foo("e"))
        manager.client.writing(field_validation="Ignore").create(new_foo("f"))
    assert [query for verb, query in server.queries() if verb == "create"] == [
        {"fieldManager": "test", "fieldValidation": "Warn"},
        {"fieldManager": "other", "fieldValidation": "Warn"},
        {"fieldManager": "test", "fieldValidation": "Ignore"},
    ]


def test_invalid_field_validation_is_rejected(manager: Manager) -> None:
    with pytest.raises(ValueError, match="invalid field validation 'strict': expected one of Strict, Warn, Ignore"):
        manager.client.writing(field_validation="strict")  # type: ignore[arg-type]


def test_list_honours_the_limit(manager: Manager, server: Noting) -> None:
    assert len(manager.client.list(Foo, limit=2)) == 2
    assert len(manager.client.list(Foo)) == 3
    assert server.requests == []
    manager.api_reader.list(Foo, limit=2)
    assert server.queries() == [("list", {"limit": "2"})]


def test_each_lists_page_by_page_on_demand(manager: Manager, server: Noting) -> None:
    each = manager.api_reader.each(
        Foo, namespace="ns", label_selector="a!=b", field_selector="metadata.name!=x", page=2
    )
    assert server.requests == []
    assert [foo.metadata.name for foo in each] == ["a", "b", "c"]
    requested = {"labelSelector": "a!=b", "fieldSelector": "metadata.name!=x", "limit": "2"}
    assert server.queries()[0] == ("list", requested)


def test_deletions_have_preconditions_and_propagation(manager: Manager, server: Noting) -> None:
    client = manager.client
    foo = next(foo for foo in client.list(Foo) if foo.metadata.name == "a")
    client.delete(foo, DeleteOptions(preconditions=Preconditions(uid=foo.metadata.uid), propagation_policy="Orphan"))
    rehearsed = DeleteOptions(dry_run=("All",), grace_period_seconds=0)
    client.delete_all_of(Foo, rehearsed, namespace="ns", label_selector="a=b", field_selector="metadata.name=b")
    item, collection = server.requests
    assert item.body == b'{"propagationPolicy":"Orphan","preconditions":{"uid":"uid-a"}}'
    assert collection.body == b'{"gracePeriodSeconds":0,"dryRun":["All"]}'
    assert collection.query == {"labelSelector": "a=b", "fieldSelector": "metadata.name=b"}


def test_subresource_is_read_and_written_in_classes_of_its_own(manager: Manager, server: Noting) -> None:
    created = manager.client.create(deployment("d"))
    server.requests.clear()
    scale = manager.client.subresource("scale")
    stored = scale.get(created, Scale)
    assert scale.update(created, replace(stored, spec=ScaleSpec(replicas=3))).spec.replicas == 3
    assert scale.patch(created, {"spec": {"replicas": 4}}, Scale).spec.replicas == 4
    operations = [{"op": "replace", "path": "/spec/replicas", "value": 5}]
    assert scale.patch(created, operations, Scale, dry_run=True).spec.replicas == 5
    assert {request.subresource for request in server.requests} == {"scale"}
    named, rehearsed = {"fieldManager": "test"}, {"fieldManager": "test", "dryRun": "All"}
    assert server.queries() == [("get", {}), ("update", named), ("patch", named), ("patch", rehearsed)]
    assert repr(scale) == "<Subresource scale>"


def test_create_only_subresource(manager: Manager, server: Noting) -> None:
    pod = Pod(metadata=ObjectMeta(name="p", namespace="ns"))
    server._inner.prepend_reactor("create", "pods/eviction", lambda action: (True, action.object))
    manager.client.subresource("eviction").create(pod, Eviction(metadata=pod.metadata))
    (request,) = server.requests
    assert (request.path, request.method) == ("/api/v1/namespaces/ns/pods/p/eviction", "POST")
    with pytest.raises(ValueError, match="a ConfigMap must have a namespace"):
        manager.client.subresource("status").get(ConfigMap(metadata=ObjectMeta(name="c")), ConfigMap)


def test_values_of_fields_are_escaped_in_field_selectors(server: Noting) -> None:
    DirectClient(server).list(ConfigMap, fields={"metadata.name": "a,b=c\\", "metadata.namespace": "ns"})
    assert server.queries() == [("list", {"fieldSelector": "metadata.name=a\\,b\\=c\\\\,metadata.namespace=ns"})]


def test_reader_returns_no_more_than_the_limit_that_a_server_ignores() -> None:
    requester = FakeRequester()
    objects = [ConfigMap(metadata=ObjectMeta(name=name, namespace="ns")) for name in "abc"]
    requester.prepend_reactor("list", "configmaps", lambda _: (True, objects))
    reader = ApiReader(requester, Kinds())
    assert [len(reader.list(ConfigMap, limit=limit)) for limit in (0, 1, 2, 5)] == [3, 1, 2, 3]


def test_client_waits_for_the_state_of_an_object_within_the_limit_of_the_reconciliation() -> None:
    client = FakeClient(new_foo("a"), new_foo("b"))
    foos = client.list(Foo)
    assert client.wait(*foos, condition="jsonpath={.spec.replicas}=1") == foos
    clock = FakeClock()
    with limited(0.1, clock=clock), pytest.raises(WaitTimeout, match=r"Foo ns/a: timed out after 0.1 s waiting for Re"):
        client.wait(foos[0], condition="Ready", timeout=60)
