"""Items of a list that is read whole or while it arrives."""

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.listitems import RawList, list_parts, split_list

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


def items_of(received: Iterable[RawList | bytes]) -> list[Any]:
    lists = (split_list(part) if isinstance(part, bytes) else part for part in received)
    return [json.loads(bytes(item)) for each in lists for item in each.items or ()]


@given(st.lists(items), st.sampled_from([BUILT_IN, CUSTOM, *OTHERS]), st.integers(1, 200), st.integers(1, 300))
def test_parts_have_all_items_in_order(objects: list[Any], form: str, size: int, received: int) -> None:
    if form == CUSTOM:
        objects = [{"apiVersion": "example.com/v1", "kind": "Foo", **obj} for obj in objects]
    data = (form % ",".join(map(compact, objects))).encode()
    *cut, end = list_parts(pieces(data, received), size)
    assert isinstance(end, bytes)
    if form in (BUILT_IN, CUSTOM):
        assert items_of([*cut, end]) == objects
        last = split_list(end)
        assert last.metadata is not None
        assert (last.metadata.resource_version, last.kind[-4:]) == ("7", "List")
    else:
        assert (cut, end) == ([], data)


@pytest.mark.parametrize("form", [BUILT_IN, CUSTOM])
def test_memory_is_bounded_by_the_part(form: str) -> None:
    kind = {"apiVersion": "example.com/v1", "kind": "Foo"} if form == CUSTOM else {}
    item = compact({**kind, "metadata": {"name": "a"}, "spec": "x" * 1000})
    start, end = form.split("%s")
    chunks = [start.encode(), *[f"{item},".encode()] * 20_000, item.encode(), end.encode()]
    tracemalloc.start()
    count = sum(len(items_of([part])) for part in list_parts(chunks, 100_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_001
    assert peak < 2_000_000


def test_item_larger_than_a_part_is_not_cut() -> None:
    objects = [{"metadata": {"name": "a"}, "spec": "x" * 5000}, {"metadata": {"name": "b"}}]
    data = (BUILT_IN % ",".join(map(compact, objects))).encode()
    assert items_of(list_parts(pieces(data, 100), 1000)) == objects


def test_broken_list_is_passed_on_to_its_decoder() -> None:
    data = (BUILT_IN % '{"metadata":{"name":"a"}},{"metadata":{"name":').encode()[:-3]
    *_, end = list_parts([data], 10)
    assert isinstance(end, bytes)
    assert end.endswith(b'"name":')
