"""JSON codec: exact encoding, lenient decoding."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import pytest

from clientgo.kubernetes.types.events_v1 import Event
from clientgo.kubernetes.types.shared import Condition
from clientgo.meta import (
    EMPTY_MAP,
    Meta,
    MicroTime,
    ObjectMeta,
    OwnerReference,
    Undecodable,
    Unencodable,
    api_type,
    decode,
    encode,
    from_dict,
    replace,
    to_dict,
)
from clientgo.meta.codec import codec_for, encode_value, identity
from tests.meta.nesting_limit import DEEP

UNNAMED = ObjectMeta()


@dataclass(frozen=True, slots=True)
class Port:
    number: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class FooSpec:
    deployment_name: str = ""
    replicas: Annotated[int | None, Meta(ge=1, le=10)] = None
    ports: tuple[Port, ...] = ()
    tags: Mapping[str, str] = EMPTY_MAP
    extra: dict[str, Any] = field(default_factory=dict)
    renewed: MicroTime | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class FooStatus:
    available_replicas: int = 0


@api_type(group="samplecontroller.k8s.io", version="v1alpha1")
@dataclass(frozen=True, slots=True)
class Foo:
    metadata: ObjectMeta = UNNAMED
    spec: FooSpec = FooSpec()
    status: FooStatus = FooStatus()


class DeploymentSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    replicas: int | None = None
    paused: bool = False


@api_type(group="apps", version="v1")
class Deployment(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    metadata: ObjectMeta = UNNAMED
    spec: DeploymentSpec = DeploymentSpec()


def named(**spec: Any) -> bytes:
    return json.dumps({"metadata": {"name": "x", "namespace": "ns"}, "spec": spec}).encode()


FULL = Foo(
    metadata=ObjectMeta(
        name="x",
        namespace="ns",
        labels={"a": "b"},
        creation_timestamp=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        owner_references=(OwnerReference(kind="Bar", name="y", uid="u", controller=True),),
    ),
    spec=FooSpec(
        "d",
        3,
        (Port(80, "http"), Port(81)),
        {"k": "v"},
        {"any": [1, None, {"b": 1.5}]},
        MicroTime.of(datetime(2026, 1, 2, 3, 4, 5, 6, UTC)),
        datetime(2026, 1, 2, tzinfo=UTC),
    ),
    status=FooStatus(2),
)


def test_object_is_encoded_with_api_names_and_kind() -> None:
    assert to_dict(FULL) == {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "metadata": {
            "name": "x", "namespace": "ns", "labels": {"a": "b"}, "creationTimestamp": "2026-01-02T03:04:05Z",
            "ownerReferences": [{"kind": "Bar", "name": "y", "uid": "u", "controller": True}],
        },
        "spec": {
            "deploymentName": "d",
            "replicas": 3,
            "ports": [{"number": 80, "name": "http"}, {"number": 81}],
            "tags": {"k": "v"},
            "extra": {"any": [1, None, {"b": 1.5}]},
            "renewed": "2026-01-02T03:04:05.000006Z",
            "since": "2026-01-02T00:00:00Z",
        },
        "status": {"availableReplicas": 2},
    }  # fmt: skip


def test_defaults_are_omitted() -> None:
    assert encode(Deployment()) == b'{"apiVersion":"apps/v1","kind":"Deployment"}'
    assert to_dict(Foo())["spec"] == {}


@pytest.mark.parametrize(
    ("part", "content"),
    [
        (
            Condition(type="Ready", status="True", reason="Up", last_transition_time=datetime(2026, 1, 2, tzinfo=UTC)),
            {
                "type": "Ready", "status": "True", "reason": "Up", "message": "",
                "lastTransitionTime": "2026-01-02T00:00:00Z",
            },
        ),
        (FooSpec(ports=(Port(80),), extra={"a": [None]}), {"ports": [{"number": 80}], "extra": {"a": [None]}}),
        (FooSpec(), {}),
        (ObjectMeta(name="x"), {"name": "x"}),
    ],
)  # fmt: skip
def test_part_of_an_object_has_a_dict_too(part: Any, content: dict[str, Any]) -> None:
    assert to_dict(part) == content
    assert from_dict(type(part), content) == part


def test_part_is_decoded_and_encoded_as_within_an_object() -> None:
    part = from_dict(Port, {"number": 80, "name": None, "unknown": 1})
    assert (type(part), part) == (Port, Port(80))
    with pytest.raises(
        Undecodable, match=r"^Port without a name cannot be decoded: the required field `number` is missing"
    ):
        from_dict(Port, {"name": "http"})
    with pytest.raises(Unencodable, match=r"since as JSON: .* has no time zone"):
        to_dict(FooSpec(since=datetime(2026, 1, 2)))  # without a time zone


@pytest.mark.parametrize("value", [type("Bar", (Foo,), {})(), {"a": 1}, 1])
def test_what_is_neither_an_object_nor_a_part_has_no_dict(value: object) -> None:
    with pytest.raises(TypeError, match="is not an API kind"):
        to_dict(value)


def test_decoded_object_consists_of_the_users_classes() -> None:
    foo = decode(Foo, encode(FULL))
    assert type(foo) is Foo
    assert type(foo.spec) is FooSpec
    assert [type(port) for port in foo.spec.ports] == [Port, Port]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02T03:04:05.000006Z", datetime(2026, 1, 2, 3, 4, 5, 6, UTC)),
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T05:04:05.123456+02:00", datetime(2026, 1, 2, 3, 4, 5, 123456, UTC)),
        ("2026-01-02T03:04:05.123456789Z", datetime(2026, 1, 2, 3, 4, 5, 123456, UTC)),
    ],
)
def test_micro_times_of_any_precision_are_read(text: str, expected: datetime) -> None:
    renewed = decode(Foo, named(renewed=text)).spec.renewed
    assert (renewed, type(renewed)) == (expected, MicroTime)


def test_constraints_are_not_enforced_when_reading() -> None:
    assert decode(Foo, named(replicas=99)).spec.replicas == 99


def test_unknown_fields_are_ignored() -> None:
    data = (
        b'{"apiVersion":"v9","kind":"Bar","new":1,"spec":{"deploymentName":"d","newer":[{}]},"metadata":{"newest":{}}}'
    )
    assert decode(Foo, data) == Foo(spec=FooSpec("d"))


def test_nulls_read_as_absent_at_every_depth() -> None:
    data = (
        b'{"metadata":{"name":"x","labels":null,"ownerReferences":null,"creationTimestamp":null,"generation":null},'
        b'"spec":{"deploymentName":null,"replicas":null,"ports":null,"tags":{"k":null},"extra":null},"status":null}'
    )
    assert decode(Foo, data) == Foo(metadata=ObjectMeta(name="x"))
    assert decode(Foo, b'{"metadata":null,"spec":null}') == Foo()
    assert decode(Deployment, b'{"metadata":null,"spec":{"paused":null,"replicas":2}}').spec.replicas == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (named(replicas="three"), r"Foo ns/x cannot be decoded: .*\$\.spec\.replicas"),
        (named(ports=[{"name": "no number"}]), r"Foo ns/x cannot be decoded: .*number"),
        (named(renewed="yesterday"), r"Foo ns/x cannot be decoded: .*\$\.spec\.renewed"),
        (b'{"metadata":{"name":"x","labels":{"a":1}}}', r"Foo x cannot be decoded"),
        (b'{"metadata":{"name":5}}', r"Foo without a name cannot be decoded: .*name"),
        (b"[]", r"Foo without a name cannot be decoded"),
        (b"{", r"Foo without a name cannot be decoded"),
        (b"", r"Foo without a name cannot be decoded"),
        (b'{"spec":{"deploymentName":"\xff"}}', r"Foo without a name cannot be decoded"),
        (b'{"x":' + DEEP + b"}", r"Foo without a name cannot be decoded"),
    ],
)
def test_undecodable_object_is_named_in_the_error(data: bytes, message: str) -> None:
    with pytest.raises(Undecodable, match=message):
        decode(Foo, data)


def test_undecodable_error_has_the_readable_metadata() -> None:
    data = b'{"metadata":{"name":"x","namespace":"ns","uid":"u","resourceVersion":"7","labels":5},"spec":{}}'
    with pytest.raises(Undecodable) as caught:
        decode(Foo, data)
    assert caught.value.metadata == ObjectMeta(name="x", namespace="ns", uid="u", resource_version="7")
    assert caught.value.kind == "Foo"
    assert identity(b'{"metadata":{"name":"x","labels":{"a":"b"}}}') == ObjectMeta(name="x", labels={"a": "b"})
    assert identity(b"{}") == identity(b"5") == identity(b"\xff") == ObjectMeta()


def page(*items: bytes) -> bytes:
    return b'{"metadata":{"resourceVersion":"9","continue":"t"},"items":[' + b",".join(items) + b"]}"


@pytest.mark.parametrize("bad", [named(replicas="three"), b"null", b"5", b'{"metadata":{"name":"\xff"}}'])
def test_undecodable_object_in_a_list_is_reported_separately(bad: bytes) -> None:
    result = codec_for(Foo).decode_list(page(named(replicas=1), bad, named(replicas=2)))
    assert [foo.spec.replicas for foo in result.items] == [1, 2]
    assert [type(error) for error in result.undecodable] == [Undecodable]
    assert (result.metadata.resource_version, result.metadata.continue_) == ("9", "t")


@pytest.mark.parametrize("data", [b'{"items":null}', b'{"items":[]}', b"{}", b'{"metadata":null,"items":null}'])
def test_empty_list_has_many_forms(data: bytes) -> None:
    result = codec_for(Foo).decode_list(data)
    assert (result.items, result.undecodable, result.metadata.resource_version) == ([], (), "")


@pytest.mark.parametrize("data", [b"[]", b'{"items":5}', b"", b"{", b'{"items":[\xff'])
def test_invalid_list_is_undecodable(data: bytes) -> None:
    with pytest.raises(Undecodable, match=r"^FooList without a name cannot be decoded"):
        codec_for(Foo).decode_list(data)


@pytest.mark.feature("B-REF-14")
@pytest.mark.parametrize("remainder", [b'"rows":[]', b'"items":[{"metadata":5}]'])
def test_table_is_rejected_instead_of_an_empty_list(remainder: bytes) -> None:
    table = b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},' + remainder + b"}"
    with pytest.raises(Undecodable, match=r"^FooList .* cannot be decoded: it is a table \(meta.k8s.io/v1\)$"):
        codec_for(Foo).decode_list(table)


def test_the_official_clients_models_are_accepted() -> None:
    client = pytest.importorskip("kubernetes.client")
    theirs = client.V1Deployment(
        api_version="wrong/v0",
        kind="Wrong",
        metadata=client.V1ObjectMeta(name="x", labels={"a": "b"}),
        spec=client.V1DeploymentSpec(
            replicas=2,
            selector=client.V1LabelSelector(match_labels={"a": "b"}),
            template=client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels={"a": "b"})),
        ),
    )
    data = codec_for(Deployment).encode(theirs)
    assert json.loads(data) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x", "labels": {"a": "b"}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}},
        },
    }
    assert decode(Deployment, data).spec.replicas == 2


@pytest.mark.parametrize("thing", [5, "text", {"kind": "Foo"}, Port(1)])
def test_object_that_is_no_api_object_is_rejected(thing: object) -> None:
    with pytest.raises(TypeError, match="is not an API"):
        encode(thing)


def test_class_has_one_codec() -> None:
    assert codec_for(Foo) is codec_for(Foo)


def test_any_json_value_can_be_encoded() -> None:
    value = {"a": Port(1, "x"), "b": DeploymentSpec(replicas=1), "c": EMPTY_MAP, "d": FULL.spec.renewed}
    assert json.loads(encode_value(value)) == {
        "a": {"number": 1, "name": "x"}, "b": {"replicas": 1}, "c": {}, "d": "2026-01-02T03:04:05.000006Z",
    }  # fmt: skip


def test_replace_copies_dataclasses_and_structs() -> None:
    foo = replace(FULL, status=FooStatus(5))
    assert (foo.status.available_replicas, FULL.status.available_replicas, foo.spec) == (5, 2, FULL.spec)
    deployment = replace(Deployment(), spec=DeploymentSpec(replicas=4))
    assert deployment.spec.replicas == 4
    with pytest.raises(TypeError):
        replace(FULL, no_such_field=1)


def test_event_that_another_api_wrote_has_no_event_time() -> None:
    assert decode(Event, b'{"metadata":{"name":"e"},"eventTime":null}').event_time is None
