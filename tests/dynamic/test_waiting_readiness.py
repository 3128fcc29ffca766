"""Waiting for readiness and rollouts: judged by what the server sent, in every client."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from clientgo.aio import AsyncClient
from clientgo.dynamic.rollout import RolloutFailed
from clientgo.dynamic.unstructured import unstructured_type
from clientgo.dynamic.waiting import WaitTimeout, wait_for
from clientgo.errors import BadRequest
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.manager.client import DirectClient
from clientgo.meta import ObjectMeta, api_of, api_type, from_dict, to_dict
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.stop.lifecycle import Group
from clientgo.testing.actions import Action
from clientgo.testing.fake import FakeRequester
from clientgo.testing.transport import FakeStream, FakeTransport, frame, reply

OLD = {"observedGeneration": 1, "conditions": [{"type": "Available", "status": "True"}]}
CURRENT = {**OLD, "observedGeneration": 2}

Wait = Callable[..., Any]


@api_type(group="example.com", version="v1")
@dataclass(frozen=True, slots=True)
class Blind:
    """Kind whose class lacks the status."""

    metadata: ObjectMeta


def deployment(**status: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "ns", "uid": "u", "generation": 2}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": 1}, "status": status,
    }  # fmt: skip


def typed(requester: FakeRequester, content: dict[str, Any]) -> tuple[Any, Wait]:
    return from_dict(Deployment, content), DirectClient(requester).wait


def dynamic(requester: FakeRequester, content: dict[str, Any]) -> tuple[Any, Wait]:
    cls = unstructured_type(api_of(Deployment).gvr, kind="Deployment")
    return from_dict(cls, content), lambda *objects, **options: wait_for(requester, *objects, **options)


def asynchronous(requester: FakeRequester, content: dict[str, Any]) -> tuple[Any, Wait]:
    client = AsyncClient(DirectClient(requester))
    return from_dict(Deployment, content), lambda *objects, **options: asyncio.run(client.wait(*objects, **options))


@pytest.fixture(params=[typed, dynamic, asynchronous], ids=lambda form: str(form.__name__))
def form(request: pytest.FixtureRequest) -> Callable[..., tuple[Any, Wait]]:
    chosen: Callable[..., tuple[Any, Wait]] = request.param
    return chosen


def stored(content: dict[str, Any]) -> FakeRequester:
    requester = FakeRequester()
    requester.tracker.add(from_dict(Deployment, content))
    return requester


def patched(requester: FakeRequester, content: dict[str, Any]) -> Callable[[], object]:
    return lambda: requester.tracker.add(content)


def test_condition_of_an_older_generation_is_not_taken_for_readiness(form: Callable[..., tuple[Any, Wait]]) -> None:
    requester = stored(deployment(**OLD))
    obj, wait = form(requester, deployment(**OLD))
    with pytest.raises(WaitTimeout, match=r"waiting for Available; conditions: Available=True"):
        wait(obj, condition="Available", timeout=0)
    with Group() as group:
        group.start(patched(requester, deployment(**CURRENT)), name="change")
        (last,) = wait(obj, condition="Available", timeout=20)
    assert to_dict(last)["status"]["observedGeneration"] == 2


def test_rollout_is_awaited(form: Callable[..., tuple[Any, Wait]]) -> None:
    waits = {"observedGeneration": 2, "updatedReplicas": 1, "replicas": 1}
    requester = stored(deployment(**waits))
    obj, wait = form(requester, deployment(**waits))
    with pytest.raises(WaitTimeout, match=r"waiting for rolled out: .* 0 of 1 updated replicas are available"):
        wait(obj, condition="rolled out", timeout=0)
    with Group() as group:
        group.start(patched(requester, deployment(**waits, availableReplicas=1)), name="change")
        (last,) = wait(obj, condition="rolled out", timeout=20)
    assert to_dict(last)["status"]["availableReplicas"] == 1


def test_rollout_that_cannot_complete_ends_the_wait(form: Callable[..., tuple[Any, Wait]]) -> None:
    late = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    content = deployment(observedGeneration=2, conditions=[late])
    requester = stored(content)
    obj, wait = form(requester, content)
    with pytest.raises(RolloutFailed, match='deployment "web" exceeded its progress deadline'):
        wait(obj, condition="rolled out", timeout=20)


def test_deletion_ends_the_wait_for_a_rollout(form: Callable[..., tuple[Any, Wait]]) -> None:
    requester, watching = stored(deployment()), threading.Event()
    obj, wait = form(requester, deployment())

    def note(_: Action) -> tuple[bool, None]:
        watching.set()
        return False, None

    requester.prepend_watch_reactor("deployments", note)

    def delete() -> None:
        watching.wait(20)
        requester.tracker.delete(api_of(Deployment).gvr, "ns", "web")

    with Group() as group:
        group.start(delete, name="delete")
        with pytest.raises(RolloutFailed, match="object has been deleted"):
            wait(obj, condition="rolled out", timeout=20)


def test_another_object_of_the_name_is_not_awaited(form: Callable[..., tuple[Any, Wait]]) -> None:
    content = deployment()
    requester = stored(content)
    obj, wait = form(requester, {**content, "metadata": {**content["metadata"], "uid": "before"}})
    with pytest.raises(RolloutFailed, match="object has been deleted"):
        wait(obj, condition="rolled out", timeout=0)


@pytest.mark.parametrize("conditions", ["Ready", {"Ready": "True"}, [None, "Ready", 3], 7])
def test_conditions_that_are_not_a_list_of_maps_do_not_hold(conditions: Any) -> None:
    metadata = {"name": "a", "namespace": "ns"}
    content = {
        "apiVersion": "example.com/v1", "kind": "Blind", "metadata": metadata, "status": {"conditions": conditions},
    }  # fmt: skip
    cls = unstructured_type(api_of(Blind).gvr, kind="Blind")
    requester = FakeRequester(from_dict(cls, content))
    with pytest.raises(WaitTimeout, match="Blind ns/a: timed out"):
        wait_for(requester, from_dict(cls, content), timeout=0)


def test_class_without_the_status_is_judged_by_what_the_server_sent() -> None:
    metadata = {"name": "a", "namespace": "ns", "generation": 1}
    status = {"conditions": [{"type": "Ready", "status": "True"}], "phase": "Up"}
    content = {"apiVersion": "example.com/v1", "kind": "Blind", "metadata": metadata, "status": status}
    requester = FakeRequester(from_dict(unstructured_type(api_of(Blind).gvr, kind="Blind"), content))
    blind = Blind(ObjectMeta(name="a", namespace="ns"))
    for condition in ("Ready", "jsonpath={.status.phase}=Up", lambda obj: isinstance(obj, Blind)):
        (last,) = wait_for(requester, blind, condition=condition, timeout=0)
        assert isinstance(last, Blind)


def test_kind_without_a_rollout_is_a_clear_error() -> None:
    requester = FakeRequester(Blind(ObjectMeta(name="a", namespace="ns")))
    with pytest.raises(ValueError, match=r"a Blind.example.com has no rollout"):
        wait_for(requester, Blind(ObjectMeta(name="a", namespace="ns")), condition="rolled out", timeout=0)
    with pytest.raises(TypeError, match="give a condition by name, condition='rolled out'"):
        wait_for(requester, "rolled out")  # type: ignore[type-var]
    with pytest.raises(TypeError, match="give a function by name, condition=function"):
        wait_for(requester, lambda obj: True)  # type: ignore[type-var]


READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def blind(name: str, **status: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "resourceVersion": "7"}
    return {"apiVersion": "example.com/v1", "kind": "Blind", "metadata": metadata, "status": status}


def test_objects_of_other_names_are_not_taken_for_the_awaited_one() -> None:
    # As of a server that ignores field selectors.
    events = FakeStream(
        frame("MODIFIED", blind("b", **READY)),
        frame("DELETED", blind("b")),
        frame("MODIFIED", blind("a", phase="Up", **READY)),
    )
    items = {"kind": "BlindList", "metadata": {"resourceVersion": "7"}, "items": [blind("b", **READY), blind("a")]}
    transport = FakeTransport(reply(items), events)
    client = RESTClient(Config("http://api"), transport=transport)
    obj = from_dict(unstructured_type(api_of(Blind).gvr, kind="Blind"), blind("a"))
    (last,) = wait_for(client, obj, timeout=20)
    assert (last.metadata.name, last.get("status", "phase")) == ("a", "Up")


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        (ObjectMeta(namespace="ns"), "resource name may not be empty"),
        (ObjectMeta(name="a"), "a namespace must be given to wait for a Blind"),
    ],
    ids=["name", "namespace"],
)
def test_object_without_its_whole_name_is_rejected(metadata: ObjectMeta, words: str) -> None:
    requester = FakeRequester(Blind(ObjectMeta(name="a", namespace="ns")))
    with pytest.raises(BadRequest, match=words):
        wait_for(requester, Blind(metadata), timeout=0)
    assert requester.actions == []


def test_coroutine_function_is_no_condition() -> None:
    async def is_ready(_: Blind) -> bool:
        return False

    obj = Blind(ObjectMeta(name="a", namespace="ns"))
    with pytest.raises(TypeError, match="expected a function that returns a bool, got a coroutine function"):
        wait_for(FakeRequester(obj), obj, condition=is_ready)  # type: ignore[arg-type]


def test_none_is_no_time_limit(form: Callable[..., tuple[Any, Wait]]) -> None:
    requester = stored(deployment(**OLD))
    obj, wait = form(requester, deployment(**OLD))
    with Group() as group:
        group.start(patched(requester, deployment(**CURRENT)), name="change")
        (last,) = wait(obj, condition="Available", timeout=None)
    assert to_dict(last)["status"]["observedGeneration"] == 2
