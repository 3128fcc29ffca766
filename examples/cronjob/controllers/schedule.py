"""Times of cron schedules, in UTC. Pure functions, in a time that does not depend on how many times were missed."""

import itertools
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Self

FIELDS = {"minute": (0, 59), "hour": (0, 23), "day of month": (1, 31), "month": (1, 12), "day of week": (0, 7)}
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
NAMES = {
    "month": {name: number for number, name in enumerate(MONTHS, 1)},
    "day of week": {name: number for number, name in enumerate(WEEKDAYS)},
}
HORIZON = 8 * 366  # days; the 29th of February may be eight years away


@dataclass(frozen=True, slots=True)
class Schedule:
    """Days and times of day of a schedule."""

    times: tuple[time, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """True if both kinds of days are limited: then, as cron has it, one of them has to match."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a schedule such as `*/5 8-18 * * mon-fri`.

        Raises:
            ValueError: the text is no schedule; the message says what is wrong with which field.
        """
        fields = text.split()
        if len(fields) != len(FIELDS):
            raise ValueError(f"expected five fields ({', '.join(FIELDS)}), got {len(fields)}")
        minutes, hours, days, months, weekdays = map(_values, FIELDS, fields)
        times = tuple(itertools.starmap(time, itertools.product(sorted(hours), sorted(minutes))))
        either_day = not fields[2].startswith("*") and not fields[4].startswith("*")
        return cls(times, days, months, frozenset(day % 7 for day in weekdays), either_day)

    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first time after `moment`; None if there is none in eight years."""
        times = (each for number in range(HORIZON) for each in self._times_of(moment.date() + timedelta(number)))
        return next((each for each in times if each > moment), None)

    def last_until(self, moment: datetime) -> datetime | None:
        """Return the last time that is not after `moment`; None if there was none in eight years."""
        times = (
            each for number in range(HORIZON) for each in reversed(self._times_of(moment.date() - timedelta(number)))
        )
        return next((each for each in times if each <= moment), None)

    def _times_of(self, day: date) -> list[datetime]:
        by_month, by_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        matches = by_month or by_week if self.either_day else by_month and by_week
        if not matches or day.month not in self.months:
            return []
        return [datetime.combine(day, each, UTC) for each in self.times]


def _values(field: str, text: str) -> frozenset[int]:
    return frozenset(itertools.chain.from_iterable(_range(field, part) for part in text.split(",")))


def _range(field: str, text: str) -> range:
    """Return the values of `*`, `3`, `3-9`, `*/2`, `3/2` or `3-9/2`."""
    lowest, highest = FIELDS[field]
    span, slash, step = text.partition("/")
    if slash and not (step.isascii() and step.isdigit() and int(step)):
        raise ValueError(f"{field} {text!r}: {step!r} is no step")
    start, dash, end = span.partition("-")
    if span == "*":
        first, last = lowest, highest - (field == "day of week")
    else:
        first = _number(field, start)
        last = _number(field, end) if dash else highest if slash else first
    if first > last:
        raise ValueError(f"{field} {text!r} ends before it begins")
    return range(first, last + 1, int(step or 1))


def _number(field: str, text: str) -> int:
    lowest, highest = FIELDS[field]
    value = NAMES.get(field, {}).get(text.lower(), int(text) if text.isascii() and text.isdigit() else -1)
    if not lowest <= value <= highest:
        raise ValueError(f"{field} {text!r} is not between {lowest} and {highest}")
    return value
