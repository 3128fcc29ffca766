from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.envtest.apiserver.openapi_builtin import schema_for
from clientgo.envtest.apiserver.protobuf import decode
from clientgo.envtest.apiserver.protobuf_types import KINDS, MESSAGES

MAGIC = b"k8s\x00"


def varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def message(*fields: tuple[int, Any]) -> bytes:
    """Encode fields as Go does: numbers as varints, texts and messages with their length."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    return MAGIC + message((1, message((1, api_version), (2, kind))), (2, raw), (3, ""), (4, ""))


def metadata(name: str, *more: tuple[int, Any]) -> bytes:
    empty = ((2, ""), (3, ""), (4, ""), (5, ""), (6, ""), (7, 0), (8, b""))
    return message((1, name), *empty, *more)


def test_config_map_is_read_without_the_zeros_go_sends() -> None:
    entry = message((1, "a"), (2, "1"))
    raw = message((1, metadata("m", (11, message((1, "x"), (2, "y"))))), (2, entry), (4, 0))
    assert decode(body("v1", "ConfigMap", raw)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "m", "labels": {"x": "y"}},
        "data": {"a": "1"},
        "immutable": False,
    }


def test_bytes_become_base64() -> None:
    raw = message((1, metadata("s")), (2, message((1, "a"), (2, b"\xff\x00"))), (3, "Opaque"))
    found = decode(body("v1", "Secret", raw))
    assert (found["data"], found["type"]) == ({"a": "/wA="}, "Opaque")


def test_pointers_keep_their_zeros_and_plain_fields_lose_them() -> None:
    container = message((1, "c"), (2, "i"), (8, b""), (6, message((1, ""), (2, 0), (3, 80), (4, "TCP"))), (16, 0))
    template = message((1, metadata("")), (2, message((2, container), (4, 0), (11, 0))))
    spec = message((1, 0), (3, template), (4, message((1, ""))), (5, 0), (7, 0))
    assert decode(body("apps/v1", "Deployment", message((1, metadata("d")), (2, spec), (3, message((1, 0))))))[
        "spec"
    ] == {
        "replicas": 0,
        "template": {
            "spec": {
                "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "protocol": "TCP"}]}],
                "terminationGracePeriodSeconds": 0,
            }
        },
    }


def test_embedded_structs_are_merged_into_the_object_around_them() -> None:
    action = message((2, message((1, "/healthz"), (2, message((1, 1), (3, "http"))))))
    probe = message((1, action), (2, 3))
    volume = message((1, "v"), (2, message((2, b""))))
    pod = message((1, metadata("p")), (2, message((1, volume), (2, message((1, "c"), (10, probe))))))
    spec = decode(body("v1", "Pod", pod))["spec"]
    assert spec["volumes"] == [{"name": "v", "emptyDir": {}}]
    assert spec["containers"][0]["livenessProbe"] == {
        "httpGet": {"path": "/healthz", "port": "http"},
        "initialDelaySeconds": 3,
    }


def test_numbers_quantities_times_and_json_are_read() -> None:
    limits = message((1, "cpu"), (2, message((1, "500m"))))
    pod = message((1, metadata("p")), (2, message((2, message((1, "c"), (8, message((1, limits))))), (5, -1))))
    spec = decode(body("v1", "Pod", pod))["spec"]
    assert (spec["containers"][0]["resources"], spec["activeDeadlineSeconds"]) == ({"limits": {"cpu": "500m"}}, -1)
    lease = message((1, metadata("l")), (2, message((1, "me"), (4, message((1, 1_700_000_000), (2, 5_000))))))
    assert decode(body("coordination.k8s.io/v1", "Lease", lease))["spec"] == {
        "holderIdentity": "me",
        "renewTime": "2023-11-14T22:13:20.000005Z",
    }
    fields = message((1, "m"), (7, message((1, '{"f:data":{}}'))))
    found = decode(body("v1", "ConfigMap", message((1, metadata("m", (17, fields))))))
    assert found["metadata"]["managedFields"] == [{"manager": "m", "fieldsV1": {"f:data": {}}}]


def test_delete_options_are_read_in_every_group() -> None:
    options = message((1, 0), (2, message((1, "u"))), (4, "Foreground"), (5, "All"))
    assert decode(body("example.com/v1", "DeleteOptions", options)) == {
        "apiVersion": "example.com/v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u"},
        "propagationPolicy": "Foreground",
        "dryRun": ["All"],
    }


@pytest.mark.feature("A-06")
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{}", "not in Kubernetes' protobuf format"),
        (body("v1", "Thing", b""), "Thing of v1 is not read in protobuf; send JSON"),
        (body("example.com/v1", "Foo", b""), "Foo of example.com/v1 is not read"),
        (body("v1", "ConfigMap", message((99, "x"))), "field 99 of ConfigMap is not read"),
        (body("v1", "ConfigMap", message((1, 7))), "a number stands where"),
        (body("v1", "ConfigMap", message((4, "x"))), "bytes stand where"),
        (body("v1", "ConfigMap", message((1, metadata("m"))))[:-6], "ends in the middle"),
        (body("v1", "ConfigMap", b"\x0b"), "unknown wire type 3"),
        (MAGIC + b"\x80", "ends in the middle of a number"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        decode(data)
    assert "\n" not in str(refused.value)


@given(st.sampled_from([(version, kind) for version, kinds in KINDS.items() for kind in kinds]), st.binary(max_size=60))
def test_any_bytes_are_either_read_or_refused(what: tuple[str, str], raw: bytes) -> None:
    try:
        found = decode(body(*what, raw))
    except ValueError:
        return
    assert found["kind"] == what[1]


def test_every_type_of_the_table_is_defined_in_it() -> None:
    rows = [row.split() for row in MESSAGES.strip().replace("\n    ", " ").splitlines()]
    defined = {row[0] for row in rows}
    assert {kind for kinds in KINDS.values() for kind in kinds} <= defined
    used = {column.split(":")[2].strip("*%!") for row in rows for column in row[1:]}
    # A status that only the kubelet writes is known by name alone.
    assert {name for name in used if len(name) > 1} - defined == {"PodStatus"}


def test_table_names_fields_as_the_generated_types_do() -> None:
    rows = {row.split()[0]: row.split()[1:] for row in MESSAGES.strip().replace("\n    ", " ").splitlines()}

    def check(schema: dict[str, Any], name: str, seen: tuple[str, ...] = ()) -> None:
        for column in rows.get(name, ()):
            _, field, kind = column.split(":")
            inner = kind.strip("*%!")
            if not field:
                check(schema, inner, (*seen, name))
                continue
            assert field in schema["properties"], f"{name}.{field}"
            part = schema["properties"][field]
            part = part.get("items", part.get("additionalProperties", part))
            if len(inner) > 1 and inner not in seen and part.get("properties"):
                check(part, inner, (*seen, name))

    for api_version, kinds in KINDS.items():
        group, _, version = api_version.rpartition("/")
        for kind in kinds:
            if kind != "DeleteOptions":
                check(schema_for(group, version, kind), kind)
