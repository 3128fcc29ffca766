"""Times in the forms of Go, which has more of them than Python; as a real server stores or rejects them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo_apiserver.cluster.podcontrol import seconds_of
from clientgo_apiserver.gotypes.scalars import DecodeError, time_in
from clientgo_apiserver.printers.values import moment_of

SECONDS = [
    ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
    ("2024-01-02T03:04:05.999999999Z", "2024-01-02T03:04:05Z"),
    ("2024-01-02T03:04:05,5+01:00", "2024-01-02T02:04:05Z"),
    ("2024-01-02T3:04:05Z", "2024-01-02T03:04:05Z"),
    ("2024-01-02T03:04:05+24:00", "2024-01-01T03:04:05Z"),
    ("2024-01-02T03:04:05-23:60", "2024-01-03T03:04:05Z"),
    ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
    ("0000-02-29T00:00:00Z", "0000-02-29T00:00:00Z"),
    ("0000-01-01T00:00:00+01:00", "-0001-12-31T23:00:00Z"),
    ("9999-12-31T23:59:59-02:00", "10000-01-01T01:59:59Z"),
    ("0001-01-01T00:00:00.5Z", None),
    ("0001-01-01T01:00:00+01:00", None),
]
MICROSECONDS = [
    ("2024-01-02T03:04:05.123456Z", "2024-01-02T03:04:05.123456Z"),
    ("2024-01-02T03:04:05,123456-00:00", "2024-01-02T03:04:05.123456Z"),
    ("0001-01-01T00:00:00.000001Z", "0001-01-01T00:00:00.000001Z"),
    ("0001-01-01T00:00:00.000000Z", None),
]


@pytest.mark.parametrize(("text", "stored"), SECONDS)
def test_time_is_stored_in_utc_and_whole_seconds(text: str, stored: str | None) -> None:
    assert time_in(text, micro=False) == stored


@pytest.mark.parametrize(("text", "stored"), MICROSECONDS)
def test_time_with_microseconds_keeps_them(text: str, stored: str | None) -> None:
    assert time_in(text, micro=True) == stored


INVALID = [
    (False, "2024-01-02t03:04:05Z", 'cannot parse "t03:04:05Z" as "T"'),
    (False, "2024-01-02 03:04:05Z", 'cannot parse " 03:04:05Z" as "T"'),
    (False, "2016-12-31T23:59:60Z", "second out of range"),
    (False, "2024-01-32T25:00:00Z", "hour out of range"),
    (False, "2023-02-29T00:00:00Z", "day out of range"),
    (False, "2024-01-02T03:04:05+25:00", "time zone offset hour out of range"),
    (False, "2024-01-02T03:04:05+24:61", "time zone offset minute out of range"),
    (False, "2024-01-02T03:04:05z", 'cannot parse "z" as "Z07:00"'),
    (False, "2024-01-02T03:04:05Z\u00e9", r'extra text: "\xc3\xa9"'),
    (False, '2024-01-02T03:04:05"\tZ', r'cannot parse "\"\x09Z" as "Z07:00"'),
    (True, "2024-01-02T03:04:05.1234567Z", 'cannot parse "7Z" as "Z07:00"'),
    (True, "2024-01-02T03:04:05.12345Z", 'cannot parse ".12345Z" as ".000000"'),
    (True, "2024-01-02T03:04:05Z", 'cannot parse "Z" as ".000000"'),
]


@pytest.mark.parametrize(("micro", "text", "reason"), INVALID, ids=[text for _, text, _ in INVALID])
def test_invalid_time_is_rejected_in_the_words_of_go(micro: bool, text: str, reason: str) -> None:
    with pytest.raises(DecodeError, match=f"^parsing time .*{re.escape(reason)}$"):
        time_in(text, micro=micro)


@given(st.text(st.sampled_from("0129-T:.,Z+ 4"), max_size=40), st.booleans())
def test_any_text_is_a_time_or_an_error(text: str, micro: bool) -> None:
    try:
        stored = time_in(text, micro=micro)
    except DecodeError as error:
        assert str(error).startswith('parsing time "')  # noqa: PT017
    else:
        assert stored is None or time_in(stored, micro=micro) == stored or stored[4] != "-"


@pytest.mark.parametrize("text", ["10000-01-01T00:00:00Z", "-0001-12-31T23:00:00Z", "0000-01-01T00:00:00Z"])
def test_time_outside_the_years_of_python_is_no_failure(text: str) -> None:
    assert moment_of(text) is None
    assert seconds_of(text) == seconds_of("9999-12-31T23:59:59.999999Z" if text[0] == "1" else "0001-01-01T00:00:00Z")
