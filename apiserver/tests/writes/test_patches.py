from typing import Any

import pytest

from apiserver.tests.inprocess import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    FOOS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Kube,
    deployment,
    foo,
)


def test_json_patch_is_done_whole_or_not_at_all(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo())
    good = {"op": "replace", "path": "/spec/replicas", "value": 3}
    bad = {"op": "test", "path": "/spec/replicas", "value": 9}
    status = kube.refused(422, "PATCH", f"{FOOS}/a", [good, bad], JSON_PATCH)
    assert status["message"] == "the server rejected our request due to an error in our request"
    assert kube.ok("GET", f"{FOOS}/a")["spec"]["replicas"] == 1
    assert kube.ok("PATCH", f"{FOOS}/a", [good], JSON_PATCH)["spec"]["replicas"] == 3


def test_json_patch_that_copies_or_does_too_much_is_rejected(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "c", "annotations": {"a": "x" * 1000}}})
    double = [{"op": "copy", "from": "/metadata", "path": f"/metadata/{name}"} for name in range(40)]
    kube.refused(422, "PATCH", f"{CONFIG_MAPS}/c", double, JSON_PATCH)

    status = kube.refused(413, "PATCH", f"{CONFIG_MAPS}/c", [{"op": "test", "path": "/data"}] * 10_001, JSON_PATCH)
    limit = "The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert status["message"] == f"Request entity too large: {limit}"


@pytest.mark.parametrize(
    ("code", "body", "message"),
    [
        (400, {"op": "add"}, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (400, [1], "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (400, [{"op": 1}], "json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        (422, [{"op": "nope", "path": "/x"}], "the server rejected our request due to an error in our request"),
        (422, [{"path": "/x"}], "the server rejected our request due to an error in our request"),
        (422, [None], "the server rejected our request due to an error in our request"),
        (
            422,
            [{"op": "copy", "path": "/x", "from": None}],
            "the server rejected our request due to an error in our request",
        ),
    ],
)
def test_malformed_json_patch_is_a_bad_request_and_unknown_operation_invalid(
    kube: Kube, code: int, body: Any, message: str
) -> None:
    kube.ok("POST", FOOS, foo())
    assert kube.refused(code, "PATCH", f"{FOOS}/a", body, JSON_PATCH)["message"].endswith(message)


@pytest.mark.parametrize("kind", ["application/Merge-Patch+json", "application/merge-patch+json ;charset=utf-8"])
def test_type_of_a_patch_has_one_spelling(kube: Kube, kind: str) -> None:
    kube.ok("POST", FOOS, foo())
    kube.refused(415, "PATCH", f"{FOOS}/a", {}, kind)
    kube.ok("PATCH", f"{FOOS}/a", {}, "application/merge-patch+json;charset=utf-8")


def containers(obj: dict[str, Any]) -> list[tuple[str, str]]:
    return [(item["name"], item["image"]) for item in obj["spec"]["template"]["spec"]["containers"]]


def strategic(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": list(items), **more}}}}


def test_patch_cannot_rename_or_break_its_object(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo())
    kube.refused(400, "PATCH", f"{FOOS}/a", {"metadata": {"name": "b"}}, MERGE)
    kube.refused(422, "PATCH", f"{FOOS}/a", {"spec": {"deploymentName": None}}, MERGE)
    kube.refused(409, "PATCH", f"{FOOS}/a", {"metadata": {"resourceVersion": "1"}}, MERGE)
    status = kube.refused(422, "PATCH", f"{FOOS}/a?fieldValidation=Strict", {"spec": {"odd": 1}}, MERGE)
    assert 'strict decoding error: unknown field "spec.odd"' in status["message"]


@pytest.mark.parametrize(
    ("order", "patch", "message"),
    [
        (["a"], {"name": "b", "image": "i"}, "The order in patch list:\n[map[image:i name:b]]\n doesn't match "),
        (["b"], {"image": "i"}, "map: map[image:i] does not contain declared merge key: name"),
        (["b"], {"name": "nginx", "$patch": "x"}, "unknown patch type: x in map: map[$patch:x name:nginx]"),
    ],
)
def test_strategic_patch_that_contradicts_itself_is_an_error_of_the_server(
    kube: Kube, order: list[str], patch: dict[str, Any], message: str
) -> None:
    kube.ok("POST", DEPLOYMENTS, deployment())
    named = {"$setElementOrder/containers": [{"name": name} for name in order]} if "image" in patch else {}
    status = kube.refused(500, "PATCH", f"{DEPLOYMENTS}/d", strategic(patch, **named), STRATEGIC)
    assert message in status["message"]


def test_list_that_the_object_lacks_is_taken_from_a_strategic_patch_as_it_is(kube: Kube) -> None:
    kube.ok("POST", DEPLOYMENTS, deployment())
    ports = [{"containerPort": 80, "protocol": protocol} for protocol in ("TCP", "UDP")]
    patched = kube.ok("PATCH", f"{DEPLOYMENTS}/d", strategic({"name": "nginx", "ports": ports}), STRATEGIC)
    assert patched["spec"]["template"]["spec"]["containers"][0]["ports"] == ports
