"""Rules of cron schedules and time zones."""

import re
from collections.abc import Iterator
from functools import lru_cache

from clientgo_apiserver.formats import is_go_duration
from clientgo_apiserver.http.status import Cause, invalid_value
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule

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

_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


@rule()
def cron_schedule(value: str, scope: FieldScope) -> Iterator[Cause]:
    """Reject an invalid schedule, and one with a time zone."""
    if not value:
        return
    reason = schedule_error(value)
    if reason:
        yield invalid_value("", value, reason)
    if "TZ" not in value:
        return
    before = (scope.old or {}).get("schedule") or ""
    if "TZ" not in before:
        yield invalid_value("", value, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    elif scope.value.get("timeZone") is not None:
        yield invalid_value("", value, "cannot use both timeZone field and TZ or CRON_TZ in schedule")


def schedule_error(text: str) -> str:
    """Return the error of a cron schedule, or ""."""
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, space, text = text.partition(" ")
        zone = zone.partition("=")[2]
        if not space:
            return "invalid schedule format: runtime error: slice bounds out of range [:-1]"
        if zone and not _known_zone(zone):
            return f"provided bad location {zone}: unknown time zone {zone}"
        text = text.strip()
    if text.startswith("@"):
        return _descriptor_error(text)
    fields = text.split()
    if len(fields) != len(FIELDS):
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    try:
        for field, bounds in zip(fields, FIELDS, strict=True):
            for part in filter(None, field.split(",")):
                part_values(part, bounds)
    except ValueError as error:
        return str(error)
    return ""


def _descriptor_error(text: str) -> str:
    every = text.removeprefix("@every ")
    if text in DESCRIPTORS or (every != text and is_go_duration(every)):
        return ""
    if every != text:
        return f'failed to parse duration {text}: time: invalid duration "{every}"'
    return f"unrecognized descriptor: {text}"


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
    if not re.fullmatch(r"[+-]?\d+", text):
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if int(text) < 0:
        raise ValueError(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)


@rule()
def time_zone(value: str, scope: FieldScope) -> Iterator[Cause]:
    """Reject an unknown time zone, unless it was there before."""
    if scope.old is not None and scope.old.get("timeZone") == value:
        return
    if not value:
        yield invalid_value("", value, "timeZone must be nil or non-empty string")
        return
    for part in value.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part):
            yield invalid_value("", value, f"unknown time zone {value}")
            return
    if value.lower() == "local":
        reason = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid_value("", value, reason)
    if value == "local" or not _known_zone(value):
        yield invalid_value("", value, f"unknown time zone {value}")


@lru_cache(maxsize=256)
def _known_zone(name: str) -> bool:
    """Return whether the time zone exists; any does on a machine without a database of time zones."""
    import zoneinfo  # noqa: PLC0415  # takes milliseconds, and few jobs have a time zone

    zones = zoneinfo.available_timezones()
    return not zones or name in zones or name in ("Local", "UTC")
