"""Responses with the HTTP status 200 that are not what was requested."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.cli.doctor import check_crds
from clientgo.dynamic import DynamicClientset
from clientgo.envtest.crds import install, uninstall
from clientgo.errors import ApiError, Expired, InvalidResponse
from clientgo.kubernetes.clients.core_v1 import CoreV1
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.kubernetes.types.shared import TokenRequest
from clientgo.leaderelection import LeaseLock
from clientgo.manager.client import DirectClient
from clientgo.meta import GroupVersionResource, ObjectMeta, api_type
from clientgo.meta.codec import UnexpectedObject
from clientgo.meta.listwatch import BadEvent, ListOptions, WatchEvent
from clientgo.record.sinks import CoreSink
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.fence import FencedRequester
from clientgo.rest.request import Request
from clientgo.sharding.slots import LeaseSlots
from clientgo.testing.transport import FakeStream, FakeTransport, frame, reply
from clientgo.typed import TypedClient
from clientgo.typed.discovery import Discovery
from clientgo.webhook.injection import Targets, inject_ca
from tests.typed.gadgets import SUCCESS, WIRE, Gadget, Gadgets, gadget, page

SERVER = "https://api.example.com:6443"
GADGETS = GroupVersionResource("shop.example.com", "v1", "gadgets")
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "g", "namespace": "ns"}}


def failure(**fields: object) -> dict[str, object]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "why", **fields}


FAILURES: dict[str, object] = {
    "failure": failure(),
    "without an apiVersion": {"kind": "Status", "status": "Failure", "message": "why"},
    "without a status": {"kind": "Status", "apiVersion": "v1", "message": "why"},
    "kind last": b' {\n "status": "Failure",\n "message": "why",\n "kind": "Status",\n "apiVersion": "v1"\n}\n',
    "escaped": b'{"kind":"\\u0053tatus","apiVersion":"v1","status":"Failure","message":"why"}',
    "details of another type": failure(details="many", code="409"),
    "details nested too deep": b'{"kind":"Status","status":"Failure","message":"why","details":%b}'
    % (b"[" * 20_000 + b"]" * 20_000),
}
OTHERS: dict[str, tuple[object, str]] = {
    "HTML": (b"<!DOCTYPE html><title>log in</title>", "HTML: '<!DOCTYPE html><title>log in</title>'"),
    "empty object": ({}, "an empty JSON object"),
    "nothing": (b"", "an empty body"),
    "blanks": (b" \n", "an empty body"),
    "null": (b"null", "text: 'null'"),
    "array": (b"[]", "JSON that is invalid or not an object"),
    "cut off": (b'{"data":{"password":"hun', "JSON that is invalid or not an object$"),
    "another kind": (SECRET, "a Secret"),
    "the kind of another group": (WIRE | {"apiVersion": "v1"}, "a Gadget"),
    "table": ({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []}, r"a Table \(meta.k8s.io\)"),
    "without a kind": ({"metadata": {"name": "g"}}, r"a JSON object without a kind \(its keys: 'metadata'\)"),
    "kind is no text": ({"kind": 7, "metadata": {"name": "g"}}, "a JSON object without a kind"),
}  # fmt: skip

Call = Callable[[Gadgets], object]

OF_OBJECTS: dict[str, Call] = {
    "get": lambda c: c.get("g"),
    "create": lambda c: c.create(gadget()),
    "update": lambda c: c.update(gadget()),
    "update_status": lambda c: c.update_status(gadget()),
    "patch": lambda c: c.patch("g", {}),
    "patch_status": lambda c: c.patch_status("g", {}),
    "apply": lambda c: c.apply(gadget(), field_manager="me"),
    "apply_status": lambda c: c.apply_status(gadget(), field_manager="me"),
}
ALL: dict[str, Call] = OF_OBJECTS | {
    "get_scale": lambda c: c.get_scale("g"),
    "patch_scale": lambda c: c.patch_scale("g", {}),
    "list": lambda c: c.list(),
    "page": lambda c: c.list_page(ListOptions(limit=1, continue_="next")),
    "delete": lambda c: c.delete("g"),
    "delete_collection": lambda c: c.delete_collection(),
}


def client(*answers: object) -> RESTClient:
    return RESTClient(Config(SERVER), transport=FakeTransport(*map(reply, answers)))


def by(cases: dict[str, Any]) -> Any:
    return [pytest.param(case, id=name) for name, case in cases.items()]


@pytest.mark.parametrize("call", by(ALL))
@pytest.mark.parametrize("body", by(FAILURES))
def test_failure_status_is_an_error_for_every_verb(call: Call, body: object) -> None:
    with pytest.raises(ApiError, match=r"^why$|^the server sent a Status that is not a success$"):
        call(Gadgets(client(body), "ns"))


@pytest.mark.parametrize("call", by(ALL))
@pytest.mark.parametrize(("body", "received"), [pytest.param(*case, id=name) for name, case in OTHERS.items()])
def test_other_response_is_an_error_that_names_it_and_the_server(call: Call, body: object, received: str) -> None:
    with pytest.raises(InvalidResponse, match=rf"^invalid response from {SERVER}: expected an? .*, got {received}"):
        call(Gadgets(FencedRequester(client(body), lambda: True), "ns"))


@pytest.mark.parametrize("call", by({name: call for name, call in ALL.items() if not name.startswith("delete")}))
def test_success_status_is_a_response_to_deletions_only(call: Call) -> None:
    with pytest.raises(InvalidResponse, match=r"expected .*, got a Status"):
        call(Gadgets(client(SUCCESS), "ns"))
    Gadgets(client(SUCCESS), "ns").delete("g")
    Gadgets(client(SUCCESS), "ns").delete_collection()


@pytest.mark.parametrize("call", by({**OF_OBJECTS, "delete": ALL["delete"]}))
@pytest.mark.parametrize(
    ("metadata", "received"),
    [
        pytest.param({}, "one without a name", id="no name"),
        pytest.param({"name": "other"}, "one named 'other'", id="another name"),
        pytest.param({"name": "g", "namespace": "other"}, "one in 'other'", id="another namespace"),
    ],
)
def test_other_object_of_the_kind_is_an_error(call: Call, metadata: dict[str, str], received: str) -> None:
    with pytest.raises(InvalidResponse, match=f"got {received}$") as failed:
        call(Gadgets(client(WIRE | {"metadata": metadata}), "ns"))
    assert "/namespaces/ns/gadgets" in failed.value.request


def test_generated_name_is_required_and_a_review_needs_none() -> None:
    unnamed = WIRE | {"metadata": {}}
    with pytest.raises(InvalidResponse, match="one without a name"):
        Gadgets(client(unnamed), "ns").create(Gadget(ObjectMeta(generate_name="g-")))
    assert Gadgets(client(unnamed), "ns").create(Gadget(ObjectMeta())).spec.replicas == 3


def test_list_without_items_is_empty_and_one_of_other_items_is_an_error() -> None:
    assert Gadgets(client({"kind": "GadgetList", "metadata": {}, "items": None}), "ns").list().items == []
    nameless: dict[str, object] = {"metadata": {}}
    result = Gadgets(client(page(WIRE, SECRET, nameless, WIRE | {"kind": ""})), "ns").list()
    assert [obj.metadata.name for obj in result.items] == ["g", "g"]
    reasons = [(error.metadata.name, error.cause) for error in result.undecodable]
    assert reasons == [("g", "an item is of the kind Secret"), ("", "an item has no name")]
    for items in ([SECRET], [nameless, SECRET]):
        with pytest.raises(InvalidResponse, match=r"got a list of which an item (is of the kind Secret|has no name)"):
            Gadgets(client(page(*items)), "ns").list()
    with pytest.raises(InvalidResponse, match=r"got an invalid list: .*items"):
        Gadgets(client({"kind": "GadgetList", "items": 7}), "ns").list()


def test_half_of_a_surrogate_pair_is_read_as_go_does_and_hides_no_object() -> None:
    odd = json.dumps(WIRE | {"spec": {"color": "\ud83dred \U0001f534"}}).encode()
    items = b'{"kind":"GadgetList","metadata":{},"items":[%b,%b]}' % (odd, json.dumps(WIRE).encode())
    event = b'{"type":"ADDED","object":%b}\n' % odd
    transport = FakeTransport(reply(odd), reply(items), FakeStream(event, end=True))
    gadgets = Gadgets(RESTClient(Config(SERVER), transport=transport), "ns")
    received = [gadgets.get("g"), *gadgets.list().items, *(change.object for change in gadgets.watch())]
    color = "\N{REPLACEMENT CHARACTER}red \U0001f534"
    assert [obj.spec.color for obj in received] == [color, color, "red", color]


def test_watch_reports_objects_of_other_kinds_and_raises_failures(caplog: pytest.LogCaptureFixture) -> None:
    other_items = [SECRET, WIRE | {"kind": ""}, WIRE | {"metadata": {}}, SUCCESS]
    frames = [*(frame("DELETED", other) for other in other_items), frame("BOOKMARK", SECRET), frame("ADDED", WIRE)]
    transport = FakeTransport(FakeStream(*frames, frame("MODIFIED", failure(reason="Expired", code=410)), end=True))
    watch = iter(Gadgets(RESTClient(Config(SERVER), transport=transport), "ns").watch_from(ListOptions(watch=True)))
    reports = [next(watch) for _ in other_items]
    assert all(isinstance(report, BadEvent) and isinstance(report.error, UnexpectedObject) for report in reports)
    event = next(watch)
    assert isinstance(event, WatchEvent)
    assert event.object.spec.color == "red"
    assert [record.msg for record in caplog.records] == ["watch event skipped"]  # the bookmark
    with pytest.raises(Expired, match="why"):
        next(watch)


def test_dynamic_and_metadata_clients_check_group_kind_and_items() -> None:
    full, partial = page(WIRE), {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}
    partial["metadata"] = {"name": "g"}  # type: ignore[assignment]
    answers = [WIRE, full, WIRE, partial, page(partial, kind="PartialObjectMetadata"), full]
    clientset = DynamicClientset(client(*answers))
    dynamic, metadata = clientset.resource(GADGETS, "ns"), clientset.metadata(GADGETS, "ns", kind="Gadget")
    assert dynamic.get("g").kind == dynamic.list().items[0].kind == "Gadget"
    assert {metadata.get("g").metadata.name, metadata.get("g").metadata.name} == {"g"}
    assert len(metadata.list().items) == len(metadata.list().items) == 1
    for body in (SECRET, {}, SUCCESS, {"kind": "Table", "apiVersion": "meta.k8s.io/v1"}, page(WIRE)):
        unknown = DynamicClientset(client(body, body)).resource(GADGETS, "ns")
        with pytest.raises(InvalidResponse):
            unknown.get("g")
        if body != page(WIRE):
            with pytest.raises(InvalidResponse, match="expected a list of the resource gadgets"):
                unknown.list()
    with pytest.raises(InvalidResponse, match="it has no items"):
        DynamicClientset(client(WIRE)).resource(GADGETS, "ns").list()


def test_list_with_an_unusual_kind_is_accepted_if_it_is_declared_or_the_kind_is_unknown() -> None:
    @api_type(group="shop.example.com", version="v1", plural="gadgets", list_kind="Gadgetry")
    class Listed(Gadget):
        """A kind whose list has another name."""

    class Client(TypedClient[Listed]):
        kind = Listed

    body = page(WIRE | {"kind": "Listed"}) | {"kind": "Gadgetry"}
    assert len(Client(client(body), "ns").list().items) == 1
    clientset = DynamicClientset(client(body, body, body))
    assert len(clientset.resource(GADGETS, "ns").list().items) == 1
    with pytest.raises(InvalidResponse, match=r"expected a GadgetList .*, got a Gadgetry"):
        clientset.resource(GADGETS, "ns", kind="Gadget").list()
    clientset.resource(GADGETS, "ns", kind="Gadget").delete_collection()


def test_metadata_list_of_a_real_server_without_objects_is_empty() -> None:
    empty: dict[str, object] = {
        "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "items": None,
    }  # fmt: skip
    for kind in ("", "Gadget"):
        assert DynamicClientset(client(empty)).metadata(GADGETS, "ns", kind=kind).list().items == []


@pytest.mark.parametrize("body", [b"<html>", {}, SECRET, failure()])
def test_subresources_check_their_responses(body: object) -> None:
    pods, subject = Clientset(client(body, body)).core_v1.pods("ns"), DirectClient(client(body)).subresource("eviction")
    with pytest.raises((InvalidResponse, ApiError)):
        pods.evict("g")
    with pytest.raises((InvalidResponse, ApiError)):
        pods.bind("g", "node")
    obj = ConfigMap(metadata=ObjectMeta(name="g", namespace="ns"))
    with pytest.raises((InvalidResponse, ApiError)):
        subject.create(obj, obj)


def test_subresource_without_an_object_to_return_may_answer_with_a_status() -> None:
    obj = ConfigMap(metadata=ObjectMeta(name="g", namespace="ns"))
    assert DirectClient(client(SUCCESS)).subresource("eviction").create(obj, obj) is obj
    Clientset(client(SUCCESS)).core_v1.pods("ns").evict("g")


@pytest.mark.parametrize("body", by(FAILURES))
def test_failure_status_is_an_error_of_plain_requests(body: object) -> None:
    rest_client = client(body, body)
    with pytest.raises(ApiError):
        rest_client.raw("GET", "/healthz")
    with pytest.raises(ApiError):
        rest_client.do(Request(verb="get", resource=GADGETS, name="g"))
    assert client(b"ok").raw("GET", "/healthz") == b"ok"


@pytest.mark.parametrize("body", [b"<html>", b"", {}, page(), failure(), {"kind": "APIVersions", "versions": 7}])
def test_discovery_checks_its_documents(body: object) -> None:
    calls: list[Callable[[Discovery], object]] = [
        lambda d: d.version(),
        lambda d: d.groups(),
        lambda d: d.group("apps"),
        lambda d: d.group(""),
        lambda d: d.resources("v1"),
        lambda d: d.serves("v1", "Pod"),
    ]
    for call in calls:
        with pytest.raises((InvalidResponse, ApiError)):
            call(Discovery(client(body)))


@pytest.mark.parametrize("body", [{}, b"<html>", SECRET, failure()])
def test_helpers_of_the_library_check_their_responses(body: object) -> None:
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "g"}}
    calls: list[Callable[[RESTClient], object]] = [
        lambda c: install(c, [crd]),
        lambda c: uninstall(c, [crd]),
        lambda c: inject_ca(c, Targets(crds=("g",)), lambda _: b"new"),
        lambda c: list(check_crds(c, [crd])),
        lambda c: LeaseLock(c, "ns", "g", "me").get(),
        lambda c: LeaseSlots(c, "ns", "g").read(),
        lambda c: CoreSink(c).patch("ns", "g", b"{}"),
        lambda c: CoreV1(c).service_accounts("ns").create_token("g", TokenRequest()),
    ]
    for call in calls:
        with pytest.raises((InvalidResponse, ApiError)):
            call(client(body))
