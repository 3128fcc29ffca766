"""Patches that are the difference of two states of an object."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from clientgo.aio import AsyncClient, AsyncScaleClient
from clientgo.errors import Conflict, Invalid
from clientgo.kubernetes.types.core_v1 import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from clientgo.manager import Client, DirectClient
from clientgo.meta import ObjectMeta, ObjectName, api_of, api_type, change, replace
from clientgo.testing.client import FakeClient
from clientgo.testing.fake import FakeRequester
from controller.api.v1alpha1 import Foo, FooSpec

NODE = Node(metadata=ObjectMeta(name="a", uid="1"))
TAINT = Taint(key="maintenance", effect="NoSchedule")


@dataclass(frozen=True, slots=True)
class BoxSpec:
    size: int = 0
    labels: dict[str, str] = field(default_factory=dict)


@api_type(group="example.com", version="v1", crd=False)
@dataclass(frozen=True, slots=True)
class Box:
    """Class that lacks fields of its kind."""

    metadata: ObjectMeta
    spec: BoxSpec = BoxSpec()


def patches(client: FakeClient) -> list[tuple[str, Any]]:
    return [(action.subresource, json.loads(action.patch)) for action in client.writes if action.verb == "patch"]


def tainted(node: Node) -> Node:
    return replace(node, spec=NodeSpec(taints=(TAINT,), unschedulable=True))


CLIENTS: dict[str, Callable[[Client, Node, Node], Node]] = {
    "manager": lambda client, old, new: client.patch_to(old, new),
    "typed": lambda client, old, new: client.typed(Node).patch_to(old, new),
    "async": lambda client, old, new: asyncio.run(AsyncClient(client).patch_to(old, new)),
    "async typed": lambda client, old, new: asyncio.run(AsyncScaleClient(client.typed(Node)).patch_to(old, new)),
}


@pytest.mark.parametrize("patch_to", CLIENTS.values(), ids=CLIENTS)
def test_only_the_difference_is_sent(patch_to: Callable[[Client, Node, Node], Node]) -> None:
    client = FakeClient(NODE)
    done = patch_to(client, NODE, tainted(NODE))
    assert done.spec == client.get(Node, ObjectName("", "a")).spec == tainted(NODE).spec
    difference = {"taints": [{"key": "maintenance", "effect": "NoSchedule"}], "unschedulable": True}
    assert patches(client) == [("", {"metadata": {"uid": "1"}, "spec": difference})]


def test_fields_that_the_class_lacks_stay() -> None:
    spec = {"size": 1, "labels": {"a": "b"}, "newer": {"x": [1]}}
    metadata = {"name": "a", "namespace": "ns"}
    requester = FakeRequester({"apiVersion": "example.com/v1", "kind": "Box", "metadata": metadata, "spec": spec})
    client = DirectClient(requester)
    box = client.get(Box, ObjectName("ns", "a"))
    client.patch_to(box, replace(box, spec=BoxSpec(2)))
    stored = requester.tracker.get(api_of(Box).gvr, "ns", "a")
    assert stored["spec"] == {"size": 2, "newer": {"x": [1]}}


def test_equal_states_send_nothing() -> None:
    client = FakeClient(NODE)
    assert client.patch_to(NODE, replace(NODE)) is NODE
    assert client.actions == []


def test_status_has_a_patch_of_its_own() -> None:
    client = FakeClient(NODE)
    status = NodeStatus(conditions=(NodeCondition(type="Ready", status="True"),))
    done = client.patch_to(NODE, replace(tainted(NODE), status=status))
    assert [subresource for subresource, _ in patches(client)] == ["", "status"]
    assert (done.spec, done.status.conditions) == (tainted(NODE).spec, status.conditions)


def test_changes_of_others_are_overwritten_only_without_optimistic_lock() -> None:
    client = FakeClient(NODE)
    before = client.get(Node, ObjectName("", "a"))
    client.update(change(before, lambda node: node.spec.taints).to((Taint(key="other", effect="NoExecute"),)))
    with pytest.raises(Conflict):
        client.patch_to(before, tainted(before), optimistic_lock=True)
    assert client.patch_to(before, tainted(before)).spec.taints == (TAINT,)


def test_optimistic_lock_covers_object_and_status() -> None:
    foo = Foo(ObjectMeta(name="a", namespace="ns"), FooSpec("a", 1))
    client = FakeClient(foo)
    read = client.get(Foo, ObjectName("ns", "a"))
    wanted = replace(read, spec=replace(read.spec, replicas=2), status=replace(read.status, available_replicas=2))
    done = client.patch_to(read, wanted, optimistic_lock=True)
    assert (done.spec.replicas, done.status.available_replicas) == (2, 2)
    with pytest.raises(Conflict):
        client.patch_to(read, replace(read, status=replace(read.status, available_replicas=3)), optimistic_lock=True)


def test_another_object_of_the_name_is_not_patched() -> None:
    client = FakeClient(replace(NODE, metadata=replace(NODE.metadata, uid="2")))
    with pytest.raises(Invalid, match="uid"):
        client.patch_to(NODE, tainted(NODE))


def test_names_must_be_equal() -> None:
    other = Node(metadata=ObjectMeta(name="b"))
    with pytest.raises(ValueError, match="a was changed into b: the name of an object cannot change"):
        FakeClient(NODE).patch_to(NODE, other)


def test_optimistic_lock_requires_an_object_of_the_server() -> None:
    with pytest.raises(ValueError, match="a has no resourceVersion: expected an object that was read from the server"):
        FakeClient(NODE).patch_to(NODE, tainted(NODE), optimistic_lock=True)
