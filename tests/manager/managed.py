"""A manager with a fake API server, run in a thread for the duration of a block."""

from collections.abc import Iterator
from contextlib import contextmanager

from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.core_v1 import ConfigMap, Node
from clientgo.manager import Manager, Options
from clientgo.meta import ObjectMeta, Scheme, replace
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from clientgo.testing.fake import FakeRequester
from controller.api.v1alpha1 import Foo, FooSpec

KNOWN = Scheme(Foo, Deployment, ConfigMap, Node)


def new_foo(name: str = "a", namespace: str = "ns", replicas: int | None = 1) -> Foo:
    return Foo(ObjectMeta(name=name, namespace=namespace, uid=f"uid-{name}"), FooSpec(f"{name}-deployment", replicas))


def declared_foo(name: str) -> Foo:
    """A Foo to be applied: without a uid, which would have to be that of an existing object."""
    foo = new_foo(name)
    return replace(foo, metadata=replace(foo.metadata, uid=""))


def fake(*objects: object) -> FakeRequester:
    return FakeRequester(*objects, scheme=KNOWN)


def manager_of(requester: FakeRequester, name: str = "test", **options: object) -> Manager:
    return Manager(requester, options=Options(name=name, **options))  # type: ignore[arg-type]


@contextmanager
def running(manager: Manager) -> Iterator[Group]:
    """Run the manager until the block ends, then raise the error that ended it, if any."""
    with Group() as group:
        group.start(manager.run, group.stop_event, name="manager")
        eventually(lambda: manager.elected.is_set() or group.stop_event.is_set(), seconds=30.0)
        yield group
