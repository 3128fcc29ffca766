import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo_apiserver.api.gotext import go_float, go_map
from clientgo_apiserver.api.names import generate, label_value_errors, qualified_errors
from clientgo_apiserver.http.gojson import duplicate_fields, explain, summarize

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda child: st.lists(child, max_size=3) | st.dictionaries(st.text(max_size=3), child, max_size=3),
    max_leaves=10,
)


@given(JSON, st.sampled_from([None, 1]))
def test_valid_json_has_no_error(value: Any, indent: int | None) -> None:
    assert explain(json.dumps(value, indent=indent)) == ""


@given(st.text(alphabet='{}[]",:0123456789.-e truefalsn\\', max_size=12))
def test_invalid_json_has_an_error(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        assert explain(text)
    else:
        assert not explain(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "unexpected end of JSON input"),
        ('{"a":1', "unexpected end of JSON input"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("tru ", "invalid character ' ' in literal true (expecting 'e')"),
        ("{} x", "invalid character 'x' after top-level value"),
    ],
)
def test_json_errors_are_worded_as_by_go(text: str, fault: str) -> None:
    assert explain(text) == fault


def test_duplicate_fields_are_found_with_their_path() -> None:
    body = b'{"a":1,"b":[{"c":1,"c":2}],"a":2}'
    assert sorted(duplicate_fields(body, json.loads(body))) == ["a", "b[0].c"]


def test_body_is_shown_by_its_beginning() -> None:
    assert summarize(b"") == "<empty>"
    assert summarize(b"abc") == "616263"
    assert summarize(b"{" + b"x" * 40) == "{" + "x" * 29 + " ..."


def test_map_is_printed_as_go_prints_it() -> None:
    assert go_map({"b": [1, "x"], "a": {"c": None, "d": True}}) == "map[a:map[c:<nil> d:true] b:[1 x]]"


@pytest.mark.parametrize(
    ("value", "text"), [(10.0, "10"), (0.5, "0.5"), (1e6, "1e+06"), (1.5e-7, "1.5e-07"), (-2.0, "-2")]
)
def test_floats_are_printed_as_go_prints_them(value: float, text: str) -> None:
    assert go_float(value) == text


@pytest.mark.parametrize("key", ["app", "app.kubernetes.io/name", "A_b.c-1"])
def test_valid_label_keys(key: str) -> None:
    assert qualified_errors(key) == []


@pytest.mark.parametrize("key", ["", "-a", "a/", "/a", "a/b/c", "Up/a", "x" * 64])
def test_invalid_label_keys(key: str) -> None:
    assert qualified_errors(key)


def test_generated_name_fits_and_its_label_is_valid() -> None:
    name = generate("x" * 100)
    assert len(name) == 63
    assert label_value_errors(name) == []
    assert label_value_errors("a b")
