"""Times of cron schedules, in both directions."""

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.manager import CronSchedule

MONDAY = datetime(2026, 11, 23, 10, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")

minutes = st.sampled_from(["*", "*/7", "0", "59", "3,40"])
hours = st.sampled_from(["*", "*/5", "2", "8-18"])
days = st.sampled_from(["*", "1", "31", "*/2"])
weekdays = st.sampled_from(["*", "mon-fri", "sun"])
schedules = st.builds("{} {} {} * {}".format, minutes, hours, days, weekdays)
moments = st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "last", "following"),
    [
        ("* * * * *", MONDAY, MONDAY.replace(minute=31)),
        ("*/20 * * * *", MONDAY.replace(minute=20), MONDAY.replace(minute=40)),
        ("@daily", datetime(2026, 11, 23, tzinfo=UTC), datetime(2026, 11, 24, tzinfo=UTC)),
        ("0 12 * * *", datetime(2026, 11, 22, 12, tzinfo=UTC), datetime(2026, 11, 23, 12, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2024, 2, 29, tzinfo=UTC), datetime(2028, 2, 29, tzinfo=UTC)),
        ("0 0 31 1 *", datetime(2026, 1, 31, tzinfo=UTC), datetime(2027, 1, 31, tzinfo=UTC)),
        ("0 0 1 12 *", datetime(2025, 12, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)),
        ("0 0 31 2 *", None, None),
        (", * * * *", None, None),
        ("* * * , *", None, None),
    ],
)
def test_last_and_next_time_of_a_schedule(text: str, last: datetime | None, following: datetime | None) -> None:
    schedule = CronSchedule(text)
    assert schedule.last_until(MONDAY) == last
    assert schedule.next_after(MONDAY) == following
    assert schedule.last_until(MONDAY + timedelta(microseconds=1)) == last


def test_schedule_without_times_is_decided_without_looking_at_each_day() -> None:
    looked: list[datetime] = []

    class CountingZone(tzinfo):
        def utcoffset(self, moment: datetime | None) -> timedelta:
            looked.extend([moment] if moment else [])
            return timedelta(0)

        def dst(self, _: datetime | None) -> timedelta:
            return timedelta(0)

        def tzname(self, _: datetime | None) -> str:
            return "counting"

    assert CronSchedule("0 0 31 2 *", CountingZone()).next_after(MONDAY) is None
    assert len(looked) < 1000, "of 1,900 days"


@given(schedules, moments)
def test_nothing_lies_between_the_last_and_the_next_time(text: str, moment: datetime) -> None:
    schedule = CronSchedule(text, BERLIN)
    last, following = schedule.last_until(moment), schedule.next_after(moment)
    assert last is not None
    assert following is not None
    assert last <= moment < following
    assert schedule.next_after(last) == following
    assert schedule.last_until(following) == following
    assert schedule.last_until(following - timedelta(seconds=1)) == last


def test_times_are_local() -> None:
    schedule = CronSchedule("30 2 * * *", BERLIN)
    before = datetime(2026, 3, 29, 12, tzinfo=BERLIN)  # a day without 2:30
    assert schedule.last_until(before) == datetime(2026, 3, 28, 2, 30, tzinfo=BERLIN)
    assert schedule.next_after(before) == datetime(2026, 3, 30, 2, 30, tzinfo=BERLIN)


def test_invalid_schedules_and_moments_are_rejected() -> None:
    with pytest.raises(ValueError, match="invalid schedule 'never': expected 5 fields"):
        CronSchedule("never")
    with pytest.raises(ValueError, match=r"end of range \(61\) above maximum \(59\)"):
        CronSchedule("61 * * * *")
    with pytest.raises(ValueError, match="give its time zone"):
        CronSchedule("@daily").next_after(datetime(2026, 1, 1))
