"""Dynamic and metadata clients, informers and listers."""

import threading
from typing import Any

import pytest

from clientgo.dynamic import DynamicClientset, DynamicInformerFactory, Unstructured
from clientgo.dynamic.codec import UnstructuredCodec
from clientgo.dynamic.unstructured import metadata_type, unstructured_type
from clientgo.errors import NotFound
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import GroupVersionResource, ObjectMeta, Undecodable, decode, encode, from_dict, replace, to_dict
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.kubernetes import FakeClientset

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
WIDGETS = GroupVersionResource("example.com", "v1", "widgets")


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="ns", labels={"app": "x"}), data=data)


def clients(*objects: Any) -> tuple[FakeClientset, DynamicClientset]:
    fake = FakeClientset(*objects)
    return fake, DynamicClientset(fake.requester)


CODEC = UnstructuredCodec(unstructured_type(WIDGETS, kind="Widget"))


def test_unstructured_object_holds_any_content() -> None:
    widget = CODEC.decode(
        b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","labels":null,"uid":"u"},'
        b'"spec":{"size":3,"tags":["x"]},"odd":1.5}'
    )
    assert (widget.metadata.name, widget.metadata.uid, dict(widget.metadata.labels)) == ("a", "u", {})
    assert str(widget.gvk) == "example.com/v1, Kind=Widget"
    assert (widget["spec"]["size"], widget.get("spec", "size"), widget.get("spec", "no", "such")) == (3, 3, None)
    assert widget.get("odd", "below", default=7) == 7


def test_nulls_in_unstructured_objects_read_as_absent_only_in_the_metadata() -> None:
    widget = CODEC.decode(
        b'{"metadata":{"name":"a","labels":{"x":null,"y":"z"},"ownerReferences":[{"uid":"u","controller":null}],'
        b'"creationTimestamp":null},"spec":{"a":null,"b":[null]}}'
    )
    assert dict(widget.metadata.labels) == {"y": "z"}
    assert [owner.uid for owner in widget.metadata.owner_references] == ["u"]
    assert widget.to_dict()["spec"] == {"a": None, "b": [None]}


def test_unstructured_object_round_trips_with_its_kind() -> None:
    text: dict[str, Any] = {
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"n": [1]},
    }  # fmt: skip
    widget = CODEC.decode(encode_json(text))
    assert widget.to_dict() == text
    assert CODEC.decode(CODEC.encode(widget)) == widget
    assert CODEC.decode(CODEC.encode({"metadata": {"name": "b"}})).kind == "Widget"


def encode_json(value: Any) -> bytes:
    return CODEC.encode(value)


def test_changed_copy_shares_no_mutable_state() -> None:
    widget = Unstructured(metadata=ObjectMeta(name="a"), content={"spec": {"n": 1}})
    used = widget.to_dict()
    used["spec"]["n"] = 2
    assert widget.get("spec", "n") == 1
    assert replace(widget, metadata=ObjectMeta(name="b")).content is widget.content


@pytest.mark.parametrize("cls", [unstructured_type(WIDGETS, kind="Widget"), unstructured_type(WIDGETS), Unstructured])
def test_unstructured_objects_convert_to_dicts_and_back(cls: type[Unstructured]) -> None:
    plain = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"sizes": [1, {}]}}
    result = from_dict(cls, plain)
    assert (type(result), result["spec"]) == (cls, plain["spec"])
    assert to_dict(result) == plain == result.to_dict()
    assert decode(cls, encode(result)) == result


def test_fake_stores_unstructured_objects_with_their_kind() -> None:
    widgets = unstructured_type(WIDGETS, kind="Widget")
    built = widgets(metadata=ObjectMeta(name="a", namespace="ns"), content={"spec": {"size": 1}})
    _, dynamic = clients(built)
    assert dynamic.resource(WIDGETS, "ns", kind="Widget").get("a")["spec"] == {"size": 1}


