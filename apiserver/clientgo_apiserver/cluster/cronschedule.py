"""Times of a cron schedule, as Kubernetes' CronJobs read it: five fields, or a descriptor such as `@daily`."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from clientgo_apiserver.cel.functions.operators import to_duration
from clientgo_apiserver.registry.validation.workloads.cron import DESCRIPTORS, FIELDS, part_values

_DAY_SECONDS = 24 * 3600
_YEARS = 5  # a schedule such as 30 February has no time


def times_after(schedule: str, zone: str, after: float) -> Iterator[float]:
    """Yield the times of a valid schedule after `after`, in seconds since the epoch; `zone` is empty for UTC."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        name, _, schedule = schedule.partition(" ")
        zone = name.partition("=")[2]
    if schedule.startswith("@every "):
        seconds = max(1, int(to_duration(schedule.removeprefix("@every ")).total_seconds()))
        time = float(int(after))
        while True:
            time += seconds
            yield time
    fields = _fields(DESCRIPTORS.get(schedule.strip(), schedule.strip()))
    location = ZoneInfo(zone) if zone else UTC
    moment = (int(after) // 60 + 1) * 60
    limit = moment + _YEARS * 366 * _DAY_SECONDS
    # Steps in absolute time: a local time that is skipped in spring never comes, and one in autumn comes twice.
    while moment < limit:
        local = datetime.fromtimestamp(moment, location)
        if not _day_matches(fields, local):
            midnight = local.replace(hour=0, minute=0, fold=0) + timedelta(days=1)
            moment = max(moment + 60, int(midnight.timestamp()))
        elif local.hour not in fields[1]:
            moment += 3600 - 60 * local.minute
        else:
            if local.minute in fields[0]:
                yield float(moment)
            moment += 60


def latest_time(schedule: str, zone: str, after: float, now: float) -> tuple[float | None, int]:
    """Return the last time of a schedule after `after` until `now`, and about how many have passed.

    As upstream's controller does, the number is estimated from the first two times, and only times from about the last
    but one are looked at: a schedule with long pauses may have none of them.
    """
    times = times_after(schedule, zone, after)
    first, second = next(times, None), next(times, None)
    if first is None or now < first:
        return None, 0
    if second is None or now < second:
        return first, 1
    interval = int(second - first)
    missed = int(now - first) // interval + 1
    latest = None
    for time in times_after(schedule, zone, first + (missed - 2) * interval):
        if time > now:
            break
        latest = time
    return latest, missed


def local_time(time: float, zone: str) -> str:
    """Format seconds since the epoch as RFC 3339 in a time zone; `zone` is empty for UTC."""
    local = datetime.fromtimestamp(int(time), ZoneInfo(zone) if zone else UTC)
    return local.isoformat().replace("+00:00", "Z")


@lru_cache(maxsize=256)
def _fields(schedule: str) -> tuple[frozenset[int], ...]:
    """Return the values of the fields; -1 marks one with a star, as in robfig/cron: `*/2` is no star, `*/1` is."""
    return tuple(_values(text, bounds) for text, bounds in zip(schedule.split(), FIELDS, strict=True))


def _values(text: str, bounds: tuple[int, int, dict[str, int]]) -> frozenset[int]:
    values: set[int] = set()
    for part in filter(None, text.split(",")):
        matching = part_values(part, bounds)
        values.update(matching)
        if part.startswith(("*", "?")) and matching.step == 1:
            values.add(-1)
    return frozenset(values)


def _day_matches(fields: tuple[frozenset[int], ...], moment: datetime) -> bool:
    _, _, days, months, weekdays = fields
    if moment.month not in months:
        return False
    by_day, by_weekday = moment.day in days, moment.isoweekday() % 7 in weekdays
    # Both restrict only if one of them is a star; otherwise a day that matches either is one.
    return by_day and by_weekday if -1 in days or -1 in weekdays else by_day or by_weekday
