"""JSON taken apart without a decoder: what comes out is what a decoder would have found."""

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.outline import elements, members

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
plain_keys = st.text(st.characters(codec="ascii", exclude_characters='"\\', exclude_categories=["Cc"]))
spaces = st.sampled_from([(", ", ": "), (",", ":"), (" ,\n\t", "\r\n : ")])
DEEP = b'{"a":[' * 50_000 + b'"]}"' + b"]}" * 50_000


def shown(data: bytes) -> str:
    return repr(data[:10])


def text(value: object, how: tuple[str, str]) -> bytes:
    return json.dumps(value, separators=how).encode()


@given(st.dictionaries(plain_keys, values, max_size=5), spaces)
def test_the_members_of_an_object_are_found(value: dict[str, Any], how: tuple[str, str]) -> None:
    found = members(b" \n" + text(value, how) + b"\n")
    assert {name: json.loads(member) for name, member in found.items()} == value


@given(st.lists(values, max_size=5), spaces)
def test_the_elements_of_an_array_are_found_in_their_order(value: list[Any], how: tuple[str, str]) -> None:
    assert [json.loads(element) for element in elements(text(value, how))] == value


@pytest.mark.parametrize("levels", [15, 16, 17, 18, 900])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_values_are_found_at_every_depth(levels: int, opening: bytes, closing: bytes) -> None:
    value = opening * levels + b'"}]"' + closing * levels
    assert elements(b"[1,%s,2]" % value) == [b"1", value, b"2"]


def test_what_no_decoder_reads_for_its_depth_is_taken_whole() -> None:
    with pytest.raises(RecursionError):
        msgspec.json.decode(DEEP)
    assert members(b'{"deep":%s,"next":"\\"}"}' % DEEP) == {"deep": DEEP, "next": b'"\\"}"'}
    assert elements(b"[%s,[],%s]" % (DEEP, DEEP)) == [DEEP, b"[]", DEEP]


def test_null_has_no_elements() -> None:
    assert elements(b" null ") == []


@pytest.mark.parametrize(
    "data",
    [b"", b"[", b"[1", b"[1,", b"[1,]", b"[1 2]", b"[1]]", b"{}", b"[{]", b'["a]', b"[,]", b"1", b"[" + DEEP],
    ids=shown,
)  # fmt: skip
def test_what_is_no_array_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError, match="no "):
        elements(data)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b'{"a"', b'{"a":', b'{"a":1', b'{"a" 1}', b"{1:2}", b"[]", b"{}}", b'{"a":}', DEEP[:-1], b"\xff"],
)
def test_what_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError, match="no "):
        members(data)


@given(st.binary(max_size=60) | st.text(st.sampled_from('[]{}",:\\ a1'), max_size=60).map(str.encode))
def test_any_bytes_are_taken_apart_or_refused(data: bytes) -> None:
    for take in (members, elements):
        with suppress(msgspec.DecodeError):
            take(data)
