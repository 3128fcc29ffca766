import json
from pathlib import Path
from typing import Any

import pytest

from apiserver.tests.http.protobufs import MAGIC, envelope, message, varint
from apiserver.tests.inprocess import DEFINITIONS, DEPLOYMENTS, FOOS, Kube, foo
from clientgo_apiserver.api.limits import MAX_DEPTH
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.http.decode import check_object, read_body
from clientgo_apiserver.http.protobuf import MEDIA_TYPE
from clientgo_apiserver.registry.builtin import builtin_resources

RESOURCES = {(resource.api_version, resource.kind): resource for resource in builtin_resources()}
# Bodies of the project's own objects, as Go's serializer encoded them, with the JSON that Go made of the same objects.
DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
GO_BODIES = json.loads((Path(__file__).parent / "protobuf_bodies.json").read_text(encoding="utf-8"))


def read(body: bytes, api_version: str = "v1", kind: str = "ConfigMap") -> Any:
    resource = RESOURCES[api_version, kind]
    return check_object(read_body(body, MEDIA_TYPE, kind, api_version), resource, body)


def read_map(*fields: tuple[int, Any]) -> Any:
    return read(envelope("v1", "ConfigMap", message(*fields)))


@pytest.mark.parametrize("sent", GO_BODIES, ids=lambda sent: sent["object"]["kind"])
def test_bodies_of_go_clients_are_read_as_the_json_of_go_clients(sent: Any) -> None:
    expected = sent["object"]
    assert read_body(bytes.fromhex(sent["body"]), MEDIA_TYPE, expected["kind"]) == expected


def test_zero_is_kept_where_go_keeps_it() -> None:
    assert read_map() == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
    assert read_map((1, message((1, ""), (7, 0))), (4, 0))["metadata"] == {}
    assert read_map((4, 0))["immutable"] is False
    role = read(envelope("rbac.authorization.k8s.io/v1", "Role", b""), "rbac.authorization.k8s.io/v1", "Role")
    assert role["rules"] is None


def test_parts_of_one_message_are_merged_and_the_last_scalar_counts() -> None:
    result = read_map((1, message((1, "a"), (3, "n"))), (1, message((1, "b"))), (4, 0), (4, 1))
    assert (result["metadata"], result["immutable"]) == ({"name": "b", "namespace": "n"}, True)


@pytest.mark.parametrize("sent", [(1, 300, -2), (varint(1) + varint(300) + varint(-2),), (1, varint(300), -2)])
def test_repeated_numbers_are_read_packed_or_not(sent: tuple[Any, ...]) -> None:
    values = message(*((3, value) for value in sent))
    rules = message((11, message((1, message((2, values))))))
    job = read(envelope("batch/v1", "Job", message((2, rules))), "batch/v1", "Job")
    assert job["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"] == [1, 300, -2]


def test_apiversion_and_kind_of_the_request_apply_to_a_body_without_them() -> None:
    metadata = message((1, message((1, "a"))))
    expected = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    assert read(MAGIC + message((2, metadata))) == expected
    assert read(envelope("", "ConfigMap", metadata)) == expected


def test_delete_options_are_read_in_every_group() -> None:
    options = message((1, 0), (2, message((1, "u"))), (4, "Foreground"), (5, "All"))
    assert read_body(envelope("example.com/v1", "DeleteOptions", options), MEDIA_TYPE, "DeleteOptions") == {
        "apiVersion": "example.com/v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u"}, "propagationPolicy": "Foreground", "dryRun": ["All"],
    }  # fmt: skip


HANDLED = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "


@pytest.mark.feature("A-06")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", UNRECOGNIZED + "empty data (<empty>)"),
        (MAGIC, UNRECOGNIZED + "empty body (6b387300)"),
        (b"{}", "does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})"),
        (MAGIC + b"\x80", UNRECOGNIZED + "unexpected EOF"),
        (envelope("v1", "ConfigMap", b"", (3, "gzip")), "unsupported encoding 'gzip'"),
        (envelope("v1", "ConfigMap", b"{}", (4, "application/json")), "unsupported encoding 'application/json'"),
        (envelope("v1", "Thing", b""), 'Thing in version "v1" cannot be handled as a ConfigMap: no kind "Thing"'),
        (envelope("v1", "Secret", b""), 'no kind "Secret" is registered'),
        (envelope("apps/v1", "ConfigMap", b""), 'no kind "ConfigMap" is registered for version "apps/v1"'),
    ],
)
def test_bodies_of_another_format_or_kind_are_rejected(body: bytes, reason: str) -> None:
    with pytest.raises(ApiFailure) as rejected:
        read(body)
    assert rejected.value.code == 400
    assert reason in str(rejected.value)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (message((99, "x")), "proto: ConfigMap: unknown field number 99"),
        (message((1, message((99, 1)))), "proto: ObjectMeta: unknown field number 99"),
        (message((2, message((1, "k"), (3, "x")))), "proto: ConfigMap.data: unknown field number 3"),
        (message((1, 7)), "proto: wrong wireType = 0 for field ConfigMap.metadata"),
        (message((4, "x")), "proto: wrong wireType = 2 for field ConfigMap.immutable"),
        (message((1, message((1, "m"))))[:-1], "unexpected EOF"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "unexpected EOF"),
        (b"\x20" + b"\xff" * 11, "proto: integer overflow"),
        (b"\x0b", "proto: illegal wireType 3"),
        (b"\x00\x00", "proto: ConfigMap: illegal tag 0 (wire type 0)"),
        (message((1, message((1, b"\xff")))), "string field contains invalid UTF-8"),
        (message((1, message((8, message((1, 1 << 60)))))), "time out of range"),
        (message((1, message((17, message((7, message((1, "{")))))))), "invalid JSON"),
        (message((1, message((17, message((7, message((1, "[" * 1000)))))))), "exceeded max depth"),
    ],
)
def test_bytes_that_are_not_the_message_are_rejected(raw: bytes, reason: str) -> None:
    with pytest.raises(ApiFailure) as rejected:
        read(envelope("v1", "ConfigMap", raw))
    assert str(rejected.value).startswith(HANDLED + reason)


