"""A manager over objects in memory, run in a thread of its own for the length of a block."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clientgo.clock import SYSTEM_CLOCK
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.core_v1 import ConfigMap, Node
from clientgo.lifecycle import Group
from clientgo.manager import Manager, Options
from clientgo.meta import ObjectMeta, Scheme
from clientgo.testing.fake import FakeRequester
from controller.api.v1alpha1 import Foo, FooSpec

KNOWN = Scheme(Foo, Deployment, ConfigMap, Node)


def new_foo(name: str = "a", namespace: str = "ns", replicas: int | None = 1) -> Foo:
    return Foo(ObjectMeta(name=name, namespace=namespace, uid=f"uid-{name}"), FooSpec(f"{name}-deployment", replicas))


def fake(*objects: object) -> FakeRequester:
    return FakeRequester(*objects, scheme=KNOWN, versioned=True)


def manager_of(requester: FakeRequester, name: str = "test", **options: object) -> Manager:
    return Manager(requester, options=Options(name=name, **options))  # type: ignore[arg-type]


@contextmanager
def running(manager: Manager) -> Iterator[Group]:
    """Run it, once it works; what it ends with is raised when the block ends."""
    with Group() as group:
        group.start(manager.run, group.stop_event, name="manager")
        eventually(lambda: manager.elected.is_set() or group.stop_event.is_set())
        yield group


def eventually(what: Callable[[], object], seconds: float = 30.0) -> None:
    """Look again and again, in real time, until `what()` is true."""
    deadline = SYSTEM_CLOCK.now() + seconds
    while not what():
        assert SYSTEM_CLOCK.now() < deadline, f"not so after {seconds} s"
        SYSTEM_CLOCK.sleep(threading.Event(), 0.002)
