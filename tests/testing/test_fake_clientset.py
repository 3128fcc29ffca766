"""The fake clientset: the classes of the real one, and the recorded actions."""

import threading

import pytest

from clientgo.errors import Conflict, NotFound
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo.stop.lifecycle import Group
from clientgo.testing.actions import Action
from clientgo.testing.kubernetes import FakeClientset
from tests.workloads import deployment


@pytest.mark.feature("A-42", "D-09", "D-11")
def test_calls_are_recorded_as_typed_objects_and_answered_from_memory() -> None:
    clientset = FakeClientset(deployment("old", "default", 1))
    deployments = clientset.apps_v1.deployments("default")
    deployments.create(deployment("new", "default", 1))
    deployments.update_status(deployment("old", "default", 2))
    assert clientset.writes == [
        Action.of("create", deployment("new", "default", 1)),
        Action.of("update", deployment("old", "default", 2), subresource="status"),
    ]
    assert [d.metadata.name for d in deployments.list().items] == ["new", "old"]
    assert [action.verb for action in clientset.actions] == ["create", "update", "list"]
    clientset.clear_actions()
    assert clientset.actions == []


@pytest.mark.feature("D-09")
def test_reactors_and_tracker_are_reached_through_the_clientset() -> None:
    def refuse(action: Action) -> tuple[bool, object]:
        raise Conflict(f"no {action}")

    clientset = FakeClientset()
    clientset.prepend_reactor("create", "configmaps", refuse)
    clientset.add_reactor("delete", "*", lambda _: (True, None))
    config = ConfigMap(metadata=ObjectMeta(name="c", namespace="default"))
    with pytest.raises(Conflict, match=r"^no create configmaps default/c$"):
        clientset.core_v1.config_maps("default").create(config)
    clientset.tracker.add(config)
    clientset.core_v1.config_maps("default").delete("c")
    assert clientset.core_v1.config_maps("default").get("c").metadata.uid


def test_clientsets_over_one_requester_share_objects_and_actions() -> None:
    fake = FakeClientset(deployment("d", "default", 1))
    shared = Clientset(fake.requester)
    shared.apps_v1.deployments("default").delete("d")
    with pytest.raises(NotFound):
        fake.apps_v1.deployments("default").get("d")
    assert [action.verb for action in fake.actions] == ["delete", "get"]


def test_writes_from_many_threads_are_all_kept_and_watched_once() -> None:
    clientset = FakeClientset()
    watch = clientset.core_v1.config_maps().watch(resource_version="1")
    seen: list[str] = []
    done = threading.Event()

    def read() -> None:
        for event in watch:
            seen.append(event.object.metadata.name)
            if len(seen) == 200:
                done.set()

    def write(worker: int) -> None:
        for number in range(50):
            meta = ObjectMeta(name=f"c-{worker}-{number}", namespace="default")
            clientset.core_v1.config_maps("default").create(ConfigMap(metadata=meta))

    with Group() as group:
        group.start(read, name="reading")
        for worker in range(4):
            group.start(write, worker, name=f"writing-{worker}")
        assert done.wait(20)
        watch.close()
        group.join(20)
    assert len(set(seen)) == len(seen) == 200
