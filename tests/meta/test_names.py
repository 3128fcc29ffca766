"""Object names: formatting and parsing."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta import ObjectMeta, ObjectName, object_name


@dataclass(frozen=True)
class Thing:
    metadata: ObjectMeta


@dataclass(frozen=True)
class Tombstone:
    object_name: ObjectName


@pytest.mark.feature("B-STO-02", "B-STO-03")
@pytest.mark.behaviour("ON-01")
@given(st.text("abcdefghi/", min_size=10, max_size=10))
def test_names_are_read_as_written(text: str) -> None:
    pieces = text.split("/")
    if len(pieces) > 2:
        with pytest.raises(ValueError, match="unexpected key format"):
            ObjectName.parse(text)
        return
    name = ObjectName.parse(text)
    assert name == (("", text) if len(pieces) == 1 else tuple(pieces))
    assert str(name) == text.removeprefix("/")


@pytest.mark.feature("B-STO-02")
@pytest.mark.parametrize(
    ("text", "namespace", "name"),
    [("default/foo", "default", "foo"), ("foo", "", "foo"), ("/foo", "", "foo"), ("ns/", "ns", ""), ("", "", "")],
)
def test_name_has_one_slash_at_most(text: str, namespace: str, name: str) -> None:
    assert ObjectName.parse(text) == ObjectName(namespace, name)


@pytest.mark.feature("B-STO-01", "B-STO-04")
def test_object_name_is_from_metadata_or_the_tombstone() -> None:
    assert object_name(Thing(ObjectMeta(name="x", namespace="ns"))) == ObjectName("ns", "x")
    assert str(object_name(Thing(ObjectMeta(name="node")))) == "node"
    assert object_name(Tombstone(ObjectName("ns", "gone"))) == ObjectName("ns", "gone")


@pytest.mark.parametrize(("value", "words"), [(None, "a NoneType"), ({}, "a dict"), (Thing, "the class Thing")])
def test_anything_but_an_object_is_named_in_the_error(value: Any, words: str) -> None:
    with pytest.raises(AttributeError, match=f"expected an API object, got {words}"):
        object_name(value)
