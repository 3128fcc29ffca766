"""Decoding of large JSON in pieces: the same values and errors as at once."""

from typing import Any

import msgspec
import pytest

from clientgo_apiserver.api.largejson import decode_large

LONG = "x" * 70_000


@pytest.mark.parametrize(
    "value",
    [{"a": 1}, {"a": {"b": [LONG, {"c": LONG}], "d": None}}, [LONG, [1.5, True, LONG]], LONG, {"é\n": [{}] * 50_000}],
    ids=["small", "objects", "lists", "text", "many"],
)
def test_value_is_what_one_call_returns(value: Any) -> None:
    raw = msgspec.json.encode(value)
    assert decode_large(raw) == decode_large(b" \n" + raw) == value


@pytest.mark.parametrize("end", [b"", b"}", b', "b": tru}', b', "b": 01}', b'} {"a"'], ids=repr)
def test_invalid_json_is_an_error(end: bytes) -> None:
    raw = msgspec.json.encode({"a": [LONG]})[:-1] + end
    if end == b"}":
        assert decode_large(raw) == {"a": [LONG]}
    else:
        with pytest.raises(msgspec.DecodeError):
            decode_large(raw)
