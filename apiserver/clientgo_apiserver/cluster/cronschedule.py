"""Times of a cron schedule, as Kubernetes' CronJobs read it: five fields, or a descriptor such as `@daily`."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_BOUNDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_UNITS = {"ns": 1e-9, "us": 1e-6, "\u00b5s": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_AMOUNT = re.compile(r"([0-9.]+)(ns|us|\u00b5s|ms|s|m|h)?")
_YEARS = 5  # a schedule such as 30 February has no time


def times_after(schedule: str, zone: str, after: float) -> Iterator[float]:
    """Yield the times of a valid schedule after `after`, in seconds since the epoch; `zone` is empty for UTC."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        name, _, schedule = schedule.partition(" ")
        zone = name.partition("=")[2]
    if schedule.startswith("@every "):
        seconds = max(1, int(_duration(schedule.removeprefix("@every "))))
        time = float(int(after))
        while True:
            time += seconds
            yield time
    fields = _fields(_DESCRIPTORS.get(schedule.strip(), schedule.strip()))
    location = ZoneInfo(zone) if zone else UTC
    moment = datetime.fromtimestamp(after, location).replace(second=0, microsecond=0, tzinfo=None)
    limit = moment + timedelta(days=366 * _YEARS)
    while moment < limit:
        moment += timedelta(minutes=1)
        if not _day_matches(fields, moment):
            moment = moment.replace(hour=23, minute=59)
        elif moment.hour not in fields[1]:
            moment = moment.replace(minute=59)
        elif moment.minute in fields[0]:
            time = moment.replace(tzinfo=location).timestamp()
            if time > after:
                yield time


def _duration(text: str) -> float:
    """Return the seconds of a valid Go duration."""
    # The unit is optional so that the pattern takes linear time.
    return sum(float(number) * _UNITS[unit] for number, unit in _AMOUNT.findall(text))


@lru_cache(maxsize=256)
def _fields(schedule: str) -> tuple[frozenset[int], ...]:
    """Return the values of the five fields; -1 marks a field that begins with a star."""
    return tuple(
        _values(text.lower(), low, high, names)
        for text, (low, high, names) in zip(schedule.split(), _BOUNDS, strict=True)
    )


def _values(text: str, low: int, high: int, names: dict[str, int]) -> frozenset[int]:
    values: set[int] = set()
    for part in filter(None, text.split(",")):
        limits, _, step = part.partition("/")
        first, dash, last = limits.partition("-")
        if first in ("*", "?"):
            values.add(-1)
            start, end = low, high
        else:
            start = _number(first, names)
            end = _number(last, names) if dash else (high if step else start)
        values.update(range(start, end + 1, int(step or 1)))
    return frozenset(values)


def _number(text: str, names: dict[str, int]) -> int:
    return names[text] if text in names else int(text)


def _day_matches(fields: tuple[frozenset[int], ...], moment: datetime) -> bool:
    _, _, days, months, weekdays = fields
    if moment.month not in months:
        return False
    by_day, by_weekday = moment.day in days, moment.isoweekday() % 7 in weekdays
    # Both restrict only if one of them is a star; otherwise a day that matches either is one.
    return by_day and by_weekday if -1 in days or -1 in weekdays else by_day or by_weekday
