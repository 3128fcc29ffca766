"""Values of printed cells: durations, times, labels, lists, and paths through incomplete objects."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo_apiserver.printers.values import (
    dig,
    human_duration,
    items,
    joined,
    label_text,
    moment_of,
    selector_text,
    since,
    true_conditions,
)

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR = 365 * DAY


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (-1, "0s"),
        (0, "0s"),
        (1.9, "1s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 1, "2m1s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE + 1, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + MINUTE, "3h1m"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR + MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY + HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR + DAY, "8y"),
    ],
)
def test_duration_has_at_most_two_units(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


_UNITS = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY, "y": YEAR}


@given(st.integers(0, 100 * YEAR))
def test_duration_is_rounded_down_by_less_than_its_smallest_unit_and_a_tenth(seconds: int) -> None:
    total, number, smallest = 0, "", 1
    for char in human_duration(seconds):
        if char.isdigit():
            number += char
        else:
            total, number, smallest = total + int(number) * _UNITS[char], "", _UNITS[char]
    assert 0 <= seconds - total < smallest


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        ("2024-05-01T11:59:55Z", "5s"),
        ("2024-05-01T11:59:55.5Z", "4s"),
        ("2024-05-01T13:59:55+02:00", "5s"),
        ("2024-05-01T12:00:05Z", "<invalid>"),
        ("yesterday", "<unknown>"),
        (None, "<unknown>"),
        (5, "<unknown>"),
    ],
)
def test_age_is_the_time_since_a_timestamp(timestamp: Any, text: str) -> None:
    assert since(timestamp, NOW) == text


@given(st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)), st.integers(-12, 12))
def test_timestamps_of_any_zone_are_parsed(moment: datetime, hours: int) -> None:
    zone = f"{'-' if hours < 0 else '+'}{abs(hours):02}:00"
    parsed = moment_of(moment.isoformat() + zone)
    assert parsed is not None
    assert parsed == moment.replace(tzinfo=UTC) - timedelta(hours=hours)


@given(st.text())
def test_any_text_is_a_time_or_none(text: str) -> None:
    assert isinstance(moment_of(text), datetime | None)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("a", "b"), 1),
        (("a", "c"), "default"),
        (("a", "b", "c"), "default"),
        (("list", 0), "x"),
        (("list", -1), "y"),
        (("list", 2), "default"),
        (("list", "0"), "default"),
        (("null",), "default"),
        (("false",), False),
        ((), "default"),
    ],
)
def test_path_leads_to_a_value_or_the_default(keys: tuple[str | int, ...], value: Any) -> None:
    document = {"a": {"b": 1}, "list": ["x", "y"], "null": None, "false": False}
    assert dig(document if keys else None, *keys, default="default") == value


@pytest.mark.parametrize("value", [None, "text", {"a": 1}, 3])
def test_only_a_list_has_items(value: Any) -> None:
    assert items({"spec": {"list": value}}, "spec", "list") == []


def test_true_conditions_are_those_whose_status_is_true() -> None:
    conditions = [{"type": "A", "status": "True"}, {"type": "B", "status": "False"}, {"type": "C"}]
    assert true_conditions({"status": {"conditions": conditions}}) == {"A"}
    assert true_conditions({}) == set()


def test_labels_are_sorted() -> None:
    assert label_text({"b": "2", "a": "1"}) == "a=1,b=2"
    assert label_text({}) == label_text(None) == label_text("x") == "<none>"


def test_selector_is_written_as_kubectl_reads_it() -> None:
    expression = {"key": "tier", "operator": "In", "values": ["b", "a"]}
    assert selector_text({"matchLabels": {"app": "x"}, "matchExpressions": [expression]}) == "app=x,tier in (a,b)"
    assert selector_text({}) == selector_text(None) == "<none>"


@pytest.mark.parametrize(
    ("values", "limit", "text"),
    [([], 0, ""), ([1, "b"], 0, "1,b"), ("abc", 3, "a,b,c"), ("abcd", 3, "a,b,c + 1 more...")],
)
def test_values_beyond_the_limit_are_counted(values: Any, limit: int, text: str) -> None:
    assert joined(list(values), limit) == text
