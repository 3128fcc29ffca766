"""The fake client answers like the bundled API server: each operation has the same outcome on both."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clientgo.envtest import BundledServer, Environment
from clientgo.errors import ApiError
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import CacheOptions, Client, Finalizer
from clientgo.manager.cache import Cache
from clientgo.manager.kinds import Kinds
from clientgo.meta import ObjectMeta, ObjectName, change, replace, to_dict
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Requester
from clientgo.testing.client import FakeClient
from clientgo.typed.options import DeleteOptions, Preconditions
from clientgo.typed.scale import Scale, ScaleSpec
from controller.api.v1alpha1 import Foo, FooSpec, FooStatus

ROOT = Path(__file__).parents[2]
A = ObjectName("default", "a")


def config_map(**meta: Any) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(**{"name": "a", "namespace": "default", **meta}), data={"k": "v"})


FOO = Foo(ObjectMeta(name="a", namespace="default"), FooSpec("d", 1), FooStatus(available_replicas=4))


def stale(client: Client) -> object:
    old = client.create(config_map())
    client.patch(old, {"data": {"k": "w"}})
    return client.update(old)


def delete(client: Client, obj: ConfigMap, uid: str = "") -> object:
    client.delete(obj, DeleteOptions(preconditions=Preconditions(uid=uid)) if uid else None)
    return client.find(ConfigMap, A)


def delete_selected(client: Client) -> object:
    client.create(config_map(labels={"a": "b"}))
    client.create(config_map(name="b"))
    client.delete_all_of(ConfigMap, namespace="default", label_selector="a in (b, c)")
    return client.list(ConfigMap, namespace="default")


def deleted(client: Client) -> ConfigMap:
    client.create(config_map(finalizers=["example.com/a"]))
    client.delete(config_map())
    return client.get(ConfigMap, A)


def statuses(client: Client) -> object:
    built = client.create(FOO)
    both = replace(built, spec=FooSpec("d", 2), status=FooStatus(available_replicas=1))
    by_status = client.update_status(change(both, lambda f: f.metadata.labels["a"]).to("b"))
    return built, by_status, client.update(replace(by_status, spec=FooSpec("d", 3), status=FooStatus()))


def applied(client: Client) -> object:
    client.apply(config_map())
    other = client.writing(field_manager="other")
    forced = other.apply(replace(config_map(), data={"k": "x", "l": "y"}), force=True)
    return forced, client.apply(replace(config_map(), data={"m": "z"}))


def conflicting(client: Client) -> object:
    client.apply(config_map())
    return client.writing(field_manager="other").apply(replace(config_map(), data={"k": "x"}))


def scaled(client: Client) -> object:
    built = client.create(FOO)
    scale = client.subresource("scale").get(built, Scale)
    client.patch(built, {"metadata": {"labels": {"a": "b"}}})
    return client.subresource("scale").update(built, replace(scale, spec=ScaleSpec(replicas=5)))


def generations(client: Client) -> object:
    built = client.create(FOO)
    same = client.update(built)
    more = client.patch(built, {"spec": {"replicas": 3}})
    return [item.metadata.generation for item in (built, same, more, client.update_status(more))]


OPERATIONS: dict[str, Callable[[Client], object]] = {
    "create": lambda c: c.create(config_map()),
    "create twice": lambda c: (c.create(config_map()), c.create(config_map())),
    "create without a name": lambda c: c.create(config_map(name="")),
    "create with a version": lambda c: c.create(config_map(resource_version="1")),
    "create as deleted": lambda c: c.create(config_map(deletion_timestamp=datetime.now(UTC))),
    "dry run": lambda c: (c.create(config_map(), dry_run=True), c.find(ConfigMap, A)),
    "update": lambda c: (c.create(config_map()), c.update(replace(config_map(), data={"k": "new"}))),
    "update what is missing": lambda c: c.update(config_map()),
    "update a stale object": stale,
    "update another uid": lambda c: (c.create(config_map()), c.update(config_map(uid="a-b"))),
    "patch what is missing": lambda c: c.patch(config_map(), {"data": {}}),
    "patch another version": lambda c: c.patch(c.create(config_map()), {"metadata": {"resourceVersion": "1"}}),
    "patch the name": lambda c: (c.create(config_map()), c.patch(config_map(), {"metadata": {"name": "b"}})),
    "JSON patch": lambda c: (c.create(config_map()), c.patch(config_map(), [{"op": "remove", "path": "/data"}])),
    "invalid JSON patch": lambda c: (c.create(config_map()), c.patch(config_map(), [{"op": "remove", "path": "/x/y"}])),
    "status subresource": statuses,
    "status of a kind without": lambda c: c.update_status(c.create(config_map())),
    "status patch of a kind without": lambda c: c.patch_status(c.create(config_map()), {"data": {}}),
    "status apply": lambda c: (c.create(FOO), c.apply(FOO, status=True)),
    "scale a stale object": scaled,
    "generation": generations,
    "apply": applied,
    "apply what another manager owns": conflicting,
    "delete": lambda c: delete(c, c.create(config_map())),
    "delete what is missing": lambda c: c.delete(config_map()),
    "delete another uid": lambda c: delete(c, c.create(config_map()), uid="a-b"),
    "delete with a finalizer": lambda c: bool(deleted(c).metadata.deletion_timestamp),
    "add a finalizer while deleted": lambda c: Finalizer(c, "example.com/b").ensure(deleted(c)),
    "remove the last finalizer": lambda c: (Finalizer(c, "example.com/a").remove(deleted(c)), c.find(ConfigMap, A))[1],
    "delete selected": delete_selected,
    "list": lambda c: (c.create(FOO), c.list(Foo, namespace="other"), c.list(Foo, limit=1)),
    "list selected": lambda c: (c.create(FOO), c.list(Foo, label_selector="!a"), c.list(Foo, label_selector="a")),
    "invalid selector": lambda c: c.list(Foo, label_selector="a in ("),
}  # fmt: skip


class UncachedClient(Client):
    """The manager's client, which reads from the server."""

    def __init__(self, requester: Requester) -> None:
        kinds = Kinds()
        super().__init__(Cache(requester, kinds, CacheOptions()), requester, kinds, field_manager="fake")

    def _is_direct(self, _cls: type) -> bool:
        return True


def outcome(client: Client, operation: Callable[[Client], object]) -> object:
    try:
        return comparable(operation(client))
    except (ApiError, ValueError) as error:
        return type(error)


def comparable(result: Any) -> object:
    """Return the result without what differs between two servers."""
    if isinstance(result, list | tuple):
        return [comparable(item) for item in result]
    if not hasattr(result, "metadata"):
        return result
    content = to_dict(result)
    for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        content["metadata"].pop(name, None)
    return content


@pytest.fixture(scope="module")
def server() -> Iterator[Config]:
    with Environment(crd_paths=[ROOT / "artifacts" / "crd"], server=BundledServer(simulate=False)) as config:
        yield config


@pytest.mark.integration
@pytest.mark.feature("B-CR-14")
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_operation_has_the_same_outcome_on_a_server(server: Config, operation: Callable[[Client], object]) -> None:
    with closing(RESTClient(server)) as requester:
        client = UncachedClient(requester)
        try:
            expected = outcome(client, operation)
        finally:
            for kind in (ConfigMap, Foo):
                for remaining in client.list(kind):
                    client.patch(remaining, {"metadata": {"finalizers": None}})
                client.delete_all_of(kind, namespace="default")
    assert outcome(FakeClient(), operation) == expected
