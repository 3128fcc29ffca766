"""Requests of each verb: method, path, query, body and media type."""

from collections.abc import Callable, Mapping

import pytest

from clientgo.meta import ObjectMeta, replace
from clientgo.rest.request import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from clientgo.typed import DeleteOptions, Preconditions, Scale
from clientgo.typed.scale import ScaleSpec
from clientgo.typed.subresources import SubresourceClient
from tests.typed.gadgets import SUCCESS, WIRE, Gadget, GadgetReviews, Gadgets, Realms, gadget, page
from tests.typed.recorder import Frames, Recorder

BASE = "/apis/shop.example.com/v1/namespaces/ns/gadgets"
LIST = page()
SCALE = {"kind": "Scale", "metadata": {"name": "g"}, "spec": {"replicas": 2}, "status": {"replicas": 1}}
HEAD = {"apiVersion": "shop.example.com/v1", "kind": "Gadget"}
FULL = HEAD | {"metadata": {"name": "g", "namespace": "ns"}, "spec": {"replicas": 3}, "status": {}}
MANAGED = ObjectMeta(name="g", namespace="ns", uid="u", resource_version="7", labels={"a": "b"})
APPLIED = {"metadata": {"name": "g"}, "spec": {"color": "red"}}

Call = Callable[[Gadgets], object]
Case = tuple[str, str, Mapping[str, str], object, str]


@pytest.mark.feature("A-41", "D-07", "A-09", "C-38")
@pytest.mark.parametrize(
    ("call", "response", "expected"),
    [
        pytest.param(lambda c: c.get("g"), WIRE, ("GET", "/g", {}, None, JSON), id="get"),
        pytest.param(lambda c: c.get("g", resource_version="5"), WIRE,
                     ("GET", "/g", {"resourceVersion": "5"}, None, JSON), id="get not older"),
        pytest.param(lambda c: c.list(), LIST, ("GET", "", {}, None, JSON), id="list"),
        pytest.param(
            lambda c: c.list(
                label_selector="a=b", field_selector="metadata.name=g", resource_version="5",
                resource_version_match="NotOlderThan", limit=500, continue_="next", timeout_seconds=30,
            ),
            LIST,
            (
                "GET", "",
                {
                    "labelSelector": "a=b", "fieldSelector": "metadata.name=g", "resourceVersion": "5",
                    "resourceVersionMatch": "NotOlderThan", "limit": "500", "continue": "next", "timeoutSeconds": "30",
                },
                None, JSON,
            ),
            id="list with everything",
        ),
        pytest.param(
            lambda c: c.watch(label_selector="a=b", resource_version="5", timeout_seconds=300),
            Frames(),
            (
                "GET", "",
                {
                    "labelSelector": "a=b", "resourceVersion": "5", "timeoutSeconds": "300", "watch": "true",
                    "allowWatchBookmarks": "true",
                },
                None, JSON,
            ),
            id="watch",
        ),
        pytest.param(lambda c: c.create(gadget(replicas=3)), WIRE, ("POST", "", {}, FULL, JSON), id="create"),
        pytest.param(lambda c: c.create(gadget(replicas=3), field_manager="me", dry_run=True), WIRE,
                     ("POST", "", {"fieldManager": "me", "dryRun": "All"}, FULL, JSON), id="create dry"),
        pytest.param(lambda c: c.update(gadget(replicas=3)), WIRE, ("PUT", "/g", {}, FULL, JSON), id="update"),
        pytest.param(lambda c: c.update_status(gadget(replicas=3), field_manager="me"), WIRE,
                     ("PUT", "/g/status", {"fieldManager": "me"}, FULL, JSON), id="update_status"),
        pytest.param(lambda c: c.patch("g", {"spec": {"replicas": 1}}), WIRE,
                     ("PATCH", "/g", {}, {"spec": {"replicas": 1}}, MERGE_PATCH), id="merge patch"),
        pytest.param(lambda c: c.patch("g", [{"op": "remove", "path": "/spec/color"}]), WIRE,
                     ("PATCH", "/g", {}, [{"op": "remove", "path": "/spec/color"}], JSON_PATCH), id="JSON patch"),
        pytest.param(
            lambda c: c.patch("g", {"a": 1}, content_type=STRATEGIC_PATCH, subresource="scale", dry_run=True),
            WIRE,
            ("PATCH", "/g/scale", {"dryRun": "All"}, {"a": 1}, STRATEGIC_PATCH),
            id="strategic patch of a subresource",
        ),
        pytest.param(lambda c: c.patch_status("g", b'{"status":{"ready":1}}', field_manager="me"), WIRE,
                     ("PATCH", "/g/status", {"fieldManager": "me"}, {"status": {"ready": 1}}, MERGE_PATCH),
                     id="patch_status"),
        pytest.param(lambda c: c.apply(APPLIED, field_manager="me"), WIRE,
                     ("PATCH", "/g", {"fieldManager": "me"}, HEAD | APPLIED, APPLY_PATCH), id="apply some fields"),
        pytest.param(
            lambda c: c.apply(gadget(replicas=3), field_manager="me", force=True),
            WIRE,
            (
                "PATCH", "/g", {"fieldManager": "me", "force": "true"},
                HEAD | {"metadata": {"name": "g", "namespace": "ns"}, "spec": {"replicas": 3, "color": ""}},
                APPLY_PATCH,
            ),
            id="apply an object",
        ),
        pytest.param(
            lambda c: c.apply_status(replace(gadget(), metadata=MANAGED), field_manager="me"),
            WIRE,
            (
                "PATCH", "/g/status", {"fieldManager": "me"},
                HEAD | {"metadata": {"name": "g", "namespace": "ns"}, "status": {"ready": 0}},
                APPLY_PATCH,
            ),
            id="apply the status of an object",
        ),
        pytest.param(lambda c: c.apply_status(APPLIED, field_manager="me", dry_run=True), WIRE,
                     ("PATCH", "/g/status", {"fieldManager": "me", "dryRun": "All"}, HEAD | APPLIED, APPLY_PATCH),
                     id="apply_status"),
        pytest.param(lambda c: c.delete("g"), SUCCESS, ("DELETE", "/g", {}, None, JSON), id="delete"),
        pytest.param(
            lambda c: c.delete(
                "g",
                DeleteOptions(
                    grace_period_seconds=0,
                    propagation_policy="Foreground",
                    preconditions=Preconditions(uid="u", resource_version="5"),
                    dry_run=("All",),
                ),
            ),
            SUCCESS,
            (
                "DELETE", "/g", {},
                {
                    "gracePeriodSeconds": 0, "propagationPolicy": "Foreground", "dryRun": ["All"],
                    "preconditions": {"uid": "u", "resourceVersion": "5"},
                },
                JSON,
            ),
            id="delete with options",
        ),
        pytest.param(
            lambda c: c.delete("g", DeleteOptions()), SUCCESS, ("DELETE", "/g", {}, None, JSON), id="delete as usual"
        ),
        pytest.param(
            lambda c: c.delete_collection(
                DeleteOptions(propagation_policy="Orphan"), label_selector="a=b", timeout_seconds=30
            ),
            SUCCESS,
            (
                "DELETE", "", {"labelSelector": "a=b", "timeoutSeconds": "30"}, {"propagationPolicy": "Orphan"}, JSON
            ),
            id="delete_collection",
        ),
        pytest.param(lambda c: c.get_scale("g"), SCALE, ("GET", "/g/scale", {}, None, JSON), id="get_scale"),
        pytest.param(
            lambda c: c.update_scale("g", Scale(spec=ScaleSpec(replicas=2))),
            SCALE,
            (
                "PUT", "/g/scale", {},
                {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 2}},
                JSON,
            ),
            id="update_scale",
        ),
        pytest.param(lambda c: c.patch_scale("g", {"spec": {"replicas": 2}}, field_manager="me"), SCALE,
                     ("PATCH", "/g/scale", {"fieldManager": "me"}, {"spec": {"replicas": 2}}, MERGE_PATCH),
                     id="patch_scale"),
    ],
)  # fmt: skip
def test_each_verb_sends_the_request_of_the_api(call: Call, response: object, expected: Case) -> None:
    recorder = Recorder(response)
    call(Gadgets(recorder, "ns"))
    method, path, query, body, content_type = expected
    sent = recorder.last
    assert (sent.method, sent.path, dict(sent.query), sent.content_type) == (method, BASE + path, query, content_type)
    assert recorder.last_body == body


