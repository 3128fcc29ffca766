"""Updates of kinds whose class does not hold all values: what changed is put into the stored object."""

from dataclasses import dataclass
from typing import Any

import pytest

from clientgo.errors import BadRequest, Conflict, Invalid
from clientgo.meta import ObjectMeta, api_of, api_type, replace
from clientgo.meta.codec import encode_value
from clientgo.rest.request import Request
from clientgo.testing.fake import FakeRequester
from clientgo.typed import StatusClient


@dataclass(frozen=True, slots=True)
class Spec:
    size: int = 0
    names: tuple[str, ...] = ()


@api_type(group="example.com", version="v1", partial=True)
@dataclass(frozen=True, slots=True)
class Part:
    metadata: ObjectMeta
    spec: Spec = Spec()
    status: Spec = Spec()


@api_type(group="example.com", version="v1", partial=True, verbs=("update",))
@dataclass(frozen=True, slots=True)
class Unreadable:
    metadata: ObjectMeta
    spec: Spec = Spec()


@api_type(group="example.com", version="v1")
@dataclass(frozen=True, slots=True)
class Whole:
    metadata: ObjectMeta
    spec: Spec = Spec()
    status: Spec = Spec()


def server(cls: Any) -> tuple[FakeRequester, StatusClient[Any]]:
    content = {"spec": {"names": [], "new": {"a": None}, "size": 1}, "status": {"size": 1, "new": 2}}
    requester = FakeRequester(cls(ObjectMeta(name="other", namespace="n")))
    meta = {"name": "x", "namespace": "n"}
    requester.tracker.add({"apiVersion": "example.com/v1", "kind": cls.__name__, "metadata": meta, **content})
    client: StatusClient[Any] = type("Client", (StatusClient,), {"kind": cls})(requester, "n")
    return requester, client


def content(requester: FakeRequester, cls: Any) -> dict[str, Any]:
    stored = requester.tracker.get(cls.__api_type__.gvr, "n", "x")
    return {name: part for name, part in stored.items() if name in ("spec", "status")}


def test_update_of_a_partial_kind_changes_only_what_was_changed() -> None:
    requester, part_client = server(Part)
    obj = part_client.get("x")
    assert part_client.update(replace(obj, spec=replace(obj.spec, size=3))).spec == Spec(3)
    status = {"size": 1, "new": 2}
    assert content(requester, Part) == {"spec": {"names": [], "new": {"a": None}, "size": 3}, "status": status}
    part_client.update_status(replace(part_client.get("x"), status=Spec(5, ("a",))))
    assert content(requester, Part)["status"] == {"size": 5, "new": 2, "names": ["a"]}
    assert [action.verb for action in requester.calls.actions] == ["get", "get", "update", "get", "get", "update"]


def test_update_of_another_kind_replaces_the_object_in_one_request() -> None:
    requester, wholes = server(Whole)
    obj = wholes.get("x")
    wholes.update(replace(obj, spec=replace(obj.spec, size=3)))
    assert content(requester, Whole)["spec"] == {"size": 3}
    assert [action.verb for action in requester.calls.actions] == ["get", "update"]


def test_stale_partial_object_is_a_conflict() -> None:
    requester, part_client = server(Part)
    obj = part_client.get("x")
    part_client.update(replace(obj, spec=Spec(2)))
    with pytest.raises(Conflict):
        part_client.update(replace(obj, spec=Spec(3)))
    assert content(requester, Part)["spec"]["size"] == 2


def test_partial_object_without_a_version_is_sent_as_it_is() -> None:
    requester = FakeRequester(Part(ObjectMeta(name="x", namespace="n"), Spec(1)))
    client: StatusClient[Any] = type("Client", (StatusClient,), {"kind": Part})(requester, "n")
    with pytest.raises(Invalid, match="must be specified for an update"):
        client.update(Part(ObjectMeta(name="x", namespace="n"), Spec(2)))
    assert [action.verb for action in requester.calls.actions] == ["update"]


def test_partial_kind_that_cannot_be_read_is_sent_as_it_is() -> None:
    requester, part_client = server(Unreadable)
    part_client.update(replace(part_client.get("x"), spec=Spec(2)))
    assert content(requester, Unreadable)["spec"] == {"size": 2}
    assert [action.verb for action in requester.calls.actions] == ["get", "update"]


def test_update_without_a_namespace_is_rejected_before_the_object_is_read() -> None:
    requester, part_client = server(Part)
    everywhere: StatusClient[Any] = type("Client", (StatusClient,), {"kind": Part})(requester)
    with pytest.raises(BadRequest, match="to update a Part"):
        everywhere.update(part_client.get("x"))
    assert [action.verb for action in requester.calls.actions] == ["get"]


def test_fake_stores_an_object_as_it_was_sent() -> None:
    requester, client = server(Part)
    version = client.get("x").metadata.resource_version
    meta = {"name": "x", "namespace": "n", "resourceVersion": version}
    sent = {"apiVersion": "example.com/v1", "kind": "Part", "metadata": meta, "spec": {"new": [], "size": 0}}
    request = Request(verb="update", resource=api_of(Part).gvr, namespace="n", name="x", body=encode_value(sent))
    requester.do(request)
    assert content(requester, Part)["spec"] == {"new": [], "size": 0}
    assert requester.calls.actions[-1].object.spec == Spec()
