"""Maps and lists of API objects are read-only, and convert to plain ones."""

import copy
import dataclasses
import json
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import pytest
import yaml

from clientgo.dynamic.codec import UnstructuredCodec
from clientgo.dynamic.unstructured import Unstructured, metadata_type, unstructured_type
from clientgo.kubernetes.types.apiextensions_v1 import CustomResourceDefinition
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.meta import EMPTY_MAP, GroupVersionResource, Meta, ObjectMeta, api_type, decode, encode, replace, to_dict
from clientgo.meta.codec import Codec, codec_for
from clientgo.meta.objects import ManagedFieldsEntry
from clientgo.meta.readonly import ReadOnlyDict, ReadOnlyList, freeze, protect, read_only

TREE = {"a": {"b": [1, {"c": None}], "d": {}}, "e": [[]], "f": "x"}
METADATA = {"name": "x", "labels": {"a": "b"}, "annotations": {}, "managedFields": [{"fieldsV1": {"f:spec": {}}}]}
POD = {
    "nodeSelector": {"disk": "ssd"},
    "containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}}],
    "volumes": [{"name": "v", "csi": {"driver": "d", "volumeAttributes": {"a": "b"}}}],
}


@dataclass(frozen=True, slots=True)
class Inner:
    tags: Mapping[str, str] = EMPTY_MAP


@dataclass(frozen=True)
class Shelf:
    """Without slots, and with every sort of field that can hold a map or a list."""

    tags: Annotated[Mapping[str, str], Meta(max_properties=3)] = EMPTY_MAP
    free: Any = None
    parts: Mapping[str, Inner] = EMPTY_MAP
    rows: tuple[Mapping[str, str], ...] = ()
    names: list[str] = dataclasses.field(default_factory=list)
    later: "Mapping[str, str] | None" = None


@api_type(group="example.com", version="v1")
@dataclass(frozen=True, slots=True)
class Library:
    metadata: ObjectMeta
    spec: Shelf = Shelf()


