"""Parts of a list that is read while it arrives."""

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.listparts import list_parts

BUILT_IN = '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[%s]}\n'
CUSTOM = '{"apiVersion":"example.com/v1","items":[%s],"kind":"FooList","metadata":{"resourceVersion":"7"}}\n'
OTHERS = ('{"items":[%s],"metadata":{}}', "[%s]", ' {"kind":"PodList","apiVersion":"v1","metadata":{},"items":[%s]}')

text = st.sampled_from(["", 'a"b', "\\", '},{"metadata":{', '"},{"metadata":{"', "]}", "{}", "é\u2028"])
values = st.recursive(text | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(text, inner))
templates = st.lists(st.builds(lambda name: {"metadata": {"name": name}, "spec": {}}, text), max_size=3)
items = st.builds(
    lambda name, spec, claims: {"metadata": {"name": name}, "spec": spec, "claims": claims}, text, values, templates
)


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@given(st.lists(items), st.sampled_from([BUILT_IN, CUSTOM, *OTHERS]), st.integers(1, 200), st.integers(1, 300))
def test_parts_have_all_items_in_order(objects: list[Any], form: str, size: int, received: int) -> None:
    if form == CUSTOM:
        objects = [{"apiVersion": "example.com/v1", "kind": "Foo", **obj} for obj in objects]
    data = (form % ",".join(map(compact, objects))).encode()
    cuts = list(list_parts(pieces(data, received), size))
    assert [part.is_last for part in cuts] == [False] * (len(cuts) - 1) + [True]
    documents = [json.loads(part.body) for part in cuts]
    if form in (BUILT_IN, CUSTOM):
        assert [item for document in documents for item in document["items"]] == objects
        assert documents[-1]["metadata"] == {"resourceVersion": "7"}
        assert documents[-1]["kind"].endswith("List")
    else:
        assert [part.body for part in cuts] == [data]


@pytest.mark.parametrize("form", [BUILT_IN, CUSTOM])
def test_memory_is_bounded_by_the_part(form: str) -> None:
    kind = {"apiVersion": "example.com/v1", "kind": "Foo"} if form == CUSTOM else {}
    item = compact({**kind, "metadata": {"name": "a"}, "spec": "x" * 1000})
    start, end = form.split("%s")
    chunks = [start.encode(), *[f"{item},".encode()] * 20_000, item.encode(), end.encode()]
    tracemalloc.start()
    count = sum(len(json.loads(part.body)["items"]) for part in list_parts(chunks, 100_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_001
    assert peak < 2_000_000


def test_item_larger_than_a_part_is_not_cut() -> None:
    objects = [{"metadata": {"name": "a"}, "spec": "x" * 5000}, {"metadata": {"name": "b"}}]
    data = (BUILT_IN % ",".join(map(compact, objects))).encode()
    cuts = list(list_parts(pieces(data, 100), 1000))
    assert [item for part in cuts for item in json.loads(part.body)["items"]] == objects


def test_broken_list_is_passed_on_to_its_decoder() -> None:
    data = (BUILT_IN % '{"metadata":{"name":"a"}},{"metadata":{"name":').encode()[:-3]
    assert b"".join(part.body for part in list_parts([data], 10)).endswith(b'"name":')
