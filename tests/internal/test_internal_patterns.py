"""Lazily compiled regular expressions."""

import re

import pytest

from clientgo.internal.patterns import lazy_pattern


def test_lazy_pattern_has_the_methods_and_attributes_of_the_compiled_one() -> None:
    pattern = lazy_pattern("(?P<letter>[a-c])", re.IGNORECASE)
    match = pattern.fullmatch("B")
    assert match is not None
    assert match["letter"] == "B"
    assert pattern.sub("-", "xAy") == "x-y"
    assert pattern.groupindex == {"letter": 1}


def test_invalid_lazy_pattern_raises_at_its_first_use() -> None:
    pattern = lazy_pattern("(")
    with pytest.raises(re.error):
        pattern.match("")


def test_lazy_pattern_of_bytes_matches_bytes() -> None:
    assert lazy_pattern(rb"\d+").findall(b"1 22") == [b"1", b"22"]
