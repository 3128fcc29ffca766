"""Indexer, and the names of tombstones."""

import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.cache import NAMESPACE_INDEX, DeletedFinalStateUnknown, Indexer, by_namespace, last_known
from clientgo.cache.state import ObjectFailure
from clientgo.errors import CallbackFailed
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.meta import ObjectMeta, ObjectName, object_name, replace


def config_map(name: str, *, namespace: str = "default", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


def words(obj: ConfigMap) -> list[str]:
    return [word for word in obj.data.get("words", "").split(",") if word]


@pytest.fixture
def indexer() -> Indexer[ConfigMap]:
    return Indexer({"words": words})


def names(objects: list[ConfigMap]) -> set[str]:
    return {obj.metadata.name for obj in objects}


@pytest.mark.feature("B-STO-05")
@pytest.mark.behaviour("ST-01")
def test_objects_are_added_updated_deleted_and_replaced(indexer: Indexer[ConfigMap]) -> None:
    indexer.add(config_map("foo", words="bar"))
    assert indexer.get_by_key(ObjectName("default", "foo")) == config_map("foo", words="bar")
    indexer.update(config_map("foo", words="baz"))
    assert indexer.get(config_map("foo")) == config_map("foo", words="baz")
    indexer.delete(config_map("foo"))
    assert indexer.get(config_map("foo")) is None
    for name in ("a", "c", "e"):
        indexer.add(config_map(name))
    assert names(indexer.list()) == {"a", "c", "e"}
    indexer.replace([config_map("foo"), config_map("bar")])
    assert names(indexer.list()) == {"foo", "bar"}


@pytest.mark.feature("B-STO-08")
@pytest.mark.behaviour("ST-05")
def test_index_finds_objects_that_share_a_value(indexer: Indexer[ConfigMap]) -> None:
    for name, word in (("a", "b"), ("c", "b"), ("e", "f"), ("g", "h")):
        indexer.add(config_map(name, words=word))
    assert names(indexer.index("words", config_map("x", words="b"))) == {"a", "c"}
    assert indexer.index_keys("words", "b") == [ObjectName("default", "a"), ObjectName("default", "c")]


@pytest.mark.feature("B-STO-10")
@pytest.mark.behaviour("IX-01")
@pytest.mark.behaviour("TS-02")
@pytest.mark.behaviour("TS-01")
@pytest.mark.behaviour("TS-03")
def test_index_values_follow_every_change(indexer: Indexer[ConfigMap]) -> None:
    steps = [
        ("key1", "foo", {"foo": "1"}),
        ("key2", "bar", {"foo": "1", "bar": "2"}),
        ("key2", "foo,bar", {"foo": "12", "bar": "2"}),
        ("key1", "foo,bar", {"foo": "12", "bar": "12"}),
        ("key3", "foo,bar,baz", {"foo": "123", "bar": "123", "baz": "3"}),
        ("key1", "foo", {"foo": "123", "bar": "23", "baz": "3"}),
        ("key2", "bar", {"foo": "13", "bar": "23", "baz": "3"}),
        ("key1", None, {"foo": "3", "bar": "23", "baz": "3"}),
        ("key3", None, {"bar": "2"}),
    ]
    for key, value, expected in steps:
        if value is None:
            indexer.delete(config_map(key))
        else:
            indexer.update(config_map(key, words=value))
        result = {v: "".join(k.name[-1] for k in indexer.index_keys("words", v)) for v in indexer.index_values("words")}
        assert result == expected


@pytest.mark.feature("B-STO-08", "B-STO-11")
def test_index_added_later_includes_stored_objects(indexer: Indexer[ConfigMap]) -> None:
    indexer.add(config_map("a", namespace="x"))
    indexer.add_indexers({NAMESPACE_INDEX: by_namespace})
    assert names(indexer.by_index(NAMESPACE_INDEX, "x")) == {"a"}
    with pytest.raises(ValueError, match="indexer conflict: namespace"):
        indexer.add_indexers({NAMESPACE_INDEX: by_namespace})


@pytest.mark.feature("B-STO-08")
def test_unknown_index_is_an_error_and_has_no_values(indexer: Indexer[ConfigMap]) -> None:
    with pytest.raises(KeyError, match="Index with name nope does not exist"):
        indexer.by_index("nope", "x")
    assert indexer.index_values("nope") == []


@pytest.mark.feature("B-STO-13")
@pytest.mark.behaviour("ST-02")
def test_store_can_transform_added_objects() -> None:
    seen: list[str] = []

    def transform(obj: ConfigMap) -> ConfigMap:
        seen.append(obj.metadata.name)
        return obj

    store: Indexer[ConfigMap] = Indexer(transform=transform)
    store.add(config_map("foo", words="bar"))
    assert store.get(config_map("foo")) == config_map("foo", words="bar")
    store.update(config_map("foo", words="baz"))
    assert store.get(config_map("foo")) == config_map("foo", words="baz")
    store.delete(config_map("foo"))
    assert store.get(config_map("foo")) is None
    store.replace([config_map("foo"), config_map("bar")], "0")
    assert names(store.list()) == {"foo", "bar"}
    assert seen == ["foo", "foo", "foo", "bar"]


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (lambda obj: None, "returned a NoneType, expected a ConfigMap"),
        (lambda obj: Secret(metadata=obj.metadata), "returned a Secret, expected a ConfigMap"),
        (lambda obj: config_map("bar"), "returned an object named default/bar, expected default/foo"),
        (lambda obj: replace(obj, metadata=None), "AttributeError"),
        (lambda obj: obj.data["team"], "KeyError: 'team'"),
        (lambda obj: sys.exit(1), "SystemExit: 1"),
    ],
    ids=["None", "another class", "another name", "no metadata", "raises", "exits"],
)
def test_transform_must_return_an_object_of_the_same_class_and_name(transform: Any, message: str) -> None:
    store: Indexer[ConfigMap] = Indexer(transform=transform)
    with pytest.raises(CallbackFailed, match=message):
        store.add(config_map("foo"))
    assert store.list() == []


