"""Times of cron schedules, as Kubernetes' CronJobs read them: five fields, or a descriptor such as `@daily`."""

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import takewhile

import msgspec

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
_YEAR = 366 * 86400
_FIRST_SPAN = 3600
_EPOCH = datetime(1970, 1, 1)  # local time in any zone


class CronSchedule(msgspec.Struct, frozen=True):
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
        last = _last_until(self.text, self.zone, _seconds(moment))
        return None if last is None else datetime.fromtimestamp(last, self.zone)


def times_after(schedule: str, zone: tzinfo, after: float) -> Iterator[float]:
    """Yield the times of a schedule after `after`, in seconds since the epoch, as robfig/cron finds each from the last.

    Raises:
        ValueError: the schedule is invalid.
    """
    fields, start = _fields(_resolved(schedule)), after
    while (following := _Search(zone, start).run(fields)) is not None:
        if following > after:
            after = start = float(following)
            yield after
        else:  # between two equal local times, from where Go's search goes back to the first one for ever
            start += 60


def _last_until(schedule: str, zone: tzinfo, until: float) -> float | None:
    """Return the last time of a schedule until `until`: from an earlier time on, one leads to the next."""
    span, last = _FIRST_SPAN, None
    while last is None and span < 4 * _YEARS * _YEAR:
        times = times_after(schedule, zone, until - min(span, _YEARS * _YEAR))
        last = max(takewhile(lambda time: time <= until, times), default=None)
        span *= 4
    return last


class _Search:
    """Search for the first time of a schedule, in the steps of robfig/cron, which CronJobs use.

    Where clocks are shifted, the result depends on these steps: one of days and months goes through the local time, as
    Go's `time.Date` reads it, one of hours and minutes does not. So a search may leave a time out that matches the
    fields, or end at one that does not.
    """

    def __init__(self, zone: tzinfo, after: float) -> None:
        self._zone = zone
        self._is_aligned = False  # once a field was advanced, the smaller ones have their first value
        self._move_to(math.floor(after) + 1)

    def run(self, fields: tuple[frozenset[int], ...]) -> int | None:
        """Return the first time, in seconds since the epoch; None if there is none within five years."""
        if not (fields[0] and fields[1] and fields[3]):
            return None  # a comma alone is a field without values
        last_year = self._local.year + _YEARS
        steps = (self._find_month, self._find_day, self._find_hour, self._find_minute)
        while self._local.year <= last_year:
            if all(step(fields) for step in steps):
                return self._time
        return None

    # Each step advances its field to a value of the schedule, or to where the search has to begin again: return False.

    def _find_month(self, fields: tuple[frozenset[int], ...]) -> bool:
        while self._local.month not in fields[3]:
            self._align(self._local.replace(day=1, hour=0, minute=0, second=0))
            first = self._local.replace(day=1)
            following = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
            self._move_to_local(following + timedelta(days=self._local.day - 1))
            if self._local.month == 1:
                return False
        return True

    def _find_day(self, fields: tuple[frozenset[int], ...]) -> bool:
        while not _day_matches(fields, self._local):
            self._align(self._local.replace(hour=0, minute=0, second=0))
            before = self._time
            self._move_to_local(self._local + timedelta(days=1))
            if self._time <= before:  # the date line was moved over a whole day, where Go's search never ends
                self._move_to(before + 86400)
            hour = self._local.hour
            if hour:  # the day has no midnight
                self._move_to(self._time + 3600 * (24 - hour if hour > 12 else -hour))
            if self._local.day == 1:
                return False
        return True

    def _find_hour(self, fields: tuple[frozenset[int], ...]) -> bool:
        while self._local.hour not in fields[1]:
            self._align(self._local.replace(minute=0, second=0))
            self._move_to(self._time + 3600)
            if self._local.hour == 0:
                return False
        return True

    def _find_minute(self, fields: tuple[frozenset[int], ...]) -> bool:
        while (minute := self._local.minute) not in fields[0]:
            time = self._time if self._is_aligned else self._time - self._time % 60
            self._is_aligned = True
            following = min((each for each in fields[0] if each > minute), default=60)
            self._move_to(time + 60 * (following - minute))
            if self._local.minute != following % 60:  # clocks are shifted on the way: minute by minute
                self._move_to(time + 60)
            if self._local.minute == 0:
                return False
        if self._local.second:
            self._is_aligned = True
            self._move_to(self._time + 60 - self._local.second)
            return False
        return True

    def _align(self, start: datetime) -> None:
        if not self._is_aligned:
            self._is_aligned = True
            self._move_to_local(start)

    def _move_to(self, time: int) -> None:
        self._time = time
        self._local = datetime.fromtimestamp(time, self._zone).replace(tzinfo=None, fold=0)

    def _move_to_local(self, local: datetime) -> None:
        """Go to a local time; one that clocks skip or repeat is the one that Go chooses."""
        time = (local - _EPOCH) // timedelta(seconds=1)
        if offset := self._offset(time):
            offset = self._offset(time - offset)
        self._move_to(time - offset)

    def _offset(self, time: int) -> int:
        offset = datetime.fromtimestamp(time, self._zone).utcoffset()
        return 0 if offset is None else offset // timedelta(seconds=1)


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
    _, _, days, _, weekdays = fields
    by_day, by_weekday = moment.day in days, moment.isoweekday() % 7 in weekdays
    # Both restrict only if one of them is a star; otherwise a day that matches either is one.
    return by_day and by_weekday if -1 in days or -1 in weekdays else by_day or by_weekday
