from datetime import UTC, datetime

import pytest

from controllers.schedule import Schedule

MONDAY = datetime(2026, 11, 23, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "upcoming"),
    [
        ("* * * * *", datetime(2026, 11, 23, 10, 31, tzinfo=UTC)),
        ("*/20 * * * *", datetime(2026, 11, 23, 10, 40, tzinfo=UTC)),
        ("30 10 * * *", datetime(2026, 11, 24, 10, 30, tzinfo=UTC)),
        ("5/30 8-9,22 * * *", datetime(2026, 11, 23, 22, 5, tzinfo=UTC)),
        ("0 0 1 jan *", datetime(2027, 1, 1, tzinfo=UTC)),
        ("0 0 * * 7", datetime(2026, 11, 29, tzinfo=UTC)),
        ("0 0 * * SAT,sun", datetime(2026, 11, 28, tzinfo=UTC)),
        ("0 0 13 * fri", datetime(2026, 11, 27, tzinfo=UTC)),
        ("0 0 */2 * fri", datetime(2026, 11, 27, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2028, 2, 29, tzinfo=UTC)),
        ("0 0 31 2 *", None),
    ],
)
def test_next_time(text: str, upcoming: datetime | None) -> None:
    assert Schedule.parse(text).next_after(MONDAY) == upcoming


def test_last_time_is_the_moment_itself_if_it_matches() -> None:
    schedule = Schedule.parse("*/15 * * * *")
    assert schedule.last_until(MONDAY) == MONDAY
    assert schedule.last_until(MONDAY.replace(minute=29)) == MONDAY.replace(minute=15)
    assert Schedule.parse("0 12 * * *").last_until(MONDAY) == datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@hourly", r"expected five fields \(minute, hour, day of month, month, day of week\), got 1"),
        ("60 * * * *", "minute '60' is not between 0 and 59"),
        ("* * 0 * *", "day of month '0' is not between 1 and 31"),
        ("* * * may-x *", "month 'x' is not between 1 and 12"),
        ("9-3 * * * *", "minute '9-3' ends before it begins"),
        ("*/0 * * * *", r"minute '\*/0': '0' is no step"),
        ("1,, * * * *", "minute '' is not between 0 and 59"),
        ("² * * * *", "minute '²' is not between 0 and 59"),
    ],
)
def test_invalid_schedule_is_described(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Schedule.parse(text)
