"""Times of cron schedules, in both directions."""

from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.internal.cron import times_after
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


@pytest.mark.parametrize(
    ("zone", "text", "after", "expected"),
    [
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T03:00", ["2026-10-05T02:15+11:00", "2026-10-06T02:15+11:00"]),
        ("Australia/Lord_Howe", "30 1 * * *", "2030-10-05T22:30", ["2030-10-06T01:30+10:30", "2030-10-06T02:30+11:00"]),
        ("Australia/Lord_Howe", "0 3 * * sun", "2026-04-04T23:00", ["2026-04-12T03:00+10:30"]),
        ("Australia/Lord_Howe", "15 3 1 * *", "2029-03-31T23:00", ["2029-05-01T03:15+10:30"]),
        ("Asia/Beirut", "0 0 * * *", "2027-03-26T12:00", ["2027-03-27T00:00+02:00", "2027-03-29T00:00+03:00"]),
        ("Asia/Beirut", "15 3 * * sat", "2027-03-26T12:00", ["2027-03-27T03:15+02:00", "2027-03-28T03:15+03:00"]),
        ("Asia/Beirut", "0 12 28 3 *", "2027-03-26T12:00", ["2028-03-28T12:00+03:00"]),
        ("Africa/Cairo", "15 12 25,26 * *", "2029-04-26T13:00", ["2029-04-27T12:15+03:00", "2029-05-25T12:15+03:00"]),
        ("America/Santiago", "0 1 * * sat", "2026-09-05T07:00", ["2026-09-06T01:00-03:00", "2026-09-12T01:00-03:00"]),
        ("America/Havana", "45 12 * * sat", "2027-03-13T17:00", ["2027-03-14T12:45-04:00", "2027-03-20T12:45-04:00"]),
        ("Atlantic/Azores", "0 12 1 * sat", "2030-03-30T09:00", ["2030-03-30T12:00-01:00", "2030-03-31T12:00+00:00"]),
        ("Pacific/Chatham", "45 */2 * * *", "2026-09-27T01:45", ["2026-09-27T03:45+13:45", "2026-09-27T06:45+13:45"]),
        ("Antarctica/Troll", "15 2 * * *", "2025-10-26T01:00", ["2025-10-26T02:15+00:00", "2025-10-27T02:15+00:00"]),
        ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00", ["2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00"]),
    ],
)
def test_times_around_shifted_clocks_are_those_of_a_cronjob(
    zone: str, text: str, after: str, expected: list[str]
) -> None:
    moment = datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone))
    times = times_after(text, moment.tzinfo or UTC, moment.timestamp())
    occurrences = [datetime.fromtimestamp(next(times), moment.tzinfo).isoformat(timespec="minutes") for _ in expected]
    assert occurrences == expected


@given(schedules, st.sampled_from(sorted(available_timezones())), moments)
def test_each_time_is_later_than_the_one_before(text: str, zone: str, moment: datetime) -> None:
    times = list(islice(times_after(text, ZoneInfo(zone), moment.timestamp()), 3))
    assert times == sorted({moment.timestamp(), *times})[1:]


def test_search_ends_where_the_schedule_repeats_an_hour_or_the_zone_skips_a_day() -> None:
    chatham = ZoneInfo("Pacific/Chatham")
    times = times_after("45 3 * * *", chatham, datetime(2028, 4, 1, 12, tzinfo=chatham).timestamp())
    occurrences = [datetime.fromtimestamp(next(times), chatham) for _ in range(3)]
    assert occurrences == [datetime(2028, 4, 2, hour=hour, minute=45, tzinfo=chatham) for hour in (2, 3)] + [
        datetime(2028, 4, 3, 3, 45, tzinfo=chatham)
    ]
    apia = CronSchedule("0 0 31 * *", ZoneInfo("Pacific/Apia"))
    assert apia.next_after(datetime(2011, 12, 5, tzinfo=UTC)) == datetime(2011, 12, 31, tzinfo=apia.zone)
