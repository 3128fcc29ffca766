"""Results of each verb: objects, lists, errors, and requests rejected before sending."""

from collections.abc import Callable
from typing import Any

import pytest
from kubernetes.client import V1ConfigMap, V1ObjectMeta

from clientgo.errors import BadRequest, Conflict, ConnectionFailed, NotFound
from clientgo.kubernetes.clients.core_v1 import CoreV1
from clientgo.meta import ObjectMeta
from clientgo.rest.request import JSON, METADATA, METADATA_LIST
from clientgo.typed import DeleteOptions
from tests.typed.gadgets import SUCCESS, WIRE, Gadget, Gadgets, GadgetSpec, GadgetStatus, gadget, page
from tests.typed.recorder import Frames, Recorder

READ = Gadget(ObjectMeta(name="g", namespace="ns", resource_version="7"), GadgetSpec(3, "red"), GadgetStatus(2))


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda c: c.get("g"), id="get"),
        pytest.param(lambda c: c.create(gadget()), id="create"),
        pytest.param(lambda c: c.update(gadget()), id="update"),
        pytest.param(lambda c: c.update_status(gadget()), id="update_status"),
        pytest.param(lambda c: c.patch("g", {}), id="patch"),
        pytest.param(lambda c: c.patch_status("g", {}), id="patch_status"),
        pytest.param(lambda c: c.apply(gadget(), field_manager="me"), id="apply"),
        pytest.param(lambda c: c.apply_status(gadget(), field_manager="me"), id="apply_status"),
    ],
)
def test_stored_object_is_returned(call: Callable[[Gadgets], Gadget]) -> None:
    assert call(Gadgets(Recorder(WIRE), "ns")) == READ


def test_list_has_its_metadata_and_undecodable_objects() -> None:
    broken = {"metadata": {"name": "b", "namespace": "ns"}, "spec": {"replicas": "many"}}
    result = Gadgets(Recorder(page(WIRE, broken, **{"resourceVersion": "9", "continue": "more"})), "ns").list()
    assert result.items == [READ]
    assert (result.metadata.resource_version, result.metadata.continue_) == ("9", "more")
    assert [error.metadata.name for error in result.undecodable] == ["b"]


@pytest.mark.feature("A-20")
def test_scale_is_read_and_updated() -> None:
    meta = {"name": "g", "resourceVersion": "7"}
    scale = {"kind": "Scale", "metadata": meta, "spec": {"replicas": 2}, "status": {"replicas": 1}}
    client = Gadgets(Recorder(scale, scale, scale), "ns")
    result = client.get_scale("g")
    assert (result.metadata.resource_version, result.spec.replicas, result.status.replicas) == ("7", 2, 1)
    assert client.update_scale("g", result) == result
    assert client.patch_scale("g", [{"op": "replace", "path": "/spec/replicas", "value": 2}]) == result


@pytest.mark.parametrize("error", [NotFound("gone"), Conflict("changed"), ConnectionFailed("lost")], ids=type)
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda c: c.get("g"), id="get"),
        pytest.param(lambda c: c.list(), id="list"),
        pytest.param(lambda c: c.watch(), id="watch"),
        pytest.param(lambda c: c.update(gadget()), id="update"),
        pytest.param(lambda c: c.delete("g"), id="delete"),
        pytest.param(lambda c: c.delete_collection(), id="delete_collection"),
        pytest.param(lambda c: c.get_scale("g"), id="get_scale"),
    ],
)
def test_errors_are_raised_unchanged(call: Callable[[Gadgets], object], error: Exception) -> None:
    with pytest.raises(type(error)) as failed:
        call(Gadgets(Recorder(error), "ns"))
    assert failed.value is error


