"""Patterns in RE2 syntax: matches, errors in Go's words, and linear time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo_apiserver.cel.functions.patterns import find_all, matches, pattern_error
from clientgo_apiserver.crds.schema import conforms, schema_errors


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("a*+", "invalid nested repetition operator: `*+`"),
        ("a{2,1001}", "invalid repeat count: `{2,1001}`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<n", "invalid named capture: `(?<n`"),
        ("(", "missing closing ): `(`"),
        ("[a", "missing closing ]: `[a`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("(?<!a)b", "invalid named capture: `(?<!a)b`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
    ],
)
def test_invalid_pattern_is_reported_in_the_words_of_go(pattern: str, error: str) -> None:
    assert pattern_error(pattern) == f"error parsing regexp: {error}"
    assert not matches(pattern, "a")


@pytest.mark.parametrize("pattern", ["[[]a", "(?i)a", r"\pL", "(" * 200 + "a" + ")" * 200, "(?<name>a)"])
def test_syntax_that_only_re2_accepts_is_valid(pattern: str) -> None:
    assert pattern_error(pattern) == ""
    assert matches(pattern, "[a")
    assert find_all(pattern, "[a")


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a$", "a\n", False),
        (r"\d", "\u0663", False),
        (".", "ä", True),
        (r"^[[:alpha:]]+$", "abc", True),
        (r"^[[:alpha:]]+$", "a1", False),
        (r"^\pL+\z", "äb", True),
        (r"^\Qa.b\E$", "a.b", True),
        (r"^\Qa.b\E$", "axb", False),
        ("(?U)^a+$", "aa", True),
    ],
)
def test_text_is_matched_as_in_go(pattern: str, text: str, expected: bool) -> None:
    assert matches(pattern, text) is expected


@pytest.mark.parametrize("pattern", ["^([a-z0-9]+-?)+$", "^(a|aa)+$", "(a*)*b", "^(.*a){12}$", r"(\w+\s?)*:"])
def test_pattern_that_backtracks_elsewhere_takes_linear_time(pattern: str) -> None:
    text = "a" * 50_000 + "!"  # 26 characters take minutes in an engine that backtracks
    schema = {"type": "object", "properties": {"name": {"type": "string", "pattern": pattern}}}

    assert not matches(pattern, text)
    assert not conforms(schema, {"name": text})
    assert [cause.field for cause in schema_errors(schema, {"name": text})] == ["name"]


def test_empty_match_after_a_match_is_left_out() -> None:
    assert find_all("a*", "baaac") == ["", "aaa", ""]
    assert find_all("", "äb") == ["", "", ""]
    assert find_all("a|b", "abab", 3) == ["a", "b", "a"]
    assert find_all("a", "aaa", 0) == []


@given(st.text("ab1-äß\n😀"), st.sampled_from(["a+", "[a-b1]+", "ß|ä", "😀", "b-?"]))
def test_nonempty_matches_equal_those_of_python(text: str, pattern: str) -> None:
    assert find_all(pattern, text) == re.findall(pattern, text)


@given(st.text("ab1^$.*+?()[]{}-|,\\ :=!&~\n\ud800", max_size=12), st.text("ab1-\n]\ud800", max_size=4))
def test_every_pattern_is_valid_or_has_an_error(pattern: str, text: str) -> None:
    error = pattern_error(pattern)
    assert error == "" or error.startswith("error parsing regexp: ")
    assert not (error and matches(pattern, text))