def test_numbers_that_json_or_go_cannot_hold_are_rejected() -> None:
    with pytest.raises(ApiFailure, match="integer overflow"):
        read(envelope("v1", "Pod", message((2, message((25, 1 << 40))))), "v1", "Pod")
    schema = message((1, message((9, float("nan")))))
    definition = message((2, message((7, message((4, schema))))))
    with pytest.raises(ApiFailure, match="unsupported number nan"):
        read(envelope(*DEFINITION, definition), *DEFINITION)


def test_unknown_field_that_is_empty_is_skipped() -> None:
    # Other releases encode the zero of each field that is not a pointer: ObjectMeta once had a clusterName, 15.
    assert read_map((1, message((1, "a"), (15, ""))), (98, 0))["metadata"] == {"name": "a"}


def test_nesting_and_defaults_are_limited() -> None:
    def definition(levels: int) -> bytes:
        schema = b""
        for _ in range(levels):
            schema = message((28, schema))  # not
        return envelope(*DEFINITION, message((2, message((7, message((4, message((1, schema)))))))))

    assert read(definition(100), *DEFINITION)["spec"]["versions"][0]["schema"]
    for levels in (MAX_DEPTH, 20_000):
        with pytest.raises(ApiFailure, match="exceeded max depth"):
            read(definition(levels), *DEFINITION)
    with pytest.raises(ApiFailure, match="exceeded max number of messages"):
        read(envelope("v1", "Pod", message((2, b"\x12\x00" * 500_000))), "v1", "Pod")


def test_protobuf_and_json_create_the_same_object(kube: Kube) -> None:
    port = message((3, 80), (4, "TCP"))
    container = message((1, "c"), (2, "i"), (6, port), (8, message((1, message((1, "cpu"), (2, message((1, "1"))))))))
    template = message((1, message((11, message((1, "app"), (2, "a"))))), (2, message((2, container))))
    selector = message((1, message((1, "app"), (2, "a"))))
    raw = message((1, message((1, "a"))), (2, message((1, 0), (2, selector), (3, template))), (3, b""))
    built = kube.ok("POST", f"{DEPLOYMENTS}?dryRun=All", envelope("apps/v1", "Deployment", raw), MEDIA_TYPE)
    sent = read(envelope("apps/v1", "Deployment", raw), "apps/v1", "Deployment")
    same = kube.ok("POST", f"{DEPLOYMENTS}?dryRun=All", sent)
    assert built["spec"]["replicas"] == 0
    assert built["metadata"].pop("uid") != same["metadata"].pop("uid")
    assert built == same


def test_scale_and_delete_options_of_custom_resources_are_read(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo())
    scale = envelope("autoscaling/v1", "Scale", message((1, message((1, "a"))), (2, message((1, 3)))))
    assert kube.ok("PUT", f"{FOOS}/a/scale", scale, MEDIA_TYPE)["spec"] == {"replicas": 3}
    custom = envelope("samplecontroller.k8s.io/v1alpha1", "Foo", message((1, message((1, "b")))))
    assert 'no kind "Foo" is registered' in kube.refused(400, "POST", FOOS, custom, MEDIA_TYPE)["message"]
    wrong = envelope("v1", "DeleteOptions", message((2, message((1, "another uid")))))
    assert kube.refused(409, "DELETE", f"{FOOS}/a", wrong, MEDIA_TYPE)["reason"] == "Conflict"
    other = kube.refused(400, "DELETE", f"{FOOS}/a", envelope("v1", "ConfigMap", b""), MEDIA_TYPE)
    assert "cannot be handled as a DeleteOptions" in other["message"]


def test_definition_in_protobuf_serves_its_kind(kube: Kube) -> None:
    names = message((1, "bars"), (4, "Bar"))
    size = message((5, "integer"), (8, message((1, "2"))), (9, 9.0))
    schema = message((5, "object"), (29, message((1, "size"), (2, size))))
    version = message((1, "v1"), (2, 1), (3, 1), (4, message((1, schema))))
    spec = message((1, "example.com"), (3, names), (4, "Cluster"), (7, version))
    raw = message((1, message((1, "bars.example.com"))), (2, spec))
    kube.ok("POST", DEFINITIONS, envelope(*DEFINITION, raw), MEDIA_TYPE)
    bar = {"apiVersion": "example.com/v1", "kind": "Bar", "metadata": {"name": "a"}}
    assert kube.ok("POST", "/apis/example.com/v1/bars", bar)["size"] == 2
    too_large = {**bar, "metadata": {"name": "b"}, "size": 10}
    assert "less than or equal to 9" in kube.refused(422, "POST", "/apis/example.com/v1/bars", too_large)["message"]
