"""The store: objects by name and by index."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.cache import NAMESPACE_INDEX, Indexer, by_namespace
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, ObjectName


def config_map(name: str, *, namespace: str = "default", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


def words(obj: ConfigMap) -> list[str]:
    return [word for word in obj.data.get("words", "").split(",") if word]


@pytest.fixture
def indexer() -> Indexer[ConfigMap]:
    return Indexer({"words": words})


def names(objects: list[ConfigMap]) -> set[str]:
    return {obj.metadata.name for obj in objects}


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


@pytest.mark.behaviour("IX-02")
def test_an_object_is_found_under_each_of_its_values(indexer: Indexer[ConfigMap]) -> None:
    indexer.add(config_map("one", words="ernie,bert"))
    indexer.add(config_map("two", words="bert,oscar"))
    indexer.add(config_map("tre", words="ernie,elmo"))
    found = {word: names(indexer.by_index("words", word)) for word in ("ernie", "bert", "elmo", "oscar", "elmo1")}
    assert found == {
        "ernie": {"one", "tre"}, "bert": {"one", "two"}, "elmo": {"tre"}, "oscar": {"two"}, "elmo1": set(),
    }  # fmt: skip
    indexer.delete(config_map("tre"))
    assert names(indexer.by_index("words", "ernie")) == {"one"}
    assert indexer.by_index("words", "elmo") == []
    indexer.update(config_map("two", words="oscar"))
    assert names(indexer.by_index("words", "bert")) == {"one"}


@pytest.mark.behaviour("ST-05")
def test_index_finds_objects_that_share_a_value(indexer: Indexer[ConfigMap]) -> None:
    for name, word in (("a", "b"), ("c", "b"), ("e", "f"), ("g", "h")):
        indexer.add(config_map(name, words=word))
    assert names(indexer.index("words", config_map("x", words="b"))) == {"a", "c"}
    assert indexer.index_keys("words", "b") == [ObjectName("default", "a"), ObjectName("default", "c")]


@pytest.mark.behaviour("TS-01")
def test_a_value_without_objects_leaves_nothing_behind(indexer: Indexer[ConfigMap]) -> None:
    indexer.add(config_map("key", words="foo"))
    assert indexer.index_values("words") == ["foo"]
    indexer.delete(config_map("key"))
    assert indexer.index_values("words") == []


@pytest.mark.behaviour("TS-02")
def test_a_value_keeps_its_other_objects_when_one_goes(indexer: Indexer[ConfigMap]) -> None:
    indexer.add(config_map("retain", words="w"))
    indexer.add(config_map("delete", words="w"))
    indexer.delete(config_map("delete"))
    assert names(indexer.by_index("words", "w")) == {"retain"}


@pytest.mark.behaviour("TS-03")
def test_values_follow_every_change_of_an_object(indexer: Indexer[ConfigMap]) -> None:
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
        found = {v: "".join(k.name[-1] for k in indexer.index_keys("words", v)) for v in indexer.index_values("words")}
        assert found == expected


def test_an_index_added_later_has_the_objects_that_were_there(indexer: Indexer[ConfigMap]) -> None:
    indexer.add(config_map("a", namespace="x"))
    indexer.add_indexers({NAMESPACE_INDEX: by_namespace})
    assert names(indexer.by_index(NAMESPACE_INDEX, "x")) == {"a"}
    with pytest.raises(ValueError, match="indexer conflict: namespace"):
        indexer.add_indexers({NAMESPACE_INDEX: by_namespace})


def test_an_unknown_index_is_an_error_but_has_no_values(indexer: Indexer[ConfigMap]) -> None:
    with pytest.raises(KeyError, match="Index with name nope does not exist"):
        indexer.by_index("nope", "x")
    assert indexer.index_values("nope") == []


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.none() | st.lists(st.sampled_from("xyz"), max_size=3)), max_size=30)
)
def test_indexes_always_agree_with_the_objects(steps: list[tuple[str, list[str] | None]]) -> None:
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