def versioned(name: str, version: int) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", resource_version=str(version)))


@pytest.mark.feature("B-STO-05", "B-STO-07")
@pytest.mark.behaviour("TS-04")
@pytest.mark.behaviour("TS-06")
@pytest.mark.behaviour("TS-07")
def test_store_has_the_version_of_the_last_change(indexer: Indexer[ConfigMap]) -> None:
    assert indexer.resource_version == ""
    indexer.add(versioned("a", 10))
    assert indexer.resource_version == "10"
    indexer.replace([versioned("a", 40), versioned("b", 30)], "50")
    assert indexer.resource_version == "50"
    indexer.bookmark("60")
    assert indexer.resource_version == "60"


@pytest.mark.feature("B-STO-07")
@pytest.mark.behaviour("TS-07")
def test_deletion_with_a_version_updates_the_stores_version(indexer: Indexer[ConfigMap]) -> None:
    indexer.add(versioned("a", 10))
    indexer.delete(versioned("a", 20))
    assert indexer.resource_version == "20"
    indexer.pop(ObjectName("default", "a"))
    assert indexer.resource_version == "20"


class Odd(str):
    """String that cannot be a key of a dict."""

    def __hash__(self) -> int:
        raise SystemExit


class Phase(StrEnum):
    READY = "ready"


def raise_exit(obj: ConfigMap) -> list[str]:
    raise SystemExit(1)


def yield_and_fail(obj: ConfigMap) -> Iterator[str]:
    yield "x"
    raise LookupError("later")


BAD_INDEX_FUNCTIONS: dict[str, tuple[Any, str]] = {
    "raises": (lambda obj: [obj.data["team"]], "KeyError: 'team'"),
    "exits": (raise_exit, "SystemExit: 1"),
    "raises later": (yield_and_fail, "LookupError: later"),
    "None": (lambda obj: None, "TypeError: 'NoneType' object is not iterable"),
    "a string": (lambda obj: obj.metadata.name, "returned a str, expected an iterable of str"),
    "values of another type": (lambda obj: ["x", 1], "returned the value 1, expected str"),
    "unhashable values": (lambda obj: [[]], "returned the value [], expected str"),
}