def test_items_get_the_kind_of_the_list_and_invalid_ones_are_reported() -> None:
    page = CODEC.decode_list(
        b'{"apiVersion":"example.com/v1","kind":"WidgetList","metadata":{"resourceVersion":"7"},'
        b'"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"bad","labels":3}}]}'
    )
    assert [(item.api_version, item.kind, item.metadata.name) for item in page.items] == [
        ("example.com/v1", "Widget", "a")
    ]
    assert page.metadata.resource_version == "7"
    assert [error.metadata.name for error in page.undecodable] == ["bad"]


@pytest.mark.behaviour("RL-34")
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_table_is_rejected_as_a_list(version: str) -> None:
    table = f'{{"apiVersion":"meta.k8s.io/{version}","kind":"Table","rows":[]}}'.encode()
    with pytest.raises(Undecodable, match=f"it is a table \\(meta.k8s.io/{version}\\)"):
        CODEC.decode_list(table)
    assert CODEC.decode_list(b'{"apiVersion":"example.com/v1","kind":"Table"}').items == []


@pytest.mark.parametrize("text", [b"[]", b"{", b'{"metadata":[]}', b'{"items":3}'])
def test_invalid_unstructured_object_is_undecodable(text: bytes) -> None:
    with pytest.raises(Undecodable, match="Widget"):
        CODEC.decode(text) if text != b'{"items":3}' else CODEC.decode_list(text)


def test_each_resource_has_one_class() -> None:
    assert unstructured_type(WIDGETS) is unstructured_type(WIDGETS)
    assert unstructured_type(WIDGETS) is not unstructured_type(WIDGETS, namespaced=False)
    assert metadata_type(WIDGETS) is metadata_type(WIDGETS)


def test_dynamic_client_has_the_verbs_of_typed_clients() -> None:
    fake, dynamic = clients(config_map("a", k="1"))
    maps = dynamic.resource(CONFIG_MAPS, "ns", kind="ConfigMap")
    stored = maps.get("a")
    assert (stored.kind, stored["data"]) == ("ConfigMap", {"k": "1"})
    maps.update(replace(stored, content={"data": {"k": "2"}}))
    maps.patch("a", {"data": {"more": "3"}})
    created = maps.create(Unstructured(metadata=ObjectMeta(name="b", namespace="ns"), content={"data": {}}))
    assert created.metadata.name == "b"
    typed = fake.core_v1.config_maps("ns").get("a")
    assert typed.data == {"k": "2", "more": "3"}
    assert sorted(item.metadata.name for item in maps.list().items) == ["a", "b"]
    maps.delete("b")
    with pytest.raises(NotFound):
        maps.get("b")


@pytest.mark.feature("B-FAC-07")
def test_dynamic_informer_follows_its_resource() -> None:
    fake, dynamic = clients(config_map("a", k="1"))
    factory = DynamicInformerFactory(dynamic)
    informer = factory.for_resource(CONFIG_MAPS)
    assert factory.for_resource(CONFIG_MAPS) is informer
    handler: RecordingHandler[Unstructured] = RecordingHandler()
    informer.add_event_handler(on_add=handler.on_add, on_update=handler.on_update, on_delete=handler.on_delete)
    stop = threading.Event()
    factory.start(stop)
    assert handler.wait_for(1) == [("add", "ns/a")]
    fake.core_v1.config_maps("ns").update(config_map("a", k="2"))
    fake.core_v1.config_maps("ns").delete("a")
    assert handler.wait_for(3)[1:] == [("update", "ns/a"), ("delete", "ns/a")]
    assert handler.recorded[1].new["data"] == {"k": "2"}
    factory.shutdown(timeout=10)


@pytest.mark.feature("B-LIS-03")
def test_lister_of_any_resource_reads_its_cache() -> None:
    _, dynamic = clients(config_map("a"))
    factory = DynamicInformerFactory(dynamic)
    lister, stop = factory.lister_for(CONFIG_MAPS), threading.Event()
    factory.start(stop)
    assert factory.wait_for_cache_sync(stop, timeout=10)
    assert lister.in_namespace("ns").get("a").metadata.labels["app"] == "x"
    with pytest.raises(NotFound, match='configmaps "nope" not found'):
        lister.in_namespace("ns").get("nope")
    factory.shutdown(timeout=10)
