"""Seconds of durations in Go's notation."""

import pytest

from clientgo.meta import duration_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("1m30.5s", 90.5), ("250ms", 0.25), ("1h", 3600.0), (".5s", 0.5), ("-2s", -2.0), ("+2s", 2.0)),
        *(("0", 0.0), ("10us", 1e-5), ("10\u00b5s", 1e-5)),
    ],
)
def test_duration_has_seconds(text: str, seconds: float) -> None:
    assert duration_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "5x", "1h 5m", "h", "--1s", "1d", "\u0661s"])
def test_invalid_duration_names_the_format(text: str) -> None:
    with pytest.raises(ValueError, match="expected a number with a unit, such as 15s, 1m30s or 500ms"):
        duration_seconds(text)
