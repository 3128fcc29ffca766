"""Values of flags."""

from argparse import ArgumentTypeError
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.program.flags import Address, address, amount, interval, natural, parse_bool, port, positive, seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [("15s", 15.0), ("1m30s", 90.0), ("500ms", 0.5), ("1.5h", 5400.0), ("45", 45.0), ("0", 0.0), (".5s", 0.5)],
)
def test_durations_have_gos_format(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59))
def test_duration_is_the_sum_of_its_parts(hours: int, minutes: int, remainder: int) -> None:
    assert seconds(f"{hours}h{minutes}m{remainder}s") == hours * 3600 + minutes * 60 + remainder


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", None),
        (":8081", Address("", 8081)),
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("localhost:80", Address("localhost", 80)),
        ("[::1]:443", Address("::1", 443)),
    ],
)
def test_address_has_host_and_port(text: str, expected: Address | None) -> None:
    assert address(text) == expected
    assert expected is None or str(expected) == text


@pytest.mark.parametrize(
    ("read", "text", "sentence"),
    [
        (positive, "0", "invalid number 0: must be at least 1"),
        (positive, "two", "invalid number 'two': expected an integer"),
        (natural, "-1", "invalid number -1: must be at least 0"),
        (amount, "nan", "invalid number nan: must be finite and at least 0"),
        (amount, "inf", "invalid number inf: must be finite and at least 0"),
        (seconds, "-1", "invalid number -1: must be finite and at least 0"),
        (interval, "0s", "invalid duration '0s': must be above 0"),
        (seconds, "-1s", "invalid duration '-1s': must be at least 0"),
        (seconds, "1s!", "invalid duration '1s!': expected a number with a unit, such as 15s, 1m30s or 500ms"),
        (seconds, "", "invalid duration ''"),
        (port, "70000", "invalid port 70000: must be 0 to 65535"),
        (address, "8081", "invalid address '8081': expected HOST:PORT, :PORT for all interfaces, or 0 for none"),
        (address, "::1:80", "invalid address '::1:80'"),
        (address, ":http", "invalid number 'http': expected an integer"),
    ],
)
def test_invalid_values_are_rejected_with_a_message(read: Callable[[str], object], text: str, sentence: str) -> None:
    with pytest.raises(ArgumentTypeError) as refused:
        read(text)
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize(("text", "expected"), [("true", True), ("False", False), ("YES", True), ("no", False)])
def test_booleans_are_spelled_out(text: str, expected: bool) -> None:
    assert parse_bool(text) is expected
    with pytest.raises(ArgumentTypeError, match="invalid value '1': expected true or false"):
        parse_bool("1")
