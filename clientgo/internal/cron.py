"""Times of cron schedules, as Kubernetes' CronJobs read them: five fields, or a descriptor such as `@daily`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
"""Lowest and highest value and names of minutes, hours, days, months and days of the week."""

DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
"""Schedules that have a name."""

_YEARS = 5  # of which the last is looked at to its end; a schedule such as 30 February has no time


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """Cron schedule in a time zone: five fields, or a descriptor such as `@daily`, as Kubernetes' CronJobs read them.

    Raises:
        ValueError: the text is not a schedule.
    """

    text: str
    zone: tzinfo = UTC

    def __post_init__(self) -> None:
        _fields(_resolved(self.text))

    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first time after `moment`; None if there is none within five years."""
        following = next(times_after(self.text, self.zone, _seconds(moment)), None)
        return None if following is None else datetime.fromtimestamp(following, self.zone)

    def last_until(self, moment: datetime) -> datetime | None:
        """Return the last time that is not after `moment`; None if there was none within five years."""
        last = next(_times_until(self.text, self.zone, _seconds(moment)), None)
        return None if last is None else datetime.fromtimestamp(last, self.zone)


def times_after(schedule: str, zone: tzinfo, after: float) -> Iterator[float]:
    """Yield the times of a schedule after `after`, in seconds since the epoch.

    Raises:
        ValueError: the schedule is invalid.
    """
    fields = _fields(_resolved(schedule))
    moment = (int(after) // 60 + 1) * 60
    local = datetime.fromtimestamp(moment, zone)
    last = local.year + _YEARS if _has_times(fields) else 0
    # Steps in absolute time: a local time that is skipped in spring never comes, and one in autumn comes twice.
    while local.year <= last:
        if not _day_matches(fields, local):
            midnight = local.replace(hour=0, minute=0, fold=0) + timedelta(days=1)
            if local.month not in fields[3]:
                midnight = _month_of(midnight + timedelta(days=31 - local.day))
            moment = max(moment + 60, int(midnight.timestamp()))
        elif local.hour not in fields[1]:
            moment += 3600 - 60 * local.minute
        else:
            if local.minute in fields[0]:
                yield float(moment)
            moment += 60
        local = datetime.fromtimestamp(moment, zone)


def _times_until(schedule: str, zone: tzinfo, until: float) -> Iterator[float]:
    """Yield the times of a schedule until `until`, the last one first."""
    fields = _fields(_resolved(schedule))
    moment = int(until // 60) * 60
    local = datetime.fromtimestamp(moment, zone)
    first = local.year - _YEARS if _has_times(fields) else local.year + 1
    while local.year >= first:
        if not _day_matches(fields, local):
            midnight = local.replace(hour=0, minute=0, fold=0)
            if local.month not in fields[3]:
                midnight = _month_of(midnight)
            moment = min(moment, int(midnight.timestamp())) - 60
        elif local.hour not in fields[1]:
            moment -= 60 + 60 * local.minute
        else:
            if local.minute in fields[0]:
                yield float(moment)
            moment -= 60
        local = datetime.fromtimestamp(moment, zone)


def _has_times(fields: tuple[frozenset[int], ...]) -> bool:
    """Return whether a selected day has times: as in robfig/cron, a comma alone is a field without values."""
    return bool(fields[0] and fields[1] and fields[3])


def _month_of(moment: datetime) -> datetime:
    """Return the first day of a moment's month."""
    return moment.replace(day=1)


def _resolved(schedule: str) -> str:
    return DESCRIPTORS.get(schedule.strip(), schedule.strip())


def _seconds(moment: datetime) -> float:
    if moment.tzinfo is None:
        raise ValueError(f"invalid moment {moment}: give its time zone, as datetime.now(UTC) does")
    return moment.timestamp()


def part_values(text: str, bounds: tuple[int, int, dict[str, int]]) -> range:
    """Return the values of a part of a field, such as `1-5`, `*/10` or `mon`; raise ValueError if it is invalid."""
    low, high, names = bounds
    range_step = text.split("/")
    limits = range_step[0].split("-")
    if limits[0] in ("*", "?"):
        start, end = low, high
    else:
        start = _number(limits[0], names)
        if len(limits) > 2:
            raise ValueError(f"too many hyphens: {text}")
        end = _number(limits[1], names) if len(limits) > 1 else start
    if len(range_step) > 2:
        raise ValueError(f"too many slashes: {text}")
    step = _number(range_step[1], {}) if len(range_step) > 1 else 1
    if len(range_step) > 1 and len(limits) == 1:
        end = high
    if start < low:
        raise ValueError(f"beginning of range ({start}) below minimum ({low}): {text}")
    if end > high:
        raise ValueError(f"end of range ({end}) above maximum ({high}): {text}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if not step:
        raise ValueError(f"step of range should be a positive number: {text}")
    return range(start, end + 1, step)


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if int(text) < 0:
        raise ValueError(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)


@lru_cache(maxsize=256)
def _fields(schedule: str) -> tuple[frozenset[int], ...]:
    """Return the values of the fields; -1 marks one with a star, as in robfig/cron: `*/1` is one, unlike `*/2`."""
    texts = schedule.split()
    if len(texts) != len(FIELDS):
        raise ValueError(f"invalid schedule {schedule!r}: expected 5 fields, or one of {', '.join(DESCRIPTORS)}")
    return tuple(_values(text, bounds) for text, bounds in zip(texts, FIELDS, strict=True))


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