def test_deletion_returns_nothing() -> None:
    finishing = {**WIRE, "metadata": {"name": "g", "finalizers": ["a/b"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    client = Gadgets(Recorder(SUCCESS, finishing), "ns")
    client.delete("g")
    client.delete("g", DeleteOptions(grace_period_seconds=0))


@pytest.mark.feature("A-41", "D-07")
@pytest.mark.parametrize(
    "obj", [Gadget(ObjectMeta(namespace="ns")), {"spec": {"color": "red"}}, {}], ids=["object", "mapping", "nothing"]
)
@pytest.mark.parametrize("status", [False, True], ids=["apply", "apply_status"])
def test_apply_requires_a_name(obj: Any, status: bool) -> None:
    recorder = Recorder()
    client = Gadgets(recorder, "ns")
    with pytest.raises(ValueError, match=r"Gadget: metadata\.name is required for apply"):
        (client.apply_status if status else client.apply)(obj, field_manager="me")
    assert recorder.requests == []


def test_apply_of_an_empty_object_is_rejected() -> None:
    nothing: Any = None
    with pytest.raises(TypeError, match="NoneType is not an API object"):
        Gadgets(Recorder(), "ns").apply(nothing, field_manager="me")


@pytest.mark.parametrize(
    ("call", "verb"),
    [
        pytest.param(lambda c: c.get("g"), "get", id="get"),
        pytest.param(lambda c: c.create(gadget()), "create", id="create"),
        pytest.param(lambda c: c.update(gadget()), "update", id="update"),
        pytest.param(lambda c: c.update_status(gadget()), "update", id="update_status"),
        pytest.param(lambda c: c.patch("g", {}), "patch", id="patch"),
        pytest.param(lambda c: c.apply(gadget(), field_manager="me"), "apply", id="apply"),
        pytest.param(lambda c: c.delete("g"), "delete", id="delete"),
        pytest.param(lambda c: c.get_scale("g"), "get", id="get_scale"),
    ],
)
def test_namespaced_object_requires_a_namespace(call: Callable[[Gadgets], object], verb: str) -> None:
    # The server would answer 404, and a controller would take the object for deleted.
    recorder = Recorder()
    with pytest.raises(BadRequest, match=f"^a namespace must be given to {verb} a Gadget$"):
        call(Gadgets(recorder))
    assert recorder.requests == []


def test_objects_of_the_official_client_are_accepted() -> None:
    official: Any = V1ConfigMap(metadata=V1ObjectMeta(name="settings", labels={"a": "b"}), data={"k": "v"})
    meta = {"name": "settings", "labels": {"a": "b"}}
    wire = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"k": "v"}}
    recorder = Recorder(wire, wire, wire)
    client = CoreV1(recorder).config_maps("ns")
    assert client.create(official).data == {"k": "v"}
    assert recorder.last_body == wire
    client.update(official)
    assert recorder.last.path == "/api/v1/namespaces/ns/configmaps/settings"
    client.apply(official, field_manager="me")
    assert recorder.last.path == "/api/v1/namespaces/ns/configmaps/settings"
    assert recorder.last_body == wire


def test_repr_of_a_client_names_resource_and_namespace() -> None:
    assert repr(Gadgets(Recorder(), "ns")) == "<Gadgets gadgets.shop.example.com in ns>"
    assert repr(Gadgets(Recorder())) == "<Gadgets gadgets.shop.example.com>"


class GadgetNames(Gadgets):
    accept = METADATA
    accept_list = METADATA_LIST


def test_custom_accept_header_is_not_sent_with_deletions() -> None:
    recorder = Recorder(WIRE, page(), Frames(), WIRE, SUCCESS, SUCCESS)
    client = GadgetNames(recorder, "ns")
    client.get("g")
    client.list()
    client.watch().close()
    client.patch("g", {})
    client.delete("g")
    client.delete_collection()
    requested = [(request.verb, request.accept) for request in recorder.requests]
    assert requested == [
        ("get", METADATA), ("list", METADATA_LIST), ("watch", METADATA), ("patch", METADATA),
        ("delete", JSON), ("deletecollection", JSON),
    ]  # fmt: skip
