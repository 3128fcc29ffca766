"""Numbers and texts as Go writes them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.internal.gotext import json_number


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (3.0, "3"),
        (-0.5, "-0.5"),
        (2.0**53, "9007199254740992"),
        (2.0**63, "9223372036854776000"),
        (-(2.0**63), "-9223372036854776000"),
        (2.0**64, "18446744073709552000"),
        (1e20, "100000000000000000000"),
        (123456789012345678901.0, "123456789012345680000"),
        (1e21, "1e+21"),
    ],
)
def test_whole_float_has_its_shortest_digits_and_zeros(number: float, expected: str) -> None:
    assert json.dumps(json_number(number)) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_number_is_the_same_float(number: float) -> None:
    assert float(json_number(number)) == number