def test_timeout_of_a_list_applies_to_the_request_but_not_of_a_watch() -> None:
    recorder = Recorder(LIST, SUCCESS, LIST, Frames())
    client = Gadgets(recorder, "ns")
    client.list(timeout_seconds=30)
    client.delete_collection(timeout_seconds=20)
    client.list()
    client.watch(timeout_seconds=300)
    assert [request.timeout for request in recorder.requests] == [30.0, 20.0, None, None]


@pytest.mark.feature("A-41", "D-07")
def test_empty_namespace_selects_all_namespaces() -> None:
    recorder = Recorder(LIST, Frames(), SUCCESS)
    client = Gadgets(recorder)
    client.list()
    client.watch()
    client.delete_collection()
    assert {request.path for request in recorder.requests} == {"/apis/shop.example.com/v1/gadgets"}


@pytest.mark.feature("A-06")
def test_cluster_scoped_and_core_kinds_have_shorter_paths() -> None:
    realm = {"kind": "Realm", "metadata": {"name": "r"}}
    recorder = Recorder(realm, realm, page(kind="Realm"))
    client = Realms(recorder)
    client.create(client.get("r"))
    client.list()
    assert [request.path for request in recorder.requests] == ["/api/v1/realms/r", "/api/v1/realms", "/api/v1/realms"]


@pytest.mark.feature("D-31")
def test_create_client_has_only_create() -> None:
    recorder = Recorder(WIRE)
    client = GadgetReviews(recorder, "ns")
    assert client.create(gadget(), dry_run=True).status.ready == 2
    assert (recorder.last.method, recorder.last.path, dict(recorder.last.query)) == ("POST", BASE, {"dryRun": "All"})
    assert not any(hasattr(client, verb) for verb in ("get", "list", "watch", "update", "patch", "apply", "delete"))


class Applied(SubresourceClient[Gadget]):
    kind = Gadget


def test_object_applied_to_another_subresource_is_sent_with_its_defaults() -> None:
    recorder = Recorder(WIRE)
    Applied(recorder, "ns")._apply_to("g", "speed", gadget(), Gadget, Gadget, field_manager="me")
    assert recorder.last.path == f"{BASE}/g/speed"
    assert recorder.last_body == HEAD | {
        "metadata": {"name": "g", "namespace": "ns"},
        "spec": {"replicas": 0, "color": ""},
        "status": {"ready": 0},
    }