@pytest.mark.feature("B-STO-09", "B-FIFO-04", "C-17")
@pytest.mark.parametrize("change", ["add", "replace", "replace_some", "add_indexers"])
@pytest.mark.parametrize("case", BAD_INDEX_FUNCTIONS)
def test_object_that_an_index_function_fails_for_is_missing_in_that_index_only(
    case: str, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    function, error = BAD_INDEX_FUNCTIONS[case]

    def picky(obj: ConfigMap) -> Any:
        return function(obj) if obj.metadata.name == "bad" else ["fine"]

    indexer: Indexer[ConfigMap] = Indexer({"words": words}, kind="ConfigMap")
    if change != "add_indexers":
        indexer.add_indexers({"picky": picky})
    objects = [config_map("bad", words="x"), config_map("good", words="x")]
    fill(indexer, objects, "add" if change == "add_indexers" else change)
    if change == "add_indexers":
        indexer.add_indexers({"picky": picky})
    indexer.report()
    assert names(indexer.list()) == names(indexer.by_index("words", "x")) == {"bad", "good"}
    assert names(indexer.by_index("picky", "fine")) == {"good"}
    assert indexer.index_values("picky") == ["fine"]
    assert (indexer.values_of("picky", objects[0]), indexer.index("picky", objects[0])) == ([], [])
    failure = ObjectFailure("index picky", ObjectName("default", "bad"), error)
    assert (indexer.failing, [*indexer.failures()]) == (1, [failure])
    [messages] = [vars(record) for record in caplog.records]
    assert (messages["msg"], messages["kind"], messages["name_"], messages["err"]) == (
        "object left out of an index", "ConfigMap", "bad", error,
    )  # fmt: skip


def fill(indexer: Indexer[ConfigMap], objects: list[ConfigMap], change: str) -> None:
    if change == "add":
        for obj in objects:
            indexer.add(obj)
    elif change == "replace":
        indexer.replace(objects, "7")
    else:
        indexer.replace_some([], objects, "7")


@pytest.mark.parametrize("change", ["add", "replace", "replace_some"])
def test_failure_of_an_index_function_is_logged_once_and_ends_with_it(
    change: str, caplog: pytest.LogCaptureFixture
) -> None:
    indexer: Indexer[ConfigMap] = Indexer({"team": lambda obj: [obj.data["team"]]})
    for data in ({}, {}, {"team": "a"}, {}):
        fill(indexer, [config_map("a", **data)], change)
        indexer.report()
        assert indexer.failing == (0 if data else 1)
        assert indexer.index_values("team") == [*data.values()]
    assert len(caplog.records) == 2
    indexer.delete(config_map("a"))
    assert indexer.failing == 0


def test_index_values_are_plain_strings() -> None:
    indexer: Indexer[ConfigMap] = Indexer({"phase": lambda _: [Phase.READY, Odd("odd")]})
    indexer.add(config_map("a"))
    assert [type(value) for value in indexer.index_values("phase")] == [str, str]
    assert names(indexer.by_index("phase", "ready")) == names(indexer.by_index("phase", "odd")) == {"a"}


def test_index_function_may_read_the_store() -> None:
    indexer: Indexer[ConfigMap] = Indexer()
    indexer.add(config_map("a", words="x"))
    indexer.add_indexers({"size": lambda _: [str(len(indexer.list()))]})
    indexer.add(config_map("b"))
    assert (names(indexer.by_index("size", "1")), indexer.index_values("size")) == ({"a", "b"}, ["1"])


def test_part_of_the_objects_can_be_replaced(indexer: Indexer[ConfigMap]) -> None:
    indexer.replace([config_map("a", words="x"), config_map("b", words="x,y"), config_map("c", words="z")], "4")
    gone = [ObjectName("default", "a"), ObjectName("default", "never there")]
    indexer.replace_some(gone, [config_map("b", words="y"), config_map("d", words="x")], "7")
    assert names(indexer.list()) == {"b", "c", "d"}
    assert [names(indexer.by_index("words", word)) for word in "xyz"] == [{"d"}, {"b"}, {"c"}]
    assert indexer.resource_version == "7"


def test_index_values_of_an_unstored_object_are_returned(indexer: Indexer[ConfigMap]) -> None:
    assert sorted(indexer.values_of("words", config_map("a", words="x,y"))) == ["x", "y"]
    with pytest.raises(KeyError, match="Index with name nope does not exist"):
        indexer.values_of("nope", config_map("a"))


@pytest.mark.parametrize("written", ["add", "replace"])
def test_maps_of_a_cached_object_are_read_only(indexer: Indexer[ConfigMap], written: str) -> None:
    obj = ConfigMap(metadata=ObjectMeta(name="a", labels={"a": "b"}), data={"words": "x"})
    indexer.add(obj) if written == "add" else indexer.replace([obj])
    (cached,) = indexer.list()
    for part in (cached.metadata.labels, cached.data):
        with pytest.raises(TypeError, match="read-only"):
            part["words"] = "y"  # type: ignore[index]
    assert indexer.by_index("words", "x") == [obj]


def test_map_of_an_added_object_that_changes_later_does_not_change_the_store(indexer: Indexer[ConfigMap]) -> None:
    data = {"words": "x"}
    indexer.add(ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data=data))
    data["words"] = "y"
    assert [obj.data["words"] for obj in indexer.by_index("words", "x")] == ["x"]


