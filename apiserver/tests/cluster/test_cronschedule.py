import pytest

from clientgo_apiserver.cluster.cronschedule import latest_time, local_time, times_after


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "expected"),
    [
        ("0 0 * * *", "", 1_700_000_000, 1_700_006_400),
        ("0 0 */2 * mon", "", 1_700_000_000, 1_700_006_400),
        ("0 0 */1 * mon", "", 1_700_000_000, 1_700_438_400),
        ("@hourly", "", 1_700_000_000, 1_700_002_800),
        ("30 9 * * mon-fri", "Europe/Berlin", 1_700_000_000, 1_700_037_000),
        ("0 0 13 * fri", "", 1_700_000_000, 1_700_179_200),  # either day, as neither field is a star
        ("*/7 * * * *", "", 1_700_000_000, 1_700_000_040),
        ("@every 90s", "", 1_700_000_000, 1_700_000_090),
        ("@every 1.15m", "", 1_700_000_000, 1_700_000_069),  # 68.99 seconds as a float
        # 2:30 does not exist on the day on which clocks are put forward, and 1:30 comes twice when they are put back.
        ("30 2 * * *", "America/New_York", 1_710_046_800, 1_710_138_600),
        ("30 1 * * *", "America/New_York", 1_730_611_800, 1_730_615_400),
        ("*/30 1 * * *", "America/New_York", 1_730_610_000, 1_730_611_800),
    ],
)
def test_next_time_of_a_schedule(schedule: str, zone: str, after: int, expected: int) -> None:
    assert next(times_after(schedule, zone, after)) == expected


def test_schedule_without_any_time_ends() -> None:
    assert list(times_after("0 0 30 2 *", "", 1_700_000_000)) == []


DAY, YEAR = 86400, 31_536_000


@pytest.mark.parametrize(
    ("schedule", "after", "now", "expected"),
    [
        ("* * * * *", 1_700_000_000, 1_700_000_000 + YEAR, (1_731_535_980, 525_600)),
        ("0 * * * *", 1_700_000_000, 1_700_000_000 + DAY, (1_700_085_600, 24)),
        ("0 * * * *", 1_700_000_000, 1_700_000_001, (None, 0)),
        ("0 * * * *", 1_700_000_000, 1_700_002_800, (1_700_002_800, 1)),
        ("@every 90s", 1_700_000_000, 1_700_001_000, (1_700_000_990, 11)),
        # The times before a pause are not looked for, as upstream.
        ("0-20 22 * * *", 1_700_000_000, 1_700_005_000, (None, 83)),
        ("0 0 30 2 *", 1_700_000_000, 1_700_000_000 + YEAR, (None, 0)),
    ],
)
def test_latest_time_of_a_schedule_and_the_number_that_passed(
    schedule: str, after: int, now: int, expected: tuple[float | None, int]
) -> None:
    assert latest_time(schedule, "", after, now) == expected


def test_local_time_has_the_offset_of_its_zone() -> None:
    assert local_time(1_700_000_000, "") == "2023-11-14T22:13:20Z"
    assert local_time(1_700_000_000, "Europe/Berlin") == "2023-11-14T23:13:20+01:00"
