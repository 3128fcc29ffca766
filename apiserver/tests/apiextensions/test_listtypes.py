"""Lists of type map: an item and the old one with its keys."""

from typing import Any

import pytest

from clientgo_apiserver.apiextensions.listtypes import counterparts

SCHEMA: dict[str, Any] = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"]}


def item(name: Any, port: Any = 1, **fields: Any) -> dict[str, Any]:
    return {"name": name, "port": port, **fields}


def test_the_counterpart_is_the_first_old_item_with_all_keys() -> None:
    old = [item("a", old=1), item("a", 2), item("a", old=2), "text", {"name": "b"}]
    find = counterparts(SCHEMA, old)
    assert find(item("a", new=True)) == item("a", old=1)
    assert find(item("a", 2)) == item("a", 2)


@pytest.mark.parametrize("new", [item("c"), {"name": "b"}, item("a", None), "text", item("a", True)])
def test_an_item_without_equal_keys_has_no_counterpart(new: Any) -> None:
    assert counterparts(SCHEMA, [item("a"), {"name": "b"}])(new) is None


@pytest.mark.parametrize("old", [None, {}, "text"])
def test_what_is_no_list_has_no_counterparts(old: Any) -> None:
    assert counterparts(SCHEMA, old)(item("a")) is None


def test_a_list_without_keys_has_no_counterparts() -> None:
    assert counterparts({}, [item("a")])(item("a")) is None