class Moody:
    """Index function whose values for an object change."""

    def __init__(self, *values: str) -> None:
        self.values = values

    def __call__(self, obj: ConfigMap) -> tuple[str, ...]:
        return self.values


@pytest.mark.parametrize("later", [(), ("y",), ("x", "y")], ids=["nothing", "another", "more"])
def test_index_with_an_inconsistent_function_stays_consistent(later: tuple[str, ...]) -> None:
    moody = Moody("x", "x")
    indexer: Indexer[ConfigMap] = Indexer({"moody": moody})
    for name in ("a", "b"):
        indexer.add(config_map(name))
    moody.values = later
    indexer.add(config_map("a", changed="yes"))
    assert {value: names(indexer.by_index("moody", value)) for value in indexer.index_values("moody")} == {
        "x": {"b"}, **{value: {"a"} for value in later}, **({"x": {"a", "b"}} if "x" in later else {}),
    }  # fmt: skip
    for name in ("a", "b"):
        indexer.delete(config_map(name))
    assert indexer.index_values("moody") == []


@pytest.mark.behaviour("IX-02")
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.none() | st.lists(st.sampled_from("xyz"), max_size=3)), max_size=30)
)
def test_indexes_always_equal_the_objects(steps: list[tuple[str, list[str] | None]]) -> None:
    indexer: Indexer[ConfigMap] = Indexer({"words": words})
    model: dict[str, set[str]] = {}
    for name, values in steps:
        if values is None:
            indexer.delete(config_map(name))
            model.pop(name, None)
        else:
            indexer.add(config_map(name, words=",".join(values)))
            model[name] = set(values)
    assert names(indexer.list()) == set(model)
    for value in "xyz":
        assert names(indexer.by_index("words", value)) == {name for name, has in model.items() if value in has}


KEY = ObjectName("testnamespace", "testname")
OBJ = ConfigMap(metadata=ObjectMeta(name="testname", namespace="testnamespace"))


@pytest.mark.behaviour("CT-06")
@pytest.mark.feature("B-STO-04")
@pytest.mark.parametrize(
    ("deleted", "name", "key"),
    [
        pytest.param(OBJ, KEY, "testnamespace/testname", id="the object"),
        pytest.param(DeletedFinalStateUnknown(KEY, OBJ), KEY, "testnamespace/testname", id="a tombstone of it"),
        pytest.param(DeletedFinalStateUnknown(KEY, None), KEY, "testnamespace/testname", id="without a state"),
        pytest.param(DeletedFinalStateUnknown(ObjectName("", ""), None), ObjectName("", ""), "", id="of nothing"),
    ],
)
@pytest.mark.behaviour("CT-07")
@pytest.mark.behaviour("CT-08")
def test_tombstones_own_name_takes_precedence(
    deleted: ConfigMap | DeletedFinalStateUnknown[ConfigMap], name: ObjectName, key: str
) -> None:
    assert object_name(deleted) == name
    assert str(object_name(deleted)) == key


@pytest.mark.feature("B-INF-09", "B-INF-10")
@pytest.mark.parametrize(
    ("deleted", "state"),
    [(OBJ, OBJ), (DeletedFinalStateUnknown(KEY, OBJ), OBJ), (DeletedFinalStateUnknown(KEY, None), None)],
)
def test_last_known_state_is_that_of_the_object_or_tombstone(
    deleted: ConfigMap | DeletedFinalStateUnknown[ConfigMap], state: ConfigMap | None
) -> None:
    assert last_known(deleted) is state