SHELF = {
    "tags": {"a": "b"}, "free": TREE, "parts": {"p": {"tags": {"a": "b"}}}, "rows": [{"a": "b"}], "names": ["n"],
    "later": {"a": "b"},
}  # fmt: skip
SCHEMA = {"type": "object", "default": TREE, "properties": {"a": {"type": "string", "enum": [["x"]]}}}
KINDS: list[tuple[type, dict[str, Any]]] = [
    (ConfigMap, {"data": {"a": "b"}, "binaryData": {"a": "eA=="}}),
    (Secret, {"data": {"a": "eA=="}, "stringData": {"a": "b"}}),
    (Deployment, {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": METADATA, "spec": POD}}}),
    (CustomResourceDefinition, {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": SCHEMA}}]}}),
    (Library, {"spec": SHELF}),
    (unstructured_type(GroupVersionResource("example.com", "v1", "trees"), kind="Tree"), {"spec": TREE}),
    (metadata_type(GroupVersionResource("example.com", "v1", "trees")), {}),
]
EACH_KIND = pytest.mark.parametrize(("cls", "content"), KINDS, ids=[cls.__name__ for cls, _ in KINDS])


def codec_of(cls: type) -> Codec[Any]:
    return UnstructuredCodec(cls) if issubclass(cls, Unstructured) else codec_for(cls)


def decoded(cls: type, content: dict[str, Any]) -> Any:
    return codec_of(cls).decode(json.dumps({"metadata": METADATA, **content}).encode())


def containers(value: Any) -> Iterator[Any]:
    """Every dict and list that can be reached from an object by its attributes."""
    if isinstance(value, dict | list):
        yield value
    if isinstance(value, dict):
        value = tuple(value.values())
    elif isinstance(value, msgspec.Struct):
        value = tuple(getattr(value, name) for name in value.__struct_fields__)
    elif dataclasses.is_dataclass(value):
        value = tuple(getattr(value, field.name) for field in dataclasses.fields(value))
    if isinstance(value, tuple | list):
        for part in value:
            yield from containers(part)


@EACH_KIND
def test_no_part_of_a_decoded_object_can_be_changed(cls: type, content: dict[str, Any]) -> None:
    result = list(containers(decoded(cls, content)))
    assert {"a": "b"} in result
    for part in result:
        with pytest.raises(TypeError, match="read-only"):
            part.clear()


@EACH_KIND
def test_reading_changes_neither_json_nor_equality_nor_pickles(cls: type, content: dict[str, Any]) -> None:
    obj, untouched = decoded(cls, content), decoded(cls, content)
    assert list(containers(obj))
    codec = codec_of(cls)
    assert codec.encode(obj) == codec.encode(untouched)
    assert obj == untouched
    assert copy.deepcopy(obj) == untouched


def test_object_that_was_read_can_be_pickled() -> None:
    for cls, content in KINDS[:5]:
        obj = decoded(cls, content)
        assert list(containers(obj))
        assert pickle.loads(pickle.dumps(obj)) == obj


MUTATIONS: list[tuple[Any, Callable[[Any], object]]] = [
    ({"a": 1}, lambda x: x.__setitem__("b", 1)),
    ({"a": 1}, lambda x: x.__delitem__("a")),
    ({"a": 1}, lambda x: x.update(b=1)),
    ({"a": 1}, lambda x: x.setdefault("b", 1)),
    ({"a": 1}, lambda x: x.pop("a")),
    ({"a": 1}, lambda x: x.popitem()),
    ({"a": 1}, lambda x: x.clear()),
    ({"a": 1}, lambda x: x.__ior__({"b": 1})),
    ([2, 1], lambda x: x.__setitem__(0, 3)),
    ([2, 1], lambda x: x.__delitem__(0)),
    ([2, 1], lambda x: x.append(3)),
    ([2, 1], lambda x: x.extend([3])),
    ([2, 1], lambda x: x.insert(0, 3)),
    ([2, 1], lambda x: x.remove(1)),
    ([2, 1], lambda x: x.pop()),
    ([2, 1], lambda x: x.clear()),
    ([2, 1], lambda x: x.sort()),
    ([2, 1], lambda x: x.reverse()),
    ([2, 1], lambda x: x.__iadd__([3])),
    ([2, 1], lambda x: x.__imul__(2)),
]


@pytest.mark.parametrize(("value", "mutation"), MUTATIONS)
def test_every_mutating_method_raises(value: Any, mutation: Callable[[Any], object]) -> None:
    frozen = read_only(value)
    with pytest.raises(TypeError, match=r"replace\(\)"):
        mutation(frozen)
    assert frozen == value


@pytest.mark.parametrize("name", sorted({*vars(dict), *vars(list)}))
def test_there_is_no_further_mutating_method(name: str) -> None:
    reading = {
        "__class_getitem__", "__contains__", "__doc__", "__eq__", "__ge__", "__getattribute__", "__getitem__", "__gt__",
        "__hash__", "__init__", "__iter__", "__le__", "__len__", "__lt__", "__ne__", "__new__", "__or__", "__repr__",
        "__reversed__", "__ror__", "__sizeof__", "copy", "fromkeys", "get", "items", "keys", "values", "__add__",
        "__mul__", "__rmul__", "count", "index",
    }  # fmt: skip
    for plain, local in ((dict, ReadOnlyDict), (list, ReadOnlyList)):
        if name in vars(plain):
            assert name in reading or name in vars(local)


COPIES: list[Callable[[Any], Any]] = [
    dict,
    lambda x: x | {},
    lambda x: {} | x,
    lambda x: {**x},
    lambda x: x.copy(),
    copy.copy,
    copy.deepcopy,
    lambda x: pickle.loads(pickle.dumps(x)),
    lambda x: json.loads(json.dumps(x)),
    lambda x: yaml.safe_load(yaml.safe_dump(x)),  # noqa: TID251  # users' own dumps
    lambda x: yaml.safe_load(yaml.dump(x)),  # noqa: TID251  # users' own dumps
    lambda x: yaml.safe_load(yaml.dump(x, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))),  # noqa: TID251  # users' own dumps
]


@pytest.mark.parametrize("built", COPIES)
def test_copies_are_plain_dicts(built: Callable[[Any], Any]) -> None:
    for original in (read_only(TREE), read_only({"a": "b"})):
        result = built(original)
        assert result == original
        assert type(result) is dict


@pytest.mark.parametrize("built", [produced for produced in COPIES if produced not in (copy.copy, copy.deepcopy)][:-5])
def test_copies_of_the_empty_map_are_plain_dicts(built: Callable[[Any], Any]) -> None:
    assert type(built(EMPTY_MAP)) is dict


def test_the_empty_map_is_json_and_yaml_like_any_other() -> None:
    assert (json.dumps(EMPTY_MAP), yaml.safe_dump({"a": EMPTY_MAP})) == ("{}", "a: {}\n")  # noqa: TID251  # a user's own dump


def test_the_deepest_tree_the_decoder_reads_is_made_read_only() -> None:
    tree = msgspec.json.decode(b'{"a":[' * 400 + b"{}" + b"]}" * 400)
    result = read_only(tree)
    assert result == tree
    for _ in range(400):
        result = result["a"][0]
    assert result is EMPTY_MAP


def test_map_is_the_same_at_every_read() -> None:
    meta = decoded(ConfigMap, {}).metadata
    assert meta.labels is meta.labels


@pytest.mark.parametrize("labels", [{"a": "b"}, OrderedDict(a="b")], ids=["dict", "subclass"])
def test_given_map_is_copied_at_the_first_read(labels: dict[str, str]) -> None:
    meta = ObjectMeta(labels=labels)
    assert meta.labels == {"a": "b"}
    labels["c"] = "d"
    assert meta.labels == {"a": "b"}


@EACH_KIND
@pytest.mark.parametrize("empty", [False, True])
def test_frozen_object_shares_no_map_with_its_creator(cls: type, content: dict[str, Any], empty: bool) -> None:
    original = decoded(cls, content)
    free: dict[str, Any] = {} if empty else {"a": {"b": [{}]}}
    changed = replace(original, metadata=replace(original.metadata, labels=free, managed_fields=(entry(free),)))
    before = copy.deepcopy(to_dict(changed))
    freeze(changed, original)
    free["x"] = "later"
    free.get("a", {})["x"] = "later"
    assert to_dict(changed) == before
    assert list(containers(changed))
    assert to_dict(changed) == before


def entry(fields: dict[str, Any]) -> ManagedFieldsEntry:
    return ManagedFieldsEntry(fields_v1=fields)


def test_parts_of_the_original_are_not_frozen_again() -> None:
    tags = {"a": "b"}
    original = Library(ObjectMeta(name="x"), Shelf(tags=tags))
    freeze(replace(original, metadata=ObjectMeta(name="x", labels={"a": "b"})), original)
    assert vars(original.spec)["tags"] is tags
    freeze(original)
    assert vars(original.spec)["tags"] is not tags


def test_objects_in_maps_and_lists_are_frozen() -> None:
    free = {"a": "b"}
    shelf = Shelf(parts={"p": Inner(free)}, free=[{"inner": (Inner(free),)}])
    freeze(shelf)
    free["a"] = "later"
    assert shelf.parts["p"].tags == shelf.free[0]["inner"][0].tags == {"a": "b"}


def test_tuples_of_maps_are_read_only() -> None:
    protect(Shelf)
    shelf = Shelf(rows=({"a": "b"},))
    with pytest.raises(TypeError, match="read-only"):
        shelf.rows[0]["a"] = "c"  # type: ignore[index]


def test_edit_leaves_the_original() -> None:
    config = decoded(ConfigMap, {"data": {"a": "b"}})
    edited = replace(config, data=config.data | {"c": "d"})
    assert (config.data, edited.data) == ({"a": "b"}, {"a": "b", "c": "d"})
    assert to_dict(edited)["data"] == {"a": "b", "c": "d"}


def test_empty_map_is_omitted_after_a_read() -> None:
    class Sparse(msgspec.Struct, frozen=True, omit_defaults=True):
        tags: Mapping[str, str] = msgspec.field(default_factory=dict)

    protect(Sparse)
    sparse = Sparse()
    assert sparse.tags is EMPTY_MAP
    assert msgspec.json.encode(sparse) == b"{}"


def test_subclass_keeps_the_defaults_of_its_guarded_base() -> None:
    protect(Shelf)
    protect(Inner)

    @dataclass(frozen=True)
    class Wider(Shelf):
        tags: Mapping[str, str]

    @dataclass(frozen=True, slots=True)
    class Required(Inner):
        tags: Mapping[str, str]

    assert Wider().tags is EMPTY_MAP  # type: ignore[call-arg]  # dataclasses find the base's default
    assert Required({"a": "b"}).tags == {"a": "b"}


def test_objects_in_maps_keep_their_identity() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    inner = Inner()
    result = read_only({"at": at, "inner": (inner,)})
    assert result["inner"][0] is inner
    assert result["at"] is at


def test_encoding_and_first_reads_in_many_threads_agree() -> None:
    data = encode(decoded(Deployment, KINDS[2][1]))
    for _ in range(20):
        obj = decode(Deployment, data)
        start, results = threading.Barrier(4), list[bytes]()

        def look(obj: Deployment = obj, start: threading.Barrier = start, results: list[bytes] = results) -> None:
            start.wait(10.0)
            assert list(containers(obj))
            results.append(encode(obj))

        threads = [threading.Thread(target=look) for _ in range(4)]  # noqa: TID251  # joined right here
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10.0)
        assert results == [data] * 4
