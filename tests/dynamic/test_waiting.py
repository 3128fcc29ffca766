"""Waiting for a state of objects by watch."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from clientgo.cache.watchtools import WatchClosed
from clientgo.dynamic.waiting import WaitTimeout, has_condition, wait_for
from clientgo.envtest import BundledServer, Environment
from clientgo.errors import NotFound
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import Container, Pod, PodCondition, PodSpec, PodStatus
from clientgo.meta import ObjectMeta, replace
from clientgo.record import EventBroadcaster, sink_for
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import ends_with
from clientgo.typed.options import DeleteOptions

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def clientset() -> Iterator[Clientset]:
    with Environment(server=BundledServer(simulate=False)) as config, closing(Clientset(config)) as built:
        yield built


@pytest.fixture
def create(clientset: Clientset, request: pytest.FixtureRequest) -> Callable[[str], Pod]:
    prefix = request.node.originalname.replace("_", "-")[-30:].strip("-")

    def create_pod(name: str) -> Pod:
        meta = ObjectMeta(name=f"{prefix}-{name}", namespace="default")
        spec = PodSpec(containers=(Container(name="a", image="b"),))
        created: Pod = clientset.core_v1.pods("default").create(Pod(metadata=meta, spec=spec))
        return created

    return create_pod


def set_ready(clientset: Clientset, pod: Pod, status: str) -> None:
    condition = PodCondition(type="Ready", status=status, message=f"is {status}")
    clientset.core_v1.pods("default").update_status(replace(pod, status=PodStatus(conditions=(condition,))))


def in_background(action: Callable[[], Any], waiting: Callable[[], Any]) -> Any:
    with Group() as group:
        group.start(action, name="change")
        return waiting()


def test_condition_of_several_objects_is_awaited(clientset: Clientset, create: Callable[[str], Pod]) -> None:
    pods = [create("a"), create("b")]

    def change() -> None:
        for pod in reversed(pods):
            set_ready(clientset, pod, "True")

    ready = in_background(change, lambda: wait_for(clientset, *pods, timeout=20))
    assert [pod.metadata.name for pod in ready] == [pod.metadata.name for pod in pods]
    assert all(has_condition(pod, "ready=true") and not has_condition(pod, "Ready=False") for pod in ready)


def test_function_is_awaited(clientset: Clientset, create: Callable[[str], Pod]) -> None:
    pod = create("a")
    patch = {"metadata": {"labels": {"color": "red"}}}
    (last,) = in_background(
        lambda: clientset.core_v1.pods("default").patch(pod.metadata.name, patch),
        lambda: wait_for(clientset, pod, condition=lambda p: p.metadata.labels.get("color") == "red", timeout=20),
    )
    assert last.metadata.labels == {"color": "red"}


@pytest.mark.parametrize(
    "condition",
    [
        "jsonpath={.status.phase}=Running",
        "jsonpath=.status.phase=Running",
        "jsonpath={.status.phase}='Running'",
        "jsonpath={.status.conditions[0].type}",
        'jsonpath={.status.conditions[?(@.type=="Ready")].status}=True',
        "jsonpath={.status.conditions[0].observedGeneration}=3",
    ],
)
def test_value_at_a_json_path_is_awaited(
    clientset: Clientset, create: Callable[[str], Pod], condition: str, request: pytest.FixtureRequest
) -> None:
    pod = create(str(request.node.callspec.indices["condition"]))
    ready = PodCondition(type="Ready", status="True", observed_generation=3)
    running = replace(pod, status=PodStatus(phase="Running", conditions=(ready,)))
    (last,) = in_background(
        lambda: clientset.core_v1.pods("default").update_status(running),
        lambda: wait_for(clientset, pod, condition=condition, timeout=20),
    )
    assert last.status.phase == "Running"


@pytest.mark.parametrize("path", ["{.metadata}=a", "{.metadata.*}=a", "{.a[}=b", "{}=a", "", "{.a", "{.a}b"])
def test_json_path_that_leads_to_no_single_value_is_an_error(
    clientset: Clientset, create: Callable[[str], Pod], path: str, request: pytest.FixtureRequest
) -> None:
    pod = create(str(request.node.callspec.indices["path"]))
    with pytest.raises(ValueError, match=r"JSON path|invalid condition"):
        wait_for(clientset, pod, condition=f"jsonpath={path}", timeout=5)


def test_deletion_is_awaited(clientset: Clientset, create: Callable[[str], Pod]) -> None:
    pod = create("a")
    in_background(
        lambda: clientset.core_v1.pods("default").delete(
            pod.metadata.name, options=DeleteOptions(grace_period_seconds=0)
        ),
        lambda: wait_for(clientset, pod, condition="deleted", timeout=20),
    )
    create("a")
    assert wait_for(clientset, pod, condition="deleted", timeout=20) == [pod]


def test_timeout_shows_conditions_and_events(clientset: Clientset, create: Callable[[str], Pod]) -> None:
    pod = create("a")
    set_ready(clientset, pod, "False")
    with EventBroadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(sink_for(clientset))
        broadcaster.new_recorder(component="test").event(pod, "Warning", "Failing", "no image")
    with pytest.raises(WaitTimeout) as error:
        wait_for(clientset, pod, timeout=0.1)
    assert str(error.value) == (
        f"Pod default/{pod.metadata.name}: timed out after 0.1 s waiting for Ready; "
        "conditions: Ready=False (is False); last events: Failing: no image"
    )
    assert isinstance(error.value.last, Pod)


def test_missing_object_is_reported_at_once(clientset: Clientset) -> None:
    pod = Pod(metadata=ObjectMeta(name="missing", namespace="default"))
    with pytest.raises(NotFound, match="Pod default/missing does not exist"):
        wait_for(clientset, pod)
    assert wait_for(clientset, pod, condition="deleted") == [pod]


def test_stop_ends_the_wait(clientset: Clientset, create: Callable[[str], Pod]) -> None:
    pod, stop, seen = create("a"), threading.Event(), threading.Event()

    def never(_: Pod) -> bool:
        seen.set()
        return False

    def stop_soon() -> None:
        seen.wait(20)
        stop.set()

    def waiting() -> None:
        with ends_with(stop), pytest.raises(WatchClosed, match="stopping"):
            wait_for(clientset, pod, condition=never, timeout=20)

    in_background(stop_soon, waiting)
