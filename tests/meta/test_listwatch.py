"""Comparison of resourceVersions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta import compare_resource_versions
from clientgo.meta.listwatch import at_least


@pytest.mark.feature("B-RV-01")
@pytest.mark.parametrize(
    ("a", "b", "order"),
    [
        ("1", "1", 0),
        ("1", "2", -1),
        ("9", "10", -1),
        ("10", "9", 1),
        ("99999999999999999999999999999999998", "99999999999999999999999999999999999", -1),
        ("340282366920938463463374607431768211456", "18446744073709551616", 1),
    ],
)
def test_longer_is_newer_and_equal_lengths_compare_as_text(a: str, b: str, order: int) -> None:
    assert compare_resource_versions(a, b) == order


@pytest.mark.feature("B-RV-01")
@pytest.mark.parametrize("bad", ["", "0", "01", "-1", "+1", "1a", " 1", "1 ", "1.0", "1_000", "١٢", "²", "1\n"])
def test_invalid_resource_version_is_rejected(bad: str) -> None:
    for pair in ((bad, "1"), ("1", bad)):
        with pytest.raises(ValueError, match="not a positive decimal number"):
            compare_resource_versions(*pair)
        assert not at_least(*pair)


@given(st.integers(1, 10**40), st.integers(1, 10**40))
def test_the_order_is_that_of_the_numbers(a: int, b: int) -> None:
    order = compare_resource_versions(str(a), str(b))
    assert order == (a > b) - (a < b)
    assert at_least(str(a), str(b)) == (a >= b)
